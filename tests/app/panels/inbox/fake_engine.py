"""An engine in memory with the calls that the inbox makes, for tests without a database."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from app.panels.inbox.model import order_of
from engine.actors import Actor
from engine.clock import ManualClock
from engine.control.holds import Node
from engine.errors import NotFound, Refused, WrongState
from engine.states import ApprovalState, HoldKind
from engine.storage.changes import Change
from engine.views.values import ApprovalCard, DifferenceLine, EngineStatus, HoldRow, InboxRow, QuietMeter
from tests.app.panels.inbox.samples import approval_card


class NoGrants:
    """Standing grants of which there are none."""

    async def listed(self, **wanted: Any) -> tuple[()]:
        return ()


class FakeEngine:
    """Holds cards; every command is written down in ``calls`` and obeys the engine's rules in short."""

    def __init__(self, clock: ManualClock, cards: Iterable[ApprovalCard] = ()) -> None:
        self.grants = NoGrants()
        self.clock = clock
        self.cards = {card.approval_id: card for card in cards}
        self.calls: list[tuple[Any, ...]] = []
        self.holds: list[HoldRow] = []
        self.meter = QuietMeter(6, 38_400)
        self.gate: asyncio.Event | None = None
        self.drifted: dict[str, tuple[DifferenceLine, ...]] = {}
        self.changes: list[Change] = []

    @property
    def approvals(self) -> FakeEngine:
        """Its own part, too: it has nothing else."""
        return self

    def put(self, **fields: Any) -> ApprovalCard:
        """Ask for an approval, or change a card as something else would."""
        card = approval_card(**fields)
        new = card.approval_id not in self.cards
        self.cards[card.approval_id] = card
        self._tell("asked" if new else card.state.lower(), card)
        return card

    def end(self, approval_id: str, state: ApprovalState, **fields: Any) -> ApprovalCard:
        """End or change a request as somebody else would."""
        card = replace(self.cards[approval_id], state=state, **fields)
        self.cards[approval_id] = card
        self._tell(state.lower(), card)
        return card

    def _tell(self, what: str, card: ApprovalCard) -> None:
        self.changes.append(Change(f"approval.{what}", "approval", card.approval_id, card.work_order_id))

    # Reads

    async def inbox(self, *, after: str | None = None, limit: int = 200) -> tuple[InboxRow, ...]:
        rows = sorted((self._row(card) for card in self._pending()), key=order_of)
        if after is not None:
            start = order_of(self._row(self.cards[after]))
            rows = [row for row in rows if order_of(row) > start]
        return tuple(rows[:limit])

    async def card(self, approval_id: str) -> ApprovalCard:
        if approval_id not in self.cards:
            raise NotFound(f"Approval {approval_id} does not exist.", do="Look at the inbox again.")
        card = self.cards[approval_id]
        if (
            card.state in (ApprovalState.PENDING, ApprovalState.APPROVED)
            and self.clock.now() >= card.expires_at
        ):
            return replace(card, state=ApprovalState.EXPIRED)
        return card

    async def quiet_meter(self) -> QuietMeter:
        return self.meter

    async def status(self) -> EngineStatus:
        return EngineStatus(
            41, "/data", tuple(self.holds), len(self._pending()), 24, 2, 1, 0, 0, 0, 0.3, 100, False
        )

    # Commands

    async def approve(
        self,
        approval_id: str,
        actor: Actor,
        *,
        seal: str,
        covers_validation: bool = False,
        look_ms: int | None = None,
        reason: str = "",
    ) -> ApprovalCard:
        self.calls.append(("approve", approval_id, seal, covers_validation, look_ms))
        if self.gate is not None:
            await self.gate.wait()
        return self._approve(approval_id, actor, seal, covers_validation)

    async def approve_alike(
        self, approval_ids: Sequence[str], actor: Actor, *, seal: str, look_ms: int | None = None
    ) -> tuple[ApprovalCard, ...]:
        self.calls.append(("approve_alike", tuple(approval_ids), seal, look_ms))
        for approval_id in approval_ids:
            self._require_open(self.cards[approval_id])
        return tuple(self._approve(approval_id, actor, seal, False) for approval_id in approval_ids)

    async def reject(self, approval_id: str, actor: Actor, reason: str) -> ApprovalCard:
        self.calls.append(("reject", approval_id, reason))
        self._require_open(self.cards[approval_id])
        now = self.clock.now()
        return self.end(
            approval_id,
            ApprovalState.REJECTED,
            decided_by=actor.name,
            decided_at=now,
            decision_reason=reason,
            ended_at=now,
        )

    async def withdraw(self, approval_id: str, actor: Actor, reason: str = "") -> ApprovalCard:
        self.calls.append(("withdraw", approval_id))
        if self.cards[approval_id].state is ApprovalState.CONSUMED:
            raise WrongState(
                "The approval is CONSUMED and can no longer be withdrawn.",
                means="An admission has used it.",
                do="Stop the attempt instead, if it runs.",
            )
        return self.end(approval_id, ApprovalState.WITHDRAWN, ended_at=self.clock.now())

    async def changed_since_asked(self, approval_id: str) -> tuple[DifferenceLine, ...]:
        return self.drifted.get(approval_id, ())

    async def ask_again(self, task_id: str, actor: Actor) -> ApprovalCard:
        self.calls.append(("ask_again", task_id))
        old = next(card for card in reversed(self.cards.values()) if card.task_id == task_id)
        now = self.clock.now()
        return self.put(
            **{
                **{name: getattr(old, name) for name in ApprovalCard.__dataclass_fields__},
                "approval_id": f"{old.approval_id}x",
                "state": ApprovalState.PENDING,
                "asked_at": now,
                "expires_at": now + 3_600_000,
                "ended_at": None,
                "previous_id": old.approval_id,
            }
        )

    async def hold(self, node: Node, actor: Actor, *, reason: str, key: str | None = None) -> HoldRow:
        self.calls.append(("hold", node, reason))
        row = HoldRow("H1", node.kind, node.id, "", HoldKind.HOLD, reason, actor, self.clock.now())
        self.holds.append(row)
        self.changes.append(Change("hold.placed", "hold", "H1", None))
        return row

    async def resume(
        self, node: Node, actor: Actor, *, reason: str = "", key: str | None = None
    ) -> tuple[str, ...]:
        self.calls.append(("resume", node, reason))
        self.holds.clear()
        self.changes.append(Change("hold.released", "hold", "H1", None))
        return ("H1",)

    def _pending(self) -> list[ApprovalCard]:
        return [card for card in self.cards.values() if card.state is ApprovalState.PENDING]

    def _approve(self, approval_id: str, actor: Actor, seal: str, covers: bool) -> ApprovalCard:
        card = self.cards[approval_id]
        if card.state in (ApprovalState.APPROVED, ApprovalState.REJECTED, ApprovalState.CONSUMED):
            return card
        self._require_open(card)
        if card.seal != seal:
            raise Refused("What was shown is not what is asked for now.", do="Look at the card again.")
        return self.end(
            approval_id,
            ApprovalState.APPROVED,
            decided_by=actor.name,
            decided_at=self.clock.now(),
            covers_validation=covers,
        )

    def _require_open(self, card: ApprovalCard) -> None:
        if card.state is not ApprovalState.PENDING or self.clock.now() >= card.expires_at:
            raise WrongState(
                f"The request is {card.state} and can no longer be decided.",
                means="Nothing was decided and nothing runs.",
                do="Ask again; the plan is then sealed afresh.",
            )

    def _row(self, card: ApprovalCard) -> InboxRow:
        return InboxRow(
            approval_id=card.approval_id,
            task_id=card.task_id,
            work_order_id=card.work_order_id,
            number=card.number,
            title=card.title,
            purpose=card.purpose,
            argv=tuple(card.plan["argv"]),
            workspace=card.workspace,
            project=card.project,
            asked_by=card.asked_by,
            asked_at=card.asked_at,
            expires_at=card.expires_at,
            changed=bool(card.differences),
            seal=card.seal,
            alike=sum(1 for other in self._pending() if other.seal == card.seal),
        )
