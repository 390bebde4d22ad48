"""No path leads from an UNKNOWN to another attempt without a recorded decision (E-64, E-72, issue 4).

Whatever a person, agent or script can ask of the engine is asked in any order: every command of the façade is found
by looking at it, so a new one cannot be forgotten. Console, command line, channel and agents have no other way in:
what they may call is checked to be among those commands.
"""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import shutil
import tempfile
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from engine.actors import Actor
from engine.control.decisions import Finding
from engine.control.holds import WHOLE_ENGINE, Node
from engine.control.proofs import Proof
from engine.engine import Engine
from engine.errors import PraxisError
from engine.interfaces.channel_methods import METHODS
from engine.states import NodeKind, Verdict
from engine.storage import Rx
from engine.work_order import CorrectionRule, ValidatedBy, ValidationSpec, WorkOrderSpec
from tests.conftest import python_command
from tests.e2e.support import AGENT, PERSON, manual, spec, step

SLOW = python_command("import time; time.sleep(60)", time_limit_ms=50)

NOT_ABOUT_WORK = {
    "back_up": "copies the folder",
    "rehearse": "restores into a scratch place",
    "schedule_backups": "is about copies of the folder",
    "note_refusal": "writes down what an agent was refused",
}
"""Commands that are left out, and why they cannot matter here."""


def commands() -> dict[str, frozenset[str]]:
    """Every command of the façade with the names of its parameters."""
    found = {}
    for name, method in inspect.getmembers(Engine, inspect.iscoroutinefunction):
        parameters = inspect.signature(method).parameters
        if not name.startswith("_") and "actor" in parameters and name not in NOT_ABOUT_WORK:
            found[name] = frozenset(parameters) - {"self", "actor"}
    return found


COMMANDS = commands()
SELF = ("reconcile_once", "work_once", "restart")
"""What the engine does by itself, and a restart of it."""


