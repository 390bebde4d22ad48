"""File > Export receipt: the story of the chosen work order in one file that proves itself (E-93)."""

from __future__ import annotations

import asyncio
from pathlib import Path

from PySide6.QtWidgets import QWidget

from app.session import Selection, Session
from app.widgets import Question, ask_save_file, opened
from engine.errors import InvalidValue
from engine.interfaces.receipts import make_receipt, receipt_digest, write_receipt
from engine.states import NodeKind


async def export_receipt(window: QWidget, session: Session) -> None:
    """Ask for a file, write the receipt into it, and say its digest; `InvalidValue` if no work order is chosen."""
    entries = await session.engine.receipt(_work_order(session.selection))
    name = f"WO-{entries[0].facts['number']}"
    target = await ask_save_file(
        window, f"Export the receipt of {name}", filters="Receipts (*.json)", name=f"{name}.receipt.json"
    )
    if target is not None:
        receipt = make_receipt(entries)
        await asyncio.to_thread(write_receipt, receipt, target)
        await _say_done(window, name, target, receipt_digest(receipt))


def _work_order(selection: Selection) -> str:
    """The chosen work order, or that of the chosen task, whose label begins with its name."""
    if selection.kind is NodeKind.WORK_ORDER:
        return selection.id
    if selection.kind is NodeKind.TASK:
        return selection.label.split()[0]
    raise InvalidValue(
        "No work order is chosen.", means="A receipt is of one work order.", do="Choose one, then export it."
    )


async def _say_done(window: QWidget, name: str, target: Path, digest: str) -> None:
    text = f"It is in {target}. Its digest is {digest}. praxis verify-receipt checks it on any machine."
    dialog = Question(window, f"The receipt of {name} is exported", text)
    dialog.add_show_in_folder(target, "file")
    dialog.add_back("Close").setFocus()
    await opened(dialog)
