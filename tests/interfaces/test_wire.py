"""The engine's values as JSON and back."""

from __future__ import annotations

import dataclasses
import inspect
import json
import types
from collections.abc import Mapping
from contextlib import suppress
from enum import Enum
from pathlib import Path
from typing import Annotated, Any, Union, get_args, get_origin

import pytest
from hypothesis import given
from hypothesis import strategies as st

import engine.errors as errors
import engine.views.values as values
from engine.actors import Actor, ActorKind
from engine.errors import Drifted, InvalidValue, PraxisError
from engine.instants import EARLIEST, LATEST, parse_instant
from engine.interfaces import wire
from engine.scheduling.gates import Gate
from engine.states import Purpose
from engine.storage.journal import JournalReport
from engine.views.values import HoldRow, JournalRow
from engine.work_order import BudgetLimits

WHOLE = st.integers(-(2**63) + 1, 2**63 - 1)
TEXT = st.text(st.characters(), max_size=20)
JSON = st.recursive(
    st.none() | st.booleans() | WHOLE | st.floats(allow_nan=False, allow_infinity=False) | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=8,
)
VIEWS = [
    kind
    for _, kind in inspect.getmembers(values, dataclasses.is_dataclass)
    if kind.__module__ == values.__name__
]


def strategy(kind: Any) -> st.SearchStrategy[Any]:
    """Values of any type that stands in a view."""
    origin, arguments = get_origin(kind), get_args(kind)
    if kind is Any:
        return JSON
    if origin is Annotated:
        return st.integers(EARLIEST, LATEST)
    if origin in (Union, types.UnionType):
        return st.one_of([strategy(one) for one in arguments])
    if origin is tuple:
        return st.lists(strategy(arguments[0]), max_size=2).map(tuple)
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return st.dictionaries(TEXT, strategy(arguments[1]), max_size=3)
    if dataclasses.is_dataclass(kind):
        return st.builds(kind, **{field.name: strategy(hint) for field, hint in wire._shape(kind)})
    if isinstance(kind, type) and issubclass(kind, Enum):
        return st.sampled_from(kind)
    plain: dict[Any, st.SearchStrategy[Any]] = {
        str: TEXT,
        int: WHOLE,
        bool: st.booleans(),
        float: st.floats(allow_nan=False, allow_infinity=False),
        types.NoneType: st.none(),
    }
    return plain[kind]


@pytest.mark.parametrize("kind", [*VIEWS, Actor, JournalReport], ids=lambda kind: kind.__name__)
def test_every_value_comes_back_the_same(kind: type) -> None:
    @given(strategy(kind))
    def check(value: Any) -> None:
        assert wire.decode(kind, wire.load(wire.dump(wire.encode(value)))) == value

    check()


@given(st.sampled_from(VIEWS), JSON)
def test_any_json_is_either_a_value_or_a_clear_refusal(kind: type, value: Any) -> None:
    with suppress(InvalidValue):
        assert isinstance(wire.decode(kind, value), kind)


@given(st.binary(max_size=200) | JSON.map(lambda value: json.dumps(value).encode()))
def test_any_bytes_are_either_json_or_a_clear_refusal(data: bytes) -> None:
    with suppress(InvalidValue):
        wire.dump(wire.load(data))


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"{",
        b"NaN",
        b"[Infinity]",
        b"\xff\xfe",
        b"[" * 100_000,
        b"[" * 80 + b"]" * 80,
        b'{"a":' * 80 + b"1" + b"}" * 80,
        b"9" * 5000,
    ],
    ids=["empty", "cut", "nan", "infinity", "utf16", "deep", "closed", "deep-mapping", "digits"],
)
def test_hostile_bytes_are_refused(data: bytes) -> None:
    with pytest.raises(InvalidValue):
        wire.load(data)


