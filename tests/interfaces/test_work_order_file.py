import json
import os
import time
from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from types import MappingProxyType

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.durations import LONGEST_MS
from engine.errors import InvalidWorkOrder, NotFound
from engine.instants import EARLIEST, LATEST
from engine.interfaces.work_order_file import (
    LARGEST_FILE,
    parse_work_order,
    read_work_order,
    to_toml,
    work_order_json_schema,
)
from engine.interfaces.work_order_schema import LARGEST_COST
from engine.work_order import (
    BudgetLimits,
    CommandSpec,
    CorrectionRule,
    Secret,
    ValidatedBy,
    ValidationSpec,
    WorkOrderSpec,
)

WORKSPACE = str(Path("/work/space").absolute())
MINIMAL = f"""title = "Say hello"
workspace = '{WORKSPACE}'
[implementation]
argv = ["git", "--version"]
[validation]
by = "person"
criteria = "It names a version."
"""


def problems(text, **options):
    data = text if isinstance(text, bytes) else text.encode()
    with pytest.raises(InvalidWorkOrder) as caught:
        parse_work_order(data, name="order.toml", **options)
    found = caught.value.facts["problems"]
    assert found
    assert caught.value.facts["line"] == found[0].line
    assert caught.value.facts["field"] == found[0].field
    assert str(caught.value).startswith("order.toml")
    for problem in found:
        assert str(problem) in str(caught.value) or len(found) == 1
    return [(problem.line, problem.field) for problem in found], [str(problem) for problem in found]


def test_the_least_that_is_needed():
    spec = parse_work_order(MINIMAL.encode())
    assert spec == WorkOrderSpec(
        title="Say hello",
        workspace=WORKSPACE,
        implementation=CommandSpec(("git", "--version")),
        validation=ValidationSpec("It names a version.", ValidatedBy.PERSON),
        limits=BudgetLimits(0, 600_000),
    )


def test_everything_that_can_be_said():
    spec = parse_work_order(
        (files("resources") / "examples" / "everything.toml").read_bytes(), folder=Path("/orders").absolute()
    )
    assert spec.workspace == str(Path("/orders/shop").absolute())
    assert spec.due_at == 1_789_020_000_000
    assert spec.approval_life_ms == 2 * 86_400_000
    assert spec.implementation.environment == {
        "PRICE_ROUNDING": "0.05",
        "SUPPLIER_TOKEN": Secret("SHOP_SUPPLIER_TOKEN"),
    }
    assert spec.implementation.output_limit_bytes == 64 << 20
    assert spec.validation.command is not None
    assert spec.validation.command.report == "reports/tests.xml"
    assert spec.correction.command is not None
    assert (spec.correction.max_corrections, spec.correction.command.max_cost) == (2, 60)
    assert spec.limits == BudgetLimits(200, 2_400_000, 10, 300_000)


@pytest.mark.parametrize("name", ["minimal.toml", "minimal.json", "everything.toml"])
def test_the_examples_that_ship_are_good(name, tmp_path):
    (tmp_path / name).write_bytes((files("resources") / "examples" / name).read_bytes())
    read_work_order(tmp_path / name)


def test_json_says_the_same_as_toml(tmp_path):
    specs = []
    for name in ("minimal.toml", "minimal.json"):
        (tmp_path / name).write_bytes((files("resources") / "examples" / name).read_bytes())
        specs.append(read_work_order(tmp_path / name))
    assert specs[0] == specs[1]
    assert specs[0].workspace == str(tmp_path)


def test_limits_left_out_are_enough_for_every_step():
    spec = parse_work_order(
        (
            MINIMAL.replace('by = "person"', 'argv = ["check"]\ntime_limit = "10s"\nmax_cost = 5').replace(
                '"--version"]', '"--version"]\ntime_limit = "1m"\nmax_cost = 30'
            )
            + '[correction]\nmax = 2\nargv = ["mend"]\ntime_limit = "2m"\nmax_cost = 7\n'
        ).encode()
    )
    assert spec.limits == BudgetLimits(30 + 2 * 7 + 3 * 5, 60_000 + 2 * 120_000 + 3 * 10_000)


def test_limits_left_out_that_would_be_too_much_are_asked_for():
    text = MINIMAL.replace('"--version"]', f'"--version"]\nmax_cost = {LARGEST_COST}\ntime_limit = "3000d"')
    places, _ = problems(text + "[correction]\nmax = 1\n")
    assert places == [(1, "limits.cost"), (1, "limits.time")]
    assert parse_work_order((text + '[correction]\nmax = 1\n[limits]\ncost = 1\ntime = "1s"').encode())


