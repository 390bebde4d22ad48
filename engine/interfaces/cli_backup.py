"""The commands of `praxis` for backups: make, list, verify, rehearse, restore, and let work begin after that."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Annotated, TypeVar

import typer
from rich.text import Text

from engine.backup import (
    Backup,
    Comparison,
    Copy,
    CopyKind,
    Progress,
    Rehearsal,
    RestoreReport,
    Verification,
    compare,
    copies_elsewhere,
    list_copies,
    look_at_copy,
    restore,
    undo_restore,
    verify_backup,
)
from engine.backup.rehearsing import rehearse as rehearse_copy
from engine.backup.schedule import BackupSchedule
from engine.backup.watch import watched
from engine.clock import SystemClock
from engine.durations import format_duration, parse_duration, size_text
from engine.errors import BackupNotGood, InvalidValue
from engine.instants import format_instant
from engine.interfaces.channel_client import EngineClient
from engine.interfaces.cli_cards import Line
from engine.interfaces.cli_common import NeededReason, ReasonOption, command
from engine.interfaces.cli_output import at, counted, heading, shown, table
from engine.interfaces.cli_progress import progress_bar
from engine.interfaces.cli_session import Session, whole_path
from engine.interfaces.rights import Right, require_right

T = TypeVar("T")

LISTED = 10
"""How many of each a comparison prints; with --json all are there."""

CopyPath = Annotated[
    Path, typer.Argument(help="A backup's folder, or its name in the data folder's backups.")
]

_KINDS = {
    CopyKind.BACKUP: "backup",
    CopyKind.ROLLBACK: "set aside by a restore",
    CopyKind.DATABASE: "before a new schema",
}


def add_backup_commands(app: typer.Typer) -> None:
    """Add the commands of this module."""
    for name, function in (
        ("backup", backup),
        ("backups", backups),
        ("verify", verify),
        ("rehearse", rehearse),
        ("restore", restore_data),
        ("acknowledge-restore", acknowledge_restore),
        ("backup-schedule", backup_schedule),
    ):
        command(app, name)(function)


async def backup(
    session: Session,
    to: Annotated[
        Path | None,
        typer.Option(
            "--to", metavar="FOLDER", help="Where to make it; the data folder's backups without it."
        ),
    ] = None,
    only_copy: Annotated[
        bool, typer.Option("--only-copy", help="Do not verify and rehearse it: it is then not proven.")
    ] = False,
) -> None:
    """Back up while work goes on, then verify the backup and rehearse its restore: only then is it proven."""
    place = None if to is None else whole_path(to)
    async with session.client() as client:
        with progress_bar(session) as tell:
            engine = client.engine
            made = (
                await client.back_up(place=place)
                if engine is None
                else await engine.backups.back_up(session.actor, place=place, progress=tell)
            )
            done = None if only_copy else await _rehearse(client, session, made.path, tell)
    session.out.result(
        {**_made(made), "proven": done is not None and done.good},
        lambda: _made_lines(made, done),
    )
    if done is not None and not done.good:
        raise _not_proven(done)


async def backups(session: Session) -> None:
    """List every copy of the data, newest first: backups, and what restores and new schemas set aside.

    Backups that were made elsewhere with --to are listed with their place.
    """
    session.require_data()
    elsewhere = copies_elsewhere(session.folder)
    found = (*list_copies(session.folder), *elsewhere)
    found = tuple(sorted(found, key=lambda copy: (copy.made_at or 0, copy.path.name), reverse=True))
    session.out.result(found, lambda: _list_lines(found, elsewhere))


async def verify(session: Session, path: CopyPath) -> None:
    """Read a whole backup: every file, the database, the journal's chain, every kept file."""
    found = await _run(session, partial(verify_backup, _find(session, path).path))
    session.out.result(_verified(found), lambda: _verification_lines(found))
    if not found.good:
        raise BackupNotGood(
            f"The backup {found.path.name} is not good: {counted(found.problem_count, 'problem')}.",
            means="It is restorable." if found.restorable else "It will not be restored.",
            do="Make a new backup, and keep this one until there is a good one.",
            problems=tuple(one.text for one in found.problems),
        )


