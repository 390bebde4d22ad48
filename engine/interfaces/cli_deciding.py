"""The commands of `praxis` with which a person decides and steers."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from engine.clock import SystemClock
from engine.control.decisions import Finding, require_proof
from engine.control.holds import Node
from engine.control.proofs import Proof
from engine.engine import IN_FLIGHT
from engine.errors import Drifted, InvalidValue, WrongState
from engine.interfaces.cli_cards import Line, approval_lines
from engine.interfaces.cli_common import KeyOption, NeededReason, ReasonOption, command
from engine.interfaces.cli_names import find_approval, find_attempt, find_node, find_work_order, own_scope
from engine.interfaces.cli_output import NOBODY_WORKS, shown, word
from engine.interfaces.cli_proofs import shown_proofs
from engine.interfaces.cli_session import Session
from engine.interfaces.work_order_file import read_work_order
from engine.states import ApprovalState, NodeKind, Verdict
from engine.views.values import ApprovalCard, AttemptRow, HoldRow, WorkOrderRow

SHORTEST_PREFIX = 8
"""How many digits of a seal say which plan is meant: chance meets one in four thousand million."""

Asked = Annotated[str, typer.Argument(help="WO-118, WO-118/2, or the id of a request for approval.")]
Order = Annotated[str, typer.Argument(help="WO-118 or its id.")]
NodeName = Annotated[str, typer.Argument(help="engine, project:NAME, WO-118 or WO-118/2.")]
AttemptName = Annotated[str, typer.Argument(help="WO-118/2/1 or its id; WO-118 for its newest attempt.")]


class Judgement(StrEnum):
    """A person's verdict, as written on the command line."""

    PASSED = "passed"
    FAILED = "failed"
    UNKNOWN = "unknown"


class Found(StrEnum):
    """What a person found out about an UNKNOWN, as written on the command line."""

    TOOK_EFFECT = "took-effect"
    DID_NOT = "did-not"
    STILL_UNKNOWN = "still-unknown"


def add_deciding_commands(app: typer.Typer) -> None:
    """Add the commands of this module."""
    for name, function in (
        ("approve", approve),
        ("reject", reject),
        ("withdraw", withdraw),
        ("accept", accept),
        ("reject-work", reject_work),
        ("allow-correction", allow_correction),
        ("validate-again", validate_again),
        ("replan", replan),
        ("judge", judge),
        ("reconcile", reconcile),
        ("pause", pause),
        ("hold", hold),
        ("resume", resume),
        ("cancel", cancel),
        ("stop", stop),
    ):
        command(app, name)(function)


async def approve(
    session: Session,
    name: Asked,
    seal: Annotated[
        str | None,
        typer.Option(
            "--seal", metavar="PREFIX", help="The first 8 or more digits of the seal you looked at."
        ),
    ] = None,
    with_validation: Annotated[
        bool, typer.Option("--with-validation", help="Approve the validation that the card shows as well.")
    ] = False,
    reason: ReasonOption = "",
) -> None:
    """Approve exactly what a card shows. It is shown first, whole; then type the beginning of its seal.

    Without a terminal, --seal names the plan that was looked at (praxis show WO-118/1). If the request is for
    another plan, nothing is approved. Whether program, files and workspace still are as sealed is looked at when
    it starts: if they are not, it does not run, and you are asked again.
    """
    clock = SystemClock()
    began = clock.elapsed()
    async with session.client() as client:
        await client.require("approvals.approve")
        card = await client.approvals.card(await find_approval(client, name, ApprovalState.PENDING))
    _require_pending(card)
    for line in approval_lines(card, f"WO-{card.number}", clock.now()):
        session.out.line(line)
    _require_choice(card, with_validation)
    # The folder is free while the person looks; the seal says whether it is still the same plan afterwards.
    prefix = read_seal_prefix(session, "approve") if seal is None else seal
    require_seal(card, prefix)
    async with session.client() as client:
        done = await client.approvals.approve(
            card.approval_id,
            seal=card.seal,
            covers_validation=with_validation,
            look_ms=clock.elapsed() - began if seal is None else None,
            reason=reason,
        )
        alone = client.alone
    session.out.result(done, lambda: _approved(done, alone))


def _require_pending(card: ApprovalCard) -> None:
    if card.state is not ApprovalState.PENDING:
        raise WrongState(
            f"Nothing of WO-{card.number} waits for approval: its newest request is {card.state}.",
            means="Nothing was approved.",
            do=f"Look at it: praxis show WO-{card.number}",
            state=card.state.value,
        )


def _require_choice(card: ApprovalCard, with_validation: bool) -> None:
    if with_validation and card.validation_plan is None:
        raise InvalidValue(
            "This request has no validation that one look could cover.", do="Leave --with-validation out."
        )


