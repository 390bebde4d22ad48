"""Read of everything that a receipt of one work order tells (E-93), in one snapshot and in a fixed order."""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from engine.storage import Rx
from engine.storage.chain import GENESIS
from engine.views.work_orders import work_order_id

FACTS_OF_EVIDENCE = (
    "cwd",
    "ended_by",
    "exit_code",
    "signal",
    "stopped_by",
    "not_started",
    "started_at",
    "finished_at",
    "active_ms",
    "slept_ms",
    "output_bytes",
)
"""What a receipt repeats of an evidence; the rest stands behind its digest."""


@dataclass(frozen=True, slots=True)
class ReceiptEntry:
    """One thing that a receipt tells: what kind of thing, and its facts as plain JSON values.

    Instants are milliseconds under names that end in ``_at``. Values of secrets do not occur: plans hold their
    seals. What a command wrote (outputs, its result record) is there by digest alone, for nobody knows what it
    holds.
    """

    kind: str
    facts: Mapping[str, Any]


def receipt(rx: Rx, name: str) -> tuple[ReceiptEntry, ...]:
    """Give what is to be told of the work order ``WO-118``, ``118`` or an id; `NotFound` if there is none."""
    identity = work_order_id(rx, name)
    return tuple(ReceiptEntry(kind, facts) for kind, read in _PARTS for facts in read(rx, identity))


def _work_order(rx: Rx, identity: str) -> Iterator[dict[str, Any]]:
    for row in rx.all("SELECT * FROM work_order WHERE id = ?", (identity,)):
        yield {**_facts(row, "spec"), "spec": json.loads(row["spec"])}


def _scopes(rx: Rx, identity: str) -> Iterator[dict[str, Any]]:
    """The work order's own budget. Those above it also tell of other work, and are left out."""
    rows = rx.all(
        """SELECT scope_partition.* FROM scope_partition JOIN work_order USING (scope_id)
           WHERE work_order.id = ? ORDER BY partition""",
        (identity,),
    )
    return map(_facts, rows)


def _tasks(rx: Rx, identity: str) -> Iterator[dict[str, Any]]:
    for row in rx.all("SELECT * FROM task WHERE work_order_id = ? ORDER BY ordinal", (identity,)):
        yield {**_facts(row, "command"), "command": json.loads(row["command"])}


def _approvals(rx: Rx, identity: str) -> Iterator[dict[str, Any]]:
    rows = rx.all(
        """SELECT approval.* FROM approval JOIN task ON task.id = approval.task_id
           WHERE approval.work_order_id = ? ORDER BY task.ordinal, approval.ordinal""",
        (identity,),
    )
    for row in rows:
        sealed = {name: row[name] for name in ("plan", "validation_plan", "differences")}
        yield {
            **_facts(row, *sealed),
            **{name: None if text is None else json.loads(text) for name, text in sealed.items()},
        }


def _attempts(rx: Rx, identity: str) -> Iterator[dict[str, Any]]:
    rows = rx.all(
        """SELECT attempt.*, delivery.delivered_at, delivery.acknowledged_at, delivery.started_at,
             delivery.process_pid, delivery.finished_at
           FROM attempt JOIN task ON task.id = attempt.task_id
           LEFT JOIN delivery ON delivery.attempt_id = attempt.id
           WHERE attempt.work_order_id = ? ORDER BY task.ordinal, attempt.ordinal""",
        (identity,),
    )
    return map(_facts, rows)


def _budget_moves(rx: Rx, identity: str) -> Iterator[dict[str, Any]]:
    rows = rx.all(
        """SELECT exposure.*, scope.name AS scope_name, scope.kind AS scope_kind FROM exposure
           JOIN attempt ON attempt.id = exposure.attempt_id JOIN task ON task.id = attempt.task_id
           JOIN scope ON scope.id = exposure.scope_id
           WHERE attempt.work_order_id = ? ORDER BY task.ordinal, attempt.ordinal, exposure.scope_id""",
        (identity,),
    )
    return map(_facts, rows)


