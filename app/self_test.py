"""Does this installation work? Everything once, in a scratch folder: open, dispatch, draw, back up, close.

``praxis-console --self-test`` runs it, from source and frozen. It touches nobody's data, needs no Python on the
machine, and names what fails.
"""

from __future__ import annotations

import asyncio
import json
import platform
import sys
import tempfile
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from time import perf_counter

from PySide6.QtCore import qVersion
from PySide6.QtGui import QGuiApplication, QImage
from PySide6.QtWidgets import QApplication

from app.crash import Fault, Faults, log_folder
from app.main import open_console, picture
from app.shell.geometry import DEFAULT_SIZE
from app.shell.window import MainWindow
from engine.errors import PraxisError
from engine.execution.blobs import BlobState
from engine.interfaces.scratch import create_scratch_workspace
from engine.states import Outcome, WorkOrderState
from engine.version import VERSION

PATIENCE_SECONDS = 120
"""No check takes longer; a slow machine under load needs a few seconds for the longest."""

FAILED = 1
"""The exit code when a check failed."""


class Unsatisfied(Exception):
    """A check did not find what it should; the text says what it found."""


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that was tried: its name, how long it took, and what was found if it did not pass."""

    name: str
    passed: bool
    milliseconds: int
    found: str = ""


@dataclass(frozen=True, slots=True)
class Report:
    """What was tried and on what."""

    version: str
    frozen: bool
    python: str
    qt: str
    drawn_by: str
    system: str
    checks: tuple[Check, ...]

    @property
    def passed(self) -> bool:
        """Whether every check passed."""
        return all(check.passed for check in self.checks)

    def as_json(self) -> str:
        """The report as one JSON document."""
        return json.dumps({**asdict(self), "passed": self.passed}, ensure_ascii=True, indent=2)

    def as_text(self) -> str:
        """The report for a person, one line for each check."""
        built = "frozen" if self.frozen else "from source"
        lines = [
            f"praxis-console {self.version} ({built}), Python {self.python}, "
            f"Qt {self.qt} drawing by {self.drawn_by}, {self.system}"
        ]
        for check in self.checks:
            word = "ok    " if check.passed else "FAILED"
            lines.append(f"{word} {check.milliseconds:>6} ms  {check.name}")
            if check.found:
                lines += [f"                  {line}" for line in check.found.splitlines()]
        good = sum(check.passed for check in self.checks)
        lines.append(f"{good} of {len(self.checks)} checks passed.")
        return "\n".join(lines)


async def self_test(app: QApplication, pictures: Path | None = None) -> Report:
    """Try everything once and report. ``pictures`` is a folder that keeps what was drawn of each page."""
    with tempfile.TemporaryDirectory(prefix="praxis-console-test-", ignore_cleanup_errors=True) as name:
        scratch = Path(name)
        trial = _Trial(app, scratch, pictures or scratch / "pictures")
        await trial.run()
    return Report(
        VERSION,
        bool(getattr(sys, "frozen", False)),
        platform.python_version(),
        qVersion(),
        QGuiApplication.platformName(),
        platform.platform(),
        tuple(trial.checks),
    )


class _Trial:
    """One run of the checks over one window; a check that fails does not keep the next ones from being tried."""

    def __init__(self, app: QApplication, scratch: Path, pictures: Path) -> None:
        self.checks: list[Check] = []
        self._app = app
        self._scratch = scratch
        self._pictures = pictures
        self._troubles: list[str] = []

    async def run(self) -> None:
        closing = AsyncExitStack()
        windows: list[MainWindow] = []

        async def open_folder() -> None:
            windows.append(await closing.enter_async_context(open_console(self._app, self._scratch / "data")))

        await self._check("open a data folder", open_folder)
        faults = Faults(log_folder(self._scratch / "data"))
        faults.install()
        faults.install_in_loop(asyncio.get_running_loop())
        faults.found.connect(self._note_fault)
        try:
            for window in windows:
                window.session.failed.connect(self._note_error)
                await self._check_window(window)
                await self._check("close", closing.aclose)
        finally:
            faults.uninstall()

    async def _check_window(self, window: MainWindow) -> None:
        window.resize(DEFAULT_SIZE)
        window.show()
        await self._check("dispatch a command to evidence", partial(self._dispatch, window))
        self._pictures.mkdir(parents=True, exist_ok=True)
        for page in window.pages:
            await self._check(f"draw the page {page.title}", partial(self._draw, window, page.key))
        await self._check("verify the journal", partial(self._verify_journal, window))
        await self._check("make a backup and verify it", partial(self._back_up, window))

    async def _check(self, name: str, work: Callable[[], Awaitable[None]]) -> None:
        began = perf_counter()
        found = ""
        try:
            async with asyncio.timeout(PATIENCE_SECONDS):
                await work()
        except (PraxisError, Unsatisfied) as error:
            found = str(error)
        except TimeoutError:
            found = f"It was not done after {PATIENCE_SECONDS} seconds."
        except Exception as error:  # whatever goes wrong is what this is to find
            found = f"{type(error).__name__}: {error}"
        troubles, self._troubles = self._troubles, []
        found = "\n".join(filter(None, (found, *troubles)))
        self.checks.append(Check(name, not found, round((perf_counter() - began) * 1000), found))

    def _note_fault(self, fault: Fault) -> None:
        self._troubles.append(f"{fault.where} {fault.error}")

    def _note_error(self, error: PraxisError) -> None:
        self._troubles.append(str(error))

    async def _dispatch(self, window: MainWindow) -> None:
        engine, person = window.session.engine, window.session.actor
        works, *_ = await asyncio.to_thread(create_scratch_workspace, self._scratch / "workspace")
        order = await engine.submit(works, person)
        (row,) = [row for row in await engine.approvals.inbox() if row.work_order_id == order.id]
        card = await engine.approvals.card(row.approval_id)
        changed = asyncio.Event()
        end = engine.subscribe(lambda _: changed.set())
        try:
            await engine.approvals.approve(row.approval_id, person, seal=card.seal, covers_validation=True)
            settled = (WorkOrderState.AWAITING_ACCEPTANCE, WorkOrderState.DECISION_NEEDED)
            while (state := (await engine.work_order(order.id)).row.state) not in settled:
                await changed.wait()
                changed.clear()
        finally:
            end()
        for attempt in await engine.attempts():
            await self._look_at_evidence(window, attempt.id)
        if state is not WorkOrderState.AWAITING_ACCEPTANCE:
            raise Unsatisfied(f"The work order came to {state} instead of AWAITING_ACCEPTANCE.")
        await engine.accept(order.id, person, "The self-test looked at it.")

    async def _look_at_evidence(self, window: MainWindow, attempt_id: str) -> None:
        engine = window.session.engine
        view = await engine.evidence.of(attempt_id)
        if view.evidence is None or view.attempt.outcome is not Outcome.SUCCEEDED:
            said = Path(view.stderr_file).read_text("utf-8", "replace").strip() if view.stderr_file else ""
            raise Unsatisfied(
                f"{view.attempt.purpose} ended {view.attempt.state}: {view.attempt.reason} {said}".rstrip()
            )
        for blob in view.blobs:
            state = await engine.evidence.verify_blob(blob.sha256)
            if state is not BlobState.TRUE:
                raise Unsatisfied(f"The kept file of {blob.role} is {state}.")

    async def _draw(self, window: MainWindow, key: str) -> None:
        window.go_to_page(key)
        file = self._pictures / f"{key.replace('_', '-')}.png"
        await picture(window, file)
        image = QImage(str(file))
        middle = image.height() // 2
        seen = {image.pixel(x, y) for x in range(image.width()) for y in (middle, middle // 2)}
        if len(seen) < 2:
            raise Unsatisfied("The window is empty: every pixel looked at has the same colour.")

    async def _verify_journal(self, window: MainWindow) -> None:
        report = await window.session.engine.verify_journal()
        if not report.sound:
            raise Unsatisfied(f"{report.problem_count} problems in {report.rows} rows.")

    async def _back_up(self, window: MainWindow) -> None:
        backups = window.session.engine.backups
        made = await backups.back_up(window.session.actor, place=self._scratch / "backups")
        verified = await backups.verify(made.path)
        if not verified.good:
            raise Unsatisfied("; ".join(problem.text for problem in verified.problems))


def tell_report(report: Report, *, as_json: bool) -> int:
    """Print a report where there is something to print on, and give the exit code, which says the same."""
    if sys.stdout is not None:
        print(report.as_json() if as_json else report.as_text(), flush=True)
    return 0 if report.passed else FAILED
