"""The commands `praxis schedule`: work orders that are submitted again and again (E-27)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from engine.durations import format_duration
from engine.errors import InvalidValue
from engine.instants import Instant, parse_instant
from engine.interfaces.channel_client import EngineClient
from engine.interfaces.channel_methods import MOST_ROWS
from engine.interfaces.cli_cards import Line
from engine.interfaces.cli_common import KeyOption, NeededReason, command
from engine.interfaces.cli_output import NOBODY_WORKS, at, counted, heading, shown, table
from engine.interfaces.cli_session import Session
from engine.interfaces.cli_wakes import SHORTEST_NAME, find_id
from engine.interfaces.work_order_file import read_work_order, to_toml
from engine.views.schedules import ScheduleRow, ScheduleView
from engine.wakes import CatchUp, Occurrence, SeriesState
from engine.work_order import work_order_from_json

schedule_app = typer.Typer(
    help="Work orders that are submitted again and again; each occurrence asks for approval.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

ScheduleName = Annotated[
    str,
    typer.Argument(metavar="SCHEDULE", help=f"Its id, or the last {SHORTEST_NAME} characters of it."),
]
Every = Annotated[str | None, typer.Option("--every", metavar="1d", help="A fixed period, reckoned in UTC.")]
CronOption = Annotated[
    str | None,
    typer.Option(
        "--cron",
        metavar='"30 9 * * MON-FRI"',
        help="Minute, hour, day of month, month and day of week, in --zone.",
    ),
]
Zone = Annotated[
    str | None,
    typer.Option("--zone", metavar="Europe/Berlin", help="The time zone of --cron; UTC without it."),
]
Start = Annotated[
    str | None,
    typer.Option(
        "--start",
        metavar="INSTANT",
        help="Not before this instant, such as 2026-12-24T18:00:00.000Z; --every counts from it.",
    ),
]
Until = Annotated[str | None, typer.Option("--until", metavar="INSTANT", help="Not after this instant.")]
Count = Annotated[int | None, typer.Option("--count", min=1, help="So many times and no more.")]
Number = Annotated[int, typer.Option("--number", "-n", min=1, max=MOST_ROWS, help="How many to list.")]

_POLICIES = "What becomes of occurrences that were missed: all, the latest, none, or ask a person."


def add_schedule_commands(app: typer.Typer) -> None:
    """Add the commands of this module."""
    command(schedule_app, "add")(add)
    command(schedule_app, "list")(list_schedules)
    command(schedule_app, "show")(show)
    command(schedule_app, "preview")(preview)
    command(schedule_app, "pause")(pause)
    command(schedule_app, "resume")(resume)
    command(schedule_app, "change")(change)
    command(schedule_app, "cancel")(cancel)
    app.add_typer(schedule_app, name="schedule")


async def add(
    session: Session,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The work order, in TOML or JSON.")],
    every: Every = None,
    cron: CronOption = None,
    zone: Zone = None,
    start: Start = None,
    until: Until = None,
    count: Count = None,
    catch_up: Annotated[CatchUp, typer.Option("--catch-up", help=_POLICIES)] = CatchUp.LATEST,
    catch_up_most: Annotated[
        int | None, typer.Option("--most", min=1, help="With --catch-up all: at most so many, the newest.")
    ] = None,
    grace: Annotated[
        str | None, typer.Option("--grace", metavar="15s", help="What is no later than this is not missed.")
    ] = None,
    key: KeyOption = None,
) -> None:
    """Submit a work order at each time of a rule, in your name. Nothing runs because of it without an approval."""
    spec = read_work_order(file)
    async with session.client(create=True) as client:
        row = await client.schedules.add(
            spec,
            cron=cron,
            zone=zone,
            every=every,
            start=_instant(start, "--start"),
            until=_instant(until, "--until"),
            count=count,
            catch_up=catch_up,
            catch_up_most=catch_up_most,
            grace=grace,
            key=key,
        )
        coming = await client.schedules.preview(row.id, number=3)
    alone = client.alone
    session.out.result(row, lambda: [*_row_lines(row), *_occurrences(coming), *_nobody(alone)])


async def list_schedules(
    session: Session,
    every_state: Annotated[bool, typer.Option("--all", help="Also those that have ended.")] = False,
    limit: Annotated[int, typer.Option("--limit", min=1, max=MOST_ROWS, help="At most this many.")] = 200,
) -> None:
    """List schedules, oldest first, with what comes next and what needs you."""
    async with session.client(reading=True) as client:
        rows = await client.schedules.listed(ended=every_state, limit=limit)
    session.out.result(
        rows,
        lambda: (
            [_table(rows)]
            if rows
            else ["There is no schedule. To make one: praxis schedule add FILE --every 1d"]
        ),
    )


async def show(session: Session, name: ScheduleName) -> None:
    """Show one schedule with the work order that it submits."""
    async with session.client(reading=True) as client:
        view = await client.schedules.show(await _find(client, name))
    session.out.result(view, lambda: _view_lines(view))


async def preview(
    session: Session,
    name: Annotated[
        str | None,
        typer.Argument(metavar="[SCHEDULE]", help="A schedule; without one, give --every or --cron."),
    ] = None,
    every: Every = None,
    cron: CronOption = None,
    zone: Zone = None,
    start: Start = None,
    until: Until = None,
    number: Number = 10,
) -> None:
    """List coming occurrences, with a mark on days on which the clocks change. Nothing is saved."""
    if (name is None) == (every is None and cron is None):
        raise InvalidValue(
            "A preview is of one schedule or of one rule.", do="Give SCHEDULE, --every or --cron."
        )
    async with session.client(create=name is None, reading=name is not None) as client:
        if name is not None:
            found = await client.schedules.preview(await _find(client, name), number=number)
        else:
            found = await client.schedules.preview_rule(
                cron=cron,
                zone=zone,
                every=every,
                start=_instant(start, "--start"),
                until=_instant(until, "--until"),
                number=number,
            )
    session.out.result(found, lambda: _occurrences(found))


async def pause(session: Session, name: ScheduleName, reason: NeededReason) -> None:
    """Let a schedule rest; what would have come meanwhile does not come later."""
    async with session.client() as client:
        await client.require("schedules.pause")
        row = await client.schedules.pause(await _find(client, name), reason=reason)
    session.out.result(row, lambda: _row_lines(row))


async def resume(session: Session, name: ScheduleName, reason: NeededReason) -> None:
    """Go on with a schedule that rests or is broken."""
    async with session.client() as client:
        await client.require("schedules.resume")
        row = await client.schedules.resume(await _find(client, name), reason=reason)
    alone = client.alone
    session.out.result(row, lambda: [*_row_lines(row), *_nobody(alone)])


async def change(
    session: Session,
    name: ScheduleName,
    reason: NeededReason,
    file: Annotated[
        Path | None, typer.Option("--file", metavar="FILE", help="Another work order, in TOML or JSON.")
    ] = None,
    every: Every = None,
    cron: CronOption = None,
    zone: Zone = None,
    start: Start = None,
    until: Until = None,
    count: Count = None,
    no_end: Annotated[bool, typer.Option("--no-end", help="Take its end away.")] = False,
    catch_up: Annotated[CatchUp | None, typer.Option("--catch-up", help=_POLICIES)] = None,
) -> None:
    """Give a schedule another work order, rule, end or catching up; what is not named stays. It goes on from now."""
    spec = None if file is None else read_work_order(file)
    async with session.client() as client:
        await client.require("schedules.change")
        row = await client.schedules.change(
            await _find(client, name),
            reason=reason,
            spec=spec,
            cron=cron,
            zone=zone,
            every=every,
            start=_instant(start, "--start"),
            until=_instant(until, "--until"),
            count=count,
            no_end=no_end,
            catch_up=catch_up,
        )
    session.out.result(row, lambda: _row_lines(row))


async def cancel(session: Session, name: ScheduleName, reason: NeededReason) -> None:
    """End a schedule for good. Work orders that it submitted stay."""
    async with session.client() as client:
        await client.require("schedules.cancel")
        row = await client.schedules.cancel(await _find(client, name), reason=reason)
    session.out.result(row, lambda: _row_lines(row))


async def _find(client: EngineClient, name: str) -> str:
    text = name.strip()
    if len(text) == 26:
        return text.upper()
    rows = await client.schedules.listed(ended=True, limit=MOST_ROWS)
    return find_id(text, "schedule", [row.id for row in rows], "praxis schedule list --all")


def _instant(text: str | None, name: str) -> Instant | None:
    if text is None:
        return None
    try:
        return parse_instant(text)
    except InvalidValue as error:
        raise InvalidValue(f"{name}: {error.what}", do=error.do) from error


def _table(rows: tuple[ScheduleRow, ...]) -> Line:
    return table(
        ("schedule", "title", "when", "state", "next", "missed", "submitted", "newest", ""),
        (
            [
                row.id[-SHORTEST_NAME:],
                shown(row.title),
                shown(row.rule),
                _state(row),
                at(row.next_at),
                f"{row.catch_up}, {row.undecided} undecided" if row.undecided else row.catch_up.value,
                str(row.submitted),
                "" if row.last_number is None else f"WO-{row.last_number}",
                _trouble(row),
            ]
            for row in rows
        ),
    )


def _state(row: ScheduleRow) -> Text:
    style = {SeriesState.BROKEN: "red", SeriesState.PAUSED: "yellow"}.get(row.state, "")
    return Text(row.state, style)


def _trouble(row: ScheduleRow) -> Text:
    if row.error:
        return Text(shown(row.error), "red")
    return Text(f"{row.failing} cannot be submitted" if row.failing else "", "red")


def _row_lines(row: ScheduleRow) -> Iterator[Line]:
    yield _table((row,))
    if row.undecided:
        yield "Missed occurrences wait for your decision: praxis docket list"
    if row.failing:
        yield "Why not: praxis wakes list --text work_order.submit"


def _view_lines(view: ScheduleView) -> Iterator[Line]:
    row = view.row
    yield from _row_lines(row)
    most = f", at most {row.catch_up_most}" if row.catch_up is CatchUp.ALL else ""
    yield f"made by {shown(str(row.created_by))}, {at(row.created_at)}; id {row.id}"
    yield f"missed occurrences: {row.catch_up}{most}; no later than {format_duration(row.grace_ms)} is not missed"
    if row.until_at is not None or row.count is not None:
        ends = [at(row.until_at)] if row.until_at is not None else []
        ends += [f"after {counted(row.count, 'time')}"] if row.count is not None else []
        yield f"ends {' or '.join(ends)}"
    yield ""
    yield heading("Submits")
    for line in to_toml(work_order_from_json(view.work_order)).splitlines():
        yield Text(shown(line))


def _occurrences(found: tuple[Occurrence, ...]) -> Iterator[Line]:
    if not found:
        yield "It has no coming occurrence."
        return
    yield table(
        ("local time", "UTC", ""),
        ([one.local, one.utc, Text(one.mark or "", "yellow")] for one in found),
    )


def _nobody(alone: bool) -> list[Line]:
    return [NOBODY_WORKS] if alone else []
