"""What the timeline costs with 100,000 bars: painting them all, painting a window of them, and reading them.

``full_repaint_ms`` paints every bar at once, ``zoomed_repaint_ms`` a window of some hundred, each repaint of another
window so that nothing can be kept from the one before. ``read_*`` is the engine's read of a data folder that holds
as many: the whole of it, counted, and one hour of it, bar by bar.
"""

from __future__ import annotations

import os

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")

import random
from pathlib import Path
from time import perf_counter

from PySide6.QtCore import QSize
from PySide6.QtWidgets import QApplication

from app.panels.timeline.canvas import TimelineCanvas
from app.panels.timeline.lanes import arranged
from app.theme import Theme, ThemeChoice
from app.widgets import Times, Zone
from engine.actors import ENGINE
from engine.clock import ManualClock
from engine.ids import new_id
from engine.states import Purpose
from engine.storage import Storage, Subject, Tx, take_epoch
from engine.storage.owner_lock import Owner
from engine.views.timeline import BarKind, Grouping, TimelineBar, TimelineLane, TimelineView, timeline
from tests.benchmarks.common import latencies, percentile, run

BARS = 100_000
LANES = 32
HOUR = 3_600_000
DAY = 24 * HOUR
ROUNDS = 30
SIZE = QSize(1200, 800)
_KINDS = (
    (BarKind.EXECUTION, ("SUCCEEDED", "FAILED", "UNKNOWN")),
    (BarKind.APPROVAL, ("CONSUMED", "REJECTED")),
    (BarKind.CLAIM, ("CONSUMED", "EXPIRED")),
)


