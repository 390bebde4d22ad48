"""The commands `praxis retention`: how long what has ended is kept, what would go, and removing it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Annotated

import typer
from rich.text import Text

from engine.durations import format_duration, parse_duration, size_text
from engine.errors import InvalidValue
from engine.interfaces.channel_client import EngineClient
from engine.interfaces.cli_cards import Line
from engine.interfaces.cli_common import command
from engine.interfaces.cli_output import at, counted, heading
from engine.interfaces.cli_progress import progress_bar
from engine.interfaces.cli_session import Session
from engine.interfaces.rights import Right, require_right
from engine.retention import SUGGESTED, Preview, Progress, RetentionRun, RetentionSettings

KEEP = "keep"
"""What is written instead of an age to keep something for good."""

retention_app = typer.Typer(
    help="How long what has ended is kept. Nothing is removed until a person says what.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

WorkAge = Annotated[
    str | None,
    typer.Option("--work", metavar="90d", help=f"Work orders go so long after they ended, or {KEEP}."),
]
JournalAge = Annotated[
    str | None,
    typer.Option(
        "--journal", metavar="365d", help=f"Journal rows go so long after they were written, or {KEEP}."
    ),
]
Grace = Annotated[
    str | None,
    typer.Option("--grace", metavar="7d", help="Kept files go so long after nothing refers to them."),
]


def add_retention_commands(app: typer.Typer) -> None:
    """Add the commands of this module."""
    command(retention_app, "settings")(settings)
    command(retention_app, "preview")(preview)
    command(retention_app, "run")(run)
    app.add_typer(retention_app, name="retention")


async def settings(
    session: Session,
    work: WorkAge = None,
    journal: JournalAge = None,
    grace: Grace = None,
    daily: Annotated[
        bool | None,
        typer.Option("--daily/--by-hand", help="Remove once a day by itself, or only when you say so."),
    ] = None,
) -> None:
    """Show how long what has ended is kept, or set it."""
    async with session.client() as client:
        found = await client.retention.settings()
        wanted = _changed(found, work, journal, grace)
        if wanted != found:
            await client.retention.set(wanted)
        if daily is not None:
            await client.retention.set_by_itself(daily)
        by_itself, last = await client.retention.by_itself(), await client.retention.last_run()
    session.out.result(
        {"settings": wanted, "by_itself": by_itself, "last_run": last},
        lambda: _settings_lines(wanted, by_itself, last),
    )


async def preview(
    session: Session, work: WorkAge = None, journal: JournalAge = None, grace: Grace = None
) -> None:
    """Show what would be removed now, and what stays although it is old, with why. Nothing is changed.

    With ages it shows what they would mean; they are not set by that.
    """
    async with session.client(reading=True) as client:
        wanted = _changed(await client.retention.settings(), work, journal, grace)
        found = await client.retention.preview(wanted)
    session.out.result(found, lambda: _preview_lines(found))


async def run(
    session: Session,
    yes: Annotated[
        bool, typer.Option("--yes", help="Do not ask; what is removed does not come back.")
    ] = False,
) -> None:
    """Remove what the settings let go: old work with its evidence, old journal rows, kept files without use.

    An UNKNOWN, what is not settled, what is held and what anything that stays refers to is never removed. Ctrl+C ends
    it after the step under way; what was removed by then is removed.
    """
    require_right(session.actor, Right.DECIDE, "remove")
    async with session.client() as client:
        if not yes:
            found = await client.retention.preview()
            _ask(session, found)
        with progress_bar(session) as tell:
            done = await _run(client, session, tell)
    session.out.result(done, lambda: _run_lines(done))


async def _run(client: EngineClient, session: Session, tell: Callable[[Progress], None]) -> RetentionRun:
    if client.engine is None:
        return await client.retention.run()
    return await client.engine.retention.run(session.actor, progress=tell)


def _ask(session: Session, found: Preview) -> None:
    """Show what would go, and go on only if a person says so."""
    if session.out.as_json or not sys.stdin.isatty():
        raise InvalidValue(
            "Nothing was removed: there is nobody at a terminal to confirm it.",
            do="Look at what would go, then say --yes: praxis retention preview",
        )
    for line in _preview_lines(found):
        session.out.line(line)
    if not typer.confirm("Remove this?", default=False):
        raise typer.Abort


def _changed(
    found: RetentionSettings, work: str | None, journal: str | None, grace: str | None
) -> RetentionSettings:
    if work is not None:
        found = replace(found, work_ms=_age(work))
    if journal is not None:
        found = replace(found, journal_ms=_age(journal))
    return found if grace is None else replace(found, grace_ms=parse_duration(grace))


def _age(text: str) -> int | None:
    return None if text == KEEP else parse_duration(text)


def _settings_lines(found: RetentionSettings, by_itself: bool, last: RetentionRun | None) -> Iterator[Line]:
    yield f"Work orders   {_kept_for(found.work_ms, 'after they ended')}"
    yield f"Journal rows  {_kept_for(found.journal_ms, 'after they were written')}"
    yield f"Kept files    go {format_duration(found.grace_ms)} after nothing refers to them any more"
    yield "Once a day by itself." if by_itself else "Only when you say so: praxis retention run"
    if found.work_ms is None and found.journal_ms is None:
        assert SUGGESTED.work_ms is not None
        assert SUGGESTED.journal_ms is not None
        yield (
            f"To try it: praxis retention preview --work {format_duration(SUGGESTED.work_ms)} "
            f"--journal {format_duration(SUGGESTED.journal_ms)}"
        )
    if last is not None:
        yield f"Last run at {at(last.at)}: {_run_text(last)}"


def _kept_for(age: int | None, since: str) -> str:
    return "are kept for good" if age is None else f"go {format_duration(age)} {since}"


def _preview_lines(found: Preview) -> Iterator[Line]:
    yield heading("What there is")
    yield f"  database {size_text(found.database_bytes)}, of which {size_text(found.free_bytes)} free"
    yield f"  log {size_text(found.log_bytes)}, backups and other copies {size_text(found.copies_bytes)}"
    yield f"  {counted(found.blobs, 'kept file')}, {size_text(found.blob_bytes)}; {counted(found.runs, 'run folder')}"
    yield heading("What would go")
    if found.settings.work_ms is None:
        yield "  no work order: they are kept for good"
    else:
        span = "" if found.oldest is None else f", ended from {at(found.oldest)} to {at(found.newest)}"
        yield f"  {counted(found.orders, 'work order')} with {counted(found.attempts, 'attempt')}{span}"
        yield (
            f"  kept files that lose their last reference by that: {found.order_files:,}, "
            f"{size_text(found.order_file_bytes)}; go after their grace"
        )
    if found.settings.journal_ms is None:
        yield "  no row of the journal: they are kept for good"
    else:
        yield (
            f"  {found.rows.going:,} of {counted(found.rows.old, 'old journal row')}, about "
            f"{size_text(found.rows.bytes)}; a signed checkpoint stands for them"
        )
    if found.why_no_files:
        yield Text(f"  no kept file: {found.why_no_files}", "yellow")
    else:
        yield (
            f"  {found.ready_files:,} of {counted(found.loose_files, 'file')} that nothing refers to, "
            f"{size_text(found.ready_bytes)}"
        )
    if found.kept:
        yield heading("What is old and stays")
        for one in found.kept:
            names = ", ".join(f"WO-{number}" for number in one.numbers)
            more = f" and {one.count - len(one.numbers)} more" if one.count > len(one.numbers) else ""
            yield f"  {one.count:,}: {one.words} ({names}{more})"


def _run_lines(done: RetentionRun) -> Iterator[Line]:
    yield f"Removed {_run_text(done)}"
    yield (
        f"The database has {size_text(done.database_after)}; it had {size_text(done.database_before)}. "
        "The journal has what was removed."
    )
    if done.why_no_files:
        yield Text(f"No kept file was removed: {done.why_no_files}", "yellow")


def _run_text(done: RetentionRun) -> str:
    return (
        f"{counted(done.orders, 'work order')} with {counted(done.attempts, 'attempt')}, "
        f"{counted(done.rows, 'journal row')}, {counted(done.files, 'file')} of {size_text(done.file_bytes)}."
    )
