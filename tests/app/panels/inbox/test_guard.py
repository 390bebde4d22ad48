"""The attention guard: what must be true before a press means approval."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.panels.inbox.guard import ACTIVATION_MS, ARMING_MS, AttentionGuard, Block


class Elapsed:
    """Elapsed time that moves only when told."""

    def __init__(self) -> None:
        self.at = 50_000

    def __call__(self) -> int:
        return self.at

    def pass_(self, milliseconds: int) -> None:
        self.at += milliseconds


@pytest.fixture
def elapsed() -> Elapsed:
    return Elapsed()


@pytest.fixture
def guard(elapsed: Elapsed) -> AttentionGuard:
    return AttentionGuard(elapsed)


def test_nothing_shown_approves_nothing(guard: AttentionGuard) -> None:
    assert guard.readiness().block is Block.NOTHING_SHOWN
    assert not guard.allows_key(auto_repeat=False)


def test_b005_enter_at_once_approves_nothing(guard: AttentionGuard, elapsed: Elapsed) -> None:
    guard.show("card", decidable=True, must_see=())
    assert guard.readiness().block is Block.ARMING
    assert guard.readiness().remaining_ms == ARMING_MS
    elapsed.pass_(ARMING_MS - 1)
    assert not guard.allows_key(auto_repeat=False)
    elapsed.pass_(1)
    assert guard.allows_key(auto_repeat=False)


def test_a_key_held_down_never_approves(guard: AttentionGuard, elapsed: Elapsed) -> None:
    guard.show("card", decidable=True, must_see=())
    elapsed.pass_(10_000)
    assert guard.readiness().ready
    assert not guard.allows_key(auto_repeat=True)


def test_b008_the_end_of_every_covered_command_must_have_been_visible(
    guard: AttentionGuard, elapsed: Elapsed
) -> None:
    guard.show("card", decidable=True, must_see=("command",))
    elapsed.pass_(ARMING_MS)
    assert guard.readiness().unseen == ("command",)
    guard.saw_end("command")
    assert guard.readiness().ready
    guard.require(("command", "validation"))
    assert guard.readiness().unseen == ("validation",)
    guard.saw_end("validation")
    assert guard.readiness().ready


def test_changed_content_disarms_and_forgets_what_was_seen(guard: AttentionGuard, elapsed: Elapsed) -> None:
    guard.watch(True)
    guard.show(("id", "seal 1"), decidable=True, must_see=("command",))
    guard.saw_end("command")
    elapsed.pass_(5_000)
    assert guard.readiness().ready
    assert guard.show(("id", "seal 2"), decidable=True, must_see=("command",))
    assert guard.readiness().block is Block.UNSEEN
    guard.saw_end("command")
    assert guard.readiness().remaining_ms == ARMING_MS
    assert guard.look_ms == 0


def test_the_same_content_read_again_stays_armed(guard: AttentionGuard, elapsed: Elapsed) -> None:
    guard.show("card", decidable=True, must_see=("command",))
    guard.saw_end("command")
    elapsed.pass_(ARMING_MS)
    assert not guard.show("card", decidable=True, must_see=("command",))
    assert guard.readiness().ready


def test_what_ended_cannot_be_approved(guard: AttentionGuard, elapsed: Elapsed) -> None:
    guard.show("card", decidable=False, must_see=())
    elapsed.pass_(60_000)
    assert guard.readiness().block is Block.NOT_DECIDABLE


def test_a_decision_on_its_way_is_not_sent_twice(guard: AttentionGuard, elapsed: Elapsed) -> None:
    guard.show("card", decidable=True, must_see=())
    elapsed.pass_(ARMING_MS)
    guard.set_busy(True)
    assert guard.readiness().block is Block.BUSY
    guard.set_busy(False)
    assert guard.readiness().ready


def test_b007_the_press_that_activates_the_window_does_nothing_else(
    guard: AttentionGuard, elapsed: Elapsed
) -> None:
    guard.show("card", decidable=True, must_see=())
    elapsed.pass_(60_000)
    assert not guard.press_counts(window_active=False)
    guard.activate()
    assert not guard.press_counts(window_active=True)
    assert guard.readiness().block is Block.ARMING
    elapsed.pass_(ACTIVATION_MS)
    assert guard.press_counts(window_active=True)
    assert not guard.readiness().ready, "arming begins again when the window comes to the front"
    elapsed.pass_(ARMING_MS - ACTIVATION_MS)
    assert guard.readiness().ready


def test_look_time_counts_only_before_a_persons_eyes(guard: AttentionGuard, elapsed: Elapsed) -> None:
    guard.show("card", decidable=True, must_see=())
    elapsed.pass_(1_000)
    assert guard.look_ms == 0, "not watched yet"
    guard.watch(True)
    elapsed.pass_(2_000)
    guard.watch(False)
    elapsed.pass_(60_000)
    guard.watch(True)
    elapsed.pass_(500)
    assert guard.look_ms == 2_500


@given(
    st.lists(
        st.one_of(
            st.tuples(st.just("pass"), st.integers(0, 1_500)),
            st.tuples(st.just("show"), st.integers(0, 3)),
            st.tuples(st.just("see"), st.sampled_from(["command", "validation"])),
            st.tuples(st.just("activate"), st.just(0)),
            st.tuples(st.just("busy"), st.booleans()),
        ),
        max_size=40,
    )
)
def test_ready_implies_all_rules_at_once(steps: list[tuple[str, object]]) -> None:
    elapsed = Elapsed()
    guard = AttentionGuard(elapsed)
    shown: object = None
    last_disturbed = elapsed.at
    seen: set[str] = set()
    busy = False
    for what, value in steps:
        match what, value:
            case "pass", int(milliseconds):
                elapsed.pass_(milliseconds)
            case "show", content:
                if shown != (content,):
                    shown, last_disturbed, seen = (content,), elapsed.at, set()
                guard.show((content,), decidable=True, must_see=("command", "validation"))
            case "see", str(name):
                guard.saw_end(name)
                seen.add(name)
            case "activate", _:
                guard.activate()
                last_disturbed = elapsed.at
            case "busy", bool(is_busy):
                guard.set_busy(is_busy)
                busy = is_busy
        expected = (
            shown is not None
            and not busy
            and seen >= {"command", "validation"}
            and elapsed.at - last_disturbed >= ARMING_MS
        )
        assert guard.readiness().ready == expected
