"""How long a person waits for a control command while 100,000 due wake-ups drain behind it (E-11, E-70).

An engine opens over a data folder in which that many tasks have come due during downtime, and drains them in passes
of its usual size as fast as it can. Meanwhile a person pauses, resumes and holds work orders, one command after the
other from the first pass to the last, and each is timed from the call to the answer after its commit.
"""

from __future__ import annotations

import asyncio
from pathlib import Path
from time import perf_counter

from engine.actors import Actor, ActorKind
from engine.clock import ManualClock
from engine.control.holds import WHOLE_ENGINE, Node
from engine.engine import Engine
from engine.settings import EngineSettings
from engine.states import NodeKind
from engine.storage import Rx
from tests.benchmarks.common import percentile, run
from tests.ledger import Ledger
from tests.scheduling.bulk import waiting_tasks

DUE = 100_000
PAUSE_SECONDS = 0.01
DAY = 86_400_000
PERSON = Actor(ActorKind.PERSON, "ada")


def left(rx: Rx) -> int:
    """How many tasks still wait."""
    row = rx.one("SELECT count(*) AS n FROM task WHERE state = 'WAITING'")
    return int(row["n"]) if row is not None else 0


async def prepare(folder: Path, clock: ManualClock) -> None:
    """Leave a folder in which everything has come due."""
    folder.mkdir()
    ledger = await Ledger.open(folder, clock)
    begin = clock.now()
    await waiting_tasks(ledger, [begin + 1 + number for number in range(DUE)])
    for number in range(20):
        await ledger.submit(f"/order/{number}")
    await ledger.close()
    clock.advance(365 * DAY)


async def commands(engine: Engine, stop: asyncio.Event) -> list[float]:
    """Give commands until the load is over, a little apart; how many milliseconds each took."""
    orders = [order.id for order in await engine.work_orders(limit=20)]
    taken: list[float] = []

    async def timed(call: object) -> None:
        assert asyncio.iscoroutine(call)
        started = perf_counter()
        await call
        taken.append((perf_counter() - started) * 1000)

    while not stop.is_set():
        await asyncio.sleep(PAUSE_SECONDS)
        node = Node(NodeKind.WORK_ORDER, orders[len(taken) // 2 % len(orders)])
        await timed(engine.hold(node, PERSON, reason="look first"))
        await timed(engine.resume(node, PERSON, reason="looked"))
        if len(taken) % 40 == 0:
            await timed(engine.pause(WHOLE_ENGINE, PERSON))
            await timed(engine.resume(WHOLE_ENGINE, PERSON))
    return taken


async def measure(folder: Path) -> dict[str, object]:
    """Drain by passes in one task, command in another, in the loop of the engine as the console has it."""
    clock = ManualClock()
    await prepare(folder / "data", clock)
    engine = await Engine.open(
        folder / "data", clock=clock, automatic=False, settings=EngineSettings(wakeup_batch=100)
    )
    drained = asyncio.Event()
    passes = 0

    async def drain() -> None:
        nonlocal passes
        while (await engine.reconcile_once())["drain_due_wakeups"]:
            passes += 1
        drained.set()

    try:
        before = await engine._storage.read(left)
        load = asyncio.create_task(drain())
        started = perf_counter()
        taken = await commands(engine, drained)
        await load
        seconds = perf_counter() - started
        after = await engine._storage.read(left)
    finally:
        await engine.close()
    assert after == 0, f"{after} of {before} were not drained"
    return {
        "due": before,
        "commands": len(taken),
        "control_p50_ms": round(percentile(taken, 0.5), 2),
        "control_p99_ms": round(percentile(taken, 0.99), 2),
        "control_max_ms": round(max(taken), 2),
        "passes": passes,
        "drained_per_second": round(before / seconds),
    }


if __name__ == "__main__":
    run(measure, __doc__ or "")
