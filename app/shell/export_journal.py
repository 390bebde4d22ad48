"""File > Export journal: the whole journal in one file, for other programs."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from PySide6.QtWidgets import QWidget

from app.session import Session
from app.widgets import Question, Report, ask_save_file, number, opened, with_progress
from engine.interfaces.journal_export import ExportForm, Filtered, export_file
from engine.views.journal import ALL, JournalFilter

_FILTERS = "JSON Lines (*.jsonl);;CSV for spreadsheets (*.csv)"


async def export_journal(
    window: QWidget, session: Session, *, work_order_id: str | None = None, only: JournalFilter = ALL
) -> None:
    """Ask for a file, write the journal into it with progress, and say what was written.

    ``work_order_id`` and ``only`` leave out other rows; without them it is the whole journal.
    """
    part = work_order_id is not None or only != ALL
    title = "Export these rows" if part else "Export the journal"
    name = "praxis-journal-part.jsonl" if part else "praxis-journal.jsonl"
    target = await ask_save_file(window, title, filters=_FILTERS, name=name)
    if target is not None:
        rows = await with_progress(
            window,
            "Exporting the journal",
            "The file appears when it is whole.",
            partial(_write, session, target, work_order_id, only),
        )
        if rows is not None:
            await _say_done(window, target, rows)


async def _write(
    session: Session, target: Path, work_order_id: str | None, only: JournalFilter, report: Report
) -> int:
    newest = session.status.last_sequence if session.status is not None else 0
    form = ExportForm.CSV if target.suffix.lower() == ".csv" else ExportForm.JSONL
    return await export_file(
        session.engine if only == ALL else Filtered(session.engine, only),
        target,
        form,
        work_order_id,
        progress=lambda rows: report(rows, newest, f"{number(rows)} of {number(newest)} rows"),
    )


async def _say_done(window: QWidget, target: Path, rows: int) -> None:
    dialog = Question(window, "The journal is exported", f"{number(rows)} rows are in {target}")
    dialog.add_show_in_folder(target, "file")
    dialog.add_back("Close").setFocus()
    await opened(dialog)
