"""The commands `praxis docket`: what was missed while nothing ran, and deciding about it (E-85)."""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum
from typing import Annotated

import typer
from rich.text import Text

from engine.clock import SystemClock
from engine.control.downtime import QuietKind
from engine.durations import format_duration
from engine.instants import Instant
from engine.interfaces.channel_client import EngineClient
from engine.interfaces.channel_methods import MOST_ROWS
from engine.interfaces.cli_cards import Line
from engine.interfaces.cli_common import NeededReason, command
from engine.interfaces.cli_output import NOBODY_WORKS, at, heading, shown, table
from engine.interfaces.cli_session import Session
from engine.interfaces.cli_wakes import SHORTEST_NAME, find_id
from engine.states import HoldKind
from engine.views.docket import LATE_MS, Docket, DueItem
from engine.wakes import CatchUp, WakeState, WakeSummary
from engine.wakes.cleaning import CLEAN_UP_KIND

docket_app = typer.Typer(
    help="What was missed, is late, lapsed or expired since the engine last ran.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

_QUIET = {
    QuietKind.DOWNTIME: "Nothing fired",
    QuietKind.SLEEP: "The machine slept",
    QuietKind.RESTORE: "The data was restored; nothing of it fired",
}


class Choice(StrEnum):
    """What becomes of missed occurrences, as written on the command line."""

    ALL = "all"
    LATEST = "latest"
    NONE = "none"


def add_docket_commands(app: typer.Typer) -> None:
    """Add the commands of this module."""
    command(docket_app, "list")(list_docket)
    command(docket_app, "decide")(decide)
    app.add_typer(docket_app, name="docket")


async def list_docket(
    session: Session,
    limit: Annotated[
        int, typer.Option("--limit", min=1, max=MOST_ROWS, help="At most this many of each sort.")
    ] = 200,
) -> None:
    """List what was missed and waits for you, what fired late, lapsed or expired; after a restore what would fire."""
    now = SystemClock().now()
    async with session.client(reading=True) as client:
        docket = await client.docket(limit=limit)
        nobody = client.alone and docket.held_by is None
        overdue = await _overdue(client, now, limit) if nobody else ()
    session.out.result(docket, lambda: _lines(docket, overdue, now))


async def _overdue(client: EngineClient, now: Instant, limit: int) -> tuple[WakeSummary, ...]:
    """What has been due for a while because no process owns the data folder."""
    rows = await client.wakes.list_wakes(states=(WakeState.PENDING,), limit=limit)
    return tuple(
        row
        for row in rows
        if row.waiting is None
        and row.kind != CLEAN_UP_KIND
        and row.due_at is not None
        and row.due_at <= now - LATE_MS
    )


async def decide(
    session: Session,
    name: Annotated[
        str,
        typer.Argument(
            metavar="ID", help=f"As praxis docket list shows it: the last {SHORTEST_NAME} characters."
        ),
    ],
    choice: Annotated[Choice, typer.Argument(help="Fire all that was missed, the latest, or none.")],
    reason: NeededReason,
) -> None:
    """Decide about missed occurrences. Nothing of them fires before."""
    async with session.client() as client:
        await client.require("decide_missed")
        docket_id = await _find(client, name)
        await client.decide_missed(docket_id, CatchUp(choice), reason=reason)
    alone = client.alone
    session.out.result({"id": docket_id, "choice": choice.value}, lambda: _decided(choice, alone))


async def _find(client: EngineClient, name: str) -> str:
    text = name.strip()
    if len(text) == 26:
        return text.upper()
    docket = await client.docket(limit=MOST_ROWS)
    return find_id(text, "undecided row", [row.id for row in docket.undecided], "praxis docket list")


def _decided(choice: Choice, alone: bool) -> Iterator[Line]:
    if choice is Choice.NONE:
        yield "Decided. None of them fires."
        return
    yield "Decided. They fire, one after the other." if choice is Choice.ALL else "Decided. The latest fires."
    if alone:
        yield NOBODY_WORKS


def _lines(docket: Docket, overdue: tuple[WakeSummary, ...], now: Instant) -> Iterator[Line]:
    quiet = docket.quiet
    if quiet is not None:
        length = format_duration((quiet.ended_at - quiet.began_at) // 1000 * 1000 or 1)
        yield f"{_QUIET[quiet.kind]} from {at(quiet.began_at)} to {at(quiet.ended_at)} ({length})."
    if docket.held_by is HoldKind.RESTORE:
        yield Text('Nothing fires until you have looked: praxis acknowledge-restore --reason "why"', "yellow")
    elif docket.held_by is HoldKind.CLOCK:
        yield Text("Nothing fires by time: the clock is not trusted.", "yellow")
    if docket.empty and not overdue:
        yield "Nothing was missed, and nothing waits for a decision."
        return
    if overdue:
        yield heading(
            f"Overdue ({len(overdue)}): no process has had the data folder since; it is made up for by: praxis serve"
        )
        yield table(
            ("wake", "due", "overdue for", "kind", ""),
            (
                [
                    row.id[-SHORTEST_NAME:],
                    at(row.due_at),
                    format_duration((now - (row.due_at or now)) // 1000 * 1000),
                    shown(row.kind),
                    shown(row.recurrence or ""),
                ]
                for row in overdue
            ),
        )
    if docket.undecided:
        yield ""
        yield heading(
            'Waits for your decision, all, latest or none: praxis docket decide ID latest --reason "why"'
        )
        yield table(
            ("id", "what", "when", "missed", "first", "last"),
            (
                [
                    row.id[-SHORTEST_NAME:],
                    shown(row.title or row.kind),
                    shown(row.rule),
                    str(row.missed),
                    at(row.first_missed_at),
                    at(row.last_missed_at),
                ]
                for row in docket.undecided
            ),
        )
    yield from _due("Would fire", docket.would_fire, docket.would_fire_count)
    yield from _due("Fired late", docket.late, docket.late_count)
    if docket.lapsed:
        yield ""
        yield heading(f"Leases that lapsed ({len(docket.lapsed)})")
        for item in docket.lapsed:
            order = "" if item.number is None else f"WO-{item.number} "
            yield f"{at(item.lapsed_at)} {item.what} {order}{shown(item.title)}"
    if docket.expired:
        yield ""
        yield heading(f"Requests that expired ({len(docket.expired)})")
        for request in docket.expired:
            yield f"{at(request.expired_at)} WO-{request.number} {request.purpose.lower()} {shown(request.title)}"


def _due(title: str, items: tuple[DueItem, ...], count: int) -> Iterator[Line]:
    if not items:
        return
    yield ""
    yield heading(f"{title} ({count})")
    yield table(
        ("due", "late", "what", "kind", "missed beside it"),
        (
            [
                at(item.due_at),
                format_duration(item.late_ms // 1000 * 1000 or item.late_ms or 1),
                f"WO-{item.number} {shown(item.title)}" if item.number is not None else shown(item.title),
                shown(item.kind),
                f"{item.missed} ({item.catch_up})" if item.missed else "",
            ]
            for item in items
        ),
    )
    if count > len(items):
        yield f"… and {count - len(items)} more."
