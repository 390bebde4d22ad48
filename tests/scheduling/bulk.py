"""Many tasks and claims at once, written as rows: what thousands of work orders would leave."""

from __future__ import annotations

from collections.abc import Sequence

from engine.scheduling.wakeups import TASK_WAKE_UP, book_wake
from engine.storage import Tx
from tests.ledger import Ledger


async def waiting_tasks(ledger: Ledger, due: Sequence[int]) -> None:
    """Add a WAITING task for each instant, all of one work order that asks for nothing by itself."""
    order = await ledger.submit("/bulk")

    def add(tx: Tx, *, now: int) -> None:
        tx.run("UPDATE work_order SET state = 'DECISION_NEEDED' WHERE id = ?", (order,))
        for number, instant in enumerate(due):
            _task(tx, order, f"waiting-{number:06d}", number + 2, "WAITING", instant, now)
            book_wake(tx, f"waiting-{number:06d}", TASK_WAKE_UP, instant, now=now)

    await ledger.write(add)


async def live_claims(ledger: Ledger, leases: Sequence[int]) -> None:
    """Add a CLAIMED task with a live claim of worker ``w`` for each end of a lease."""
    order = await ledger.submit("/bulk")

    def add(tx: Tx, *, now: int) -> None:
        tx.run("UPDATE work_order SET state = 'DECISION_NEEDED' WHERE id = ?", (order,))
        for number, until in enumerate(leases):
            task = f"claimed-{number:06d}"
            _task(tx, order, task, number + 2, "CLAIMED", None, now)
            tx.run(
                """INSERT INTO claim(id, task_id, worker_id, epoch, state, claimed_at, lease_until)
                   VALUES (?, ?, 'w', ?, 'LIVE', ?, ?)""",
                (f"claim-{number:06d}", task, ledger.epoch, now, until),
            )

    await ledger.write(add)


def _task(tx: Tx, order: str, task: str, ordinal: int, state: str, due: int | None, now: int) -> None:
    tx.run(
        """INSERT INTO task(id, work_order_id, ordinal, purpose, state, lane, scope_id, partition, command, max_cost,
             max_active_ms, due_at, created_at, changed_at)
           SELECT ?, id, ?, 'IMPLEMENT', ?, ?, scope_id, 'EXECUTION', '{}', 1, 1000, ?, ?, ?
           FROM work_order WHERE id = ?""",
        (task, ordinal, state, f"/bulk/{task}", due, now, now, order),
    )
