"""The whole console over years of work: 100,000 tasks, 1,000,000 journal rows, 200 transitions a second (console §9).

The real window, offscreen at 1280×800, over the real engine in the same process and loop; `console_data` makes the
folder, `console_load` the work. While it goes on, somebody looks at the inbox with the list scrolled and a request
chosen, then approves one request after another, then goes from page to page.

``gui_block_max_ms`` is the longest time in which the window could not have answered (bar: 50), ``gui_block_own_max_ms``
the longest of which this process can be the cause, ``machine_block_max_ms`` what an idle process saw at the same time,
``gui_thread_max_ms`` the most processor time that the window's thread itself took in one block.
``frame_p99_ms`` is how late the 99th of a hundred turns of the loop came (bar: 16). ``approve_to_shown_p95_ms`` is from
the press on Approve to the paint that says so (bar: 100), ``start_to_inbox_s`` from the start of a fresh process to the
painted inbox (bar: 1.5; the median of three, the first one cold). ``rss_mb`` is the memory at the end (bar: 300).
``unmoved`` says that nothing in view of the list went anywhere, though what stands above it was decided by others.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from time import perf_counter, time
from unittest.mock import patch

from tests.benchmarks.common import percentile, scratch_folder
from tests.benchmarks.gui import Bystander, Heartbeat, Painted, rss_mb

import psutil  # isort: skip
from PySide6.QtCore import QPoint, Qt  # isort: skip (after the platform has been chosen)
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication

from app import event_loop
from app import main as console
from app.memory import set_start_aside
from app.panels.inbox.page import InboxView
from app.panels.inbox.sheet import Act
from app.shell.window import MainWindow
from engine.engine import Engine
from tests.benchmarks.console_data import fill
from tests.benchmarks.console_load import Load
from tests.ledger import PERSON

RATE = 200
SECONDS = 15.0
STARTS = 3
ABOVE = 10
"""Requests above what is in view that others decide meanwhile."""
SHARE_WATCHED, SHARE_APPROVING = 0.3, 0.4


class Watch:
    """Every block of the window by what was done meanwhile."""

    def __init__(self) -> None:
        self.beat = Heartbeat()
        self.blocks: dict[str, float] = {}
        self.own: dict[str, float] = {}
        self.thread: dict[str, float] = {}
        self.walls: list[float] = []

    @asynccontextmanager
    async def over(self, what: str) -> AsyncIterator[None]:
        """Watch while something is done."""
        self.beat.start()
        yield
        self.beat.stop()
        self.blocks[what] = max(self.blocks.get(what, 0.0), round(self.beat.worst, 1))
        self.own[what] = max(self.own.get(what, 0.0), round(self.beat.worst_own, 1))
        self.thread[what] = max(self.thread.get(what, 0.0), round(self.beat.worst_thread, 1))
        self.walls += [gap.wall for gap in self.beat.gaps]


async def until(holds: object, seconds: float = 20.0) -> None:
    """Wait until something is so."""
    assert callable(holds)
    async with asyncio.timeout(seconds):
        while not holds():
            await asyncio.sleep(0.002)


def inbox_of(window: MainWindow) -> InboxView:
    """The page that is open at a start."""
    page = window.view("inbox")
    assert isinstance(page, InboxView)
    return page


async def show_inbox(window: MainWindow) -> InboxView:
    """Show the window as the console does, and wait until the inbox can be worked with."""
    window.resize(1280, 800)
    set_start_aside()
    window.show()
    window.go_to_page("inbox")
    page = inbox_of(window)
    painted = Painted(page._card, lambda: page._model.rowCount() > 0 and page._card.card is not None)
    window.activateWindow()
    await painted.wait(30)
    return page


async def start_once(folder: Path, app: QApplication) -> None:
    """What a fresh process does to be measured: show the inbox, and say how long that took since it began."""
    async with console.open_console(app, folder) as window:
        await show_inbox(window)
        print(json.dumps({"seconds": time() - psutil.Process().create_time(), "rss_mb": rss_mb()}))


def starts(folder: Path) -> list[float]:
    """Seconds from the start of a process to its painted inbox, several times."""
    command = [sys.executable, "-m", "tests.benchmarks.console", "--start-only", "--data", str(folder)]
    taken = []
    for _ in range(STARTS):
        done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120)
        taken.append(float(json.loads(done.stdout.splitlines()[-1])["seconds"]))
    return taken


def in_view(page: InboxView) -> list[tuple[str, int]]:
    """Which requests are in view of the list, and where."""
    view = page._list
    found = []
    for row in range(page._model.rowCount()):
        place = view.visualRect(page._model.index(row))
        if place.intersects(view.viewport().rect()):
            found.append((page._model.entry(row).row.approval_id, place.top()))
    return found


def nothing_drifts(engine: Engine) -> None:
    """The work orders are made up and their folders are not there: a card's look at the disk finds what was sealed."""

    async def unchanged(approval_id: str) -> tuple[()]:
        await engine.approvals.card(approval_id)
        return ()

    engine.approvals.changed_since_asked = unchanged  # type: ignore[method-assign]