async def rehearse(session: Session, path: CopyPath) -> None:
    """Restore a backup into a scratch folder and say what came out. If nothing is wrong it is proven.

    Where there is no data folder the backup alone is enough; then nothing notes that it is proven.
    """
    require_right(session.actor, Right.DECIDE, "rehearse")
    copy = _find(session, path)
    if not session.has_data():
        call = partial(rehearse_copy, copy.path, actor=session.actor, clock=SystemClock())
        done = await _run(session, lambda watch: call(watch=watch))
        session.out.result(done, lambda: _rehearsal_lines(done))
        if not done.good:
            raise _not_proven(done)
        return
    async with session.client() as client:
        with progress_bar(session) as tell:
            done = await _rehearse(client, session, copy.path, tell)
    session.out.result(done, lambda: _rehearsal_lines(done))
    if not done.good:
        raise _not_proven(done)


async def restore_data(
    session: Session,
    path: Annotated[
        Path | None, typer.Argument(help="A backup's folder, or its name in the data folder's backups.")
    ] = None,
    undo: Annotated[
        bool, typer.Option("--undo", help="Bring back what the newest restore set aside.")
    ] = False,
    confirm: Annotated[
        str | None,
        typer.Option("--confirm", metavar="NAME", help="The data folder's name, where nobody can type it."),
    ] = None,
    reason: ReasonOption = "",
) -> None:
    """Replace the data by that of a backup. What would be lost is shown first; nothing starts afterwards.

    Nobody may have the data folder open. The present data is kept and --undo brings it back. Attempts that were
    in flight become UNKNOWN, approvals are void, and everything is held until a person has looked.
    """
    require_right(session.actor, Right.DECIDE, "restore")
    if (path is None) != undo:
        raise InvalidValue(
            "Name a backup, or say --undo.", do="Look at what there is to restore: praxis backups"
        )
    copy = _newest_rollback(session) if path is None else _find(session, path)
    # Undoing finds by itself that there is nothing to undo.
    if copy is not None:
        _confirm(session, copy, confirm)
    call = partial(
        undo_restore if copy is None else partial(restore, source=copy.path),
        session.folder,
        actor=session.actor,
        reason=reason,
        clock=SystemClock(),
        program="praxis restore",
    )
    report = await _run(session, lambda watch: call(watch=watch))
    session.out.result(report, lambda: _restored_lines(report))


async def acknowledge_restore(session: Session, reason: NeededReason) -> None:
    """Let work begin again after a restore: you have looked at what it left."""
    async with session.client() as client:
        await client.acknowledge_restore(reason)
    session.out.result({"held": False}, lambda: ["The engine is no longer held after the restore."])


async def backup_schedule(
    session: Session,
    every: Annotated[
        str | None,
        typer.Option("--every", metavar="24h", help="How often to back up; the first is made at once."),
    ] = None,
    keep: Annotated[int, typer.Option("--keep", help="How many of these backups to keep.")] = 7,
    to: Annotated[
        Path | None,
        typer.Option(
            "--to", metavar="FOLDER", help="Where to make them; the data folder's backups without it."
        ),
    ] = None,
    off: Annotated[bool, typer.Option("--off", help="Make no more backups by schedule.")] = False,
) -> None:
    """Say how often backups are made by themselves, or set it with --every or --off.

    The console or praxis serve makes them while it has the data folder. One that fails is alarmed and tried again.
    """
    if off and (every is not None or to is not None):
        raise InvalidValue("Either --off, or how often and where.", do="Leave one out.")
    if to is not None and every is None:
        raise InvalidValue("How often is missing.", do="Give --every, such as --every 24h.")
    async with session.client() as client:
        if every is not None:
            place = "" if to is None else str(whole_path(to))
            await client.scheduled_backups.set(BackupSchedule(parse_duration(every), keep, place))
        elif off:
            await client.scheduled_backups.set(None)
        found = await client.scheduled_backups.schedule()
    session.out.result({"schedule": found}, lambda: _schedule_lines(found))


# ------------------------------------------------------------------------------------------------ doing it


async def _rehearse(
    client: EngineClient, session: Session, path: Path, tell: Callable[[Progress], None]
) -> Rehearsal:
    if client.engine is None:
        return await client.rehearse(path)
    return await client.engine.backups.rehearse(path, session.actor, tell)


