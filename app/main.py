"""From the command line to the window and back: opens the data folder, shows the console, closes everything."""

from __future__ import annotations

import asyncio
import getpass
import logging
import signal
import sys
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from functools import partial
from pathlib import Path

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication

from app import event_loop
from app.alerts import Alert
from app.crash import LAST_CRASH_FILE, Faults, log_folder
from app.guide import guided_tour, take_up_tour
from app.memory import set_start_aside
from app.options import Options
from app.panels.inbox.guard import ARMING_MS
from app.session import Session
from app.settings import Settings
from app.shell.geometry import DEFAULT_SIZE
from app.shell.registry import registered_extras, registered_pages
from app.shell.window import MainWindow
from app.single_instance import InstanceServer, Quitting, instance_name, quit_running, raise_running
from app.theme import Theme, ThemeChoice, Tone, icon, theme
from app.widgets import Times
from app.widgets.dialogs import error_dialog, opened
from app.wizards.recovery import RECOVERABLE, recover
from app.wizards.restore import RestoreWish, carry_out, tell_restored
from engine.actors import Actor, ActorKind
from engine.backup import RestoreReport
from engine.clock import Clock, SystemClock
from engine.engine import Engine
from engine.errors import ChannelError, FolderInUse, InvalidValue, PraxisError, StorageError, WrongState
from engine.fault_clock import FaultClock, read_clock_script
from engine.interfaces.channel import Channel

PROGRAM = "praxis-console"
DATABASE = "praxis.sqlite"
APPLICATION_ID = "Praxis.Console"
"""Windows groups windows, shortcut and notifications by this; the installer's shortcut has the same."""

PATIENCE_SECONDS = 6.0
"""How long a second start waits for a first one that has the folder but does not answer yet, or no more."""

Seed = Callable[[Engine, Path], Awaitable[None]]
Before = Callable[[Path, Path], Awaitable[None]]
PARTS = {"wakes": ("wakes", "schedules", "docket")}
"""Parts of pages that have pictures of their own."""
"""Fills an engine for pictures; the path is a scratch folder for workspaces."""

logger = logging.getLogger("praxis.console")


def start(options: Options, tell: Callable[[str], None]) -> int:
    """Run what the options ask for; ``tell`` says a sentence to whoever started it. Returns the exit code."""
    app = make_application()
    if options.self_test:
        from app.self_test import self_test, tell_report

        report = event_loop.run(partial(self_test, app, options.screenshots), app)
        return tell_report(report, as_json=options.json)
    if options.screenshots is not None:
        from app.screenshots import seed, seed_evening_before

        work = partial(take_screenshots, app, options.screenshots, seed, seed_evening_before)
        return event_loop.run(work, app)
    if options.tour:
        if options.data is not None:
            tell(
                f"No display was found, so no window can show {options.data}. Nothing was opened or changed. "
                "Use praxis with --data, or leave --data out for the guided tour in a folder of its own."
            )
            return InvalidValue.exit_code
        return event_loop.run(partial(_tour_without_display, app, tell), app)
    clock: Clock | None = None
    if options.clock_script is not None:
        try:
            clock = FaultClock(read_clock_script(options.clock_script))
        except InvalidValue as error:
            tell(str(error))
            return error.exit_code
    folder = (options.data or Engine.default_folder()).absolute()
    name = instance_name(folder)
    if options.quit:
        return _quit_running(name)
    if raise_running(name):
        return 0
    return event_loop.run(partial(_supervise, app, folder, name, clock), app)


def _quit_running(name: str) -> int:
    """Have the running console quit; it asks its person first if anything runs."""
    if quit_running(name) is not Quitting.NOT_DONE:
        return 0
    # Never a message box: an installer that runs unseen would wait for somebody to close it.
    if sys.stderr is not None:
        print(
            "The console has not quit yet: it asks in its window what becomes of what runs. Answer there.",
            file=sys.stderr,
        )
    return WrongState.exit_code


def make_application() -> QApplication:
    """The application: named, and never ended by the closing of a window."""
    if sys.platform == "win32":
        import ctypes

        ctypes.windll.shell32.SetCurrentProcessExplicitAppUserModelID(APPLICATION_ID)
    found = QApplication.instance()
    app = found if isinstance(found, QApplication) else QApplication(sys.argv[:1])
    app.setApplicationName("Praxis Console")
    app.setApplicationDisplayName("Praxis Console")
    app.setDesktopFileName(PROGRAM)
    app.setQuitOnLastWindowClosed(False)
    app.setWindowIcon(icon("praxis"))
    return app


