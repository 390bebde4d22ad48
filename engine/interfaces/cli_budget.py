"""The commands `praxis budget`: look at the tree of budgets, change limits, make and remove projects."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

import typer
from rich.text import Text

from engine.durations import format_duration, parse_duration
from engine.errors import InvalidValue
from engine.interfaces.channel_client import EngineClient
from engine.interfaces.channel_methods import MOST_ROWS
from engine.interfaces.cli_cards import Line
from engine.interfaces.cli_common import NeededReason, command
from engine.interfaces.cli_output import at, counted, heading, length, shown, table, word
from engine.interfaces.cli_session import Session
from engine.views.budgets import LimitChange, ScopeRow, ScopeView, limits_mean
from engine.work_order import BudgetLimits

budget_app = typer.Typer(
    help="Look at the budgets, and change their limits.", no_args_is_help=True, rich_markup_mode=None
)

ScopeName = Annotated[str, typer.Argument(metavar="NAME", help="everything, project:NAME or WO-118.")]
Cost = Annotated[int | None, typer.Option("--cost", metavar="UNITS", help="The limit of cost in units.")]
ActiveTime = Annotated[
    str | None,
    typer.Option("--time", metavar="DURATION", help="The limit of active time, such as 2h30m, or 0."),
]
HandoffCost = Annotated[
    int | None, typer.Option("--handoff-cost", metavar="UNITS", help="The same for handoffs alone.")
]
HandoffTime = Annotated[
    str | None, typer.Option("--handoff-time", metavar="DURATION", help="The same for handoffs alone.")
]


def add_budget_commands(app: typer.Typer) -> None:
    """Add the commands of this module."""
    command(budget_app, "list")(list_budgets)
    command(budget_app, "show")(show)
    command(budget_app, "set")(set_limits)
    command(budget_app, "add")(add)
    command(budget_app, "remove")(remove)
    app.add_typer(budget_app, name="budget")


async def list_budgets(
    session: Session,
    below: Annotated[
        str | None,
        typer.Option(
            "--below", metavar="NAME", help="The scopes right below this one; without it all projects."
        ),
    ] = None,
    limit: Annotated[
        int, typer.Option("--limit", min=1, max=MOST_ROWS, help="At most this many, the newest first.")
    ] = 200,
) -> None:
    """List scopes with what is spent, reserved by what runs, frozen by UNKNOWN and free, and of their time."""
    async with session.client(reading=True) as client:
        if below is None:
            root = await client.budgets.scopes()
            rows = (*root, *await client.budgets.scopes(parent_id=root[0].id, limit=limit))
        else:
            parent = (await client.budgets.scope(below)).row
            rows = (parent, *await client.budgets.scopes(parent_id=parent.id, limit=limit))
    session.out.result(rows, lambda: [_table(rows)])


async def show(session: Session, name: ScopeName) -> None:
    """Show one scope with all above it, the attempts that draw on it now, and how its limits were changed."""
    async with session.client(reading=True) as client:
        view = await client.budgets.scope(name)
    session.out.result(view, lambda: _view_lines(view))


async def set_limits(
    session: Session,
    name: ScopeName,
    reason: NeededReason,
    cost: Cost = None,
    time: ActiveTime = None,
    handoff_cost: HandoffCost = None,
    handoff_time: HandoffTime = None,
    even_below_use: Annotated[
        bool,
        typer.Option(
            "--even-below-use",
            help="A limit below what is counted already is meant: nothing new starts there.",
        ),
    ] = False,
) -> None:
    """Change limits of a scope. They bind what starts from now on; what runs goes on, what was spent stays."""
    async with session.client() as client:
        await client.require("budgets.set_limits")
        before = (await client.budgets.scope(name)).row.limits
        limits = _changed(before, cost, time, handoff_cost, handoff_time)
        if limits == before:
            raise InvalidValue(
                "These are its limits already, or none was given.", do="Give --cost or --time."
            )
        view = await client.budgets.set_limits(
            name, limits, reason=reason, seen=before, below_use=even_below_use
        )
    session.out.result(view, lambda: [_table(view.path), *map(Text, limits_mean(view.path, limits))])


async def add(
    session: Session,
    project: Annotated[
        str, typer.Argument(metavar="PROJECT", help="The project's name, as work orders name it.")
    ],
    reason: NeededReason,
    cost: Cost = None,
    time: ActiveTime = None,
    handoff_cost: HandoffCost = None,
    handoff_time: HandoffTime = None,
) -> None:
    """Make a project with limits of its own before its first work order; what is not given is as for everything."""
    async with session.client() as client:
        await client.require("budgets.add_project")
        root = (await client.budgets.scopes())[0]
        limits = _changed(root.limits, cost, time, handoff_cost, handoff_time)
        view = await client.budgets.add_project(project, limits, reason=reason)
    session.out.result(view, lambda: [_table(view.path), *map(Text, limits_mean(view.path, limits))])


async def remove(session: Session, name: ScopeName, reason: NeededReason) -> None:
    """Take away a project in which nothing was ever asked for."""
    async with session.client() as client:
        await _remove(client, name, reason)
    session.out.result({"removed": name}, lambda: [f"{shown(name)} is gone."])


async def _remove(client: EngineClient, name: str, reason: str) -> None:
    await client.require("budgets.remove_project")
    await client.budgets.remove_project(name, reason=reason)


def _changed(
    limits: BudgetLimits,
    cost: int | None,
    active: str | None,
    handoff_cost: int | None,
    handoff_active: str | None,
) -> BudgetLimits:
    return BudgetLimits(
        limits.execution_cost if cost is None else cost,
        limits.execution_active_ms if active is None else _duration(active),
        limits.handoff_cost if handoff_cost is None else handoff_cost,
        limits.handoff_active_ms if handoff_active is None else _duration(handoff_active),
    )


def _duration(text: str) -> int:
    return 0 if text.strip() in ("0", "0s") else parse_duration(text)


def _table(rows: tuple[ScopeRow, ...]) -> Line:
    lines: list[list[str | Text]] = []
    held = any(row.held for row in rows)
    frozen = any(part.frozen_ms for row in rows for part in row.partitions)
    for row in rows:
        for part in row.partitions:
            first = part is row.execution
            lines.append(
                [
                    _name(row) if first else "  for handoffs",
                    f"{part.cost_limit:,}",
                    f"{part.spent_cost:,}",
                    f"{part.reserved_cost:,}",
                    Text(f"{part.frozen_cost:,}", "magenta" if part.frozen_cost else ""),
                    Text(f"{part.free_cost:,}", "red" if part.free_cost < 0 else ""),
                    length(part.active_ms_limit),
                    *([Text(length(part.frozen_ms), "magenta")] if frozen else []),
                    Text(length(part.free_ms), "red" if part.free_ms < 0 else ""),
                    *(["held" if row.held and first else ""] if held else []),
                ]
            )
    return table(
        (
            "scope",
            "units",
            "spent",
            "reserved",
            "frozen",
            "free",
            "time",
            *(("frozen",) if frozen else ()),
            "left",
            *(("",) if held else ()),
        ),
        lines,
    )


def _view_lines(view: ScopeView) -> Iterator[Line]:
    yield heading(_name(view.row))
    yield _table(view.path)
    yield ""
    yield heading(f"Draws on it now ({view.drawing})")
    if view.draws:
        yield table(
            ("work order", "what", "state", "budget", "units", "time", "since"),
            (
                [
                    f"WO-{draw.number}",
                    f"{draw.purpose.value.lower()} · {shown(draw.title)}",
                    word(draw.state.value),
                    word(draw.exposure.value),
                    f"{draw.cost:,}",
                    format_duration(draw.active_ms),
                    at(draw.authorized_at),
                ]
                for draw in view.draws
            ),
        )
    if view.waiting:
        yield ""
        yield heading("Waits for room")
        for one in view.waiting:
            yield f"WO-{one.number} {one.purpose.value.lower()}: {shown(one.why)}"
    yield ""
    yield heading("Limits, newest first")
    for change in view.history:
        yield _change_line(change)


def _change_line(change: LimitChange) -> str:
    was = "" if change.before is None else f" (before: {_limits(change.before)})"
    reason = f": {shown(change.reason)}" if change.reason else ""
    return f"{at(change.at)} {shown(str(change.actor))}{reason} · {_limits(change.after)}{was}"


def _limits(limits: BudgetLimits) -> str:
    return (
        f"{counted(limits.execution_cost, 'unit')} and {length(limits.execution_active_ms)}, for handoffs "
        f"{limits.handoff_cost:,} and {length(limits.handoff_active_ms)}"
    )


def _name(row: ScopeRow) -> str:
    if row.number is not None:
        return f"WO-{row.number} {shown(row.title)}"
    return f"project:{shown(row.name)}" if row.kind == "PROJECT" else "everything"