async def look_at_inbox(page: InboxView, engine: Engine, seconds: float) -> bool:
    """Leave the list scrolled with a request chosen, while others decide what stands above; whether all stood still."""
    page._list.choose(60)
    await until(lambda: page._card.card is not None)
    bar = page._list.verticalScrollBar()
    bar.setValue(bar.maximum() // 3)
    await asyncio.sleep(0.3)
    chosen, seen = page._wanted, in_view(page)
    above = [page._model.entry(row).row.approval_id for row in range(ABOVE)]
    for approval_id in above:
        await engine.approvals.reject(approval_id, PERSON, "decided by somebody else")
        await asyncio.sleep(seconds / ABOVE)
    await until(lambda: not {page._model.row_of(approval_id) for approval_id in above} - {-1})
    return bool(seen) and (chosen, seen) == (page._wanted, in_view(page))


def can_approve(page: InboxView) -> bool:
    """Whether a card is shown that can be approved now."""
    button = page._card.button(Act.APPROVE)
    return page._card.card is not None and button is not None and button.isEnabled()


async def approve_some(page: InboxView, seconds: float) -> list[float]:
    """Approve one after another by the mouse; ms from each press to the paint that says so."""
    taken: list[float] = []
    page._list.choose(5)
    until_when = perf_counter() + seconds
    while perf_counter() < until_when:
        await until(lambda: can_approve(page))
        card, button = page._card.card, page._card.button(Act.APPROVE)
        assert card is not None
        assert button is not None

        def said(approval_id: str = card.approval_id) -> bool:
            done = page._last
            return done is not None and approval_id in done.ids and page._done.isVisible()

        shown = Painted(page._done, said)
        started = perf_counter()
        QTest.mouseClick(button, Qt.MouseButton.LeftButton, pos=QPoint(8, 8))
        page._done.update()
        while not shown.done:
            page._done.update()
            await asyncio.sleep(0.002)
            assert perf_counter() - started < 20, "an approval was not shown"
        taken.append((perf_counter() - started) * 1000)
    return taken


async def go_about(window: MainWindow, watch: Watch, seconds: float) -> None:
    """Go from page to page, each for the same time."""
    pages = [page.key for page in window.pages if page.key != "inbox"]
    for key in pages:
        async with watch.over(key):
            window.go_to_page(key)
            await asyncio.sleep(seconds / len(pages))


async def measure(
    folder: Path, workspace: Path, app: QApplication, seconds: float, rate: int
) -> dict[str, object]:
    """All of it in one open console."""
    watch = Watch()
    with patch.object(Engine, "open", partial(Engine.open, automatic=False)):
        async with console.open_console(app, folder) as window:
            page = await show_inbox(window)
            await window.session.settled()
            at_start = rss_mb()
            nothing_drifts(window.session.engine)
            load = Load(window.session.engine, rate)
            await load.start(workspace)
            await asyncio.sleep(1.0)
            bystander = await asyncio.to_thread(Bystander)
            async with watch.over("inbox"):
                unmoved = await look_at_inbox(page, window.session.engine, seconds * SHARE_WATCHED)
            async with watch.over("approving"):
                approved = await approve_some(page, seconds * SHARE_APPROVING)
            await go_about(window, watch, seconds * (1 - SHARE_WATCHED - SHARE_APPROVING))
            machine = await asyncio.to_thread(bystander.worst)
            await load.stop()
            at_end = rss_mb()
    return {
        "gui_block_max_ms": max(watch.blocks.values()),
        "gui_block_own_max_ms": max(watch.own.values()),
        "machine_block_max_ms": round(machine, 1),
        "gui_thread_max_ms": max(watch.thread.values()),
        "frame_p99_ms": round(percentile(watch.walls, 0.99), 1),
        "approve_to_shown_p95_ms": round(percentile(approved, 0.95), 1),
        "approve_to_shown_p50_ms": round(percentile(approved, 0.5), 1),
        "approvals": len(approved),
        "rss_mb": at_end,
        "rss_at_start_mb": at_start,
        "unmoved": unmoved,
        "transitions_a_second": round(load.done / load.seconds),
        "blocks_ms": watch.blocks,
        "blocks_own_ms": watch.own,
        "blocks_thread_ms": watch.thread,
    }


def filled(folder: Path) -> dict[str, object]:
    """Make the data in a process of its own, so that its memory is not counted here."""
    command = [sys.executable, "-m", "tests.benchmarks.console", "--fill-only", "--data", str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    made: dict[str, object] = json.loads(done.stdout.splitlines()[-1])
    return made


def main() -> None:
    """Parse the command line, make what is missing, measure, print the result (with --json as the last line)."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--json", action="store_true", help="print one JSON object as the last line")
    options.add_argument("--seconds", type=float, default=SECONDS, help="how long the load is watched")
    options.add_argument("--rate", type=int, default=RATE, help="transitions a second")
    options.add_argument("--data", type=Path, help="keep the data here, and use what is there")
    options.add_argument("--folder", type=Path, help="measure on the disk of this folder")
    options.add_argument("--fill-only", action="store_true", help=argparse.SUPPRESS)
    options.add_argument("--start-only", action="store_true", help=argparse.SUPPRESS)
    given = options.parse_args()
    if given.fill_only:
        given.data.mkdir(parents=True)
        print(json.dumps(fill(given.data)))
        return
    app = console.make_application()
    if given.start_only:
        event_loop.run(partial(start_once, given.data, app), app)
        return
    with scratch_folder(given.folder) as scratch:
        began = perf_counter()
        data = given.data or scratch / "data"
        workspace = scratch / "workspace"
        workspace.mkdir()
        made = {} if (data / console.DATABASE).exists() else filled(data)
        results: dict[str, object] = dict(made)
        taken = starts(data)
        results["start_to_inbox_s"] = round(percentile(taken, 0.5), 2)
        results["starts_s"] = [round(seconds, 2) for seconds in taken]
        results |= event_loop.run(partial(measure, data, workspace, app, given.seconds, given.rate), app)
        results["seconds"] = round(perf_counter() - began, 1)
    if given.json:
        print(json.dumps(results))
        return
    for name, value in results.items():
        print(f"{name:32} {value}")


if __name__ == "__main__":
    main()