def read_seal_prefix(session: Session, what: str) -> str:
    """Have the person type the beginning of the seal that was shown, to ``what`` it; only at a terminal."""
    if session.out.as_json or not sys.stdin.isatty():
        raise InvalidValue(
            "Nothing was approved: there is nobody at a terminal to confirm it.",
            do="Look at the card, then name its seal: --seal and at least its first 8 digits.",
        )
    typed: str = typer.prompt(
        f"To {what}, type the first 8 digits of the seal; anything else leaves it as it is",
        default="",
        show_default=False,
    )
    return typed


def require_seal(card: ApprovalCard, prefix: str) -> None:
    """Raise `InvalidValue` or `Drifted` unless ``prefix`` names the card's seal with enough digits."""
    prefix = prefix.strip().lower()
    if len(prefix) < SHORTEST_PREFIX:
        raise InvalidValue(
            f"Nothing was approved: {prefix!r} is less than {SHORTEST_PREFIX} digits of a seal.",
            do=f"Give at least the first {SHORTEST_PREFIX} digits of the seal that the card shows.",
        )
    if not card.seal.startswith(prefix):
        raise Drifted(
            f"The seal of WO-{card.number} does not begin with {shown(prefix[:64])}.",
            means="What would run is not the plan you name, or its seal was mistyped. Nothing was approved.",
            do="Look at the card again.",
            seal=card.seal,
        )


def _approved(card: ApprovalCard, alone: bool) -> Iterator[Line]:
    both = " and its validation" if card.covers_validation else ""
    yield Text.assemble(f"WO-{card.number} {card.purpose.lower()}{both}: ", word(card.state.value))
    if card.state is ApprovalState.APPROVED:
        yield (
            NOBODY_WORKS
            if alone
            else f"It runs as soon as its gates are open. Which are not: praxis explain WO-{card.number}"
        )


async def reject(session: Session, name: Asked, reason: NeededReason) -> None:
    """Reject a request for approval."""
    async with session.client() as client:
        card = await client.approvals.reject(await find_approval(client, name, ApprovalState.PENDING), reason)
    session.out.result(card, lambda: _card_state(card))


async def withdraw(session: Session, name: Asked, reason: ReasonOption = "") -> None:
    """Take back a request, or an approval that nothing has used yet."""
    async with session.client() as client:
        approval = await find_approval(client, name, ApprovalState.PENDING, ApprovalState.APPROVED)
        card = await client.approvals.withdraw(approval, reason)
    session.out.result(card, lambda: _card_state(card))


def _card_state(card: ApprovalCard) -> Iterator[Line]:
    yield Text.assemble(f"WO-{card.number} {card.purpose.lower()}: ", word(card.state.value))


async def accept(session: Session, name: Order, reason: ReasonOption = "") -> None:
    """Accept validated work: the work order ends."""
    async with session.client() as client:
        row = await client.accept((await find_work_order(client, name)).row.id, reason)
    session.out.result(row, lambda: _order_state(row))


async def reject_work(session: Session, name: Order, reason: NeededReason) -> None:
    """Reject the work of an order: it ends."""
    async with session.client() as client:
        row = await client.reject_work((await find_work_order(client, name)).row.id, reason)
    session.out.result(row, lambda: _order_state(row))


async def allow_correction(session: Session, name: Order, reason: NeededReason) -> None:
    """Allow one more correction than the work order's rule does."""
    async with session.client() as client:
        row = await client.allow_correction((await find_work_order(client, name)).row.id, reason)
    session.out.result(row, lambda: _order_state(row))


async def validate_again(session: Session, name: Order, reason: NeededReason) -> None:
    """Make a new validation of a result that was executed but not judged."""
    async with session.client() as client:
        row = await client.validate_again((await find_work_order(client, name)).row.id, reason)
    session.out.result(row, lambda: _order_state(row))


async def replan(
    session: Session,
    name: Order,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The work order that takes its place.")],
    reason: NeededReason,
    key: KeyOption = None,
) -> None:
    """End a work order and submit another in its place, in one step. What runs of it becomes UNKNOWN."""
    spec = read_work_order(file)
    async with session.client() as client:
        before = (await find_work_order(client, name)).row
        row = await client.replan(before.id, spec, reason=reason, key=key)
        ended = (await client.work_order(before.id)).row
    session.out.result({"ended": ended, "submitted": row}, lambda: _replanned(ended, row))


def _replanned(ended: WorkOrderRow, row: WorkOrderRow) -> Iterator[Line]:
    yield from _order_state(ended)
    yield f"WO-{row.number} “{shown(row.title)}” takes its place: {shown(row.why)}"
    yield f"Look at what would run and approve it: praxis approve WO-{row.number}"


def _order_state(row: WorkOrderRow) -> Iterator[Line]:
    why = f"  {shown(row.why)}" if row.why else ""
    yield Text.assemble(f"WO-{row.number}: ", word(row.state.value), why)


async def judge(
    session: Session,
    name: AttemptName,
    verdict: Annotated[Judgement, typer.Argument(case_sensitive=False)],
    reason: NeededReason,
    cost: Annotated[int | None, typer.Option("--cost", min=0, help="What it really cost, in units.")] = None,
) -> None:
    """Judge an attempt by the criteria of its work order, as a person."""
    async with session.client() as client:
        _, attempt = await find_attempt(client, name)
        row = await client.validate_by_person(
            attempt.id, Verdict[verdict.name], reason=reason, actual_cost=cost
        )
    session.out.result(row, lambda: [Text.assemble(f"WO-{attempt.number}: ", word(row.outcome.value))])