def many_bars(now: int) -> TimelineView:
    """A month of work in `LANES` lanes, all of whose rows are in view at `SIZE`."""
    chance = random.Random(1)
    begin = now - 30 * DAY
    lanes = tuple(TimelineLane(f"lane {at}", "Work", at + 1, BARS // LANES) for at in range(LANES))
    bars = []
    for lane in lanes:
        at = begin
        step = 30 * DAY // (BARS // LANES)
        for number in range(BARS // LANES):
            kind, states = _KINDS[number % len(_KINDS)]
            took = chance.randrange(1_000, step)
            bars.append(
                TimelineBar(
                    kind,
                    f"{lane.key} {number}",
                    "x",
                    lane.key,
                    chance.choice(states),
                    at,
                    at + took,
                    None,
                    "order",
                    "task",
                    lane.number,
                    "Mend rounding",
                    Purpose.IMPLEMENT,
                    "w",
                    "",
                )
            )
            at += step
    bars.sort(key=lambda bar: bar.start)
    return TimelineView(
        begin, now, begin, now, Grouping.WORK_ORDER, lanes, False, tuple(bars), (), 60_000, ()
    )


def painted(canvas: TimelineCanvas, span: int, now: int) -> list[float]:
    """How many milliseconds a repaint takes, each of a window that has not been painted before."""
    taken = []
    for number in range(ROUNDS):
        canvas.show_window(now - span - number * span // 997, now - number * span // 997)
        QApplication.processEvents()
        started = perf_counter()
        canvas.viewport().repaint()
        taken.append((perf_counter() - started) * 1000)
    return taken


def paint_results() -> dict[str, object]:
    """Paint the widget as it stands in the window."""
    app = QApplication.instance() or QApplication([])
    assert isinstance(app, QApplication)
    look = Theme(app, ThemeChoice.LIGHT)
    clock = ManualClock()
    times = Times(clock.now, Zone.UTC)
    canvas = TimelineCanvas(times)
    canvas.resize(SIZE)
    canvas.show()
    view = many_bars(clock.now())
    started = perf_counter()
    arranged(view.lanes, view.bars, view.cells)
    arranging = (perf_counter() - started) * 1000
    canvas.show_view(view)
    QApplication.processEvents()
    full = painted(canvas, 30 * DAY, clock.now())
    zoomed = painted(canvas, 3 * HOUR, clock.now())
    scale = canvas.scale
    in_view = sum(behind - first for lane in canvas._lanes for row in lane.rows
                  for first, behind in [row.within(scale.start, scale.end)])  # fmt: skip
    canvas.hide()
    canvas.deleteLater()
    look.deleteLater()
    return {
        "bars": BARS,
        "full_repaint_ms": round(percentile(full, 0.5), 1),
        "full_repaint_p95_ms": round(percentile(full, 0.95), 1),
        "zoomed_repaint_ms": round(percentile(zoomed, 0.5), 1),
        "zoomed_repaint_p95_ms": round(percentile(zoomed, 0.95), 1),
        "zoomed_bars": in_view,
        "arrange_ms": round(arranging, 1),
    }


def fill(tx: Tx, orders: int, *, now: int) -> None:
    """Write a month of work orders that waited, were claimed, ran and were judged: four or five bars each."""
    begin = now - 30 * DAY
    step = 30 * DAY // orders
    epoch = take_epoch(tx, Owner(1, "benchmark", "here", begin), begin)
    tx.run("INSERT INTO worker VALUES ('w', 'local', 4, ?, ?)", (epoch, begin))
    tx.run("INSERT INTO scope VALUES ('root', NULL, 'ROOT', 'everything', ?)", (begin,))
    for number in range(1, orders + 1):
        at = begin + number * step
        ids = [new_id(at) for _ in range(8)]
        order, task, approval, claim, attempt, delivery, evidence, judged = ids
        lane = f"/src/project-{number % 40}"
        tx.run("INSERT INTO scope VALUES (?, 'root', 'WORK_ORDER', ?, ?)", (order, f"WO-{number}", at))
        tx.run(
            """INSERT INTO work_order(id, number, title, workspace, lane, project, scope_id, spec, state,
                 corrections_allowed, requested_by_kind, requested_by, created_at, changed_at, ended_at)
               VALUES (?, ?, 'Mend rounding', ?, ?, 'p', ?, '{}', 'ACCEPTED', 0, 'agent', 'a', ?, ?, ?)""",
            (order, number, lane, lane, order, at, at, at + 300_000),
        )
        tx.run(
            """INSERT INTO task(id, work_order_id, ordinal, purpose, state, lane, scope_id, partition, command,
                 max_cost, max_active_ms, ready_at, created_at, changed_at)
               VALUES (?, ?, 1, 'IMPLEMENT', 'SUCCEEDED', ?, ?, 'EXECUTION', '{}', 1, 1000, ?, ?, ?)""",
            (task, order, lane, order, at, at, at),
        )
        tx.run(
            """INSERT INTO approval(id, task_id, work_order_id, ordinal, state, plan, seal, asked_by_kind, asked_by,
                 asked_at, expires_at, decided_by, decided_at, ended_at)
               VALUES (?, ?, ?, 1, 'CONSUMED', '{}', 's', 'agent', 'a', ?, ?, 'ada', ?, ?)""",
            (approval, task, order, at, at + DAY, at + 60_000, at + 70_000),
        )
        tx.run(
            "INSERT INTO claim VALUES (?, ?, 'w', ?, 'CONSUMED', ?, ?, 0, ?)",
            (claim, task, epoch, at + 60_000, at + 120_000, at + 70_000),
        )
        tx.run(
            """INSERT INTO attempt(id, task_id, work_order_id, ordinal, purpose, claim_id, approval_id, seal,
                 worker_id, epoch, scope_id, partition, state, max_cost, max_active_ms, outcome, actual_cost,
                 actual_active_ms, authorized_at, ended_at, settled_at)
               VALUES (?, ?, ?, 1, 'IMPLEMENT', ?, ?, 's', 'w', ?, ?, 'EXECUTION', 'SETTLED', 1, 1000, 'SUCCEEDED',
                 1, 1, ?, ?, ?)""",
            (attempt, task, order, claim, approval, epoch, order, at + 70_000, at + 200_000, at + 200_000),
        )
        tx.run("INSERT INTO intent VALUES (?, ?, 'w', ?, ?)", (delivery, attempt, epoch, at + 70_000))
        tx.run(
            """INSERT INTO delivery(id, intent_id, attempt_id, worker_id, epoch, delivered_at, started_at, finished_at)
               VALUES (?, ?, ?, 'w', ?, ?, ?, ?)""",
            (delivery, delivery, attempt, epoch, at + 70_000, at + 71_000, at + 200_000),
        )
        tx.run("INSERT INTO evidence VALUES (?, ?, '{}', 'x', ?)", (evidence, attempt, at + 200_000))
        tx.run(
            """INSERT INTO validation(id, attempt_id, task_id, work_order_id, outcome, judged_by, criteria,
                 evidence_id, actor_kind, actor, recorded_at)
               VALUES (?, ?, ?, ?, 'PASSED', 'command', 'c', ?, 'engine', 'e', ?)""",
            (judged, attempt, task, order, evidence, at + 210_000),
        )
    tx.journal("benchmark.filled", Subject("benchmark", "1"), ENGINE, begin)


async def measure(folder: Path) -> dict[str, object]:
    """Paint first, then read."""
    results = paint_results()
    clock = ManualClock()
    now = clock.now()
    storage = await Storage.open(folder / "data", clock=clock, program="benchmark")
    try:
        await storage.write(fill, BARS // 5)

        async def read(start: int, end: int, grouping: Grouping) -> TimelineView:
            return await storage.read(timeline, start, end, grouping, 1_000, 200, "", now)

        for name, (start, end, grouping) in {
            "month_by_order": (now - 30 * DAY, now, Grouping.WORK_ORDER),
            "month_by_workspace": (now - 30 * DAY, now, Grouping.WORKSPACE),
            "hour": (now - 15 * DAY, now - 15 * DAY + HOUR, Grouping.WORK_ORDER),
            "last_hour": (now - HOUR, now, Grouping.WORK_ORDER),
        }.items():

            async def once(number: int) -> None:
                await read(start - number, end, grouping)  # noqa: B023 (called before the next name)

            view = await read(start, end, grouping)
            results[f"read_{name}_ms"] = round(percentile(await latencies(once, 5), 0.5) * 1000, 1)
            results[f"read_{name}_given"] = len(view.bars) + len(view.cells)
    finally:
        await storage.close()
    return results


if __name__ == "__main__":
    run(measure, __doc__ or "")
