"""The commands `praxis wakes`: what waits for a time, an event or an answer, and what is given up."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Annotated

import typer
from rich.text import Text

from engine.clock import SystemClock
from engine.control.alarm import OWN_KINDS
from engine.durations import format_duration
from engine.errors import InvalidValue, NotFound, Refused, WrongState
from engine.instants import Instant
from engine.interfaces.channel_client import EngineClient
from engine.interfaces.channel_methods import MOST_ROWS
from engine.interfaces.cli_cards import Line
from engine.interfaces.cli_common import NeededReason, command
from engine.interfaces.cli_output import at, heading, shown, shown_lines, table
from engine.interfaces.cli_session import Session
from engine.wakes import CancelResult, Step, Waiting, Wake, WakeState, WakeSummary
from engine.wakes.values import OPEN

SHORTEST_NAME = 8
"""How many of the last characters of an id are shown, and name it where they are unique."""

wakes_app = typer.Typer(
    help="What waits for a time, an event or an answer: look, cancel, release or drop what is dead.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

WakeName = Annotated[
    str,
    typer.Argument(metavar="WAKE", help=f"The wake's id, or its last {SHORTEST_NAME} characters."),
]


def add_wake_commands(app: typer.Typer) -> None:
    """Add the commands of this module."""
    command(wakes_app, "list")(list_wakes)
    command(wakes_app, "show")(show)
    command(wakes_app, "cancel")(cancel)
    command(wakes_app, "release")(release)
    command(wakes_app, "drop")(drop)
    app.add_typer(wakes_app, name="wakes")


async def list_wakes(
    session: Session,
    ended: Annotated[
        bool, typer.Option("--ended", help="Those that fired, expired or were cancelled, the latest first.")
    ] = False,
    dead: Annotated[bool, typer.Option("--dead", help="Only those that are given up.")] = False,
    workspace: Annotated[
        str | None, typer.Option("--workspace", metavar="NAME", help="Only those of this workspace.")
    ] = None,
    text: Annotated[
        str,
        typer.Option("--text", metavar="TEXT", help="Only those with this in kind, lane, key, id or error."),
    ] = "",
    limit: Annotated[int, typer.Option("--limit", min=1, max=MOST_ROWS, help="At most this many.")] = 100,
) -> None:
    """List what is still to come, by due time; what is given up stands among it."""
    if ended and dead:
        raise InvalidValue("--ended and --dead were given together.", do="Give one of them.")
    async with session.client(reading=True) as client:
        if ended:
            rows = await client.wakes.list_ended(workspace, text=text, limit=limit)
        else:
            states = (WakeState.DEAD,) if dead else OPEN
            rows = await client.wakes.list_wakes(workspace, states=states, text=text, limit=limit)
    now = SystemClock().now()
    session.out.result(rows, lambda: _rows(rows, now))


async def show(session: Session, name: WakeName) -> None:
    """Show one wake with everything that happened to it."""
    async with session.client(reading=True) as client:
        wake = await _wake(client, await _find(client, name))
        steps = await client.wakes.history(wake.id)
    session.out.result({"wake": wake, "history": steps}, lambda: _wake_lines(wake, steps))


async def cancel(session: Session, name: WakeName, reason: NeededReason) -> None:
    """Cancel a wake that has not begun. Of a schedule only this occurrence is cancelled."""
    async with session.client() as client:
        await client.require("wakes.cancel")
        wake = await _wake(client, await _find(client, name))
        _require_not_own(wake)
        done = await client.wakes.cancel(wake.id, reason=reason)
        if done is not CancelResult.OK:
            now = await _wake(client, wake.id)
            raise WrongState(
                f"The wake is {now.state} and can no longer be cancelled.",
                means="Nothing was changed.",
                found=now.state,
            )
        wake = await _wake(client, wake.id)
    session.out.result(wake, lambda: ["It is cancelled and fires nothing."])


async def release(session: Session, name: WakeName, reason: NeededReason) -> None:
    """Let a wake that was given up be tried again, with its attempts forgiven."""
    async with session.client() as client:
        await client.require("wakes.release")
        wake = await client.wakes.release(await _find(client, name), reason)
    session.out.result(wake, lambda: ["It is tried again at the next pass."])


async def drop(session: Session, name: WakeName, reason: NeededReason) -> None:
    """Give a dead wake up for good."""
    async with session.client() as client:
        await client.require("wakes.drop")
        wake = await client.wakes.drop(await _find(client, name), reason)
    session.out.result(wake, lambda: ["It is dropped and fires nothing."])


def find_id(text: str, of: str, found: list[str], do: str) -> str:
    """The one id that ends with ``text``; `InvalidValue` or `NotFound` say what is wrong with it otherwise."""
    wanted = text.strip().upper()
    if len(wanted) < SHORTEST_NAME or not wanted.isalnum():
        raise InvalidValue(
            f"{text!r} names no {of}.",
            do=f"Give its id or at least its last {SHORTEST_NAME} characters: {do}",
        )
    matching = sorted({one for one in found if one.upper().endswith(wanted)})
    if len(matching) == 1:
        return matching[0]
    what = f"{len(matching)} {of}s end with {shown(wanted)}." if matching else f"No {of} is {shown(wanted)}."
    raise NotFound(what, do=f"Look at them: {do}")


async def _find(client: EngineClient, name: str) -> str:
    text = name.strip()
    if len(text) == 26:
        return text.upper()
    found = [wake.id for wake in await client.wakes.list_wakes(states=OPEN, text=text, limit=MOST_ROWS)]
    found += [wake.id for wake in await client.wakes.list_ended(text=text, limit=MOST_ROWS)]
    return find_id(text, "wake", found, "praxis wakes list")


async def _wake(client: EngineClient, wake_id: str) -> Wake:
    wake = await client.wakes.get(wake_id)
    if wake is None:
        raise NotFound(f"There is no wake {shown(wake_id)}.", do="Look at them: praxis wakes list")
    return wake


def _require_not_own(wake: Wake) -> None:
    if wake.kind in OWN_KINDS:
        raise Refused(
            f"A wake of kind {wake.kind} is the engine's own.",
            means="Nothing was changed.",
            do="Steer what it is for: cancel the task or the request, or change the schedule of backups.",
            kind=wake.kind,
        )


def _rows(rows: tuple[WakeSummary, ...], now: Instant) -> Iterator[Line]:
    if not rows:
        yield "There is none."
        return
    yield table(
        ("wake", "due", "kind", "state", "tries", "lane", "workspace", ""),
        (
            [
                row.id[-SHORTEST_NAME:],
                "-" if row.due_at is None else at(row.due_at),
                shown(row.kind),
                _state(row, now),
                str(row.attempts) if row.attempts else "",
                shown(row.lane or ""),
                shown(row.workspace),
                shown(_remark(row)),
            ]
            for row in rows
        ),
    )


def _state(row: WakeSummary, now: Instant) -> Text:
    if row.state is WakeState.DEAD:
        return Text("dead", "red")
    if row.waiting is Waiting.NO_SINK:
        return Text("no sink", "yellow")
    if row.waiting is Waiting.DOCKET:
        return Text("in the docket", "yellow")
    if row.state is WakeState.PENDING and row.armed_at is not None and now - row.armed_at >= 1_000:
        return Text(f"due since {format_duration((now - row.armed_at) // 1000 * 1000)}", "yellow")
    return Text(row.state)


def _remark(row: WakeSummary) -> str:
    if row.waiting is Waiting.NO_SINK:
        return f"no sink for {row.kind}"
    if row.last_error:
        return row.last_error
    if row.event_key:
        return f"waits for the event {row.event_key}"
    return row.recurrence or ""


def _wake_lines(wake: Wake, steps: tuple[Step, ...]) -> Iterator[Line]:
    yield heading(f"{shown(wake.kind)} · {wake.id}")
    facts = (
        ("state", str(wake.state) + (f", set aside: {wake.waiting}" if wake.waiting else "")),
        ("due", at(wake.due_at)),
        ("deadline", at(wake.expires_at)),
        ("workspace", shown(wake.workspace)),
        ("session", shown(wake.session or "")),
        ("lane", shown(wake.lane or "")),
        ("event", shown(wake.event_key or "")),
        ("series", f"{shown(wake.recurrence or '')} {wake.series}" if wake.series else ""),
        ("made by", f"{shown(str(wake.created_by))}, {at(wake.created_at)}"),
        ("late", format_duration(wake.late_ms) if wake.late_ms else ""),
        ("stands for", f"{wake.missed} more that were missed" if wake.missed else ""),
        ("tries", str(wake.attempts) if wake.attempts else ""),
        ("last error", shown(wake.last_error or "")),
        ("handed over", shown_lines(json.dumps(wake.intent, ensure_ascii=False))),
        ("result", "" if wake.result is None else shown_lines(json.dumps(wake.result, ensure_ascii=False))),
    )
    for name, value in facts:
        if value and value != "-":
            yield f"{name:<12} {value}"
    yield ""
    for step in steps:
        why = f": {shown(step.why)}" if step.why else ""
        yield f"{at(step.at)} {step.event} by {shown(step.by)}{why}"
