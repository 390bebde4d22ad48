"""Swaps an approved script after its admission, through the whole engine and through the process port alone (B-020).

    python -m tests.e2e.swap_rounds --rounds 10000 --json

``--attempts`` work orders are submitted, approved and run by an engine; from the commit of each admission on, a thread
changes the script at a random moment in a random way, sometimes putting the approved content back. ``--rounds`` starts
are made by `tests.execution.swap_rounds`, which is faster because nothing but the start is in the round. An attempt is
*undetected* when it counts as SUCCEEDED and other content ran than was sealed. That number must be 0.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import shutil
import sys
import tempfile
import threading
import time
from collections import Counter
from pathlib import Path
from types import MappingProxyType

from engine.actors import Actor, ActorKind
from engine.engine import Engine
from engine.settings import EngineSettings
from engine.states import AttemptState, Outcome
from engine.storage import ChangeSet
from engine.views.values import AttemptRow
from engine.work_order import BudgetLimits, CommandSpec, ValidatedBy, ValidationSpec, WorkOrderSpec
from tests.execution.swap_rounds import APPROVED, SWAPPED, WAYS, swap_rounds

PERSON = Actor(ActorKind.PERSON, "ada")
ENDED = (AttemptState.EXECUTED, AttemptState.SETTLED, AttemptState.UNKNOWN)
PATIENCE_SECONDS = 60
LONGEST_PAUSE = 0.05
"""Seconds from an admission to the swap at most: about as long as it takes until the command has read its script."""


def work_order(workspace: Path) -> WorkOrderSpec:
    """Run the script once; a person would judge it."""
    return WorkOrderSpec(
        title="Run the script",
        workspace=str(workspace),
        implementation=CommandSpec(
            ("sh", "task.sh"), environment=MappingProxyType({}), max_cost=1, time_limit_ms=30_000
        ),
        validation=ValidationSpec("as sealed", ValidatedBy.PERSON),
        limits=BudgetLimits(1, 60_000),
    )


async def swapped_attempts(attempts: int, seed: int, place: Path) -> Counter[str]:
    """Run so many attempts in one workspace, each swapped after its admission, and count what became of them."""
    chance = random.Random(seed)
    workspace, data = place / "workspace", place / "data"
    workspace.mkdir()
    data.mkdir()
    limits = BudgetLimits(attempts, attempts * 60_000)
    engine = await Engine.open(data, settings=EngineSettings(root_limits=limits))
    counts: Counter[str] = Counter()
    try:
        for _ in range(attempts):
            counts[await _attempt(engine, workspace, chance)] += 1
    finally:
        await engine.close()
    return counts


async def _attempt(engine: Engine, workspace: Path, chance: random.Random) -> str:
    for left in workspace.iterdir():
        left.unlink()
    script = workspace / "task.sh"
    script.write_bytes(APPROVED)
    way, back, pause = chance.choice(WAYS), chance.random() < 0.5, chance.uniform(0, LONGEST_PAUSE)
    admitted, ended = threading.Event(), asyncio.Event()

    def swap() -> None:
        admitted.wait(PATIENCE_SECONDS)
        threading.Event().wait(pause)
        way(script, SWAPPED)
        if back:
            threading.Event().wait(pause / 4)
            way(script, APPROVED)

    def listen(changes: ChangeSet) -> None:
        kinds = {change.kind for change in changes.changes}
        if "attempt.dispatch_authorized" in kinds:
            admitted.set()
        if kinds & {"attempt.executed", "attempt.unknown"}:
            ended.set()

    swapper = threading.Thread(target=swap)
    swapper.start()
    stop_listening = engine.subscribe(listen)
    try:
        order = await engine.submit(work_order(workspace), PERSON)
        (row,) = await engine.approvals.inbox()
        await engine.approvals.approve(row.approval_id, PERSON, seal=row.seal)
        async with asyncio.timeout(PATIENCE_SECONDS):
            await ended.wait()
    finally:
        stop_listening()
        admitted.set()
        await asyncio.to_thread(swapper.join)
    (attempt,) = [one for one in await engine.attempts(limit=1) if one.work_order_id == order.id]
    return await _verdict(engine, attempt)


async def _verdict(engine: Engine, attempt: AttemptRow) -> str:
    assert attempt.state in ENDED
    if attempt.reason_code.startswith("not_started"):
        return "refused"
    view = await engine.evidence.of(attempt.id)
    assert view.stdout_file is not None
    approved_ran = Path(view.stdout_file).read_bytes() == b"approved\n"
    if attempt.outcome is Outcome.SUCCEEDED:
        return "clean" if approved_ran else "undetected"
    if attempt.reason_code != "changed_while_running":
        return f"other: {attempt.reason_code}"
    return "flagged, approved ran" if approved_ran else "flagged, other ran"


def main() -> int:
    """Run both variants and print what became of them; 1 if anything got through."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--rounds", type=int, default=10_000, help="starts through the process port alone")
    parser.add_argument("--attempts", type=int, default=200, help="attempts through the whole engine")
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--json", action="store_true", help="print one JSON object as the last line")
    given = parser.parse_args()
    seed = random.randrange(1 << 30) if given.seed is None else given.seed
    began = time.perf_counter()
    place = Path(tempfile.mkdtemp(prefix="praxis-swaps-"))
    try:
        attempts = asyncio.run(swapped_attempts(given.attempts, seed, place))
        starts = swap_rounds(given.rounds, seed, place)
    finally:
        shutil.rmtree(place)
    undetected = attempts["undetected"] + starts["undetected"]
    result = {
        "undetected": undetected,
        "attempts": dict(attempts),
        "rounds": dict(starts),
        "seed": seed,
        "seconds": round(time.perf_counter() - began, 1),
    }
    print(json.dumps(result) if given.json else result)
    return 1 if undetected else 0


if __name__ == "__main__":
    sys.exit(main())
