"""After any work and any retention: the journal verifies, budgets are sums, files are there, nothing live was touched.

What is live is decided here from the rows, one order at a time and in plain words, apart from how retention does it.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import tempfile
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from engine.backup import restore, take_backup, verify_backup
from engine.clock import ManualClock
from engine.control import decisions
from engine.control.cancel import cancel
from engine.control.decisions import Finding
from engine.control.holds import Node, place_hold, resume
from engine.control.proofs import keep_proofs
from engine.errors import PraxisError
from engine.retention.settings import DAY_MS
from engine.states import HoldKind, NodeKind, Outcome
from tests.ledger import PERSON, SEEN, sealed, spec
from tests.retention.conftest import SETTINGS, Attic, assert_whole

LONG = os.environ.get("HYPOTHESIS_PROFILE") == "long"
START = 1_788_998_400_000

_TABLES = ("task", "attempt", "approval", "validation", "decision", "handoff", "journal")

STEPS = st.one_of(
    st.sampled_from(["finish", "fail", "unknown", "open", "backup", "restore", "kill"]),
    st.tuples(st.sampled_from(["hold", "lift", "replan", "cancel", "decide"]), st.integers(0, 5)),
    st.tuples(st.just("age"), st.sampled_from([1, 20, 31])),
    st.just("retain"),
)


@given(st.lists(STEPS, min_size=3, max_size=14))
@settings(
    max_examples=200 if LONG else 8,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    print_blob=True,
)
def test_e84_whatever_happened_retention_leaves_the_truth(steps: list[Any]) -> None:
    with tempfile.TemporaryDirectory() as place:
        asyncio.run(_play(Path(place) / "data", [*steps, ("age", 31), "retain", ("age", 1), "retain"]))


async def _play(folder: Path, steps: list[Any]) -> None:
    world = World(await Attic.open(folder, ManualClock(START)))
    try:
        for step in steps:
            name, argument = step if isinstance(step, tuple) else (step, 0)
            await getattr(world, name)(argument)
            await assert_whole(world.attic)
    finally:
        await world.attic.close()


class World:
    """What is done to a data folder, step by step; a step that is not possible now does nothing."""

    def __init__(self, attic: Attic) -> None:
        self.attic = attic
        self._count = 0
        self._backups: list[Path] = []

    def _title(self) -> str:
        self._count += 1
        return f"order {self._count}"

    async def finish(self, _: int) -> None:
        await self.attic.finished(self._title())

    async def fail(self, _: int) -> None:
        order = await self.attic.ran(self._title(), outcome=Outcome.FAILED)
        await self._try(decisions.reject_work, order, PERSON, "no good")

    async def unknown(self, _: int) -> None:
        await self.attic.ran(self._title(), outcome=Outcome.UNKNOWN)

    async def open(self, _: int) -> None:
        await self.attic.ledger.submit(f"/{self._title()}")

    async def hold(self, which: int) -> None:
        if order := await self._order(which):
            await self._try(place_hold, Node(NodeKind.WORK_ORDER, order), HoldKind.HOLD, "look", PERSON)

    async def lift(self, which: int) -> None:
        if order := await self._order(which):
            await self._try(resume, Node(NodeKind.WORK_ORDER, order), PERSON, "looked")

    async def replan(self, which: int) -> None:
        if order := await self._order(which):
            lane = f"/{self._title()}"
            await self._try(decisions.replan, order, spec(lane), lane, sealed(), PERSON, "better", None)

    async def cancel(self, which: int) -> None:
        if order := await self._order(which):
            await self._try(cancel, Node(NodeKind.WORK_ORDER, order), PERSON, "no more")

    async def decide(self, which: int) -> None:
        rows = await self.attic.ledger.all("SELECT id FROM attempt WHERE state = 'UNKNOWN' ORDER BY id")
        if rows:
            attempt = rows[which % len(rows)]["id"]
            kept = keep_proofs(SEEN, self.attic.blobs)
            await self._try(decisions.reconcile, attempt, Finding.DID_NOT, PERSON, "seen", None, None, kept)

    async def age(self, days: int) -> None:
        self.attic.age(days)

    async def backup(self, _: int) -> None:
        place = self.attic.folder / "backups"
        self.attic.clock.advance(1_000)
        made = take_backup(self.attic.folder, place, now=self.attic.clock.now())
        assert not made.lacking
        found = verify_backup(made.path)
        assert found.good, found.problems
        self._backups.append(made.path)

    async def restore(self, _: int) -> None:
        """Back to the newest backup; a person looks, and work goes on."""
        if not self._backups:
            return
        attic = self.attic
        await attic.close()
        attic.clock.advance(1_000)
        report = restore(attic.folder, self._backups[-1], actor=PERSON, reason="test", clock=attic.clock)
        assert report.lacking == ()
        await self._reopen()
        await self.attic.ledger.write(_look_at_restore)

    async def kill(self, _: int) -> None:
        """A run that ends after its first commits."""
        attic = self.attic
        await attic.retention.set(SETTINGS, PERSON)
        run = asyncio.ensure_future(attic.retention.run(PERSON))
        for _ in range(self._count % 7):
            await asyncio.sleep(0)
        run.cancel()
        await asyncio.gather(run, return_exceptions=True)
        await attic.close()
        await self._reopen()

    async def retain(self, _: int) -> None:
        attic = self.attic
        live = await self._live()
        before = {order: await self._rows_of(order) for order in live}
        seen = await attic.retention.preview(SETTINGS)
        done = await attic.run()
        assert await attic.orders() == live
        assert done.orders == seen.orders
        # The last row of the journal never goes, and setting the settings wrote another one.
        assert done.rows - seen.rows.going in (0, 1)
        for order in live:
            assert await self._rows_of(order) == before[order]
        after = await attic.retention.preview(SETTINGS)
        assert after.orders == 0

    async def _reopen(self) -> None:
        self.attic = await Attic.open(self.attic.folder, self.attic.clock)

    async def _order(self, which: int) -> str | None:
        rows = await self.attic.ledger.all("SELECT id FROM work_order ORDER BY number DESC")
        return rows[which % len(rows)]["id"] if rows else None

    async def _try(self, function: Any, *arguments: object) -> None:
        with contextlib.suppress(PraxisError):
            await self.attic.ledger.write(function, *arguments)

    async def _rows_of(self, order: str) -> list[list[dict[str, Any]]]:
        all_of = self.attic.ledger.all
        rows = [await all_of(f"SELECT * FROM {table} WHERE work_order_id = ?", order) for table in _TABLES]
        return [*rows, await all_of("SELECT * FROM work_order WHERE id = ?", order)]

    async def _live(self) -> set[str]:
        """The orders that must stay: not over for 30 days, or something of them is not over, or tied to such a one."""
        ledger, now = self.attic.ledger, self.attic.clock.now()
        live = set()
        ties: dict[str, set[str]] = {}
        for order in await ledger.all("SELECT * FROM work_order"):
            attempts = await ledger.all("SELECT state FROM attempt WHERE work_order_id = ?", order["id"])
            tasks = await ledger.all("SELECT id FROM task WHERE work_order_id = ?", order["id"])
            nodes = {order["id"], order["scope_id"], *(task["id"] for task in tasks)}
            holds = await ledger.all("SELECT node_id FROM hold WHERE released_at IS NULL")
            if (
                order["ended_at"] is None
                or order["ended_at"] >= now - 30 * DAY_MS
                or any(attempt["state"] not in ("SETTLED", "VOIDED") for attempt in attempts)
                or any(hold["node_id"] in nodes for hold in holds)
            ):
                live.add(order["id"])
            for row in await ledger.all(
                "SELECT detail FROM decision WHERE kind = 'replanned' AND work_order_id = ?", order["id"]
            ):
                other = json.loads(row["detail"])["work_order"]
                ties.setdefault(order["id"], set()).add(other)
                ties.setdefault(other, set()).add(order["id"])
        grown = True
        while grown:
            more = {other for one in live for other in ties.get(one, ())} - live
            live |= more
            grown = bool(more)
        return live & await self.attic.orders()


def _look_at_restore(tx: Any, *, now: int) -> None:
    tx.run(
        "UPDATE hold SET released_at = ?, released_by = 'ada' WHERE kind = 'RESTORE' AND released_at IS NULL",
        (now,),
    )
