import json
import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.interfaces.positions import (
    DEEPEST,
    NotScanned,
    TooDeep,
    json_positions,
    toml_positions,
)

TOML = '''# a comment with [brackets] = "x"
title = "one" # another
'quoted key' = 1
"es\\u0063aped" = 2
a.b . "c.d" = 3

[implementation]
argv = ["python", # comment ]
  "-c",
  """
multi ] line
""", '\\',
]
environment = { A = "x", B = { secret = "S" } }
when = 2026-09-10T00:00:00Z
text = \'\'\'
[not a table]
\'\'\'

[ deep . er ]
x = 1

[[list]]
y = 1
[[list]]
y = 2
[list.sub]
z = [[1, 2], [3]]
'''


def paths(value, path=()):
    yield path
    if isinstance(value, dict):
        for name, item in value.items():
            yield from paths(item, (*path, name))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from paths(item, (*path, index))


def test_every_key_and_element_of_toml_has_its_line():
    positions = toml_positions(TOML)
    assert all(path in positions for path in paths(tomllib.loads(TOML)))
    for path, line in {
        ("title",): 2,
        ("quoted key",): 3,
        ("escaped",): 4,
        ("a", "b", "c.d"): 5,
        ("implementation",): 7,
        ("implementation", "argv"): 8,
        ("implementation", "argv", 0): 8,
        ("implementation", "argv", 1): 9,
        ("implementation", "argv", 2): 10,
        ("implementation", "argv", 3): 12,
        ("implementation", "environment", "B", "secret"): 14,
        ("implementation", "when"): 15,
        ("deep", "er"): 20,
        ("deep", "er", "x"): 21,
        ("list", 0): 23,
        ("list", 1): 25,
        ("list", 1, "y"): 26,
        ("list", 1, "sub", "z", 1, 0): 28,
    }.items():
        assert positions.line(path) == line, path


def test_what_is_not_there_has_the_line_of_what_is_around_it():
    positions = toml_positions(TOML)
    assert positions.line(("implementation", "folder")) == 7
    assert positions.line(("nothing", 3, "x")) == 1


JSON_TEXT = """{
  "a": 1,
  "b": [ "x",
    {"c": null, "d\\u0065": [true, false] } ],
  "a": "again",
  "text": "with \\" quote, { and ["
}"""


def test_every_key_and_element_of_json_has_its_line():
    positions = json_positions(JSON_TEXT)
    assert all(path in positions for path in paths(json.loads(JSON_TEXT)))
    assert positions.line(("b",)) == 3
    assert positions.line(("b", 1, "de", 1)) == 4
    assert positions.line(("text",)) == 6
    assert positions.repeated == [(("a",), 5)]


SCALARS = st.text(max_size=8) | st.integers() | st.booleans()
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=12,
)


@given(st.dictionaries(st.text(max_size=4), VALUES, max_size=4), st.sampled_from([None, 2]))
def test_json_is_scanned_as_it_is_parsed(value, indent):
    text = json.dumps(value, indent=indent)
    positions = json_positions(text)
    assert all(path in positions for path in paths(value))
    assert not positions.repeated


def toml_value(value):
    if isinstance(value, dict):
        return (
            "{" + ", ".join(f"{json.dumps(name)} = {toml_value(item)}" for name, item in value.items()) + "}"
        )
    if isinstance(value, list):
        return "[" + ", ".join(toml_value(item) for item in value) + "]"
    return json.dumps(value).replace("\x7f", "\\u007f") if not isinstance(value, str) else toml_text(value)


def toml_text(text):
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


@given(st.dictionaries(st.text(st.characters(codec="utf-8"), max_size=4), VALUES, max_size=4))
def test_toml_is_scanned_as_it_is_parsed(value):
    try:
        text = "\n".join(f"{toml_text(name)} = {toml_value(item)}" for name, item in value.items())
        parsed = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, UnicodeEncodeError):
        return
    positions = toml_positions(text)
    assert all(path in positions for path in paths(parsed))


@given(st.text(st.sampled_from('abc[]{}="\'\\#.,\n\r\t 1_-é"\x00')))
def test_any_text_is_scanned_or_refused_and_what_parses_is_scanned(text):
    for scan, parse in ((toml_positions, tomllib.loads), (json_positions, json.loads)):
        try:
            value = parse(text)
        except ValueError:
            value = None
        try:
            positions = scan(text)
        except (NotScanned, TooDeep):
            assert value is None
        else:
            assert value is None or all(path in positions for path in paths(value))


@pytest.mark.parametrize("text", ["a = " + "[" * 10_000, "a." * 10_000 + "b = 1", "[" + "a." * 10_000 + "b]"])
def test_toml_nested_without_end_is_refused_at_once(text):
    with pytest.raises(TooDeep):
        toml_positions("\n" + text)


def test_nesting_up_to_the_bound_is_fine():
    depth = DEEPEST - 2
    toml_positions("a = " + "[" * depth + "]" * depth)
    json_positions("[" * depth + "]" * depth)
    with pytest.raises(TooDeep) as caught:
        json_positions("\n" + "[" * 1_000)
    assert caught.value.line == 2
