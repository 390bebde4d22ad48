"""Colours: every text can be read, and every state has a word, a shape and a tone of its own."""

from __future__ import annotations

from enum import StrEnum

import pytest
from PySide6.QtGui import QColor

from app.theme import look_of
from app.theme.states import Shape
from app.theme.tokens import HIGH_CONTRAST, SHAPE_PAIRS, TEXT_PAIRS, THEMES, Tokens, Tone, contrast
from engine import states
from engine.states import HoldKind, NodeKind, Outcome, Partition, Purpose, TaskState, Verdict

STATE_WORDS = [
    value
    for value in vars(states).values()
    if isinstance(value, type)
    and issubclass(value, StrEnum)
    and value not in {StrEnum, NodeKind, Partition, Purpose}
]


def test_contrast_of_black_and_white_is_21() -> None:
    assert contrast(QColor("#000000"), QColor("#FFFFFF")) == pytest.approx(21)
    assert contrast(QColor("#777777"), QColor("#777777")) == pytest.approx(1)


@pytest.mark.parametrize("colours", THEMES, ids=lambda tokens: tokens.name)
@pytest.mark.parametrize(("ink", "ground"), TEXT_PAIRS)
def test_every_text_pair_has_a_contrast_of_at_least_4_5(colours: Tokens, ink: str, ground: str) -> None:
    ratio = contrast(getattr(colours, ink), getattr(colours, ground))
    assert ratio >= (7 if colours is HIGH_CONTRAST else 4.5), f"{ink} on {ground}: {ratio:.2f}"


@pytest.mark.parametrize("colours", THEMES, ids=lambda tokens: tokens.name)
@pytest.mark.parametrize("tone", list(Tone))
def test_every_tone_can_be_read_on_its_ground(colours: Tokens, tone: Tone) -> None:
    assert contrast(*colours.tone(tone)) >= 4.5


@pytest.mark.parametrize("colours", THEMES, ids=lambda tokens: tokens.name)
@pytest.mark.parametrize(("shape", "ground"), SHAPE_PAIRS)
def test_every_shape_edge_and_focus_ring_stands_out_from_its_ground(
    colours: Tokens, shape: str, ground: str
) -> None:
    ratio = contrast(getattr(colours, shape), getattr(colours, ground))
    assert ratio >= 3, f"{shape} on {ground}: {ratio:.2f}"


@pytest.mark.parametrize("kind", STATE_WORDS, ids=lambda kind: kind.__name__)
def test_every_state_has_a_look(kind: type[StrEnum]) -> None:
    looks = [look_of(state) for state in kind]
    assert all(look.word for look in looks)
    assert len({look.word for look in looks}) == len(looks)


@pytest.mark.parametrize("kind", STATE_WORDS, ids=lambda kind: kind.__name__)
def test_states_of_the_same_tone_differ_in_shape_or_word(kind: type[StrEnum]) -> None:
    looks = [look_of(state) for state in kind]
    assert len({(look.tone, look.shape, look.word) for look in looks}) == len(looks)


def test_unknown_is_violet_everywhere_and_never_a_failure() -> None:
    for state in (TaskState.UNKNOWN, Outcome.UNKNOWN, Verdict.UNKNOWN, states.AttemptState.UNKNOWN):
        look = look_of(state)
        assert (look.word, look.tone, look.shape) == ("UNKNOWN", Tone.UNKNOWN, Shape.DIAMOND)
    users = [state for kind in STATE_WORDS for state in kind if look_of(state).tone is Tone.UNKNOWN]
    assert {str(state) for state in users} == {"UNKNOWN", "FROZEN"}


def test_a_tick_is_only_for_what_was_judged() -> None:
    """E-60, B-026: an execution that ended well is not shown as a passed goal."""
    ticked = {str(state) for kind in STATE_WORDS for state in kind if look_of(state).shape is Shape.CHECK}
    assert ticked == {"ACCEPTED", "APPROVED", "PASSED"}


def test_kinds_of_hold_are_told_apart() -> None:
    assert len({look_of(kind).word for kind in HoldKind}) == len(HoldKind)