@pytest.mark.parametrize(
    ("value", "place"),
    [
        ({"name": "clock", "open": 1, "why": ""}, "gate.open"),
        ({"name": "clock", "open": True}, "gate.why"),
        ({"name": "clock", "open": True, "why": "", "more": 1}, "gate.more"),
        ({"name": None, "open": True, "why": ""}, "gate.name"),
        ([], "gate"),
    ],
)
def test_a_refusal_names_the_place(value: Any, place: str) -> None:
    with pytest.raises(InvalidValue) as caught:
        wire.decode(Gate, value, "gate")
    assert caught.value.facts["field"] == place


def test_booleans_fractions_and_giants_are_no_whole_numbers() -> None:
    good = wire.encode(BudgetLimits(1, 2))
    for bad in (True, 1.0, "1", None, 2**63):
        with pytest.raises(InvalidValue):
            wire.decode(BudgetLimits, {**good, "execution_cost": bad})


def test_a_refusal_of_a_long_value_stays_short() -> None:
    with pytest.raises(InvalidValue) as caught:
        wire.decode(int, "x" * 100_000)
    assert len(caught.value.what) < 200


def test_e01_documents_say_instants_as_canonical_utc() -> None:
    """E-01: JSON at a boundary has instants as text with three digits; elsewhere they stay whole numbers."""
    row = JournalRow(
        7,
        1_788_998_400_000,
        3,
        Actor(ActorKind.PERSON, "ada"),
        "task",
        "T",
        None,
        "task.ready",
        {"cost": 5, "lease_until": 1_788_998_400_000, "big_at": 10**30},
    )
    document = wire.document(row)
    assert document["at"] == "2026-09-10T00:00:00.000Z"
    assert document["sequence"] == 7
    assert document["detail"] == {"cost": 5, "lease_until": "2026-09-10T00:00:00.000Z", "big_at": 10**30}
    assert wire.encode(row)["at"] == 1_788_998_400_000


@given(strategy(HoldRow))
def test_e01_every_instant_of_a_document_is_readable(row: HoldRow) -> None:
    assert parse_instant(wire.document(row)["placed_at"]) == row.placed_at


def test_json_output_is_ascii_so_that_no_code_page_can_alter_it() -> None:
    assert wire.dump({"tïtle": "\u202ex\udcff"}).isascii()


@pytest.mark.parametrize("value", [b"bytes", {1: 2}, float("nan"), float("inf"), object(), {"a": {3}}])
def test_what_has_no_json_form_is_an_error_of_the_caller(value: object) -> None:
    with pytest.raises(TypeError):
        wire.encode(value)


def test_errors_come_back_as_their_own_class() -> None:
    error = Drifted("It drifted.", means="m", do="d", differences=(("a", "b"),), purpose=Purpose.CORRECT)
    back = wire.decode_error(wire.load(wire.dump(wire.encode_error(error))))
    assert type(back) is Drifted
    assert (back.what, back.means, back.do) == ("It drifted.", "m", "d")
    assert back.facts == {"differences": [["a", "b"]], "purpose": "CORRECT"}
    assert str(back) == str(error)


def test_every_error_class_comes_back_whatever_its_constructor_takes() -> None:
    for code, kind in wire.error_classes().items():
        back = wire.decode_error({"code": code, "what": "w", "means": "", "do": "", "facts": {}})
        assert type(back) is kind
        assert back.exit_code == kind.exit_code


def test_error_codes_are_unique() -> None:
    own = [
        kind.__dict__["code"]
        for kind in vars(errors).values()
        if isinstance(kind, type) and issubclass(kind, PraxisError) and "code" in kind.__dict__
    ]
    assert len(own) == len(set(own))


def test_odd_facts_do_not_lose_the_error() -> None:
    shown = wire.encode_error(PraxisError("w", path=Path("a"), raw=b"x", bad=float("nan")))["facts"]
    assert shown == {"path": "a", "raw": "b'x'", "bad": "nan"}


@given(JSON)
def test_any_error_json_becomes_an_error(value: Any) -> None:
    assert wire.decode_error(value).what