def test_a_correction_without_a_command_repeats_the_implementation():
    spec = parse_work_order((MINIMAL + "[correction]\nmax = 3\nreapproval_required = false\n").encode())
    assert spec.correction == CorrectionRule(3, False, None)
    assert spec.limits.execution_active_ms == 4 * 600_000


def test_every_problem_is_told_at_once_with_line_and_field():
    places, texts = problems(
        """titel = "x"
workspace = 5
due_at = 2026-09-10T00:00:00Z
[implementation]
argv = ["", 5,
  "a\\u0000"]
folder = "../x"
time_limit = "90x"
max_cost = true
environment = { "A=B" = "x", C = 5, D = { secrt = "X" } }
[validation]
by = "persn"
[limits]
cost = 1.5
time = 0
[correction]
max = -1
folder = "x"
"""
    )
    assert places == [
        (1, "titel"),
        (1, "title"),
        (2, "workspace"),
        (3, "due_at"),
        (5, "implementation.argv[0]"),
        (5, "implementation.argv[1]"),
        (6, "implementation.argv[2]"),
        (7, "implementation.folder"),
        (8, "implementation.time_limit"),
        (9, "implementation.max_cost"),
        (10, 'implementation.environment."A=B"'),
        (10, "implementation.environment.C"),
        (10, "implementation.environment.D.secret"),
        (10, "implementation.environment.D.secrt"),
        (11, "validation.criteria"),
        (12, "validation.by"),
        (14, "limits.cost"),
        (15, "limits.time"),
        (17, "correction.max"),
        (18, "correction.folder"),
    ]
    assert texts[0] == "Line 1, titel is unknown; write title if that is meant, or remove it."
    assert texts[7].startswith("Line 7, implementation.folder is not accepted: the path '../x' leaves")
    assert texts[14] == "Line 11, validation.criteria is missing; add it to [validation]."


@pytest.mark.parametrize(
    ("old", "new", "line", "field"),
    [
        ('title = "Say hello"', 'title = "  "', 1, "title"),
        ('title = "Say hello"', 'title = "a\\nb"', 1, "title"),
        ('title = "Say hello"', f'title = "{"x" * 201}"', 1, "title"),
        ('title = "Say hello"', 'title = "x"\nproject = ""', 2, "project"),
        ('["git", "--version"]', "[]", 4, "implementation.argv"),
        ('["git", "--version"]', '"git --version"', 4, "implementation.argv"),
        ("[validation]", "[validations]", 5, "validations"),
        ('"It names a version."', '""', 7, "validation.criteria"),
        ('by = "person"', 'by = "person"\nargv = ["x"]', 7, "validation.argv"),
        ('by = "person"', 'by = "command"', 5, "validation.argv"),
        ('by = "person"\n', "", 5, "validation.argv"),
        ("[validation]", "report = 'a\\..\\..\\x'\n[validation]", 5, "implementation.report"),
        ("[validation]", 'inputs = [""]\n[validation]', 5, "implementation.inputs[0]"),
        ("[validation]", 'artifacts = ["/etc/*"]\n[validation]', 5, "implementation.artifacts[0]"),
        ("[validation]", "max_cost = -1\n[validation]", 5, "implementation.max_cost"),
        ("[validation]", f"max_cost = {LARGEST_COST + 1}\n[validation]", 5, "implementation.max_cost"),
        ("[validation]", 'max_cost = "5"\n[validation]', 5, "implementation.max_cost"),
        ("[validation]", "max_cost = nan\n[validation]", 5, "implementation.max_cost"),
        ("[validation]", "environment = 5\n[validation]", 5, "implementation.environment"),
        ("[validation]", "environment = { A = { secret = '' } }\n[validation]", 5,
         "implementation.environment.A.secret"),
        ("[validation]", "[correction]\nreapproval_required = 1\n[validation]", 6,
         "correction.reapproval_required"),
        ("[validation]", "[correction]\nmax = true\n[validation]", 6, "correction.max"),
        ('title = "Say hello"', 'title = "x"\ndue_at = "2026-09-10"', 2, "due_at"),
        ('title = "Say hello"', 'title = "x"\napproval_life = "0s"', 2, "approval_life"),
    ],
)  # fmt: skip
def test_one_wrong_thing_is_told_by_line_and_field(old, new, line, field):
    assert old in MINIMAL
    places, texts = problems(MINIMAL.replace(old, new))
    assert (line, field) in places
    assert all(";" in text or "missing" in text or "unknown" in text for text in texts)


def test_an_empty_file_is_told_what_belongs_where():
    _places, texts = problems("")
    assert "Line 1, title is missing; add it at the top of the file." in texts
    assert "Line 1, validation is missing; add it as a table of its own." in texts