async def _run(session: Session, function: Callable[..., T]) -> T:
    with progress_bar(session) as tell:
        return await watched(function, tell)


def _find(session: Session, path: Path) -> Copy:
    """A path as it is, or a name within the data folder's own copies."""
    if path.name == str(path) and not path.exists():
        for copy in list_copies(session.folder):
            if copy.path.name == str(path):
                return copy
    return look_at_copy(whole_path(path))


def _newest_rollback(session: Session) -> Copy | None:
    kept = [copy for copy in list_copies(session.folder) if copy.kind is CopyKind.ROLLBACK]
    return kept[0] if kept else None


def _confirm(session: Session, copy: Copy, given: str | None) -> None:
    """Show what would be lost; go on only if the data folder's name is typed or given."""
    name = session.folder.name
    if not copy.problem:
        for line in _comparison_lines(compare(session.folder, copy.database)):
            session.out.line(line)
    if given is None:
        if session.out.as_json or not sys.stdin.isatty():
            raise InvalidValue(
                "Nothing was restored: there is nobody at a terminal to confirm it.",
                do=f"Look at what would be lost, then give the name of the data folder: --confirm {name!r}.",
            )
        given = typer.prompt(
            f"To replace the data in {shown(str(session.folder))}, type the folder's name",
            default="",
            show_default=False,
        )
    if given != name:
        raise InvalidValue(
            f"Nothing was restored: {given!r} is not the name of the data folder.",
            do=f"Its name is {name!r}.",
        )


def _not_proven(done: Rehearsal) -> BackupNotGood:
    texts = [one.text for one in done.problems]
    if done.lacking:
        texts.append(f"Of its kept files {len(done.lacking):,} are lacking.")
    return BackupNotGood(
        f"The backup {done.path.name} is not proven: {' '.join(texts)}",
        means="It can be restored, but not everything comes back.",
        do="Make a new backup. Look at the data folder before: praxis doctor",
        problems=tuple(texts),
    )


# ---------------------------------------------------------------------------------------------- showing it


def _made(made: Backup) -> dict[str, object]:
    return {
        "path": made.path,
        "made_at": made.made_at,
        "size": made.size,
        "files": made.files,
        "schema": made.schema,
        "journal_sequence": made.journal_sequence,
        "journal_hash": made.journal_hash,
        "lacking": made.lacking,
    }


def _made_lines(made: Backup, done: Rehearsal | None) -> Iterator[Line]:
    yield f"Backed up to {shown(str(made.path))}: {counted(made.files, 'file')}, {size_text(made.size)}."
    if made.lacking:
        yield Text(f"Lost already, and not in it: {counted(len(made.lacking), 'kept file')}.", "yellow")
    if done is None:
        yield f"It is neither verified nor rehearsed. For both: praxis rehearse {shown(str(made.path))}"
    else:
        yield from _rehearsal_lines(done)


def _list_lines(found: tuple[Copy, ...], elsewhere: tuple[Copy, ...]) -> Iterator[Line]:
    if not found:
        yield "There is no backup yet. To make one: praxis backup"
        return
    yield table(
        ("name or place", "made at", "kind", "size", "journal", ""),
        [
            (
                shown(str(copy.path) if copy in elsewhere else copy.path.name),
                at(copy.made_at),
                _KINDS[copy.kind],
                size_text(copy.size),
                "-" if copy.journal_sequence is None else f"{copy.journal_sequence}",
                Text(shown(copy.problem), "red"),
            )
            for copy in found
        ],
    )


def _verified(found: Verification) -> Mapping[str, object]:
    return {
        "path": found.path,
        "good": found.good,
        "restorable": found.restorable,
        "contents": found.contents,
        "problem_count": found.problem_count,
        "problems": found.problems,
    }


def _verification_lines(found: Verification) -> Iterator[Line]:
    for one in found.problems:
        yield Text(f"{shown(one.file)}: {shown(one.text)}", "red")
    if found.good and found.manifest is not None:
        yield (
            f"The backup is good: {counted(len(found.manifest.files), 'file')}, {size_text(found.manifest.size)}, "
            f"journal up to {found.manifest.journal_sequence}, made at {found.manifest.made_at}."
        )


