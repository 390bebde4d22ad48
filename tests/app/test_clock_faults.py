"""The console over a clock that goes wrong by a script, as ``--clock-script`` plays it (B-073, B-076)."""

from __future__ import annotations

from pathlib import Path

import pytest
from PySide6.QtWidgets import QApplication

from app.__main__ import main as run_program
from app.main import open_console
from app.panels.clock.page import ClockPage
from engine.fault_clock import Fault, FaultClock, FaultKind
from engine.states import HoldKind
from tests.app.conftest import until

HOUR = 3_600_000


async def test_a_step_is_told_within_seconds_and_holds_dispatch(qapp: QApplication, folder: Path) -> None:
    """B-076: alert, hold, foot line and the page all say it, by the engine's own look at its clocks."""
    clock = FaultClock([Fault(300, FaultKind.STEP, 2 * HOUR)])
    async with open_console(qapp, folder, clock) as window:
        window.show()
        session = window.session
        await until(lambda: session.status is not None and not session.status.clock_trusted)
        await until(
            lambda: "The clock cannot be trusted." in [alert.what for alert in session.alerts.shown()]
        )
        assert session.status is not None
        assert [hold.kind for hold in session.status.holds] == [HoldKind.CLOCK]
        alert = next(alert for alert in session.alerts.shown() if alert.action == "Restore trust…")
        assert "The wall clock jumped forward by 2.0 h." in alert.means
        window.go_to_page("clock")
        page = window.view("clock")
        assert isinstance(page, ClockPage)
        await until(lambda: page.state is not None and not page.state.trusted)
        await until(lambda: page._model.rowCount() == 1)


async def test_sleep_is_a_note_and_nothing_is_held(qapp: QApplication, folder: Path) -> None:
    """E-30, B-073."""
    clock = FaultClock([Fault(300, FaultKind.SUSPEND, 8 * HOUR)])
    async with open_console(qapp, folder, clock) as window:
        window.show()
        session = window.session
        await until(lambda: "The machine slept 8 h." in [alert.what for alert in session.alerts.shown()])
        assert session.status is not None
        assert session.status.clock_trusted
        assert session.status.holds == ()


def test_a_script_that_cannot_be_read_ends_the_start(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    script = tmp_path / "faults.txt"
    script.write_text("10s jump 2h\n", encoding="utf-8")
    assert run_program(["--data", str(folder), "--clock-script", str(script)]) == 2
    assert "faults.txt, line 1" in capsys.readouterr().err
    assert not (folder / "praxis.sqlite").exists()