class Hand:
    """Calls any command with values that fit the state, taken by number."""

    def __init__(self, engine: Engine, work_order: WorkOrderSpec) -> None:
        self.engine = engine
        self.spec = work_order

    async def ids(self, table: str) -> list[str]:
        def read(rx: Rx) -> list[str]:
            return [row["id"] for row in rx.all(f"SELECT id FROM {table} ORDER BY id")]

        return await self.engine._storage.read(read)

    async def value(self, name: str, number: int, *, decides: bool) -> Any:
        """A value for the parameter of this name; a parameter nobody knows here fails the test."""
        findings = [Finding.STILL_UNKNOWN, *([Finding.TOOK_EFFECT, Finding.DID_NOT] if decides else [])]
        approvals = await self.ids("approval")
        approval = approvals[number % len(approvals)]
        match name:
            case "approval_id":
                return approval
            case "approval_ids":
                return [approval]
            case "seal":
                return (await self.engine.approval(approval)).seal
            case "task_id" | "attempt_id" | "work_order_id":
                of = await self.ids(name.removesuffix("_id"))
                return of[number % len(of)]
            case "node":
                return await self.node(number)
            case "spec":
                return self.spec
            case "verdict":
                return list(Verdict)[number % 3]
            case "finding":
                return findings[number % len(findings)]
            case "reason":
                return "because"
            case "covers_validation" | "lower_high_water":
                return number % 2 == 1
            case "proof":
                return [Proof(text="seen")]
            case "cost" | "active_ms" | "actual_cost" | "look_ms" | "key":
                return None
        pytest.fail(f"this test knows no value for the parameter {name!r}; teach it one")

    async def node(self, number: int) -> Node:
        kind = list(NodeKind)[number % 4]
        if kind is NodeKind.ENGINE:
            return WHOLE_ENGINE
        of = await self.ids(kind.lower())
        return Node(kind, of[number // 4 % len(of)])

    async def do(self, name: str, number: int, actor: Actor, *, decides: bool = False) -> None:
        """Ask for it; what the engine refuses it refuses."""
        if name == "restart":
            folder = self.engine.folder
            await self.engine.close()
            self.engine = await manual(folder)
        elif name in SELF:
            await getattr(self.engine, name)()
        else:
            values = {
                parameter: await self.value(parameter, number, decides=decides)
                for parameter in COMMANDS[name]
            }
            with contextlib.suppress(PraxisError):
                await getattr(self.engine, name)(actor=actor, **values)


def ledger(rx: Rx) -> dict[str, Any]:
    """The UNKNOWN attempts that nobody has decided, and all attempts of their work orders."""
    undecided = rx.all(
        """SELECT attempt.id, attempt.state, attempt.work_order_id, attempt.task_id FROM attempt
           WHERE attempt.outcome = 'UNKNOWN' AND NOT EXISTS (SELECT 1 FROM decision
             WHERE decision.attempt_id = attempt.id
               AND decision.kind IN ('reconciled.took_effect', 'reconciled.did_not'))"""
    )
    return {
        "undecided": [tuple(row) for row in undecided],
        "attempts": {
            row["work_order_id"]: rx.one(
                "SELECT count(*) AS n FROM attempt WHERE work_order_id = ?", (row["work_order_id"],)
            )["n"]  # type: ignore[index]
            for row in undecided
        },
        "frozen": [
            tuple(row)
            for row in rx.all("SELECT DISTINCT attempt_id, state FROM exposure WHERE state <> 'RELEASED'")
        ],
    }


async def _unknown_at(stage: str, folder: Path, workspace: Path) -> None:
    """Bring a work order to UNKNOWN in its implementation, its validation, its correction, or by a person's verdict."""
    order = spec(workspace, correction=CorrectionRule(2, reapproval_required=False, command=SLOW))
    if stage == "implementation":
        order = replace(order, implementation=SLOW)
    elif stage == "validation":
        order = replace(order, validation=ValidationSpec("never", command=SLOW))
    elif stage == "correction":
        order = replace(order, validation=ValidationSpec("no", command=python_command("raise SystemExit(1)")))
    else:
        order = replace(order, validation=ValidationSpec("reads well", by=ValidatedBy.PERSON))
    engine = await manual(folder)
    await engine.submit(order, AGENT)
    for _ in range({"implementation": 1, "validation": 2, "correction": 3, "verdict": 1}[stage]):
        await step(engine)
    if stage == "verdict":
        (attempt,) = await engine.attempts()
        await engine.validate_by_person(attempt.id, Verdict.UNKNOWN, PERSON, reason="cannot tell")
    assert (await engine.status()).unknown == 1
    await engine.close()


@pytest.fixture(scope="module")
def lost(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Data folders with one UNKNOWN each, made once."""
    made: dict[str, Path] = {}

    def of(stage: str) -> Path:
        if stage not in made:
            made[stage] = tmp_path_factory.mktemp(stage)
            workspace = made[stage] / "workspace"
            workspace.mkdir()
            (made[stage] / "data").mkdir()
            asyncio.run(_unknown_at(stage, made[stage] / "data", workspace))
        return made[stage]

    return of


def once(work: Callable[[Engine, Path], Awaitable[None]], template: Path) -> None:
    """Run on a copy of a data folder; the workspace is shared, since nothing may run in it."""

    async def run() -> None:
        with tempfile.TemporaryDirectory() as scratch:
            folder = Path(scratch) / "data"
            shutil.copytree(template / "data", folder, ignore=shutil.ignore_patterns("owner.*"))
            await work(await manual(folder), template / "workspace")

    asyncio.run(run())


STAGES = ("implementation", "validation", "correction", "verdict")
STEPS = st.lists(
    st.tuples(
        st.sampled_from([*sorted(COMMANDS), *SELF]), st.integers(0, 7), st.sampled_from([PERSON, AGENT])
    ),
    min_size=3,
    max_size=12,
)


@pytest.mark.parametrize("stage", STAGES)
def test_no_way_leads_on_without_a_decision(lost: Callable[[str], Path], stage: str) -> None:
    template = lost(stage)

    @settings(
        max_examples=max(10, settings().max_examples // 2),
        suppress_health_check=list(HealthCheck),
        deadline=None,
    )
    @given(steps=STEPS)
    def anything(steps: list[tuple[str, int, Actor]]) -> None:
        async def work(engine: Engine, workspace: Path) -> None:
            hand = Hand(engine, spec(workspace, "print('another')"))
            try:
                before = await engine._storage.read(ledger)
                assert before["undecided"]
                for name, number, actor in steps:
                    await hand.do(name, number, actor)
                    await hand.do("work_once", 0, PERSON)
                    now = await hand.engine._storage.read(ledger)
                    assert set(now["undecided"]) >= set(before["undecided"]), f"{name} ended an UNKNOWN"
                    for order, count in before["attempts"].items():
                        assert now["attempts"][order] == count, f"{name} led to another attempt"
                    for attempt, *_ in before["undecided"]:
                        assert (attempt, "FROZEN") in now["frozen"], f"{name} let go of frozen exposure"
            finally:
                await hand.engine.close()

        once(work, template)

    anything()


@pytest.mark.parametrize("stage", ["implementation", "validation", "correction"])
def test_with_the_decision_the_way_is_open(lost: Callable[[str], Path], stage: str) -> None:
    """So that the property above is not true for want of a way."""

    async def work(engine: Engine, _: Path) -> None:
        try:
            (attempt,) = [one for one in await engine.attempts() if one.state == "UNKNOWN"]
            count = len(await engine.attempts())
            await engine.reconcile(attempt.id, Finding.DID_NOT, PERSON, reason="nothing happened")
            await engine.reconcile_once()
            assert len(await engine.attempts()) == count, "the decision itself starts nothing"
            (waiting,) = await engine.inbox()
            await engine.approve(waiting.approval_id, PERSON, seal=waiting.seal)
            await engine.work_once()
            assert len(await engine.attempts()) == count + 1
        finally:
            await engine.close()

    once(work, lost(stage))


def test_every_way_in_is_one_of_these_commands() -> None:
    """Channel, command line and agents can call nothing that changes work and is not tried above."""
    acting = {name for name, method in METHODS.items() if method.takes_actor}
    assert acting <= COMMANDS.keys() | NOT_ABOUT_WORK.keys()
    source = "\n".join(path.read_text() for path in (Path(__file__).parents[2] / "app").rglob("*.py"))
    assert "_storage" not in source.replace("qsettings_storage", "")
