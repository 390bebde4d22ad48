"""What stands in the journal for rows that retention removed, so that the chain still verifies (E-84, E-16).

A checkpoint covers one unbroken range of removed rows. It keeps the hash before them and the hash of the last
of them, so the row that follows still continues the chain. It is *stated* by a row of the journal itself, which
is chained like any other: whoever alters a checkpoint must alter that row and all rows after it. And it is signed
with a key of the data folder, so that even a journal that was chained anew from end to end does not pass.
"""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from engine.actors import Actor
from engine.canonical import canonical_json
from engine.errors import DatabaseDamaged
from engine.instants import Instant
from engine.storage.chain import GENESIS, JournalRow, row_hash
from engine.storage.changes import Subject
from engine.storage.transaction import Rx, Tx

STATEMENT_KIND = "journal.compacted"
STATEMENT_SUBJECT = Subject("journal", "checkpoint")


@dataclass(frozen=True, slots=True)
class CheckpointKey:
    """What signs checkpoints; ``identity`` tells keys apart and gives nothing of the key away."""

    identity: str
    secret: bytes = field(repr=False)

    @classmethod
    def of(cls, folder_key: bytes) -> CheckpointKey:
        """The key that follows from the secret key of a data folder."""
        secret = hmac.new(folder_key, b"praxis journal checkpoint", hashlib.sha256).digest()
        return cls(hashlib.sha256(secret).hexdigest()[:16], secret)


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """The rows ``first`` to ``last`` are gone; ``previous`` is the hash before them, ``hash`` that of the last.

    ``key`` is the identity of the key of its signature, ``statement`` the sequence of the row that states it.
    """

    first: int
    last: int
    previous: str
    hash: str
    key: str
    signature: str
    statement: int

    @property
    def said(self) -> list[object]:
        """What its statement holds of it."""
        return [self.first, self.last, self.previous, self.hash, self.key, self.signature]


def has_checkpoints(rx: Rx) -> bool:
    """Whether this schema knows checkpoints; older copies do not."""
    sql = "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'journal_checkpoint'"
    return rx.one(sql) is not None


def checkpoint_over(rx: Rx, sequence: int) -> Checkpoint | None:
    """The checkpoint that stands for the row ``sequence``, or None."""
    row = rx.one("SELECT * FROM journal_checkpoint WHERE last >= ? ORDER BY last LIMIT 1", (sequence,))
    found = None if row is None else Checkpoint(**dict(row))
    return found if found is not None and found.first <= sequence else None


def hash_before(rx: Rx, sequence: int) -> str | None:
    """The hash of the row before ``sequence``, from the row itself or from the checkpoint that ends there."""
    if sequence == 1:
        return GENESIS
    row = rx.one(
        """SELECT hash FROM journal WHERE sequence = :before
           UNION ALL SELECT hash FROM journal_checkpoint WHERE last = :before LIMIT 1""",
        {"before": sequence - 1},
    )
    return None if row is None else str(row["hash"])


def known_point(rx: Rx, at_most: int, *, checkpoints: bool) -> tuple[int, str]:
    """The greatest sequence up to ``at_most`` whose hash is known here, and that hash.

    ``checkpoints`` says whether this schema has them. It is 0 with the hash before the first row if there is none.
    """
    sql = "SELECT sequence, hash FROM journal WHERE sequence <= ? ORDER BY sequence DESC LIMIT 1"
    rows = rx.all(sql, (at_most,))
    if checkpoints:
        rows += rx.all(
            "SELECT last AS sequence, hash FROM journal_checkpoint WHERE last <= ? ORDER BY last DESC LIMIT 1",
            (at_most,),
        )
    return max(((int(row["sequence"]), str(row["hash"])) for row in rows), default=(0, GENESIS))


def signature_of(key: CheckpointKey, instance_id: str, one: Checkpoint) -> str:
    """The signature of a checkpoint of the database ``instance_id``."""
    said = canonical_json([instance_id, one.first, one.last, one.previous, one.hash])
    return hmac.new(key.secret, said, hashlib.sha256).hexdigest()


def instance_of(rx: Rx) -> str:
    """The identity of this database."""
    row = rx.one("SELECT value FROM meta WHERE key = 'instance_id'")
    return "" if row is None else str(row["value"])


def why_false(rx: Rx, one: Checkpoint, key: CheckpointKey | None) -> str:
    """What is wrong with a checkpoint, as a sentence; "" if it is stated and its signature is not a false one.

    A signature by another key, or without ``key`` any, is left open: see `is_confirmed`.
    """
    rows = f"The checkpoint for rows {one.first} to {one.last}"
    stated = rx.one("SELECT kind, detail FROM journal WHERE sequence = ?", (one.statement,))
    if stated is None or stated["kind"] != STATEMENT_KIND or one.said not in _ranges(str(stated["detail"])):
        return f"{rows} is not the one that row {one.statement} states."
    if key is None or one.key != key.identity:
        return ""
    signed = hmac.compare_digest(signature_of(key, instance_of(rx), one), one.signature)
    return "" if signed else f"{rows} has a false signature."


def is_confirmed(one: Checkpoint, key: CheckpointKey | None) -> bool:
    """Whether the signature could be checked with ``key`` at all."""
    return key is not None and one.key == key.identity


