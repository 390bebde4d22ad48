"""The commands `praxis grant`: look at standing grants, give one from a card, revoke one (E-42a)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Annotated

import typer
from rich.text import Text

from engine.clock import SystemClock
from engine.dispatch.grant_terms import coverage, make_terms
from engine.dispatch.grants import LONGEST_MS, MOST_USES
from engine.dispatch.plan import plan_from_json
from engine.durations import format_duration, parse_duration
from engine.errors import InvalidValue, NotFound
from engine.instants import Instant
from engine.interfaces.channel_client import EngineClient
from engine.interfaces.channel_methods import MOST_ROWS
from engine.interfaces.cli_cards import Line, approval_lines, plan_lines
from engine.interfaces.cli_common import NeededReason, ReasonOption, command
from engine.interfaces.cli_deciding import Asked, read_seal_prefix, require_seal
from engine.interfaces.cli_names import find_approval
from engine.interfaces.cli_output import age, at, counted, heading, point, shown, table, word
from engine.interfaces.cli_session import Session
from engine.states import ApprovalState, GrantState
from engine.views.grants import GrantRow, GrantView
from engine.views.values import ApprovalCard

SHORTEST_NAME = 6

_ANY_STATE = {"kind": "its other files may change", "head": "", "changed": 0, "digest": "", "note": ""}

grant_app = typer.Typer(
    help="Standing grants: approve few uses of one exact thing beforehand, for a short time.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

GrantName = Annotated[
    str, typer.Argument(metavar="GRANT", help="Its id, or the last 6 or more characters of it.")
]


def add_grant_commands(app: typer.Typer) -> None:
    """Add the commands of this module."""
    command(grant_app, "list")(list_grants)
    command(grant_app, "show")(show)
    command(grant_app, "give")(give)
    command(grant_app, "revoke")(revoke)
    app.add_typer(grant_app, name="grant")


async def list_grants(
    session: Session,
    every: Annotated[bool, typer.Option("--all", help="Those that have ended, too.")] = False,
    limit: Annotated[int, typer.Option("--limit", min=1, max=MOST_ROWS, help="At most this many.")] = 200,
) -> None:
    """List the grants in force with their uses left and their end, newest first."""
    async with session.client(reading=True) as client:
        rows = await client.grants.listed(states=() if every else (GrantState.LIVE,), limit=limit)
    session.out.result(rows, lambda: _rows(rows))


async def show(session: Session, name: GrantName) -> None:
    """Show one grant: exactly what it covers, and each of its uses."""
    async with session.client(reading=True) as client:
        view = await client.grants.grant(await _find(client, name))
    session.out.result(view, lambda: _view_lines(view, SystemClock().now()))


async def give(
    session: Session,
    name: Asked,
    seal: Annotated[
        str | None,
        typer.Option(
            "--seal", metavar="PREFIX", help="The first 8 or more digits of the seal you looked at."
        ),
    ] = None,
    lasts: Annotated[
        str, typer.Option("--for", metavar="DURATION", help="For how long, at most 24h.")
    ] = "1h",
    uses: Annotated[
        int,
        typer.Option(
            "--uses", min=1, max=MOST_USES, help="How many requests it approves at most, this one included."
        ),
    ] = 3,
    free: Annotated[
        list[int] | None,
        typer.Option(
            "--free", metavar="N", help="Leave argument N free, one plain word; as often as needed."
        ),
    ] = None,
    any_state: Annotated[
        bool,
        typer.Option(
            "--any-state", help="Other files of the workspace may change; else it must be as it is."
        ),
    ] = False,
    with_validation: Annotated[
        bool, typer.Option("--with-validation", help="Cover the validation that the card shows as well.")
    ] = False,
    reason: ReasonOption = "",
) -> None:
    """Approve what a card shows, and the same thing again a few times. A person gives it, after looking.

    The card is shown first, whole, with what the grant would cover; then type the beginning of its seal. The
    request itself is the first use. It ends by itself, and is void on any drift.
    """
    clock = SystemClock()
    lasts_ms = parse_duration(lasts)
    if lasts_ms > LONGEST_MS:
        raise InvalidValue(
            f"A grant lasts at most {format_duration(LONGEST_MS)}.", do="Give a shorter time with --for."
        )
    async with session.client() as client:
        await client.require("grants.give")
        card = await client.approvals.card(await find_approval(client, name, ApprovalState.PENDING))
        requester = (await client.work_order(card.work_order_id)).row.requested_by
    for line in approval_lines(card, f"WO-{card.number}", clock.now()):
        session.out.line(line)
    for line in _covers(card, tuple(free or ()), any_state, with_validation):
        session.out.line(line)
    session.out.line(
        f"{counted(uses, 'use')}, this request the first, until {at(clock.now() + lasts_ms)}; only for what "
        f"{shown(str(requester))} asks for in project {shown(card.project)}."
    )
    prefix = read_seal_prefix(session, "grant") if seal is None else seal
    require_seal(card, prefix)
    async with session.client() as client:
        view = await client.grants.give(
            card.approval_id,
            seal=card.seal,
            ends_at=clock.now() + lasts_ms,
            uses=uses,
            free=tuple(free or ()),
            any_state=any_state,
            covers_validation=with_validation,
            reason=reason,
        )
    session.out.result(view, lambda: _view_lines(view, clock.now()))


async def revoke(session: Session, name: GrantName, reason: NeededReason) -> None:
    """End a grant at once. What it approved and nothing has used yet is asked for again; what runs goes on."""
    async with session.client() as client:
        await client.require("grants.revoke")
        view = await client.grants.revoke(await _find(client, name), reason)
    session.out.result(
        view, lambda: [f"Revoked. Used {view.row.uses} of {counted(view.row.max_uses, 'time')}."]
    )


async def _find(client: EngineClient, name: str) -> str:
    text = name.strip().upper()
    if len(text) < SHORTEST_NAME or not text.isalnum():
        raise InvalidValue(
            f"{name!r} is no name of a grant.",
            do=f"Give its id or at least its last {SHORTEST_NAME} characters: praxis grant list --all",
        )
    if len(text) == 26:
        return text
    found = [row.id for row in await client.grants.listed(limit=MOST_ROWS) if row.id.endswith(text)]
    if len(found) != 1:
        raise NotFound(
            f"{len(found) or 'No'} grants end with {shown(text)}."
            if found
            else f"No grant ends with {shown(text)}.",
            do="Look at them: praxis grant list --all",
        )
    return found[0]


def _covers(
    card: ApprovalCard, free: Sequence[int], any_state: bool, with_validation: bool
) -> Iterator[Line]:
    """What the grant would cover; `InvalidValue` before anybody is asked if something may not be left free."""
    if with_validation and card.validation_seal is None:
        raise InvalidValue(
            "This request has no validation that the grant could cover.", do="Leave --with-validation out."
        )
    terms = make_terms(
        plan_from_json(card.plan), free, any_state, card.validation_seal if with_validation else None
    )
    yield ""
    yield heading("What the grant would cover")
    for sentence in coverage(terms):
        yield point(sentence)


def _rows(rows: tuple[GrantRow, ...]) -> Iterator[Line]:
    if not rows:
        yield "No standing grant is in force."
        return
    yield table(
        ("grant", "state", "uses", "until", "command", "for", "given by", "ended"),
        (
            [
                row.id[-SHORTEST_NAME:],
                word(row.state.value),
                f"{row.uses} of {row.max_uses}",
                at(row.ends_at),
                _command(row),
                shown(str(row.requested_by)),
                shown(str(row.given_by)),
                shown(row.end_reason),
            ]
            for row in rows
        ),
    )


def _view_lines(view: GrantView, now: Instant) -> Iterator[Line]:
    row = view.row
    yield Text.assemble(
        heading(f"Grant {row.id[-SHORTEST_NAME:]} · {_command(row)}"), "  ", word(row.state.value)
    )
    yield f"uses       {row.uses} of {row.max_uses}"
    yield f"until      {at(row.ends_at)}"
    yield f"given      {at(row.given_at)} by {shown(str(row.given_by))} ({age(row.given_at, now)} ago)"
    if row.reason:
        yield f"reason     {shown(row.reason)}"
    if row.ended_at is not None:
        by = f" by {shown(str(row.ended_by))}" if row.ended_by is not None else ""
        yield f"ended      {at(row.ended_at)}{by}: {shown(row.end_reason)}"
    yield f"made from  WO-{row.number} {shown(row.title)}"
    yield f"only for   {shown(str(row.requested_by))} in project {shown(row.project)}"
    yield ""
    for sentence in view.covers:
        yield point(sentence)
    yield ""
    words = ["(free)" if word_ is None else word_ for word_ in row.argv]
    state = view.template["state"] or _ANY_STATE
    yield from plan_lines({**view.template, "argv": words, "state": state})
    if view.uses:
        yield ""
        yield heading("Uses")
        yield table(
            ("use", "when", "work order", "free arguments", "its request"),
            (
                [
                    str(use.ordinal),
                    at(use.used_at),
                    f"WO-{use.number} {shown(use.title)}",
                    ", ".join(map(shown, use.values)),
                    word(use.approval_state.value if use.approval_state is not None else None),
                ]
                for use in view.uses
            ),
        )


def _command(row: GrantRow) -> str:
    return " ".join("(free)" if argument is None else shown(argument) for argument in row.argv)
