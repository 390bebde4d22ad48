"""The process that is killed: a real engine which a script drives towards acceptance, with a person's hand.

Run as ``python -m tests.crash.child FOLDER WORKSPACE POINT WHEN``. It kills itself at the named point of
a transaction: ``WHEN`` is ``before_commit`` or ``after_commit``. With ``slow`` as a further argument the step says that
it has begun and goes on for a minute, with a process of its own that has left its session.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from pathlib import Path
from types import MappingProxyType

from engine.actors import Actor, ActorKind
from engine.engine import Engine
from engine.states import WorkOrderState
from engine.work_order import BudgetLimits, CommandSpec, ValidationSpec, WorkOrderSpec

PERSON = Actor(ActorKind.PERSON, "ada")

KILL = getattr(signal, "SIGKILL", signal.SIGTERM)
"""Ends a process at once: on Windows, which has no signals, Python does that for SIGTERM."""

_COUNT = "import os; fd = os.open({name!r}, os.O_WRONLY | os.O_CREAT | os.O_APPEND); os.write(fd, b'ran\\n')"


_SLOW = """
import os, pathlib, subprocess, sys, time
if pathlib.Path("once").exists():
    sys.exit(0)
pathlib.Path("once").touch()
other = subprocess.Popen(
    [sys.executable, "-c", "import time; time.sleep(60); open('too late', 'w')"], start_new_session=True
)
print("half of it", flush=True)
pathlib.Path("pids.new").write_text(f"{os.getpid()} {other.pid}")
os.replace("pids.new", "pids")
time.sleep(60)
open("too late", "w")
"""


class KillAt:
    """A boundary that ends the process at one point, before or after the commit that contains it (E-13)."""

    def __init__(self, point: str, when: str) -> None:
        self._point = point
        self._when = when
        self._reached = False

    def __call__(self, name: str) -> None:
        if name == self._point:
            self._reached = True
        elif name == self._when and self._reached:
            os.kill(os.getpid(), KILL)
        elif name == "after_commit":
            self._reached = False


def spec(workspace: Path, *, slow: bool = False) -> WorkOrderSpec:
    """A work order whose step and validation each leave one line for every time they ran."""

    def command(name: str, more: str = "") -> CommandSpec:
        return CommandSpec(
            (sys.executable, "-c", f"{_COUNT.format(name=name)}\n{more}"),
            environment=MappingProxyType({"PYTHONDONTWRITEBYTECODE": "1"}),
            max_cost=5,
            time_limit_ms=90_000,
        )

    return WorkOrderSpec(
        title="Count how often it runs",
        workspace=str(workspace),
        implementation=command("implemented", _SLOW if slow else ""),
        validation=ValidationSpec("it ran", command=command("validated")),
        limits=BudgetLimits(100, 600_000),
    )


async def drive(engine: Engine) -> None:
    """Approve whatever waits, accept what passed, and return when the work order is accepted or needs more."""
    changed = asyncio.Event()
    end = engine.subscribe(lambda _: changed.set())
    try:
        while True:
            changed.clear()
            for row in await engine.approvals.inbox():
                card = await engine.approvals.card(row.approval_id)
                await engine.approvals.approve(
                    row.approval_id,
                    PERSON,
                    seal=row.seal,
                    covers_validation=card.validation_seal is not None,
                )
            (order,) = await engine.work_orders()
            if order.state is WorkOrderState.AWAITING_ACCEPTANCE:
                await engine.accept(order.id, PERSON, "both ran")
                return
            if order.ended_at is not None or (await engine.status()).unknown:
                return
            await changed.wait()
    finally:
        end()


async def main(folder: Path, workspace: Path, point: str, when: str, *, slow: bool) -> None:
    """Submit the work order and drive it until the kill, or to the end if the point is never reached."""
    engine = await Engine.open(folder, boundary=KillAt(point, when))
    await engine.submit(spec(workspace, slow=slow), PERSON, key="the one")
    await drive(engine)
    await engine.close()


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3], sys.argv[4], slow="slow" in sys.argv))