@asynccontextmanager
async def open_console(
    app: QApplication, folder: Path, clock: Clock | None = None
) -> AsyncIterator[MainWindow]:
    """Open a data folder and give its window, not yet shown; closes session, engine and window at the end.

    Raises a `StorageError` if the folder cannot be opened. What runs at the end is stopped and becomes UNKNOWN.
    """
    settings = Settings(folder)
    async with AsyncExitStack() as closing:
        look = Theme(app, settings.theme, settings.density)
        closing.callback(look.deleteLater)
        engine = await Engine.open(folder, clock=clock, program=PROGRAM)
        try:
            times = Times(engine.clock.now, settings.zone)
            session = Session(engine, Actor(ActorKind.PERSON, getpass.getuser()), settings, times)
            window = MainWindow(session, registered_pages(), registered_extras())
        except BaseException:
            await engine.close()
            raise
        # Closed from the last to the first: the window stays until the engine has stopped what runs.
        closing.callback(window.deleteLater)
        closing.callback(settings.save)
        closing.callback(window.finish)
        closing.push_async_callback(engine.close)
        closing.push_async_callback(session.close)
        session.start()
        yield window


async def _supervise(app: QApplication, folder: Path, name: str, clock: Clock | None = None) -> int:
    """The console as a person uses it: opened, and after each restore opened again."""
    restored: RestoreReport | None = None
    while True:
        try:
            wish = await _console(app, folder, name, clock, restored)
        except FolderInUse as error:
            return 0 if await _raise_patiently(name) else await _cannot_open(app, error)
        except RECOVERABLE as error:
            wish = await _recovery(app, folder, error, clock)
            if wish is None:
                return error.exit_code
        except StorageError as error:
            return await _cannot_open(app, error)
        if wish is None:
            return 0
        restored = await _restore(app, wish)


async def _console(
    app: QApplication, folder: Path, name: str, clock: Clock | None, restored: RestoreReport | None
) -> RestoreWish | None:
    """Show the console until it is closed; what to restore before it is opened again, or None to end."""
    is_first_start = restored is None and not (folder / DATABASE).exists()
    async with open_console(app, folder, clock) as window, _listening(window.session):
        if restored is not None:
            tell_restored(window, window.session, restored)
        faults = Faults(log_folder(folder))
        faults.install()
        try:
            await _until_quit(app, window, faults, name, is_first_start)
        finally:
            faults.uninstall()
        return window.session.then


async def _restore(app: QApplication, wish: RestoreWish) -> RestoreReport | None:
    """Restore the closed folder; None if it was stopped or went wrong, which is shown, and the old data stays."""
    look = Theme(app)
    try:
        return await carry_out(None, wish)
    except PraxisError as error:
        logger.error("The restore from %s went wrong: %s", wish.copy.path, error)
        await opened(error_dialog(None, error))
        return None
    finally:
        look.deleteLater()


async def _recovery(
    app: QApplication, folder: Path, error: StorageError, clock: Clock | None
) -> RestoreWish | None:
    """Show the way back from data that cannot be opened; what to restore, or None to end."""
    look = Theme(app)
    try:
        return await recover(folder, error, clock or SystemClock())
    finally:
        look.deleteLater()


@asynccontextmanager
async def _listening(session: Session) -> AsyncIterator[None]:
    """Let this user's other processes ask the engine while the console is open; without that it works too."""
    try:
        channel = await Channel.listen(session.engine, session.engine.folder, program=PROGRAM)
    except ChannelError as error:
        session.alerts.show(Alert("channel", error.what, error.means, dismissable=True))
        yield
        return
    try:
        yield
    finally:
        await channel.close()


async def _until_quit(
    app: QApplication, window: MainWindow, faults: Faults, name: str, is_first_start: bool
) -> None:
    session = window.session
    loop = asyncio.get_running_loop()
    faults.install_in_loop(loop)
    faults.found.connect(window.show_fault)
    server = InstanceServer(name)
    server.asked.connect(window.bring_to_front)
    server.asked_to_quit.connect(window.ask_to_quit)
    if not server.listening:
        logger.warning("A second start cannot raise this window: %s", server.error)
    app.commitDataRequest.connect(lambda _: session.settings.save(), Qt.ConnectionType.DirectConnection)
    for number in (signal.SIGTERM, signal.SIGINT):
        # Windows loops know no signal handlers; there Ctrl+C cancels the main task.
        with suppress(NotImplementedError):
            loop.add_signal_handler(number, window.end_at_once)
    _warn_of_place(session)
    if faults.last_crash:
        _offer_crash(window, faults)
    logger.info("Opened %s, epoch %d.", session.engine.folder, session.engine.epoch)
    set_start_aside()
    window.show_tray()
    window.show()
    window.go_to_page(window.current_page)
    if is_first_start:
        session.spawn(guided_tour(window, session), "first start")
    else:
        session.spawn(take_up_tour(window, session), "go on with the tour")
    try:
        await window.quit_asked.wait()
        await _say_stopping(session)
    finally:
        server.close()
        for number in (signal.SIGTERM, signal.SIGINT):
            with suppress(NotImplementedError):
                loop.remove_signal_handler(number)


