"""File > Export receipt, over the real engine (E-93)."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from PySide6.QtWidgets import QApplication, QLabel

from app.main import open_console
from app.session import WHOLE_ENGINE, Selection
from app.shell import export_receipt as exporting
from engine.interfaces.receipts import check_receipt
from engine.states import NodeKind
from engine.work_order import WorkOrderSpec
from tests.app.shell.test_window import action, press, question


async def test_the_receipt_of_what_is_chosen_is_written(
    qapp: QApplication,
    folder: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    work_order: Callable[..., WorkOrderSpec],
) -> None:
    target = tmp_path / "receipt.json"
    names: list[str] = []

    async def choose(*_: object, name: str, **__: object) -> Path:
        names.append(name)
        return target

    monkeypatch.setattr(exporting, "ask_save_file", choose)
    async with open_console(qapp, folder) as window:
        window.show()
        engine = window.session.engine
        order = await engine.submit(work_order(), window.session.actor)
        task = (await engine.work_order(order.id)).tasks[0]
        await window.session.settled()
        for selection in (
            Selection(NodeKind.WORK_ORDER, order.id, "WO-1 Say done"),
            Selection(NodeKind.TASK, task.id, "WO-1 · implement"),
        ):
            target.unlink(missing_ok=True)
            window.session.select(selection)
            action(window, "Export receipt…").trigger()
            dialog = await question()
            assert dialog.windowTitle() == "The receipt of WO-1 is exported"
            report = check_receipt(target.read_bytes())
            assert report.sound
            assert any(report.digest in found.text() for found in dialog.findChildren(QLabel))
            press(dialog, "Close")
            await window.session.settled()
        assert names == ["WO-1.receipt.json"] * 2

        window.session.select(WHOLE_ENGINE)
        action(window, "Export receipt…").trigger()
        dialog = await question()
        assert "No work order is chosen" in dialog.windowTitle()
        press(dialog, "Close")
        await window.session.settled()


async def test_a_receipt_that_cannot_be_written_is_said(
    qapp: QApplication,
    folder: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    work_order: Callable[..., WorkOrderSpec],
) -> None:
    async def choose(*_: object, **__: object) -> Path:
        return tmp_path / "no such folder" / "receipt.json"

    monkeypatch.setattr(exporting, "ask_save_file", choose)
    async with open_console(qapp, folder) as window:
        window.show()
        order = await window.session.engine.submit(work_order(), window.session.actor)
        window.session.select(Selection(NodeKind.WORK_ORDER, order.id, "WO-1 Say done"))
        action(window, "Export receipt…").trigger()
        dialog = await question()
        assert "cannot be written" in dialog.windowTitle()
        press(dialog, "Close")
        await window.session.settled()