def test_a_single_problem_is_told_in_the_sentence_itself():
    with pytest.raises(InvalidWorkOrder) as caught:
        parse_work_order(MINIMAL.replace("title", "titel", 1).encode() + b"", name="order.toml")
    assert len(caught.value.facts["problems"]) == 2
    with pytest.raises(InvalidWorkOrder) as caught:
        parse_work_order(MINIMAL.encode() + b"[limits]\ncosts = 5\n", name="order.toml")
    assert str(caught.value) == (
        "order.toml: line 9, limits.costs is unknown; write cost if that is meant, or remove it."
    )


def test_an_unknown_field_far_from_any_name_lists_the_names():
    _, texts = problems(MINIMAL + "[limits]\nzebra = 5\n")
    assert texts == [
        "Line 9, limits.zebra is unknown; remove it, the fields here are cost, time, handoff_cost, handoff_time."
    ]


@pytest.mark.parametrize(
    ("data", "form", "line", "text"),
    [
        (b"a = ", "toml", 1, "is not TOML"),
        (b'a = 1\nb = "x', "toml", 2, "is not TOML"),
        (b"a = 1\na = 2", "toml", 2, "is not TOML"),
        (b"{\n  'a': 1}", "json", 2, "is not JSON"),
        (b"", "json", 1, "is not JSON"),
        (b"[1]", "json", 1, "one JSON object"),
        (b"a = 1\nb = '\xff'", "toml", 2, "not UTF-8"),
        ("a = 1".encode("utf-16"), "toml", 1, "UTF-16"),
        (b"x" * (LARGEST_FILE + 1), "toml", 1, "bytes"),
        (b"\n" + b"[" * 100_000, "json", 1, "levels deep"),
        (b"\n{" + b'"a":{' * 100, "json", 2, "not JSON"),
        (b"\n" + b"[" * 100 + b"]" * 100, "json", 2, "levels deep"),
        (b"\na = " + b"[" * 100_000, "toml", 2, "levels deep"),
        (b"\n" + b"a." * 100_000 + b"b = 1", "toml", 2, "levels deep"),
        (b"\na = " + b"1" * 5_000, "toml", 2, "too many digits"),
        (b'{\n"a": ' + b"1" * 5_000 + b"}", "json", 2, "too many digits"),
    ],
)
def test_what_cannot_be_read_at_all_names_the_line(data, form, line, text):
    started = time.perf_counter()
    places, texts = problems(data, form=form)
    assert places == [(line, "")]
    assert text in texts[0]
    assert time.perf_counter() - started < 2


def test_json_keys_given_twice_are_refused():
    text = '{"title": "a",\n"title": "b", "implementation": {"argv": ["x"],\n"argv": ["y"]}}'
    places, _ = problems(text, form="json")
    assert (2, "title") in places
    assert (3, "implementation.argv") in places


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e999", "1.0", "true", '"1"'])
def test_json_numbers_that_are_not_whole_are_refused(number):
    text = json.dumps({"title": "x", "workspace": WORKSPACE, "limits": {"cost": 77}}).replace("77", number)
    places, _ = problems(text, form="json")
    assert (1, "limits.cost") in places


@pytest.mark.parametrize("bad", ["\\u0000", "\\ud800"])
def test_json_text_that_no_program_can_be_given_is_refused(bad):
    text = f'{{"title": "x{bad}", "workspace": "/x", "reason": "{bad}", "implementation": {{"argv": ["{bad}"]}}}}'
    places, _ = problems(text, form="json")
    assert {(1, "title"), (1, "reason"), (1, "implementation.argv[0]")} <= set(places)


def test_a_byte_order_mark_is_tolerated():
    assert parse_work_order(b"\xef\xbb\xbf" + MINIMAL.encode()).title == "Say hello"


def test_line_ends_of_windows_are_tolerated_and_counted_once():
    text = MINIMAL.replace("\n", "\r\n")
    assert parse_work_order(text.encode()).title == "Say hello"
    places, _ = problems(text.replace('by = "person"', "by = 5"))
    assert places == [(6, "validation.by")]


def test_a_relative_workspace_is_relative_to_the_file(tmp_path, monkeypatch):
    (tmp_path / "orders").mkdir()
    path = tmp_path / "orders" / "order.toml"
    path.write_text(MINIMAL.replace(f"'{WORKSPACE}'", '"../shop"'), encoding="utf-8")
    assert read_work_order(path).workspace == str(tmp_path / "shop")
    monkeypatch.chdir(tmp_path)
    assert read_work_order("orders/order.toml").workspace == str(tmp_path / "shop")
    places, _ = problems(MINIMAL.replace(f"'{WORKSPACE}'", '"shop"'))
    assert places == [(2, "workspace")]