async def _say_stopping(session: Session) -> None:
    """Leave a word in the window while what runs is being stopped."""
    with suppress(PraxisError):
        if running := len(await session.engine.running()):
            session.alerts.show(
                Alert(
                    "stopping",
                    f"Stopping {running}; then the console closes.",
                    "What is stopped becomes UNKNOWN. You decide about it at the next start.",
                    Tone.UNKNOWN,
                )
            )


def _warn_of_place(session: Session) -> None:
    if warning := session.engine.place_warning:
        session.alerts.show(
            Alert("place", "The data folder lies at a risky place.", warning, dismissable=True)
        )


def _offer_crash(window: MainWindow, faults: Faults) -> None:
    """Say that the last run ended by a hard crash, and offer what it left."""
    report = faults.last_crash

    def show() -> None:
        error = PraxisError(
            "The console ended by a fault last time.",
            means="What was committed is safe. What ran then is UNKNOWN if its end was not seen.",
            do="Copy the details for a report.",
            file=str(faults.folder / LAST_CRASH_FILE),
        )
        window.session.spawn(opened(error_dialog(window, error, details=report)), "show crash report")

    window.session.alerts.show(
        Alert(
            "crash",
            "The console ended by a fault last time.",
            "What was committed is safe.",
            action="Show report",
            pressed=show,
            dismissable=True,
        )
    )


async def _raise_patiently(name: str) -> bool:
    """Raise the other console once it answers: it may just be starting, or be about to end."""
    loop = asyncio.get_running_loop()
    give_up = loop.time() + PATIENCE_SECONDS
    while loop.time() < give_up:
        if raise_running(name):
            return True
        await asyncio.sleep(0.25)
    return False


async def _cannot_open(app: QApplication, error: StorageError) -> int:
    look = Theme(app)
    await opened(error_dialog(None, error))
    look.deleteLater()
    return error.exit_code


# ----------------------------------------------------------------------------- without a person at the screen


async def take_screenshots(
    app: QApplication, pictures: Path, seed: Seed, before: Before | None = None
) -> int:
    """Write a picture of every page in light and dark into ``pictures``, from a scratch data folder.

    ``before`` may make the folder before it is opened, ``seed`` fills it then. Files are named by page and theme,
    such as ``inbox-light.png``; parts of a page in `PARTS` come as well.
    """
    pictures.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="praxis-console-", ignore_cleanup_errors=True) as name:
        scratch = Path(name)
        if before is not None:
            await before(scratch / "data", scratch)
        async with open_console(app, scratch / "data") as window:
            await seed(window.session.engine, scratch)
            window.resize(DEFAULT_SIZE)
            window.show()
            for choice in (ThemeChoice.LIGHT, ThemeChoice.DARK):
                if (look := theme()) is not None:
                    look.choose(choice)
                for page in window.pages:
                    window.go_to_page(page.key)
                    if page.key == "inbox":
                        # Else its card would be pictured while it cannot be approved yet.
                        await asyncio.sleep(2 * ARMING_MS / 1000)
                    for part in PARTS.get(page.key, ("",)):
                        window.open_page(page.key, part)
                        name = page.key if part in ("", page.key) else f"{page.key}-{part}"
                        await picture(window, pictures / f"{name.replace('_', '-')}-{choice.value}.png")
    return 0


async def picture(window: MainWindow, file: Path) -> None:
    """Write a picture of the window as it is once everything has been read and painted."""
    for _ in range(3):
        window.session.refresh_status()
        await window.session.settled()
        await asyncio.sleep(0.1)
    if not window.grab().save(str(file)):
        raise PraxisError(
            f"The picture {file} could not be written.", do="Look whether the folder can be written."
        )


async def _tour_without_display(app: QApplication, tell: Callable[[str], None]) -> int:
    """Run the guided tour where nobody can see it, and leave its story and pictures in a folder.

    It approves, runs and decides by itself, so it never works on anybody's data: it makes its own.
    """
    from app.tour import run_tour

    folder = Path(tempfile.mkdtemp(prefix="praxis-console-tour-"))
    tell(
        f"No display was found: the guided tour runs without one and writes its story and pictures to {folder}"
    )
    async with open_console(app, folder / "data") as window:
        window.show()
        await run_tour(window, window.session, folder)
    tell(f"The tour has ended. Look at {folder}")
    return 0