def _evidence(rx: Rx, identity: str) -> Iterator[dict[str, Any]]:
    rows = rx.all(
        """SELECT evidence.* FROM evidence JOIN attempt ON attempt.id = evidence.attempt_id
           WHERE attempt.work_order_id = ? ORDER BY evidence.recorded_at, evidence.id""",
        (identity,),
    )
    for row in rows:
        seen = json.loads(row["body"])
        files = rx.all(
            "SELECT role, path, sha256, size FROM evidence_blob WHERE evidence_id = ? ORDER BY role, path",
            (row["id"],),
        )
        yield {
            **_facts(row, "body"),
            "seen": {name: seen[name] for name in FACTS_OF_EVIDENCE if name in seen},
            "files": list(map(_facts, files)),
        }


def _validations(rx: Rx, identity: str) -> Iterator[dict[str, Any]]:
    rows = rx.all("SELECT * FROM validation WHERE work_order_id = ? ORDER BY recorded_at, id", (identity,))
    return map(_facts, rows)


def _handoffs(rx: Rx, identity: str) -> Iterator[dict[str, Any]]:
    for row in rx.all("SELECT * FROM handoff WHERE work_order_id = ? ORDER BY written_at, id", (identity,)):
        yield {
            **_facts(row, "summary", "questions"),
            "summary_sha256": _digest(row["summary"]),
            "questions_sha256": _digest(row["questions"]),
        }


def _decisions(rx: Rx, identity: str) -> Iterator[dict[str, Any]]:
    for row in rx.all("SELECT * FROM decision WHERE work_order_id = ? ORDER BY decided_at, id", (identity,)):
        proofs = rx.all(
            "SELECT name, sha256, size FROM decision_proof WHERE decision_id = ? ORDER BY ordinal",
            (row["id"],),
        )
        yield {
            **_facts(row, "detail"),
            "detail": json.loads(row["detail"]),
            "proofs": list(map(_facts, proofs)),
        }


def _holds(rx: Rx, identity: str) -> Iterator[dict[str, Any]]:
    rows = rx.all(
        """SELECT hold.* FROM hold JOIN work_order ON work_order.id = ? WHERE
             (hold.node_kind = 'WORK_ORDER' AND hold.node_id = work_order.id)
             OR (hold.node_kind = 'SCOPE' AND hold.node_id = work_order.scope_id)
             OR (hold.node_kind = 'TASK' AND hold.node_id IN
               (SELECT id FROM task WHERE task.work_order_id = work_order.id))
           ORDER BY hold.placed_at, hold.id""",
        (identity,),
    )
    return map(_facts, rows)


def _journal(rx: Rx, identity: str) -> Iterator[dict[str, Any]]:
    """Rows with the hash before them, so that each can be checked without those between; None if that is gone.

    Where retention removed the rows between, their checkpoint has that hash.
    """
    rows = rx.all(
        """SELECT journal.*, CASE journal.sequence WHEN 1 THEN ? ELSE coalesce(before.hash, removed.hash) END
             AS previous FROM journal
           LEFT JOIN journal AS before ON before.sequence = journal.sequence - 1
           LEFT JOIN journal_checkpoint AS removed ON removed.last = journal.sequence - 1
           WHERE journal.work_order_id = ? ORDER BY journal.sequence""",
        (GENESIS, identity),
    )
    return map(_facts, rows)


_PARTS: tuple[tuple[str, Callable[[Rx, str], Iterator[dict[str, Any]]]], ...] = (
    ("work_order", _work_order),
    ("budget", _scopes),
    ("task", _tasks),
    ("approval", _approvals),
    ("attempt", _attempts),
    ("budget_move", _budget_moves),
    ("evidence", _evidence),
    ("validation", _validations),
    ("handoff", _handoffs),
    ("decision", _decisions),
    ("hold", _holds),
    ("journal", _journal),
)


def _facts(row: sqlite3.Row, *without: str) -> dict[str, Any]:
    return {name: row[name] for name in row.keys() if name not in without}  # noqa: SIM118


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