def remove_rows(
    tx: Tx,
    key: CheckpointKey,
    sequences: Sequence[int],
    actor: Actor,
    detail: Mapping[str, object],
    now: Instant,
) -> int:
    """Remove rows of the journal behind signed checkpoints, and state that in a new row; give how many went.

    ``sequences`` ascend. Rows and checkpoints that become part of a checkpoint are verified first: if the journal is
    not sound there, `DatabaseDamaged` says so and nothing is removed, so that no trace of a fault is.
    ``detail`` is added to the statement. Where a statement itself goes, what it stated is stated anew.
    """
    if not sequences:
        return 0
    ranges = _ranges_of(sequences)
    made = _joined([_merged(tx, key, first, last) for first, last in ranges])
    again = _stated_in(tx, key, ranges, made)
    instance = instance_of(tx)
    signed = [replace(one, signature=signature_of(key, instance, one)) for one in made]
    statement = tx.journal(
        STATEMENT_KIND,
        STATEMENT_SUBJECT,
        actor,
        now,
        detail={**detail, "rows": len(sequences), "ranges": [one.said for one in (*signed, *again)]},
    )
    for one in again:
        tx.run("UPDATE journal_checkpoint SET statement = ? WHERE first = ?", (statement, one.first))
    for one in signed:
        tx.run("DELETE FROM journal_checkpoint WHERE first >= ? AND last <= ?", (one.first, one.last))
        tx.run("DELETE FROM journal WHERE sequence >= ? AND sequence <= ?", (one.first, one.last))
        tx.run(
            """INSERT INTO journal_checkpoint(first, last, previous, hash, key, signature, statement)
               VALUES (?, ?, ?, ?, ?, ?, ?)""",
            (*one.said, statement),
        )
    return len(sequences)


def _merged(tx: Tx, key: CheckpointKey, first: int, last: int) -> Checkpoint:
    """The unsigned checkpoint over rows ``first`` to ``last`` and over the checkpoints beside them."""
    before = hash_before(tx, first)
    if before is None:
        raise _unsound(first - 1)
    digest = _verified(tx, first, last, before)
    previous = before
    if (left := checkpoint_over(tx, first - 1)) is not None:
        _require_true(tx, left, key)
        first, previous = left.first, left.previous
    if (right := checkpoint_over(tx, last + 1)) is not None:
        _require_true(tx, right, key)
        if right.previous != digest:
            raise _unsound(last + 1)
        last, digest = right.last, right.hash
    return Checkpoint(first, last, previous, digest, key.identity, "", 0)


def _stated_in(
    tx: Tx, key: CheckpointKey, ranges: Sequence[tuple[int, int]], made: Sequence[Checkpoint]
) -> list[Checkpoint]:
    """The checkpoints that rows of ``ranges`` state and that do not become part of those that are ``made``."""
    found: list[Checkpoint] = []
    for span in ranges:
        rows = tx.all("SELECT * FROM journal_checkpoint WHERE statement >= ? AND statement <= ?", span)
        found += [Checkpoint(**dict(row)) for row in rows]
    left = [one for one in found if not any(new.first <= one.first <= new.last for new in made)]
    for one in left:
        _require_true(tx, one, key)
    return left


def _joined(made: Sequence[Checkpoint]) -> list[Checkpoint]:
    """Ranges that a checkpoint between them makes one."""
    joined: list[Checkpoint] = []
    for one in made:
        if joined and one.first <= joined[-1].last:
            one = replace(one, first=joined[-1].first, previous=joined[-1].previous)
            joined.pop()
        joined.append(one)
    return joined


def _verified(tx: Tx, first: int, last: int, before: str) -> str:
    """Verify the rows that are to go, and give the hash of the last."""
    rows = tx.all(
        """SELECT sequence, at, epoch, actor_kind, actor_name, subject_kind, subject_id, work_order_id, kind, detail,
             hash FROM journal WHERE sequence >= ? AND sequence <= ? ORDER BY sequence""",
        (first, last),
    )
    expected = first
    for row in rows:
        *content, stored = row
        if row["sequence"] != expected or row_hash(before, JournalRow(*content)) != stored:
            raise _unsound(expected)
        before, expected = stored, expected + 1
    if expected != last + 1:
        raise _unsound(expected)
    return before


def _require_true(tx: Tx, one: Checkpoint, key: CheckpointKey) -> None:
    if why := why_false(tx, one, key):
        raise _unsound(one.first, why)


def _unsound(sequence: int, why: str = "") -> DatabaseDamaged:
    return DatabaseDamaged(
        why or f"The journal is not sound at row {sequence}.",
        means="Nothing of it was compacted, so that what shows the fault is still there.",
        do="Look at what praxis journal verify says, and keep a copy of the data folder as it is.",
        sequence=sequence,
    )


def _ranges_of(sequences: Sequence[int]) -> list[tuple[int, int]]:
    found: list[tuple[int, int]] = []
    for sequence in sequences:
        if found and sequence == found[-1][1] + 1:
            found[-1] = found[-1][0], sequence
        else:
            found.append((sequence, sequence))
    return found


def _ranges(detail: str) -> list[object]:
    try:
        said = json.loads(detail)["ranges"]
    except (ValueError, KeyError, TypeError):
        return []
    return said if isinstance(said, list) else []
