"""A long action: how far it is, how to stop it, what came of it."""

from __future__ import annotations

import asyncio
from typing import NoReturn

import pytest
from PySide6.QtWidgets import QLabel, QProgressBar, QWidget
from pytestqt.qtbot import QtBot

from app.widgets import Report, with_progress
from engine.errors import InvalidValue
from tests.app.conftest import until
from tests.app.widgets.test_dialogs import pressable, shown

pytestmark = pytest.mark.usefixtures("themed")


@pytest.fixture
def window(qtbot: QtBot) -> QWidget:
    made = QWidget()
    qtbot.addWidget(made)
    made.show()
    return made


async def test_progress_and_result(window: QWidget) -> None:
    go_on = asyncio.Event()

    async def work(report: Report) -> str:
        report(250, 1000, "250 of 1000 rows")
        await go_on.wait()
        return "done"

    running = asyncio.create_task(with_progress(window, "Exporting", "", work))
    dialog = await shown()
    bar = dialog.findChild(QProgressBar)
    assert isinstance(bar, QProgressBar)
    await until(lambda: bar.value() == 250)
    assert any(found.text() == "250 of 1000 rows" for found in dialog.findChildren(QLabel))
    go_on.set()
    assert await running == "done"


async def test_stopping_cancels_the_work(window: QWidget) -> None:
    ended: list[str] = []

    async def work(report: Report) -> str:
        try:
            await asyncio.Event().wait()
        finally:
            ended.append("ended")
        return "never"

    running = asyncio.create_task(with_progress(window, "Exporting", "", work))
    pressable(await shown(), "Stop").click()
    assert await running is None
    assert ended == ["ended"]


async def test_errors_come_out(window: QWidget) -> None:
    async def work(report: Report) -> NoReturn:
        report(1, 0, "nobody knows how many")
        raise InvalidValue("The disk is full.")

    with pytest.raises(InvalidValue, match="full"):
        await with_progress(window, "Exporting", "", work)


async def test_cancelling_who_waits_cancels_the_work(window: QWidget) -> None:
    ended: list[str] = []

    async def work(report: Report) -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.append("ended")

    running = asyncio.create_task(with_progress(window, "Exporting", "", work))
    await shown()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert ended == ["ended"]
