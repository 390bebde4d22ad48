"""From start to end with the real engine: the console opens a folder, is closed, and leaves nothing behind."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from PySide6.QtGui import QImage
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from app import main
from app.guide import guided_tour
from app.main import open_console, take_screenshots
from app.options import Options
from app.session import Session
from app.shell.registry import registered_pages
from app.shell.window import MainWindow
from app.single_instance import Quitting
from engine.engine import Engine
from engine.errors import FolderInUse
from engine.states import HoldKind
from tests.app.conftest import until
from tests.app.shell.test_window import dialogs, press, question

CONSOLE = (sys.executable, "-m", "app")


def environment(**more: str) -> dict[str, str]:
    plain = {name: value for name, value in os.environ.items() if name not in {"DISPLAY", "WAYLAND_DISPLAY"}}
    return {**plain, "QT_QPA_PLATFORM": "offscreen", **more}


@asynccontextmanager
async def running(*arguments: str, **more: str) -> AsyncIterator[asyncio.subprocess.Process]:
    """A console as a process of its own; ended at the end of the test at the latest."""
    process = await asyncio.create_subprocess_exec(
        *CONSOLE, *arguments, env=environment(**more), stderr=asyncio.subprocess.PIPE
    )
    try:
        yield process
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


async def owned(folder: Path, times: int = 1) -> None:
    """Wait until consoles have opened the folder and reached their window so many times."""
    log = folder / "logs" / "console.log"
    await until(lambda: log.exists() and log.read_text(encoding="utf-8").count(" Opened ") >= times)


async def test_a_console_opens_shows_and_closes(qapp: QApplication, folder: Path) -> None:
    async with open_console(qapp, folder) as window:
        window.show()
        await window.session.settled()
        assert window.session.status is not None
        assert window.session.status.epoch == 1
        assert window.session.actor.kind == "person"
    async with open_console(qapp, folder) as window:
        await window.session.settled()
        assert window.session.status is not None
        assert window.session.status.epoch == 2
    assert not QApplication.topLevelWidgets() or not any(
        w.isVisible() for w in QApplication.topLevelWidgets()
    )


async def test_commands_reach_the_real_engine(qapp: QApplication, folder: Path) -> None:
    async with open_console(qapp, folder) as window:
        session = window.session
        window.show()
        await session.settled()
        window.commands.pause.trigger()
        await until(lambda: session.status is not None and session.status.engine_hold is not None)
        assert session.status is not None
        hold = session.status.engine_hold
        assert hold is not None
        assert hold.kind is HoldKind.PAUSE
        await until(lambda: session.alerts.shown())
        assert session.alerts.shown()[0].what == "Dispatch is paused."
        press(window.strips, "Resume")
        await until(lambda: session.status is not None and session.status.engine_hold is None)


async def test_the_first_start_brings_harmless_work(qapp: QApplication, folder: Path) -> None:
    async with open_console(qapp, folder) as window:
        window.show()
        await guided_tour(window, window.session)
        await until(
            lambda: window.session.status is not None and window.session.status.pending_approvals == 7
        )
        assert window.session.status is not None
        assert window.session.status.running == 0, "nothing runs unapproved"
        assert window.session.alerts.shown() == (), "the tour says what there is"
        await guided_tour(window, window.session)
        engine = window.session.engine
        assert len(await engine.approvals.inbox()) == 7, "what still waits is taken up, not asked for again"
        assert not (folder / "scratch workspace 2").exists()
        works = next(row for row in await engine.approvals.inbox() if row.title.startswith("Works"))
        await engine.approvals.reject(
            works.approval_id, window.session.actor, reason="to take the tour again"
        )
        await guided_tour(window, window.session)
        titles = [row.title for row in await engine.approvals.inbox()]
        assert len(titles) == len(set(titles)) == 7, "only what no longer waits is asked for"
        assert (folder / "scratch workspace 2" / "README.md").exists(), "the tour may be taken again"


async def test_a_folder_that_is_in_use_is_refused(qapp: QApplication, folder: Path) -> None:
    engine = await Engine.open(folder, program="praxis serve")
    try:
        with pytest.raises(FolderInUse, match="praxis serve"):
            async with open_console(qapp, folder):
                pass
    finally:
        await engine.close()


async def test_who_uses_the_folder_is_said_in_a_dialog(
    qapp: QApplication, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(main, "PATIENCE_SECONDS", 0.0)
    engine = await Engine.open(folder, program="praxis serve")
    starting = asyncio.create_task(main._supervise(qapp, folder, "nobody-listens-here"))
    dialog = await question()
    assert "praxis serve" in dialog.windowTitle()
    press(dialog, "Close")
    assert await starting == FolderInUse.exit_code
    assert dialogs() == []
    await engine.close()


async def test_a_crash_of_the_last_run_is_offered(qapp: QApplication, folder: Path) -> None:
    async with open_console(qapp, folder) as window:
        window.show()
        faults = main.Faults(folder / "logs")
        faults.last_crash = "Fatal Python error: Segmentation fault"
        main._offer_crash(window, faults)
        press(window.strips, "Show report")
        dialog = await question()
        press(dialog, "Copy details")
        assert "Segmentation fault" in QApplication.clipboard().text()
        press(dialog, "Close")
        await window.session.settled()


async def test_screenshots_of_every_page_in_both_themes(
    qapp: QApplication, tmp_path: Path, qtbot: QtBot
) -> None:
    seeded: list[Path] = []

    async def seed(engine: Engine, scratch: Path) -> None:
        seeded.append(engine.folder)

    assert await take_screenshots(qapp, tmp_path / "pictures", seed) == 0
    pictures = {path.stem: QImage(str(path)) for path in (tmp_path / "pictures").glob("*.png")}
    assert {"inbox-light", "inbox-dark"} <= pictures.keys()
    assert len(pictures) % 2 == 0
    for picture in pictures.values():
        assert (picture.width(), picture.height()) == (1280, 800)
    assert pictures["inbox-light"].pixelColor(640, 780).lightness() > 200
    assert pictures["inbox-dark"].pixelColor(640, 780).lightness() < 60
    assert seeded
    assert not seeded[0].exists(), "the scratch folder goes"


# ------------------------------------------------------------------------------------ as processes of their own


async def test_a_second_start_raises_the_first_and_ends(tmp_path: Path) -> None:
    """B-098: many at once, one stays; the others end well and touch nothing."""
    folder = tmp_path / "data"
    async with running("--data", str(folder)) as first:
        await owned(folder)
        others = [
            await asyncio.create_subprocess_exec(*CONSOLE, "--data", str(folder), env=environment())
            for _ in range(3)
        ]
        assert [await other.wait() for other in others] == [0, 0, 0]
        assert first.returncode is None
        first.send_signal(signal.SIGTERM)
        _, said = await first.communicate()
        assert first.returncode == 0, said.decode()
    assert "Traceback" not in said.decode()


async def test_starts_at_the_same_time_leave_one(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    async with running("--data", str(folder)) as one, running("--data", str(folder)) as two:
        ends = [asyncio.create_task(process.wait()) for process in (one, two)]
        done, rest = await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
        assert [task.result() for task in done] == [0]
        winner = one if one.returncode is None else two
        winner.send_signal(signal.SIGTERM)
        await asyncio.wait(rest)
        assert winner.returncode == 0


async def test_a_terminated_console_closes_its_folder(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    async with running("--data", str(folder)) as process:
        await owned(folder)
        process.send_signal(signal.SIGTERM)
        _, said = await process.communicate()
    assert process.returncode == 0, said.decode()
    assert not (folder / "praxis.sqlite-wal").exists() or (folder / "praxis.sqlite-wal").stat().st_size == 0
    assert not (folder / "logs" / "crash.txt").exists()
    engine = await Engine.open(folder)
    await engine.close()


async def test_a_console_is_asked_to_quit_by_another_start(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    arguments = ("--data", str(folder))
    async with running(*arguments) as process:
        await owned(folder)
        async with running("--quit", *arguments) as asking:
            _, said = await asking.communicate()
            assert (asking.returncode, said.decode()) == (0, "")
        assert await process.wait() == 0
    async with running("--quit", *arguments) as asking:
        assert await asking.wait() == 0, "where none runs there is nothing to wait for"


async def test_a_console_that_still_asks_its_person_has_not_quit(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setattr(main, "quit_running", lambda _: Quitting.NOT_DONE)
    assert main.start(Options(data=tmp_path, quit=True), print) == 4
    assert "asks in its window" in capsys.readouterr().err


async def test_a_killed_console_can_be_started_again(tmp_path: Path) -> None:
    """B-011: what waited still waits, with the same requests, and nothing ran."""
    folder = tmp_path / "data"
    async with running("--data", str(folder)) as process:
        await owned(folder)
        await until(lambda: (folder / "scratch workspace" / "README.md").exists())
        process.kill()
        await process.wait()
    async with running("--data", str(folder)) as process:
        await owned(folder, times=2)
        process.send_signal(signal.SIGTERM)
        assert await process.wait() == 0


async def test_without_a_display_it_says_so_in_a_sentence() -> None:
    plain = environment()
    del plain["QT_QPA_PLATFORM"]
    process = await asyncio.create_subprocess_exec(*CONSOLE, env=plain, stderr=asyncio.subprocess.PIPE)
    assert process.stderr is not None
    said = (await process.stderr.readline()).decode()
    process.terminate()
    await process.communicate()
    assert said.startswith("No display was found: the guided tour runs without one")
    assert "praxis-console-tour-" in said


def test_the_tour_without_a_display_names_its_folder(
    qapp: QApplication, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    toured: list[Path] = []

    async def run_tour(window: MainWindow, session: Session, folder: Path) -> None:
        await session.settled()
        toured.append(folder)

    monkeypatch.setattr("app.tour.run_tour", run_tour)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    said: list[str] = []
    assert main.start(Options(tour=True), said.append) == 0
    assert len(said) == 2
    assert all(str(toured[0]) in line for line in said)


def test_the_tour_without_a_display_never_acts_on_given_data(qapp: QApplication, tmp_path: Path) -> None:
    said: list[str] = []
    assert main.start(Options(data=tmp_path / "data", tour=True), said.append) == 2
    assert not (tmp_path / "data").exists()
    assert "Nothing was opened or changed" in said[0]


def test_the_option_for_pictures(qapp: QApplication, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def seed(engine: Engine, scratch: Path) -> None:
        assert await engine.approvals.inbox() == ()

    monkeypatch.setattr("app.screenshots.seed", seed)
    monkeypatch.setattr(main, "registered_pages", lambda: registered_pages()[:1])
    assert main.start(Options(screenshots=tmp_path / "pictures"), print) == 0
    assert (tmp_path / "pictures" / "inbox-light.png").exists()
