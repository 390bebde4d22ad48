"""`praxis journal`: check the chain of the journal, and write it out for other programs."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

from rich.text import Text

from engine.errors import DatabaseDamaged, InvalidValue
from engine.interfaces.cli_names import find_work_order
from engine.interfaces.cli_output import counted, shown
from engine.interfaces.cli_session import Session
from engine.interfaces.journal_export import ExportForm, export_file, export_lines
from engine.storage.journal import JournalReport


async def verify(session: Session) -> None:
    """Check every row's hash, order and number; `DatabaseDamaged` after the report if anything is wrong."""
    async with session.client(reading=True) as client:
        report = await client.verify_journal()
    session.out.result(report, lambda: _report_lines(report))
    if not report.sound:
        raise DatabaseDamaged(
            f"The journal is not sound: {counted(report.problem_count, 'problem')}.",
            means="A row was altered, removed or put in another order, by something else than the engine.",
            do="Keep a copy of the data folder as it is, and restore the newest good backup.",
            problems=report.problem_count,
        )


async def export(session: Session, target: Path | None, form: ExportForm, work_order: str | None) -> None:
    """Write the journal, oldest row first, to a file or stdout. A file appears only when it is whole."""
    if target is None and session.out.as_json and form is not ExportForm.JSONL:
        raise InvalidValue("--json prints JSON; a CSV goes to a file.", do="Name a file with --output.")
    async with session.client(reading=True) as client:
        work_order_id = (await find_work_order(client, work_order)).row.id if work_order else None
        if target is None:
            async for line in export_lines(client, form, work_order_id):
                sys.stdout.write(line)
            sys.stdout.flush()
            return
        written = await export_file(client, target, form, work_order_id)
    session.out.result(
        {"file": str(target), "rows": written},
        lambda: [f"Wrote {counted(written, 'row')} to {shown(str(target))}."],
    )


def _report_lines(report: JournalReport) -> Iterator[str | Text]:
    if report.sound:
        yield f"The journal is sound: {counted(report.rows, 'row')}, the newest is {report.last_sequence}."
        yield f"Its hash is {report.last_hash}."
        if report.compacted:
            yield f"Retention has removed {counted(report.compacted, 'row')}; signed checkpoints stand for them."
        if report.unconfirmed:
            yield Text(
                f"{report.unconfirmed:,} of these are signed with a key that is not this data folder's: only the chain "
                "proves them.",
                "yellow",
            )
        return
    for problem in report.problems:
        yield Text(f"row {problem.sequence}: {shown(problem.text)}", "red")
    if report.problem_count > len(report.problems):
        yield f"… and {report.problem_count - len(report.problems)} more."
