"""One data folder at one scale: a picture of every page in every theme and size, and of the dialogs."""

from __future__ import annotations

import argparse
import asyncio
import sys
from functools import partial
from pathlib import Path

from PySide6.QtCore import QSize
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QApplication, QDialog, QFileDialog, QPushButton, QTabBar

from app import event_loop
from app.main import make_application, open_console
from app.screenshots import start_long_work
from app.shell.geometry import DEFAULT_SIZE
from app.shell.window import MainWindow
from app.theme import ThemeChoice, theme
from engine.clock import Clock
from engine.fault_clock import Fault, FaultClock, FaultKind

STEP_BACK = Fault(300, FaultKind.STEP, -2 * 3_600_000)
NO_DIALOG = frozenset({"Open data folder", "Pause everything", "Resume everything…", "Quit…", "Guided tour"})


def main() -> int:
    """Make the pictures; names are ``page-state-theme-scale-size.png``."""
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("data", type=Path)
    parser.add_argument("state")
    parser.add_argument("scale")
    parser.add_argument("--themes", nargs="+", required=True)
    parser.add_argument("--sizes", nargs="+", required=True)
    parser.add_argument("--pages", nargs="+", default=())
    parser.add_argument("--dialogs", action="store_true")
    wanted = parser.parse_args()
    app = make_application()
    return event_loop.run(partial(_pictures, app, wanted), app)


async def _pictures(app: QApplication, wanted: argparse.Namespace) -> int:
    clock: Clock | None = FaultClock((STEP_BACK,)) if wanted.state == "error" else None
    async with open_console(app, wanted.data, clock) as window:
        # The screen that nobody sees is small; what was once squeezed on it would stay narrow.
        window.resize(DEFAULT_SIZE)
        window.show()
        if wanted.state in {"typical", "full"} and not (wanted.data.parent / "ledger").exists():
            await start_long_work(window.session.engine, wanted.data / "work")
        await asyncio.sleep(1.5)
        for name in wanted.themes:
            if (look := theme()) is not None:
                look.choose(ThemeChoice(name))
            for size in wanted.sizes:
                width, height = (int(part) for part in size.split("x"))
                window.resize(QSize(width, height))
                for page in window.pages:
                    if not wanted.pages or page.key in wanted.pages:
                        await _page(window, page.key, wanted, f"{name.replace(' ', '-')}", size)
            if wanted.dialogs:
                await _dialogs(window, wanted, name.replace(" ", "-"))
    return 0


async def _page(window: MainWindow, key: str, wanted: argparse.Namespace, look: str, size: str) -> None:
    window.go_to_page(key)
    for _ in range(3):
        await window.session.settled()
        await asyncio.sleep(0.05)
    await _grab(window, key.replace("_", "-"), wanted, look, size)
    if size != wanted.sizes[0] or wanted.state == "empty":
        return
    bars = [tabs for tabs in window.view(key).findChildren(QTabBar) if tabs.isVisible()]
    tabs = max(bars, key=QTabBar.count, default=None)
    if tabs is not None:
        for number in range(1, tabs.count()):
            tabs.setCurrentIndex(number)
            word = tabs.tabText(number).split(" (")[0].split(" ·")[0].replace(" ", "-").lower()
            await _grab(window, f"{key.replace('_', '-')}-{word}", wanted, look, size)
        tabs.setCurrentIndex(0)
    verify = next(
        (found for found in window.findChildren(QPushButton) if found.text() == "Verify chain"), None
    )
    if wanted.state == "error" and verify is not None and verify.isVisible():
        verify.click()
        await asyncio.sleep(1.0)
        await _grab(window, f"{key}-verified", wanted, look, size)
        for dialog in (await _shown(),):
            if dialog is not None:
                dialog.grab().save(
                    str(wanted.folder / f"dialog-journal-is-not-sound-{look}-{wanted.scale}.png")
                )
                dialog.reject()


async def _grab(window: MainWindow, name: str, wanted: argparse.Namespace, look: str, size: str) -> None:
    await window.session.settled()
    await asyncio.sleep(0.1)
    window.grab().save(str(wanted.folder / f"{name}-{wanted.state}-{look}-{wanted.scale}-{size}.png"))


async def _dialogs(window: MainWindow, wanted: argparse.Namespace, look: str) -> None:
    """Open what the menus and the pages open, one after the other, and picture it where it stands."""
    engine = window.session.engine
    if not await engine.backups.listed():
        made = await engine.backups.back_up(window.session.actor)
        await engine.backups.rehearse(made.path, window.session.actor)
    for page in window.pages:
        window.go_to_page(page.key)
        await window.session.settled(2.0)
        await asyncio.sleep(0.2)
        names = [
            button.text()
            for button in window.view(page.key).findChildren(QPushButton)
            if button.isVisible() and button.isEnabled() and button.text().endswith("…")
        ]
        for name in dict.fromkeys(names):
            button = next(
                one
                for one in window.view(page.key).findChildren(QPushButton)
                if one.text() == name and one.isVisible()
            )
            button.click()
            await _picture(window, f"{page.key}-{name}", wanted, look)
    for action in window.findChildren(QAction):
        text = action.text()
        if not (text.endswith("…") or text in {"Keyboard", "New work order", "About Praxis Console"}):
            continue
        if text in NO_DIALOG or not action.isEnabled():
            continue
        action.trigger()
        await _picture(window, text, wanted, look, goes_on="Verify and compare" if text == "Restore…" else "")


async def _picture(
    window: MainWindow, text: str, wanted: argparse.Namespace, look: str, goes_on: str = ""
) -> None:
    """Picture the dialog that ``text`` has opened, and the one behind its button ``goes_on``; then go back."""
    dialog = await _shown()
    if dialog is None:
        print(f"{text}: no dialog", file=sys.stderr)
        return
    if not isinstance(dialog, QFileDialog):
        name = "".join(letter if letter.isalnum() else "-" for letter in text.rstrip("…").lower())
        dialog.grab().save(str(wanted.folder / f"dialog-{name}-{look}-{wanted.scale}.png"))
    onward = next(
        (one for one in dialog.findChildren(QPushButton) if goes_on and one.text() == goes_on), None
    )
    if onward is not None:
        onward.click()
        await asyncio.sleep(2.0)
        await _picture(window, f"{text.rstrip('…')}-confirm", wanted, look)
        return
    dialog.reject()
    await window.session.settled(2.0)


async def _shown() -> QDialog | None:
    for _ in range(60):
        await asyncio.sleep(0.05)
        found = [
            shown
            for shown in QApplication.topLevelWidgets()
            if isinstance(shown, QDialog) and shown.isVisible()
        ]
        if found:
            await asyncio.sleep(0.3)
            return found[-1]
    return None


if __name__ == "__main__":
    sys.exit(main())
