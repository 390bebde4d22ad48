"""Verifying the journal: finds rows that were edited, removed, moved or added, and an end that was cut off (E-16).

A verification runs in bounded memory and may be spread over many reads, so that it holds no snapshot for long;
rows that are appended meanwhile are verified as well. Where retention removed rows, the checkpoint that stands for
them is verified in their place (see `engine.storage.checkpoints`).
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from engine.storage.chain import GENESIS, JournalRow, row_hash
from engine.storage.checkpoints import (
    CheckpointKey,
    checkpoint_over,
    has_checkpoints,
    is_confirmed,
    why_false,
)
from engine.storage.transaction import Rx

MOST_PROBLEMS = 100
"""How many problems a report lists; it counts all of them."""

_PAGE = 1_000


class Fault(StrEnum):
    """What can be wrong with a journal."""

    ALTERED = "ALTERED"
    MISSING = "MISSING"
    CUT_OFF = "CUT_OFF"
    SURPLUS = "SURPLUS"
    NO_HEAD = "NO_HEAD"
    CHECKPOINT = "CHECKPOINT"


@dataclass(frozen=True, slots=True)
class JournalProblem:
    """One fault and the sequence at which it shows."""

    fault: Fault
    sequence: int
    text: str


@dataclass(frozen=True, slots=True)
class JournalReport:
    """How far a verification has come, and what it found.

    ``rows`` have been read, up to ``last_sequence``, whose row has ``last_hash``. With ``finished`` they were
    compared with the stored head, ``head_sequence`` and ``head_hash``. ``problems`` lists the first
    `MOST_PROBLEMS`, ``problem_count`` counts all. ``compacted`` rows were removed by retention and stand behind
    checkpoints; ``unconfirmed`` checkpoints are signed with a key that was not at hand: only the chain proves them.
    """

    rows: int = 0
    last_sequence: int = 0
    last_hash: str = GENESIS
    head_sequence: int = 0
    head_hash: str = GENESIS
    problems: tuple[JournalProblem, ...] = ()
    problem_count: int = 0
    finished: bool = False
    compacted: int = 0
    unconfirmed: int = 0

    @property
    def sound(self) -> bool:
        """Whether all of the journal was read and nothing is wrong with it."""
        return self.finished and self.problem_count == 0


def verify_journal(
    rx: Rx,
    so_far: JournalReport | None = None,
    *,
    at_most: int | None = None,
    key: CheckpointKey | None = None,
) -> JournalReport:
    """Verify the journal from its start, or go on from ``so_far``, for ``at_most`` rows or to its end.

    ``key`` is what the data folder signs checkpoints with; without it their signatures stay unconfirmed.
    """
    check = _Check(rx, so_far or JournalReport(), key)
    left = at_most
    while left is None or left > 0:
        wanted = _PAGE if left is None else min(_PAGE, left)
        found = check.read(wanted)
        if found < wanted:
            return check.finish()
        left = None if left is None else left - found
    return check.report(finished=False)


class _Check:
    """The running state of a verification, within one snapshot."""

    def __init__(self, rx: Rx, so_far: JournalReport, key: CheckpointKey | None) -> None:
        self._rx = rx
        self._key = key
        self._checkpoints = has_checkpoints(rx)
        self._began_after = so_far.last_sequence
        self._compacted = so_far.compacted
        self._unconfirmed = so_far.unconfirmed
        self._rows = so_far.rows
        self._sequence = so_far.last_sequence
        self._hash = so_far.last_hash
        self._problems = list(so_far.problems)
        self._problem_count = so_far.problem_count

    def read(self, wanted: int) -> int:
        """Verify the next rows and give how many there were."""
        rows = self._rx.all(
            "SELECT sequence, at, epoch, actor_kind, actor_name, subject_kind, subject_id, work_order_id, kind,"
            " detail, hash FROM journal WHERE sequence > ? ORDER BY sequence LIMIT ?",
            (self._sequence, wanted),
        )
        for row in rows:
            *content, stored = row
            self._follow(JournalRow(*content), stored)
        self._rows += len(rows)
        return len(rows)

    def _follow(self, row: JournalRow, stored: str) -> None:
        if row.sequence > self._sequence + 1:
            self._pass_checkpoints(row.sequence)
        expected = self._sequence + 1
        if row.sequence > expected:
            gone = (
                f"Row {expected} is"
                if row.sequence == expected + 1
                else f"Rows {expected} to {row.sequence - 1} are"
            )
            self._note(Fault.MISSING, expected, f"{gone} missing.")
        elif row_hash(self._hash, row) != stored:
            self._note(
                Fault.ALTERED,
                row.sequence,
                f"Row {row.sequence} does not continue the row before it: one of them was edited or moved.",
            )
        # Whatever was found, go on from what is stored, so that one fault is not told of every later row.
        self._sequence, self._hash = row.sequence, stored

    def _pass_checkpoints(self, before: int) -> None:
        """Go on behind the checkpoints that stand for the rows up to the one ``before``."""
        while self._checkpoints and self._sequence + 1 < before:
            found = checkpoint_over(self._rx, self._sequence + 1)
            if found is None or found.last >= before:
                return
            if found.first <= self._sequence and self._sequence != self._began_after:
                # Only what was compacted between two reads may begin before what was read.
                self._note(
                    Fault.CHECKPOINT, found.first, f"Rows {found.first} to {found.last} are there in part."
                )
            elif found.first == self._sequence + 1 and found.previous != self._hash:
                self._note(
                    Fault.CHECKPOINT,
                    found.first,
                    f"The checkpoint for rows {found.first} to {found.last} does not continue the row before it.",
                )
            elif why := why_false(self._rx, found, self._key):
                self._note(Fault.CHECKPOINT, found.first, why)
            if not is_confirmed(found, self._key):
                self._unconfirmed += 1
            self._compacted += found.last - self._sequence
            self._sequence, self._hash = found.last, found.hash

    def _note_needless(self) -> None:
        """A checkpoint over rows that are there was not made by the engine."""
        rows = self._rx.all(
            """SELECT first, last FROM journal_checkpoint WHERE EXISTS
                 (SELECT 1 FROM journal WHERE sequence >= first AND sequence <= last) ORDER BY first""",
        )
        for row in rows:
            text = f"There is a checkpoint for rows {row['first']} to {row['last']}, and not all of them are gone."
            self._note(Fault.CHECKPOINT, row["first"], text)

    def finish(self) -> JournalReport:
        """Compare the end with the stored head, in the snapshot in which the end was read."""
        if self._checkpoints:
            self._note_needless()
        head = self._rx.one("SELECT sequence, hash FROM journal_head WHERE id = 1")
        if head is None:
            self._note(Fault.NO_HEAD, self._sequence, "The journal's head is missing.")
            return self.report(finished=True)
        sequence, digest = int(head["sequence"]), str(head["hash"])
        if self._sequence < sequence:
            self._note(
                Fault.CUT_OFF,
                self._sequence + 1,
                f"The journal ends at row {self._sequence} but went up to {sequence}.",
            )
        elif self._sequence > sequence:
            self._note(Fault.SURPLUS, sequence + 1, f"Rows after {sequence} were not written by the engine.")
        elif self._hash != digest:
            self._note(Fault.ALTERED, sequence, f"Row {sequence}, the last, is not the one that was written.")
        return self.report(finished=True, head_sequence=sequence, head_hash=digest)

    def report(self, *, finished: bool, head_sequence: int = 0, head_hash: str = GENESIS) -> JournalReport:
        """Give the state as a value."""
        return JournalReport(
            self._rows,
            self._sequence,
            self._hash,
            head_sequence,
            head_hash,
            tuple(self._problems),
            self._problem_count,
            finished,
            self._compacted,
            self._unconfirmed,
        )

    def _note(self, fault: Fault, sequence: int, text: str) -> None:
        self._problem_count += 1
        if len(self._problems) < MOST_PROBLEMS:
            self._problems.append(JournalProblem(fault, sequence, text))
