from types import MappingProxyType

from hypothesis import given
from hypothesis import strategies as st

from engine.dispatch.differences import ABSENT, Difference, differences
from engine.dispatch.environment import SealedSecret
from engine.dispatch.inputs import InputKind, SealedInput
from engine.dispatch.plan import Plan, PlanEnvironment, PlanLimits, PlanWorkspace, seal_of
from engine.dispatch.program import Program
from engine.states import Purpose
from engine.workspace.repository import StateKind, WorkspaceState

WORDS = st.sampled_from(["", "a", "b", ABSENT, "a, b", "é"])
LISTS = st.lists(WORDS, max_size=2).map(tuple)
SMALL = st.integers(0, 1)
VALUES = WORDS | st.builds(SealedSecret, WORDS, WORDS)


def mapping(values):
    return st.dictionaries(WORDS, values, max_size=2).map(MappingProxyType)


PLANS = st.builds(
    Plan,
    purpose=st.sampled_from([Purpose.IMPLEMENT, Purpose.VALIDATE]),
    argv=LISTS,
    program=st.builds(Program, WORDS, WORDS, WORDS, SMALL, LISTS),
    folder=WORDS,
    workspace=st.builds(PlanWorkspace, WORDS, WORDS),
    environment=st.builds(PlanEnvironment, mapping(WORDS), mapping(VALUES)),
    inputs=st.lists(
        st.builds(SealedInput, WORDS, st.sampled_from(InputKind), WORDS, SMALL),
        max_size=2,
        unique_by=lambda item: item.path,
    ).map(tuple),
    limits=st.builds(PlanLimits, SMALL, SMALL, SMALL),
    artifacts=LISTS,
    report=WORDS,
    criteria=WORDS,
    state=st.builds(
        WorkspaceState, st.sampled_from(StateKind), WORDS, WORDS, SMALL, SMALL, WORDS, SMALL, WORDS
    ),
)


@st.composite
def neighbours(draw):
    """Two plans that differ in few fields, or in none."""
    one, other = draw(PLANS), draw(PLANS)
    kept = draw(st.sets(st.sampled_from(Plan.__slots__)))
    fields = {name: getattr(one if name in kept else other, name) for name in Plan.__slots__}
    return one, Plan(**fields)


@given(neighbours())
def test_e40a_seals_are_equal_exactly_when_nothing_differs(pair):
    one, other = pair
    assert (seal_of(one) == seal_of(other)) == (differences(one, other) == ())


@given(neighbours())
def test_each_field_is_named_once_and_both_directions_agree(pair):
    forth, back = differences(*pair), differences(*reversed(pair))
    assert len({difference.field for difference in forth}) == len(forth)
    assert {(d.field, d.approved, d.now) for d in forth} == {(d.field, d.now, d.approved) for d in back}


def plan(**fields):
    values = {
        "purpose": Purpose.IMPLEMENT,
        "argv": ("python", "task.py"),
        "program": Program("/bin/python", "/bin/python3", "aa", 1, ("/bin",)),
        "folder": ".",
        "workspace": PlanWorkspace("/w", "1:2"),
        "environment": PlanEnvironment({"PATH": "/bin"}, {"A": "1"}),
        "inputs": (SealedInput("task.py", InputKind.FILE, "77d0", 10),),
        "limits": PlanLimits(1, 2, 3),
        "artifacts": (),
        "report": "",
        "criteria": "",
        "state": WorkspaceState(StateKind.GIT, "c0ffee", "main", 0, digest="dd"),
    }
    return Plan(**{**values, **fields})


def one(**fields):
    (difference,) = differences(plan(), plan(**fields))
    return str(difference)


def test_b019_differences_are_words_a_person_reads():
    assert (
        one(inputs=(SealedInput("task.py", InputKind.FILE, "91ab", 11),))
        == "input task.py: sha256 77d0, 10 bytes → sha256 91ab, 11 bytes"
    )
    assert one(inputs=()) == "input task.py: sha256 77d0, 10 bytes → not there"
    assert one(argv=("python", "other.py")) == "argument 1: task.py → other.py"
    assert one(argv=("python3", "task.py")) == "program as written: python → python3"
    assert one(argv=("python", "task.py", "-x")) == "argument 2: not there → -x"
    assert one(environment=PlanEnvironment({"PATH": "/usr"}, {"A": "1"})) == "environment PATH: /bin → /usr"
    assert one(environment=PlanEnvironment({"PATH": "/bin"}, {})) == "environment A: 1 → not there"
    assert one(environment=PlanEnvironment({}, {"A": "1", "PATH": "/bin"})) == (
        "environment PATH: /bin (from the console) → /bin (set by the command)"
    )
    assert one(state=WorkspaceState(StateKind.GIT, "beef", "main", 0, digest="dd")) == (
        "repository head: c0ffee → beef"
    )
    assert one(artifacts=("a", "b")) == 'artifacts: [] → ["a", "b"]'
    assert one(limits=PlanLimits(9, 2, 3)) == "time limit in ms: 1 → 9"
    assert one(criteria="all pass") == "criteria:  → all pass"


def test_a_changed_secret_shows_its_source_and_seals_only():
    before = plan(environment=PlanEnvironment({}, {"T": SealedSecret("TOKEN", "aa")}))
    after = plan(environment=PlanEnvironment({}, {"T": SealedSecret("TOKEN", "bb")}))
    assert differences(before, after) == (
        Difference("environment T", "secret from TOKEN, seal aa", "secret from TOKEN, seal bb"),
    )


def test_inputs_in_another_order_are_told():
    items = [SealedInput(name, InputKind.FILE, "aa", 1) for name in ("a", "b")]
    (difference,) = differences(plan(inputs=tuple(items)), plan(inputs=tuple(reversed(items))))
    assert difference.field == "order of the inputs"
