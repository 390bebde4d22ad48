"""`praxis journal`: check the chain of the journal, and write it out for other programs."""

from __future__ import annotations

import csv
import io
import json
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from enum import StrEnum
from pathlib import Path

from rich.text import Text

from engine.errors import DatabaseDamaged, InvalidValue
from engine.files import replace_file
from engine.interfaces import wire
from engine.interfaces.channel_client import EngineClient
from engine.interfaces.cli_names import find_work_order
from engine.interfaces.cli_output import shown
from engine.interfaces.cli_session import Session
from engine.storage.journal import JournalReport
from engine.views.values import JournalRow

COLUMNS = (
    "sequence",
    "at",
    "epoch",
    "actor_kind",
    "actor_name",
    "subject_kind",
    "subject_id",
    "work_order_id",
    "kind",
    "detail",
)
_PAGE = 1000


class ExportForm(StrEnum):
    """The forms in which the journal can be written out."""

    JSONL = "jsonl"
    CSV = "csv"


async def verify(session: Session) -> None:
    """Check every row's hash, order and number; `DatabaseDamaged` after the report if anything is wrong."""
    async with session.client() as client:
        report = await client.verify_journal()
    session.out.result(report, lambda: _report_lines(report))
    if not report.sound:
        raise DatabaseDamaged(
            f"The journal is not sound: {report.problem_count} problems.",
            means="A row was altered, removed or put in another order, by something else than the engine.",
            do="Keep a copy of the data folder as it is, and restore the newest good backup.",
            problems=report.problem_count,
        )


async def export(session: Session, target: Path | None, form: ExportForm, work_order: str | None) -> None:
    """Write the journal, oldest row first, to a file or stdout. A file appears only when it is whole."""
    encode = _ENCODERS[form]
    if target is None and session.out.as_json and form is not ExportForm.JSONL:
        raise InvalidValue("--json prints JSON; a CSV goes to a file.", do="Name a file with --output.")
    async with session.client() as client:
        work_order_id = (await find_work_order(client, work_order)).row.id if work_order else None
        if target is None:
            for part in _head(form):
                sys.stdout.write(part)
            async for row in _rows(client, work_order_id):
                sys.stdout.write(encode(row))
            sys.stdout.flush()
            return
        count = await _write_file(client, target, form, encode, work_order_id)
    session.out.result(
        {"file": str(target), "rows": count},
        lambda: [f"Wrote {count:,} rows to {shown(str(target))}."],
    )


async def _write_file(
    client: EngineClient,
    target: Path,
    form: ExportForm,
    encode: Callable[[JournalRow], str],
    work_order_id: str | None,
) -> int:
    count = 0
    temporary = target.with_name(f"{target.name}.new")
    try:
        with temporary.open("w", encoding="utf-8", newline="") as file:
            for part in _head(form):
                file.write(part)
            async for row in _rows(client, work_order_id):
                file.write(encode(row))
                count += 1
        replace_file(temporary, target)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        raise InvalidValue(
            f"{target} cannot be written: {error.strerror or error}.",
            do="Name another file.",
            file=str(target),
        ) from error
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    return count


async def _rows(client: EngineClient, work_order_id: str | None) -> AsyncIterator[JournalRow]:
    after = 0
    while rows := await client.journal(after=after, limit=_PAGE, work_order_id=work_order_id):
        for row in rows:
            yield row
        after = rows[-1].sequence


def _head(form: ExportForm) -> Iterator[str]:
    if form is ExportForm.CSV:
        yield _csv_line(COLUMNS)


def _json_line(row: JournalRow) -> str:
    return json.dumps(wire.document(row), ensure_ascii=True) + "\n"


def _csv_row(row: JournalRow) -> str:
    document = wire.document(row)
    actor = document.pop("actor")
    document |= {f"actor_{name}": value for name, value in actor.items()}
    document["detail"] = json.dumps(document["detail"], ensure_ascii=True)
    return _csv_line(tuple(_cell(document[name]) for name in COLUMNS))


def _cell(value: object) -> object:
    """Keep a spreadsheet from taking text for a formula: such a cell begins with an apostrophe."""
    risky = isinstance(value, str) and value[:1] in ("=", "+", "-", "@", "\t", "\r")
    return f"'{value}" if risky else value


def _csv_line(cells: tuple[object, ...]) -> str:
    line = io.StringIO()
    csv.writer(line, lineterminator="\n").writerow(cells)
    return line.getvalue()


_ENCODERS: dict[ExportForm, Callable[[JournalRow], str]] = {
    ExportForm.JSONL: _json_line,
    ExportForm.CSV: _csv_row,
}


def _report_lines(report: JournalReport) -> Iterator[str | Text]:
    if report.sound:
        yield f"The journal is sound: {report.rows:,} rows, the newest is {report.last_sequence}."
        yield f"Its hash is {report.last_hash}."
        return
    for problem in report.problems:
        yield Text(f"row {problem.sequence}: {shown(problem.text)}", "red")
    if report.problem_count > len(report.problems):
        yield f"… and {report.problem_count - len(report.problems)} more."