async def reconcile(
    session: Session,
    name: AttemptName,
    finding: Annotated[Found, typer.Argument(case_sensitive=False)],
    reason: NeededReason,
    cost: Annotated[int | None, typer.Option("--cost", min=0, help="What it really cost, in units.")] = None,
    active_ms: Annotated[
        int | None, typer.Option("--active-ms", min=0, help="How long it was active.")
    ] = None,
    files: Annotated[
        list[Path] | None,
        typer.Option(
            "--proof", metavar="FILE", help="A file that shows it; it is kept for good. May be repeated."
        ),
    ] = None,
    notes: Annotated[
        list[str] | None,
        typer.Option("--saw", metavar="TEXT", help="What you saw, word by word; kept as a proof."),
    ] = None,
) -> None:
    """Decide an UNKNOWN: it took effect, it did not, or it is still unknown and this is a note.

    took-effect and did-not end it and need one of the two: --saw in words, or --proof with a file. That is kept
    as it is now, and named in the decision by its digest.
    """
    proof = shown_proofs(files or (), notes or ())
    require_proof(Finding[finding.name], proof, 'Add --saw "what was there", or --proof FILE.')
    async with session.client() as client:
        _, attempt = await find_attempt(client, name)
        row = await client.unknowns.reconcile(
            attempt.id, Finding[finding.name], reason=reason, cost=cost, active_ms=active_ms, proof=proof
        )
    session.out.result(row, lambda: _reconciled(row, proof))


def _reconciled(row: AttemptRow, proof: Sequence[Proof]) -> Iterator[Line]:
    yield Text.assemble(f"WO-{row.number}: attempt ", word(row.state.value))
    for one in proof:
        yield f"Kept as proof: {shown(one.name)}" + (f", sha256 {one.sha256}" if one.sha256 else "")


async def pause(session: Session, name: NodeName, reason: ReasonOption = "", key: KeyOption = None) -> None:
    """Start nothing new in the engine, a work order or a task until resume. What runs goes on."""
    async with session.client() as client:
        node, _ = await find_node(client, name)
        row = await client.pause(node, reason=reason, key=key)
    session.out.result(row, lambda: _held(row))


async def hold(session: Session, name: NodeName, reason: NeededReason, key: KeyOption = None) -> None:
    """As pause, with a reason that has to be answered."""
    async with session.client() as client:
        node, _ = await find_node(client, name)
        row = await client.hold(node, reason=reason, key=key)
    session.out.result(row, lambda: _held(row))


def _held(row: HoldRow) -> Iterator[Line]:
    because = f": {shown(row.reason)}" if row.reason else ""
    yield f"{row.kind} on {shown(row.node_name)}{because}. Nothing new starts there."


async def resume(session: Session, name: NodeName, reason: ReasonOption = "", key: KeyOption = None) -> None:
    """Lift the pauses and holds on the engine, a project, a work order or a task itself."""
    async with session.client() as client:
        node, label = await find_node(client, name)
        lifted = await client.resume(node, reason=reason, key=key)
        scope = await own_scope(client, node)
        if scope is not None:
            lifted += await client.resume(scope, reason=reason)
    session.out.result(lifted, lambda: _resumed(label, lifted))


def _resumed(label: str, lifted: tuple[HoldRow, ...]) -> Iterator[Line]:
    if not lifted:
        yield f"There was no pause or hold on {label}."
    for row in lifted:
        yield f"Lifted the {row.kind} on {shown(row.node_name)}."


async def cancel(session: Session, name: NodeName, reason: NeededReason, key: KeyOption = None) -> None:
    """Cancel a task, a work order, or with engine every open work order. What runs is stopped and becomes UNKNOWN."""
    async with session.client() as client:
        node, label = await find_node(client, name)
        await client.cancel(node, reason=reason, key=key)
    session.out.result({"cancelled": label}, lambda: [_cancelled(node, label)])


def _cancelled(node: Node, label: str) -> str:
    what = "every open work order" if node.kind is NodeKind.ENGINE else label
    return f"Cancelled {what}. What still ran becomes UNKNOWN."


async def stop(session: Session, name: AttemptName, reason: NeededReason) -> None:
    """Stop a running attempt. It becomes UNKNOWN, since a kill proves nothing."""
    async with session.client() as client:
        label, attempt = await find_attempt(client, name)
        await client.stop_attempt(attempt.id, reason)
    if attempt.state not in IN_FLIGHT:
        raise WrongState(
            f"{label} does not run; it is {attempt.state}.",
            means="Nothing was stopped or changed.",
            do=f"Look at it: praxis show {label}",
        )
    session.out.result({"stopping": attempt.id}, lambda: [f"Stopping {label}."])
