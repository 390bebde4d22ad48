"""What the alarm clock costs: claiming at any backlog, prompt firing, firing end to end.

``claim100_at_100k_over_1k`` is how much dearer it is to claim 100 of 100,000 due wakes than of 1,000: the worst of
ten wakes a lane, one hot lane, and no lanes. ``speedup_over_window_at_100k`` compares with the usual claim, a
window function over all due rows, on the same rows in the same run; the least of the three shapes. Claims are
timed inside a transaction that is rolled back, so that the backlog stays. Firing is end to end: claimed, sink
run, recorded with its history, every step committed to the disk.
"""

from __future__ import annotations

import asyncio
import sqlite3
import statistics
from collections.abc import Callable, Iterator
from pathlib import Path
from time import perf_counter
from typing import Any

from engine.actors import Actor, ActorKind
from engine.clock import SystemClock
from engine.storage import Storage
from engine.storage.transaction import Tx
from engine.wakes import AlarmClock, Budgets, Wake, WakeSettings, external
from engine.wakes.sqlite import SqliteWakeStore
from engine.wakes.sqlite.rows import WAKE_COLUMNS, wake_of
from tests.benchmarks.common import percentile, run

YOU = Actor(ActorKind.PERSON, "you")
SMALL, LARGE, CLAIMED = 1_000, 100_000, 100
ROUNDS = 15
WINDOW_ROUNDS = 3
PROMPT = 150
FIRED = {1: 300, 16: 1_500, 64: 2_000}
PLENTY = Budgets(live=10**9, creations_per_hour=10**9)

INSERT = """
    INSERT INTO wake (id, workspace, trigger, kind, lane, intent, due_at, armed_at, depth, origin, created_by_kind,
      created_by, created_at)
    VALUES (?, ?, 'at', 'session_turn', ?, '{}', ?, ?, 0, 'caller', 'person', 'you', ?)"""

# The claim that most schedulers use: work out the lanes of everything that is due, then take the first of each.
WINDOW = """
    SELECT seq FROM (
      SELECT seq, due_at, row_number() OVER (PARTITION BY workspace, coalesce(lane, id) ORDER BY due_at, seq) AS place
      FROM wake
      WHERE state = 'pending' AND due_at <= :now
        AND (lane IS NULL OR NOT EXISTS (SELECT 1 FROM wake AS busy
          WHERE busy.state = 'firing' AND busy.workspace = wake.workspace AND busy.lane = wake.lane)))
    WHERE place = 1 ORDER BY due_at, seq LIMIT :limit"""
WINDOW_INDEXES = (
    "CREATE INDEX window_due ON wake(state, due_at)",
    "CREATE INDEX window_busy ON wake(workspace, lane, state) WHERE lane IS NOT NULL",
)

Shape = Callable[[int, int], str | None]
SHAPES: dict[str, Shape] = {
    "ten_a_lane": lambda number, count: f"lane {number % (count // 10)}",
    "one_hot_lane": lambda number, count: "hot" if number < count - 200 else f"lane {number}",
    "no_lanes": lambda number, count: None,
}


class Undone(Exception):
    """Rolls an operation back once it has been timed."""


def rows(shape: Shape, count: int, now: int) -> Iterator[tuple[object, ...]]:
    """Due wakes; the first of each lane is armed, as the store would have it."""
    armed: set[str] = set()
    for number in range(count):
        lane, due_at = shape(number, count), now - count + number
        head = lane is None or lane not in armed
        if lane is not None:
            armed.add(lane)
        yield (f"wake {number:09d}", "w", lane, due_at, due_at if head else None, due_at)


async def claim_costs(folder: Path, clock: SystemClock) -> dict[str, Any]:
    """Time claims of 100 at both sizes in all shapes, in turn, and the window claim at the larger size."""
    storages: dict[tuple[str, int], Storage] = {}
    samples: dict[tuple[str, int], list[float]] = {}
    windows: dict[str, list[float]] = {}
    for name, shape in SHAPES.items():
        for count in (SMALL, LARGE):
            storage = await Storage.open(folder / f"{name}-{count}", clock=clock, program="benchmark")
            await storage.write(_fill, list(rows(shape, count, clock.now())))
            storages[name, count] = storage
            samples[name, count] = []
    try:
        for _ in range(ROUNDS):
            for key, storage in storages.items():
                samples[key].append(await _undone(storage, _claim))
        for name in SHAPES:
            storage = storages[name, LARGE]
            await storage.write(_index)
            windows[name] = [await _undone(storage, _window_claim) for _ in range(WINDOW_ROUNDS)]
    finally:
        for storage in storages.values():
            await storage.close()
    typical = {key: statistics.median(taken) for key, taken in samples.items()}
    ratios = {name: typical[name, LARGE] / typical[name, SMALL] for name in SHAPES}
    speedups = {name: statistics.median(windows[name]) / typical[name, LARGE] for name in SHAPES}
    results: dict[str, Any] = {}
    for name in SHAPES:
        results[f"claim100_at_1k_ms_{name}"] = round(typical[name, SMALL] * 1e3, 3)
        results[f"claim100_at_100k_ms_{name}"] = round(typical[name, LARGE] * 1e3, 3)
        results[f"window_claim_at_100k_ms_{name}"] = round(statistics.median(windows[name]) * 1e3, 1)
        results[f"claim100_at_100k_over_1k_{name}"] = round(ratios[name], 2)
        results[f"speedup_over_window_at_100k_{name}"] = round(speedups[name], 1)
    results["claim100_at_100k_over_1k"] = round(max(ratios.values()), 2)
    results["speedup_over_window_at_100k"] = round(min(speedups.values()), 1)
    return results


