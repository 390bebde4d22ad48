"""An engine of nothing but memory, for tests of what the console does with answers."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from engine.actors import Actor, ActorKind
from engine.clock import ManualClock
from engine.control.holds import ENGINE_NODE_ID
from engine.errors import WrongState
from engine.states import HoldKind, NodeKind, Purpose
from engine.views.values import EngineStatus, HoldRow

ADA = Actor(ActorKind.PERSON, "ada")


def status(**fields: Any) -> EngineStatus:
    """A quiet engine's status, but for ``fields``."""
    values: dict[str, Any] = {
        "epoch": 41,
        "folder": "/data",
        "holds": (),
        "pending_approvals": 0,
        "open_work_orders": 0,
        "running": 0,
        "unknown": 0,
        "awaiting_decision": 0,
        "waiting_control": 0,
        "waiting_background": 0,
        "latency_ms": 0.3,
        "last_sequence": 1,
        "superseded": False,
    }
    return EngineStatus(**{**values, **fields})


def hold(
    kind: HoldKind = HoldKind.PAUSE,
    reason: str = "",
    node: NodeKind = NodeKind.ENGINE,
    node_id: str = ENGINE_NODE_ID,
    name: str = "engine",
) -> HoldRow:
    """An active hold placed by ada at the clock's start."""
    return HoldRow(f"hold-{kind}-{node_id}", node, node_id, name, kind, reason, ADA, ManualClock().now())


def attempt(number: int = 118, work_order_id: str = "order", task_id: str = "task") -> Any:
    """What the shell reads of an attempt in flight."""
    now = ManualClock().now()
    return SimpleNamespace(
        id=f"attempt-{number}",
        number=number,
        work_order_id=work_order_id,
        task_id=task_id,
        purpose=Purpose.IMPLEMENT,
        title="Mend rounding",
        argv=("python", "fix.py"),
        authorized_at=now,
        started_at=now,
    )


@dataclass
class FakeEngine:
    """Answers from what a test puts in, and records the commands it gets."""

    folder: Path
    clock: ManualClock = field(default_factory=ManualClock)
    said: EngineStatus = field(default_factory=status)
    in_flight: tuple[Any, ...] = ()
    calls: list[tuple[Any, ...]] = field(default_factory=list)
    reads: int = 0
    error: Exception | None = None
    place_warning: str = ""
    pending: set[str] = field(default_factory=set)
    listeners: list[Callable[[Any], None]] = field(default_factory=list)
    ended: asyncio.Event = field(default_factory=asyncio.Event)

    def subscribe(self, listener: Callable[[Any], None]) -> Callable[[], None]:
        self.listeners.append(listener)
        return lambda: self.listeners.remove(listener)

    def tell(self, *changes: tuple[str, str, str, str | None], last_sequence: int = 2) -> None:
        """Let a commit of (kind, subject kind, subject id, work order) be told."""
        rows = tuple(
            SimpleNamespace(kind=kind, subject_kind=subject, subject_id=identity, work_order_id=order)
            for kind, subject, identity, order in changes
        )
        for listener in list(self.listeners):
            listener(SimpleNamespace(changes=rows, first_sequence=last_sequence, last_sequence=last_sequence))

    async def status(self) -> EngineStatus:
        self.reads += 1
        await asyncio.sleep(0)
        if self.error is not None:
            raise self.error
        return replace(self.said)

    @property
    def approvals(self) -> FakeEngine:
        """Its own part, too: what is asked of the approvals is answered here."""
        return self

    async def inbox_row(self, approval_id: str) -> Any:
        return approval_id if approval_id in self.pending else None

    async def running(self) -> tuple[Any, ...]:
        return self.in_flight

    async def attempts(self, **_: Any) -> tuple[Any, ...]:
        return ()

    async def work_orders(self, **_: Any) -> tuple[Any, ...]:
        return ()

    async def diagnostics(self) -> Any:
        raise WrongState("An engine of memory has no database.")

    async def finish(self) -> None:
        self.calls.append(("finish",))
        await self.ended.wait()

    async def pause(self, node: Any, actor: Actor, *, reason: str = "", key: str | None = None) -> None:
        self.calls.append(("pause", node, reason))

    async def hold(self, node: Any, actor: Actor, *, reason: str, key: str | None = None) -> None:
        self.calls.append(("hold", node, reason))

    async def resume(self, node: Any, actor: Actor, *, reason: str = "", key: str | None = None) -> None:
        self.calls.append(("resume", node, reason))

    async def cancel(self, node: Any, actor: Actor, *, reason: str, key: str | None = None) -> None:
        self.calls.append(("cancel", node, reason))

    async def acknowledge_restore(self, actor: Actor, reason: str) -> None:
        self.calls.append(("acknowledge_restore", actor, reason))
