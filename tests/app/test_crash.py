"""Faults: from wherever they come they reach the log and are told once per group."""

from __future__ import annotations

import asyncio
import logging
import subprocess
import sys
import textwrap
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import QTimer, qWarning
from pytestqt.qtbot import QtBot

from app.crash import CRASH_FILE, LAST_CRASH_FILE, MOST_DIALOGS, Fault, Faults
from tests.app.conftest import until

Expect = Callable[..., AbstractContextManager[Any]]


@pytest.fixture
def faults(tmp_path: Path) -> Iterator[Faults]:
    made = Faults(tmp_path / "logs")
    made.install()
    yield made
    made.uninstall()


@pytest.fixture
def told(faults: Faults) -> list[Fault]:
    found: list[Fault] = []
    faults.found.connect(found.append)
    return found


def fail(text: str = "on purpose") -> None:
    raise ValueError(text)


def fail_elsewhere() -> None:
    raise ValueError("elsewhere")


def test_hooks_are_put_back(tmp_path: Path) -> None:
    before = (
        sys.excepthook,
        threading.excepthook,
        list(logging.getLogger().handlers),
        logging.getLogger().level,
    )
    made = Faults(tmp_path)
    made.install()
    assert sys.excepthook != before[0]
    made.uninstall()
    made.uninstall()
    assert (
        sys.excepthook,
        threading.excepthook,
        list(logging.getLogger().handlers),
        logging.getLogger().level,
    ) == before


@pytest.mark.qt_no_exception_capture
async def test_an_exception_of_a_slot_is_told(
    faults: Faults, told: list[Fault], expected_log: Expect
) -> None:
    with expected_log("ValueError: on purpose"):
        QTimer.singleShot(0, fail)
        await until(lambda: told)
    assert told[0].error == "ValueError: on purpose"
    assert "in fail" in told[0].text


@pytest.mark.qt_no_exception_capture
async def test_an_exception_of_a_callback_is_told(
    faults: Faults, told: list[Fault], expected_log: Expect
) -> None:
    loop = asyncio.get_running_loop()
    faults.install_in_loop(loop)
    with expected_log("ValueError: on purpose"):
        loop.call_soon(fail)
        await until(lambda: told)
    assert told[0].error == "ValueError: on purpose"


@pytest.mark.qt_no_exception_capture
async def test_an_exception_of_a_thread_is_told_in_the_gui_thread(
    faults: Faults, expected_log: Expect
) -> None:
    from PySide6.QtCore import QObject, Slot

    class Listener(QObject):
        def __init__(self) -> None:
            super().__init__()
            self.threads: list[threading.Thread] = []

        @Slot(object)
        def take(self, fault: Fault) -> None:
            self.threads.append(threading.current_thread())

    listener = Listener()
    faults.found.connect(listener.take)
    with expected_log("The thread “worker 7” failed"):
        worker = threading.Thread(target=fail, name="worker 7")
        worker.start()
        await until(lambda: listener.threads)
        worker.join()
    assert listener.threads == [threading.main_thread()]


def test_the_same_fault_is_told_once_and_logged_each_time(
    faults: Faults, told: list[Fault], expected_log: Expect, tmp_path: Path
) -> None:
    with expected_log("on purpose") as seen:
        for number in range(5):
            try:
                fail(f"on purpose {number}")
            except ValueError as error:
                faults.report("A cell could not be shown.", error)
    assert len(told) == 1
    assert len(seen) == 5
    log = (tmp_path / "logs" / "console.log").read_text(encoding="utf-8")
    assert log.count("A cell could not be shown.") == 5
    assert "Traceback" in log


def test_only_a_few_different_faults_are_told(
    faults: Faults, told: list[Fault], expected_log: Expect
) -> None:
    kinds = [KeyError, IndexError, TypeError, AttributeError, RuntimeError]
    with expected_log("one of many"):
        for kind in kinds:
            try:
                raise kind("one of many")
            except Exception as error:
                faults.report("Something failed.", error)
    assert len(told) == MOST_DIALOGS


@pytest.mark.qt_no_exception_capture
def test_messages_of_qt_reach_the_log(faults: Faults, expected_log: Expect, tmp_path: Path) -> None:
    with expected_log("a word of Qt"):
        qWarning("a word of Qt")
    (line,) = (tmp_path / "logs" / "console.log").read_text().splitlines()
    assert line.endswith("praxis.qt: a word of Qt")
    assert line[:4].isdigit(), "each line begins with its UTC time"


def test_the_log_rotates(faults: Faults, tmp_path: Path) -> None:
    log = logging.getLogger("praxis.test")
    for _ in range(1100):
        log.info("x" * 1000)
    files = sorted(path.name for path in (tmp_path / "logs").glob("console.log*"))
    assert files == ["console.log", "console.log.1"]


def test_a_hard_crash_is_found_by_the_next_start(tmp_path: Path) -> None:
    folder = tmp_path / "logs"
    code = textwrap.dedent(
        f"""
        import os
        os.environ["QT_QPA_PLATFORM"] = "offscreen"
        import faulthandler
        from pathlib import Path
        from app.crash import Faults
        faults = Faults(Path({str(folder)!r}))
        faults.install()
        faulthandler._sigsegv()
        """
    )
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False, cwd=Path.cwd())
    assert ended.returncode != 0
    assert "Segmentation fault" in (folder / CRASH_FILE).read_text(encoding="utf-8")
    made = Faults(folder)
    made.install()
    assert "Segmentation fault" in made.last_crash
    assert (folder / LAST_CRASH_FILE).exists()
    made.uninstall()
    assert not (folder / CRASH_FILE).exists(), "an orderly end leaves no crash file"
    again = Faults(folder)
    again.install()
    assert again.last_crash == ""
    again.uninstall()


def test_a_kill_leaves_nothing_to_report(tmp_path: Path) -> None:
    """An empty crash file means the process was ended from outside; the journal tells what ran."""
    (tmp_path / CRASH_FILE).write_text("", encoding="utf-8")
    made = Faults(tmp_path)
    made.install()
    assert made.last_crash == ""
    made.uninstall()


def test_a_folder_that_cannot_be_written_is_no_reason_not_to_start(
    tmp_path: Path, expected_log: Expect
) -> None:
    (tmp_path / CRASH_FILE).mkdir()
    (tmp_path / "console.log").mkdir()
    made = Faults(tmp_path)
    with expected_log("No crash file can be kept"), expected_log("No log file can be kept"):
        made.install()
    made.uninstall()


def test_interrupts_are_not_faults(faults: Faults, told: list[Fault], qtbot: QtBot, capsys: Any) -> None:
    sys.excepthook(KeyboardInterrupt, KeyboardInterrupt(), None)
    assert told == []
    assert "KeyboardInterrupt" in capsys.readouterr().err
