"""Arming: which wake may be claimed next. One function keeps a lane right, whatever happened to it.

A wake without a lane is armed for its own time. Of a lane that has nothing firing, the earliest pending wake
(due time, then creation) is armed, and none other; a partial unique index makes that a constraint. A wake that
waits for a retry stays the head of its lane, armed for the end of its back-off.
"""

from __future__ import annotations

from engine.storage import Tx

ARMED_AT = "CASE WHEN not_before > due_at THEN not_before ELSE due_at END"
"""From when on a pending wake may be claimed, in SQL."""

_HEAD = """
    SELECT seq, due_at, state FROM wake
    WHERE workspace = ? AND lane = ? AND lane IS NOT NULL AND (armed_at IS NOT NULL OR state = 'firing')"""

_NEXT = """
    SELECT seq, due_at FROM wake
    WHERE workspace = ? AND lane = ? AND lane IS NOT NULL AND state = 'pending' AND armed_at IS NULL
      AND waiting IS NULL AND due_at IS NOT NULL
    ORDER BY due_at, seq LIMIT 1"""


def arm_lane(tx: Tx, workspace: str, lane: str | None) -> None:
    """Arm the wake that is to go next in a lane, and disarm one that no longer is; without a lane, do nothing."""
    if lane is None:
        return
    head = tx.one(_HEAD, (workspace, lane))
    if head is not None and head["state"] == "firing":
        return
    if is_stopped(tx, workspace, lane):
        if head is not None:
            disarm(tx, head["seq"])
        return
    following = tx.one(_NEXT, (workspace, lane))
    if following is None:
        return
    if head is not None:
        if (head["due_at"], head["seq"]) < (following["due_at"], following["seq"]):
            return
        disarm(tx, head["seq"])
    tx.run(f"UPDATE wake SET armed_at = {ARMED_AT} WHERE seq = ?", (following["seq"],))


def disarm(tx: Tx, seq: int) -> None:
    """Take a pending wake from the head of its lane."""
    tx.run("UPDATE wake SET armed_at = NULL WHERE seq = ?", (seq,))


def clear_lane(tx: Tx, workspace: str, lane: str) -> bool:
    """Leave an idle lane without a head, so that another of its wakes can be taken; False if it is busy."""
    head = tx.one(_HEAD, (workspace, lane))
    if head is not None:
        if head["state"] == "firing":
            return False
        disarm(tx, head["seq"])
    return not is_stopped(tx, workspace, lane)


def is_stopped(tx: Tx, workspace: str, lane: str) -> bool:
    """Whether a dead wake has stopped this lane."""
    return (
        tx.one(
            "SELECT 1 FROM wake_lane WHERE workspace = ? AND lane = ? AND stopped_by IS NOT NULL",
            (workspace, lane),
        )
        is not None
    )


def stop_lane(tx: Tx, workspace: str, lane: str | None, wake_id: str) -> None:
    """Stop a lane because a wake of it died, if it was told to."""
    if lane is not None:
        tx.run(
            "UPDATE wake_lane SET stopped_by = ? WHERE workspace = ? AND lane = ? AND stop_on_failure = 1",
            (wake_id, workspace, lane),
        )


def free_lane(tx: Tx, workspace: str, lane: str | None, wake_id: str) -> None:
    """Let a lane go on that this wake had stopped."""
    if lane is not None:
        tx.run(
            "UPDATE wake_lane SET stopped_by = NULL WHERE workspace = ? AND lane = ? AND stopped_by = ?",
            (workspace, lane, wake_id),
        )
