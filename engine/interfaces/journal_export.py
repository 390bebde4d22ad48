"""The journal written out for other programs: JSON Lines or CSV, oldest row first."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Protocol

from engine.errors import InvalidValue
from engine.files import replace_file
from engine.interfaces import wire
from engine.views.journal import JournalFilter
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


class JournalReader(Protocol):
    """What reads the journal: the engine itself, or a client of it."""

    async def journal(
        self, *, after: int = 0, limit: int = 500, work_order_id: str | None = None
    ) -> tuple[JournalRow, ...]:
        """At most ``limit`` rows above ``after``, in ascending order."""


@dataclass(frozen=True, slots=True)
class Filtered:
    """The journal of an engine as far as a filter lets it through."""

    engine: FiltersJournal
    only: JournalFilter

    async def journal(
        self, *, after: int = 0, limit: int = 500, work_order_id: str | None = None
    ) -> tuple[JournalRow, ...]:
        """At most ``limit`` rows above ``after``, in ascending order."""
        return await self.engine.journal(
            after=after, limit=limit, work_order_id=work_order_id, only=self.only
        )


class FiltersJournal(Protocol):
    """What reads the journal with a filter: the engine itself."""

    async def journal(
        self, *, after: int = 0, limit: int = 500, work_order_id: str | None = None, only: JournalFilter
    ) -> tuple[JournalRow, ...]:
        """At most ``limit`` rows above ``after``, in ascending order."""


async def export_lines(
    reader: JournalReader, form: ExportForm, work_order_id: str | None = None
) -> AsyncIterator[str]:
    """Give the lines one by one: for CSV a head first, then one line for each row."""
    if form is ExportForm.CSV:
        yield _csv_line(COLUMNS)
    encode = _ENCODERS[form]
    after = 0
    while rows := await reader.journal(after=after, limit=_PAGE, work_order_id=work_order_id):
        for row in rows:
            yield encode(row)
        after = rows[-1].sequence


async def export_file(
    reader: JournalReader,
    target: Path,
    form: ExportForm,
    work_order_id: str | None = None,
    progress: Callable[[int], None] = lambda rows: None,
) -> int:
    """Write the journal to a file, which appears only when it is whole; returns the number of rows.

    A file that was there is replaced; through a link, the file that it leads to. ``progress`` gets the number of
    rows written so far, now and then. Raises `InvalidValue` if the file cannot be written, or is no file: a
    device or a pipe would be replaced as well, not written to.
    """
    if target.exists() and not target.is_file():
        raise InvalidValue(
            f"{target} is a {'folder' if target.is_dir() else 'device or pipe'}, not a file.",
            means="It was left as it is.",
            do="Name a file.",
            file=str(target),
        )
    target = target.resolve()
    count = -1 if form is ExportForm.CSV else 0
    temporary = target.with_name(f"{target.name}.new")
    try:
        with temporary.open("w", encoding="utf-8", newline="") as file:
            async for line in export_lines(reader, form, work_order_id):
                file.write(line)
                count += 1
                if count % _PAGE == 0:
                    progress(count)
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
