"""Quitting: what runs is named, and the person says what becomes of it (B-110)."""

from __future__ import annotations

import asyncio
from enum import StrEnum

from PySide6.QtWidgets import QWidget

from app.alerts import Alert
from app.session import Session
from app.theme import Tone
from app.widgets import Option, choose


class QuitAnswer(StrEnum):
    """What a person may answer when something runs."""

    WAIT = "wait"
    STOP = "stop"


async def may_quit(window: QWidget, session: Session, *, to_restore: bool = False) -> bool:
    """Ask what becomes of what runs; True when the console may close now, for good or ``to_restore``.

    After "wait" this returns when everything in flight has ended; until then nothing new is claimed, and a
    strip offers the way back.
    """
    running = await session.engine.running()
    if not running:
        return True
    one = len(running) == 1
    are, them = ("attempt runs", "it") if one else ("attempts run", "them")
    verb = "restore" if to_restore else "quit"
    closes = "The data is restored" if to_restore else "The console closes"
    decides = "" if to_restore else " You decide about it at the next start."
    answer = await choose(
        window,
        "Close the data folder to restore?" if to_restore else "Quit Praxis Console?",
        f"{len(running)} {are} now. The console is what watches over {them}.",
        (
            Option(
                QuitAnswer.WAIT,
                f"Wait, then {verb}",
                f"Nothing new starts. {closes} when what runs has ended by itself.",
            ),
            Option(
                QuitAnswer.STOP,
                f"Stop {them} and {verb}",
                f"What runs is stopped and becomes UNKNOWN: a kill does not prove that nothing happened.{decides}",
                danger=True,
            ),
        ),
        details=[
            f"WO-{row.number} · {row.purpose.lower()} · {row.title} · since "
            f"{session.times.stamp(row.started_at or row.authorized_at)}"
            for row in running
        ],
    )
    if answer is None:
        return False
    return answer == QuitAnswer.STOP or await _all_ended(session, "Restoring" if to_restore else "Quitting")


async def _all_ended(session: Session, doing: str) -> bool:
    """Wait for the end of what runs; False if the person takes the quitting back meanwhile."""
    waiting = session.spawn(session.engine.finish(), "wait for what runs")
    session.alerts.show(
        Alert(
            "quitting",
            f"{doing} when what runs has ended.",
            "Nothing new starts until then.",
            Tone.LIVE,
            "Do not restore" if doing == "Restoring" else "Do not quit",
            waiting.cancel,
        )
    )
    try:
        await asyncio.wait((waiting,))
    finally:
        session.alerts.clear("quitting")
    return not waiting.cancelled()