def _rehearsal_lines(done: Rehearsal) -> Iterator[Line]:
    for one in done.problems:
        yield Text(shown(one.text), "red")
    if done.good:
        yield Text("Verified and rehearsed: it can be restored.", "green")
    yield "Restored, it would be held until a person has looked, and:"
    yield f"  {counted(done.unknown, 'attempt')} would be UNKNOWN, {counted(done.void, 'approval')} void"
    yield f"  {counted(done.due, 'waiting task')} and {counted(done.wakes_due, 'wake')} would be due"
    counts = ((name.replace("_", " "), number) for name, number in done.after.counts.items())
    held = ", ".join(counted(number, name.removesuffix("s"), name) for name, number in counts)
    yield f"  it holds {held}"
    if done.new_schema:
        yield f"  it is brought up to date with: {', '.join(done.new_schema)}"


def _comparison_lines(found: Comparison) -> Iterator[Line]:
    if found.why_unread:
        yield Text(f"The present data cannot be read: {shown(found.why_unread)}", "yellow")
        yield "It is kept as it is. What happened since the backup is not known."
        return
    if not found.has_present:
        yield "There is no data in the folder yet."
        return
    if not found.same_instance:
        yield Text("The backup is of other data than this folder's: all of it would be replaced.", "yellow")
    yield heading("What would be lost")
    yield f"  {counted(found.rows_lost, 'row')} of the journal, {found.decision_count:,} of them decided by a person"
    yield f"  {counted(found.order_count, 'new or changed work order')}"
    for order in found.orders[:LISTED]:
        yield f"    WO-{order.number} {shown(order.title)} ({'new' if order.is_new else 'changed'}, {order.state})"
    if found.effects:
        yield heading("Started since, so that its effect may be there all the same")
        for effect in found.effects[:LISTED]:
            yield f"    WO-{effect.number} {effect.purpose.lower()} at {at(effect.started_at)}: {effect.state}"
        if found.effect_count > LISTED:
            yield f"    … and {found.effect_count - LISTED} more"
    if found.removed_count:
        names = ", ".join(f"WO-{number}" for number in found.removed[:LISTED])
        more = f" and {found.removed_count - LISTED} more" if found.removed_count > LISTED else ""
        yield Text(
            f"Ended since, and removed by retention: {names}{more}. You decide about them first.", "yellow"
        )
    if found.doubtful_count:
        names = ", ".join(f"WO-{number}" for number in found.doubtful[:LISTED])
        more = f" and {found.doubtful_count - LISTED} more" if found.doubtful_count > LISTED else ""
        yield Text(
            f"Started in data that a restore has set aside: {names}{more}. You decide about them first.",
            "yellow",
        )
    if found.new_schema:
        yield f"The backup is older and cannot hold what came with: {', '.join(found.new_schema)}"


def _restored_lines(report: RestoreReport) -> Iterator[Line]:
    made = "" if report.made_at is None else f", made at {format_instant(report.made_at)}"
    yield f"Restored from {shown(report.source.name)}{made}."
    done = report.aftermath
    yield (
        f"UNKNOWN now: {counted(len(done.unknown), 'attempt')}; void: {counted(len(done.void), 'approval')}; "
        f"for you to decide: {counted(len(done.asked), 'work order')}."
    )
    for effect in report.comparison.effects[:LISTED]:
        yield f"  after the backup: WO-{effect.number} {effect.purpose.lower()}, {effect.state}"
    if report.lacking:
        yield Text(f"Lost: {counted(len(report.lacking), 'kept file')}.", "yellow")
    if report.rollback is not None:
        yield f"The data from before is kept in {shown(str(report.rollback))}. To bring it back: praxis restore --undo"
    yield 'Nothing starts until a person has looked: praxis acknowledge-restore --reason "why"'


def _schedule_lines(found: BackupSchedule | None) -> Iterator[Line]:
    if found is None:
        yield "No backup is made by itself: --every 24h --keep 7 has one made each day."
        return
    place = shown(found.place) if found.place else "the data folder's backups"
    yield f"Every {format_duration(found.every_ms)} into {place}; the newest {found.keep} are kept."