def _fill(tx: Tx, found: list[tuple[object, ...]], *, now: int) -> None:
    for row in found:
        tx.run(INSERT, row)


def _index(tx: Tx, *, now: int) -> None:
    for statement in WINDOW_INDEXES:
        tx.run(statement)


async def _undone(storage: Storage, claim: Callable[[Storage, Tx, int], int]) -> float:
    """Run a claim of 100 within a transaction that leaves nothing, and give the seconds it took."""
    taken = 0.0

    def timed(tx: Tx, *, now: int) -> None:
        nonlocal taken
        started = perf_counter()
        got = claim(storage, tx, now)
        taken = perf_counter() - started
        assert got == CLAIMED, got
        raise Undone

    try:
        await storage.write(timed)
    except Undone:
        return taken
    raise AssertionError


def _claim(storage: Storage, tx: Tx, now: int) -> int:
    queue = SqliteWakeStore(storage).queue
    claims = queue.claim(tx, {"session_turn"}, "runner", now + 30_000, CLAIMED, by_time=True, now=now)
    return len(claims.taken)


def _window_claim(storage: Storage, tx: Tx, now: int) -> int:
    chosen = [row["seq"] for row in tx.all(WINDOW, {"now": now, "limit": CLAIMED})]
    found: list[sqlite3.Row] = tx.all(
        f"""UPDATE wake SET state = 'firing', armed_at = NULL, lease_until = ?, holder = 'runner', claim = claim + 1
            WHERE seq IN ({", ".join(map(str, chosen))}) RETURNING {WAKE_COLUMNS}""",
        (now + 30_000,),
    )
    return len([wake_of(row) for row in found])


async def firing_rates(folder: Path, clock: SystemClock) -> dict[str, Any]:
    """Fire a backlog with 1, 16 and 64 sinks at once; external sinks that do nothing."""
    results: dict[str, Any] = {}
    for sinks, number in FIRED.items():
        storage = await Storage.open(folder / f"fired-{sinks}", clock=clock, program="benchmark")

        async def nothing(wake: Wake) -> None: ...

        alarm = AlarmClock(
            SqliteWakeStore(storage),
            clock=clock,
            authorize=lambda *asked: True,
            sinks={"session_turn": external(nothing)},
            settings=WakeSettings(concurrency=sinks, slice_ms=60_000, clean_up_every_ms=None),
            budgets=PLENTY,
        )
        try:
            await storage.write(_fill, list(rows(SHAPES["no_lanes"], number, clock.now())))
            started = perf_counter()
            report = await alarm.run_due()
            seconds = perf_counter() - started
            assert report.fired == number, report
        finally:
            await alarm.stop()
            await storage.close()
        results[f"fired_per_second_{sinks}"] = round(number / seconds)
    return results


async def prompt_firing(folder: Path, clock: SystemClock) -> dict[str, Any]:
    """How long after its due time a wake's sink starts, one at a time, without load."""
    storage = await Storage.open(folder / "prompt", clock=clock, program="benchmark")
    late: list[float] = []
    arrived = asyncio.Event()

    async def sink(wake: Wake) -> None:
        assert wake.due_at is not None
        late.append(clock.now() - wake.due_at)
        arrived.set()

    alarm = AlarmClock(
        SqliteWakeStore(storage),
        clock=clock,
        authorize=lambda *asked: True,
        sinks={"session_turn": external(sink)},
        settings=WakeSettings(clean_up_every_ms=None),
        budgets=PLENTY,
    )
    try:
        await alarm.start()
        for number in range(PROMPT):
            arrived.clear()
            await alarm.schedule(workspace="w", actor=YOU, in_=20 + number % 40)
            await asyncio.wait_for(arrived.wait(), 10)
    finally:
        await alarm.stop()
        await storage.close()
    assert min(late) >= 0, "never early"
    return {
        "prompt_p50_ms": round(percentile(late, 0.5), 1),
        "prompt_p99_ms": round(percentile(late, 0.99), 1),
    }


async def measure(folder: Path) -> dict[str, object]:
    """Measure everything, prompt firing first, while nothing else has left the disk busy."""
    clock = SystemClock()
    return {
        **await prompt_firing(folder, clock),
        **await firing_rates(folder, clock),
        **await claim_costs(folder, clock),
    }


if __name__ == "__main__":
    run(measure, __doc__ or "")
