"""Decisions about a card as calls of the engine, and what is said after them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from PySide6.QtWidgets import QWidget

from app.panels.inbox.granting import ask_grant
from app.panels.inbox.row_text import command_line, one_line
from app.panels.inbox.sheet import Act
from app.session import Session
from app.theme import Tone, state_word
from app.widgets import Times, ask_reason
from engine.control.holds import Node
from engine.errors import PraxisError
from engine.ids import new_id
from engine.instants import Instant
from engine.states import ApprovalState, HoldKind, NodeKind
from engine.views.values import ApprovalCard, HoldRow


@dataclass(frozen=True, slots=True)
class Done:
    """A decision that was made.

    ``verb`` and ``what`` say it ("Approved", a title), ``at`` when, ``ids`` of which requests. ``leaves`` is
    whether the request has left the queue by it, ``shows`` a request to be shown instead. ``note`` is what
    has become of it since.
    """

    verb: str
    what: str
    at: Instant
    ids: tuple[str, ...]
    tone: Tone = Tone.OK
    can_withdraw: bool = False
    leaves: bool = True
    shows: str | None = None
    note: str = ""

    def words(self, times: Times) -> str:
        """The line that is shown after the decision."""
        said = f"{self.verb} {self.what} at {times.clock(self.at)}"
        return f"{said} · {times.sentence(self.note)}" if self.note else said

    def after(self, cards: Sequence[ApprovalCard]) -> Done:
        """The same, with what its requests have become since."""
        states = {card.state for card in cards}
        still = states == {ApprovalState.APPROVED}
        if states == {ApprovalState.WITHDRAWN}:
            return replace(self, note="withdrawn again; nothing runs", can_withdraw=False, tone=Tone.NEUTRAL)
        if ApprovalState.CHANGED in states:
            said = "refused at the start: what would run had changed; nothing ran"
            return replace(self, note=said, can_withdraw=False, tone=Tone.WARN)
        if ApprovalState.CONSUMED in states:
            return replace(self, note="used: its run was authorised", can_withdraw=False)
        if still:
            closed = (
                gate for card in cards for gate in card.gates if not gate.open and gate.name != "approval"
            )
            waits = next((gate.why for gate in closed), "")
            return replace(self, note=f"It waits: {waits}" if waits else "", can_withdraw=True)
        words = ", ".join(sorted(state_word(state) for state in states))
        return replace(self, note=f"now {words}", can_withdraw=False)

    def with_error(self, words: str) -> Done:
        """The same, with why it could not be taken back."""
        return replace(self, note=words, tone=Tone.WARN)


def error_words(error: PraxisError) -> str:
    """What happened, what it means and what to do, each on a line of its own."""
    return "\n".join(part for part in (error.what, error.means, error.do) if part)


async def decide(
    session: Session,
    act: Act,
    card: ApprovalCard,
    *,
    among: Sequence[str],
    covers_validation: bool,
    look_ms: int,
    hold: HoldRow | None,
    parent: QWidget,
) -> Done | None:
    """Carry out a decision about a card; None if the person went back. Errors of the engine pass through.

    Always with the seal of the card that was shown. ``among`` are the requests of that seal to be approved.
    """
    match act:
        case Act.APPROVE:
            return await _approve(session, card, tuple(among), covers_validation, look_ms)
        case Act.GRANT:
            return await _grant(session, card, covers_validation, len(card.alike), parent)
        case Act.REJECT:
            return await _reject(session, card, parent)
        case Act.HOLD:
            return await _hold(session, card, parent)
        case Act.RESUME:
            return await _resume(session, card, hold, parent)
        case Act.WITHDRAW:
            ended = await session.engine.approvals.withdraw(card.approval_id, session.actor)
            return _done(session, "Withdrawn:", ended, tone=Tone.NEUTRAL, leaves=False)
        case Act.ASK_AGAIN:
            if card.state is ApprovalState.PENDING:
                # It is what was asked for and is no more; the new request takes its place.
                await session.engine.approvals.withdraw(card.approval_id, session.actor)
            asked = await session.engine.approvals.ask_again(card.task_id, session.actor)
            return _done(session, "Asked again:", asked, leaves=False, shows=asked.approval_id)
    return None


async def _approve(
    session: Session, card: ApprovalCard, among: tuple[str, ...], covers_validation: bool, look_ms: int
) -> Done:
    engine, actor = session.engine, session.actor
    if len(among) > 1:
        decided = await engine.approvals.approve_alike(among, actor, seal=card.seal, look_ms=look_ms)
    else:
        decided = (
            await engine.approvals.approve(
                among[0],
                actor,
                seal=card.seal,
                covers_validation=covers_validation,
                look_ms=look_ms,
            ),
        )
    done = Done(
        "Approved",
        f"{len(among)} alike: {one_line(card.title)}" if len(among) > 1 else _name(card),
        session.times.now(),
        among,
        can_withdraw=True,
    )
    if covers_validation and len(among) == 1:
        done = replace(done, what=f"{done.what} and its validation")
    if any(one.state is ApprovalState.REJECTED for one in decided):
        by = next(one.decided_by for one in decided if one.state is ApprovalState.REJECTED)
        return replace(
            done,
            verb="Not approved:",
            tone=Tone.WARN,
            can_withdraw=False,
            note=f"{one_line(by or 'somebody')} had rejected it before",
        )
    return done.after(decided)


async def _grant(
    session: Session, card: ApprovalCard, covers_validation: bool, alike: int, parent: QWidget
) -> Done | None:
    order = await session.engine.work_order_row(card.work_order_id)
    assert order is not None
    wish = await ask_grant(
        parent,
        card,
        order.requested_by,
        session.times,
        covers_validation=covers_validation,
        alike=alike,
    )
    if wish is None:
        return None
    view = await session.engine.grants.give(
        card.approval_id,
        session.actor,
        seal=card.seal,
        ends_at=session.times.now() + wish.lasts_ms,
        uses=wish.uses,
        free=wish.free,
        any_state=wish.any_state,
        covers_validation=wish.covers_validation,
        reason=wish.reason,
    )
    own = view.row
    until = session.times.stamp(own.ends_at)
    return Done(
        "Granted",
        f"{_name(card)}, use {own.uses} of {own.max_uses} until {until},",
        session.times.now(),
        (card.approval_id,),
        can_withdraw=True,
    )


async def _reject(session: Session, card: ApprovalCard, parent: QWidget) -> Done | None:
    reason = await ask_reason(
        parent,
        f"Reject {_name(card)}?",
        "Nothing of this request will run. Its work order then waits for a decision.",
        action="Reject",
        danger=True,
        details=(_command(card),),
    )
    if reason is None:
        return None
    ended = await session.engine.approvals.reject(card.approval_id, session.actor, reason)
    if ended.state is not ApprovalState.REJECTED:
        note = f"it had been {state_word(ended.state)} by {one_line(ended.decided_by or 'somebody')} before"
        return replace(_done(session, "Not rejected:", ended, tone=Tone.WARN), note=note)
    return _done(session, "Rejected", ended, tone=Tone.BAD)


async def _hold(session: Session, card: ApprovalCard, parent: QWidget) -> Done | None:
    reason = await ask_reason(
        parent,
        f"Hold {_name(card)}?",
        "Nothing of this step starts until somebody resumes it, even if it is approved.",
        action="Hold",
        details=(_command(card),),
    )
    if reason is None:
        return None
    await session.engine.hold(
        Node(NodeKind.TASK, card.task_id), session.actor, reason=reason, key=new_id(session.times.now())
    )
    return _done(session, "Held", card, tone=Tone.WARN, leaves=False)


async def _resume(session: Session, card: ApprovalCard, hold: HoldRow | None, parent: QWidget) -> Done | None:
    reason: str | None = ""
    if hold is None or hold.kind is not HoldKind.PAUSE:
        held = f"Held by {one_line(str(hold.actor))}: {hold.reason}" if hold is not None else ""
        reason = await ask_reason(
            parent,
            f"Resume {_name(card)}?",
            "The step may start again once its other gates are open.",
            action="Resume",
            details=(held,) if held else (),
        )
    if reason is None:
        return None
    await session.engine.resume(
        Node(NodeKind.TASK, card.task_id), session.actor, reason=reason, key=new_id(session.times.now())
    )
    return _done(session, "Resumed", card, leaves=False)


def _done(
    session: Session,
    verb: str,
    card: ApprovalCard,
    *,
    tone: Tone = Tone.OK,
    leaves: bool = True,
    shows: str | None = None,
) -> Done:
    return Done(verb, _name(card), session.times.now(), (card.approval_id,), tone, leaves=leaves, shows=shows)


def _name(card: ApprovalCard) -> str:
    return f"WO-{card.number} · {state_word(card.purpose)} “{one_line(card.title)}”"


def _command(card: ApprovalCard) -> str:
    return "".join(piece.text for piece in command_line(card.plan.get("argv", ())))