@pytest.mark.parametrize("path", ["~/shop", "C:shop", "\\\\shop" if os.name != "nt" else "C:x"])
def test_a_workspace_that_only_looks_whole_is_refused(path):
    text = MINIMAL.replace(f"'{WORKSPACE}'", f"'{path}'")
    places, _ = problems(text, folder=Path("/orders").absolute())
    assert places == [(2, "workspace")]


def test_a_file_that_is_not_there_or_cannot_be_read(tmp_path):
    with pytest.raises(NotFound, match="There is no file"):
        read_work_order(tmp_path / "none.toml")
    with pytest.raises(InvalidWorkOrder, match="cannot be read"):
        read_work_order(tmp_path)


# --------------------------------------------------------------------------------------------- any value, any bytes

TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=20)
LINE = st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=20).filter(str.strip)
PATH = st.sampled_from([".", "a", "a/b.txt", "größe/x y"])
DURATION = st.integers(1, LONGEST_MS)
COST = st.integers(0, LARGEST_COST)
NAME = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0="), min_size=1, max_size=8)
COMMANDS = st.builds(
    CommandSpec,
    argv=st.tuples(TEXT.filter(bool), TEXT, TEXT),
    folder=PATH,
    environment=st.dictionaries(NAME, TEXT | st.builds(Secret, NAME), max_size=3).map(MappingProxyType),
    inputs=st.lists(PATH, max_size=2).map(tuple),
    artifacts=st.lists(st.sampled_from(["*", "a/**/*.x"]), max_size=2).map(tuple),
    report=st.sampled_from(["", "r.xml"]),
    time_limit_ms=DURATION,
    max_cost=COST,
    output_limit_bytes=st.integers(1, 1 << 50),
)
SPECS = st.builds(
    WorkOrderSpec,
    title=LINE,
    workspace=st.just(WORKSPACE),
    implementation=COMMANDS,
    validation=st.builds(ValidationSpec, TEXT.filter(str.strip), st.just(ValidatedBy.COMMAND), COMMANDS)
    | st.builds(ValidationSpec, TEXT.filter(str.strip), st.just(ValidatedBy.PERSON)),
    limits=st.builds(BudgetLimits, COST, DURATION, COST, st.just(0) | DURATION),
    project=LINE,
    reason=TEXT,
    correction=st.builds(CorrectionRule, st.integers(0, 1_000), st.booleans(), st.none() | COMMANDS),
    approval_life_ms=DURATION,
    due_at=st.none() | st.integers(EARLIEST, LATEST),
)


@given(SPECS)
def test_a_work_order_written_as_toml_is_read_back_equal(spec):
    assert parse_work_order(to_toml(spec).encode()) == spec


def total(data, form):
    try:
        spec = parse_work_order(data, form=form, folder=Path("/x").absolute())
    except InvalidWorkOrder as error:
        refusal = error
    else:
        assert parse_work_order(to_toml(spec).encode()) == spec
        return
    assert refusal.facts["problems"]
    str(refusal).encode()


@given(st.binary(), st.sampled_from(["toml", "json"]))
def test_any_bytes_give_a_work_order_or_a_clear_refusal(data, form):
    total(data, form)


@given(st.data(), st.sampled_from(["toml", "json"]))
def test_any_damage_to_a_good_file_gives_a_work_order_or_a_clear_refusal(data, form):
    name = "everything.toml" if form == "toml" else "minimal.json"
    good = (files("resources") / "examples" / name).read_bytes()
    start = data.draw(st.integers(0, len(good)))
    end = data.draw(st.integers(start, min(len(good), start + 40)))
    total(good[:start] + data.draw(st.binary(max_size=12)) + good[end:], form)


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters(exclude_categories=())),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["argv", "environment", "secret", "by", "max", "cost", "criteria"]) | st.text(),
            inner,
        )
    ),
    max_leaves=8,
)


@given(
    st.dictionaries(
        st.sampled_from(
            ["title", "workspace", "implementation", "validation", "correction", "limits", "due_at", "reason"]
        ),
        ANYTHING,
    )
)
def test_any_json_value_gives_a_work_order_or_a_clear_refusal(value):
    total(json.dumps(value).encode(), "json")


def test_the_published_schema_is_the_one_in_force():
    published = json.loads((files("resources") / "examples" / "work-order.schema.json").read_text("utf-8"))
    assert published == work_order_json_schema(), "write work_order_json_schema() into the file anew"


def test_the_spec_of_the_file_is_the_spec_of_the_engine():
    spec = parse_work_order(MINIMAL.encode())
    assert replace(spec) == spec
    assert spec.to_json()["validation"]["by"] == "person"
