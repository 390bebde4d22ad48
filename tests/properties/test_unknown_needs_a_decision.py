"""No path leads from an UNKNOWN to another attempt without a recorded decision (E-64, E-72, issue 4).

Whatever a person, agent or script can ask of the engine is asked in any order: every command of the façade and of its
parts is found by looking at it, so a new one cannot be forgotten. Console, command line, channel and agents have no
other way in: what they may call is checked to be among those commands, and what takes no actor to write nothing that
matters. The command line is tried as it is typed, too.
"""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import io
import json
import re
import shutil
import sys
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
from engine.interfaces import cli
from engine.interfaces.channel_methods import METHODS
from engine.states import NodeKind, Verdict
from engine.storage import Rx
from engine.wakes import CatchUp
from engine.work_order import BudgetLimits, CorrectionRule, ValidatedBy, ValidationSpec, WorkOrderSpec
from tests.conftest import python_command
from tests.e2e.support import AGENT, PERSON, manual, spec, step
from tests.ledger import SEEN

ROOT = Path(__file__).parents[2]
SLOW = python_command("import time; time.sleep(60)", time_limit_ms=50)

NOT_ABOUT_WORK = {
    "scheduled_backups.set": "is about copies of the folder",
    "note_refusal": "writes down what an agent was refused",
    "backups.back_up": "copies the folder",
    "backups.make": "copies the folder",
    "backups.prove": "restores into a scratch place",
    "backups.rehearse": "restores into a scratch place",
}
"""Commands that are left out, and why they cannot matter here."""

WITHOUT_ACTOR = {
    "reconcile_once": "one of `SELF`",
    "work_once": "one of `SELF`",
    "scheduled_backups.begin": "books the wakes of the schedule of backups",
    "scheduled_backups.run_due": "as `wakes.run_due`",
    "wakes.recover": "part of `reconcile_once` and of a restart",
    "wakes.run_due": "part of `reconcile_once`",
    "wakes.start": "runs what `run_due` does",
    "wakes.stop": "ends that",
    "wakes.create": "makes a wake; what it can start is tried by `schedules.add`",
    "wakes.schedule": "as `wakes.create`",
    "wakes.watch": "as `wakes.create`",
    "wakes.request_approval": "asks for an answer to a wake",
    "wakes.deliver_event": "fires wakes that wait for it",
    "wakes.clean_up": "removes ended wakes",
    "wakes.once": "keeps the receipt of an effect of a wake",
}
"""What writes and asks for no actor, and why it is no way round."""


def parts() -> dict[str, type]:
    """The engine and its public parts, by the name before the dot."""

    async def look() -> dict[str, type]:
        with tempfile.TemporaryDirectory() as scratch:
            engine = await manual(Path(scratch) / "data")
            try:
                found = {name: type(part) for name, part in vars(engine).items() if not name.startswith("_")}
            finally:
                await engine.close()
        return {
            "": Engine,
            **{name: kind for name, kind in found.items() if kind.__module__.startswith("engine.")},
        }

    return asyncio.run(look())


def methods() -> dict[str, Callable[..., Any]]:
    """Everything that can be awaited of the engine and its parts."""
    return {
        f"{part}.{name}" if part else name: method
        for part, kind in PARTS.items()
        for name, method in inspect.getmembers(kind, inspect.iscoroutinefunction)
        if not name.startswith("_")
    }


def commands() -> dict[str, frozenset[str]]:
    """Every command with the parameters to give: all of the engine's own, of its parts those that are needed."""
    found = {}
    for name, method in METHODS_OF_ENGINE.items():
        given = inspect.signature(method).parameters
        if "actor" in given and name not in NOT_ABOUT_WORK:
            found[name] = frozenset(
                parameter
                for parameter, one in given.items()
                if parameter not in ("self", "actor")
                and ("." not in name or one.default is inspect.Parameter.empty or parameter in ALWAYS_GIVEN)
            )
    return found


ALWAYS_GIVEN = ("every", "covers_validation", "lower_high_water", "proof")
"""Optional parameters of parts that are given nevertheless."""
PARTS = parts()
METHODS_OF_ENGINE = methods()
COMMANDS = commands()
NONE_SUCH = "01ARZ3NDEKTSV4RRFFQ69G5FAV"
DAY = 86_400_000
SELF = ("reconcile_once", "work_once", "restart")
"""What the engine does by itself, and a restart of it."""


class Hand:
    """Calls any command with values that fit the state, taken by number."""

    def __init__(self, engine: Engine, work_order: WorkOrderSpec) -> None:
        self.engine = engine
        self.spec = work_order

    async def ids(self, table: str) -> list[str]:
        """The identities in the table of this name, whatever stands before it; none if there is no such table."""

        def read(rx: Rx) -> list[str]:
            found = rx.one(
                """SELECT name FROM sqlite_master WHERE type = 'table' AND (name = ? OR name LIKE ? ESCAPE '\\')
                   ORDER BY length(name) LIMIT 1""",
                (table, f"%\\_{table}"),
            )
            return (
                [row["id"] for row in rx.all(f"SELECT id FROM {found['name']} ORDER BY id")] if found else []
            )

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
                return (await self.engine.approvals.card(approval)).seal
            case (
                "task_id"
                | "attempt_id"
                | "work_order_id"
                | "wake_id"
                | "series_id"
                | "docket_id"
                | "grant_id"
                | "question_id"
            ):
                of = await self.ids(name.removesuffix("_id"))
                return of[number % len(of)] if of else NONE_SUCH
            case "schedule_id":
                made = await self.ids("series")
                return made[number % len(made)] if made else NONE_SUCH
            case "limits":
                return BudgetLimits(1_000_000, 600_000_000, 1_000_000, 600_000_000)
            case "settings":
                return replace(await self.engine.retention.settings(), work_ms=DAY, journal_ms=DAY)
            case "name" | "project":
                return ("root", "mine", "WO-1")[number % 3]
            case "every":
                return "1h"
            case "wanted" | "happened" | "stop_on_failure":
                return number % 2 == 1
            case "ends_at":
                return self.engine.clock.now() + DAY // 24
            case "uses":
                return 2
            case "choice":
                return list(CatchUp)[number % len(CatchUp)]
            case "workspace" | "lane" | "session" | "token" | "answer" | "agent" | "call_id":
                return "x"
            case "tool":
                return ("schedule_followup", "list_wakes")[number % 2]
            case "arguments":
                return {} if number % 2 else {"message": "go on", "when": "+1h"}
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
            part, _, method = name.rpartition(".")
            owner = getattr(self.engine, part) if part else self.engine
            with contextlib.suppress(PraxisError):
                await getattr(owner, method)(actor=actor, **values)


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
            await engine.unknowns.reconcile(
                attempt.id, Finding.DID_NOT, PERSON, reason="nothing happened", proof=SEEN
            )
            await engine.reconcile_once()
            assert len(await engine.attempts()) == count, "the decision itself starts nothing"
            (waiting,) = await engine.approvals.inbox()
            await engine.approvals.approve(waiting.approval_id, PERSON, seal=waiting.seal)
            await engine.work_once()
            assert len(await engine.attempts()) == count + 1
        finally:
            await engine.close()

    once(work, lost(stage))


def test_every_way_in_is_one_of_these_commands() -> None:
    """Channel, command line, agents and console can call nothing that changes work and is not tried above."""
    acting = {name for name, method in METHODS.items() if method.takes_actor}
    assert acting <= COMMANDS.keys() | NOT_ABOUT_WORK.keys()
    for room in ("app", "engine/interfaces"):
        for path in (ROOT / room).rglob("*.py"):
            assert not re.search(r"\._storage\b|\bStorage\.open|\bsqlite3\.connect", path.read_text()), path


def test_the_console_does_none_of_what_asks_for_no_actor() -> None:
    """What is pressed in the console goes to a command that is tried above; the console does none of what is left."""
    asked: set[str] = set()
    for path in (ROOT / "app").rglob("*.py"):
        if path.name == "screenshots.py":
            continue  # fills a scratch folder for pictures
        asked |= set(re.findall(r"\bengine\.((?:\w+\.)?\w+)\(", path.read_text()))
    tried = {"approvals.approve", "unknowns.reconcile", "replan", "cancel"}
    assert tried <= asked, "the console is not read as it is written"
    assert not asked & WITHOUT_ACTOR.keys()


def test_what_takes_no_actor_writes_nothing_that_leads_on() -> None:
    """A way in without an actor would be a way round: each is known here, with the reason why it is none."""
    writing = {
        name
        for name, method in METHODS_OF_ENGINE.items()
        if "actor" not in inspect.signature(method).parameters
        and re.search(r"\b_?write\(|_create\(|_book\(", inspect.getsource(method))
    }
    assert writing <= WITHOUT_ACTOR.keys()


# ------------------------------------------------------------------------------------------ the command line

TYPED = (
    ("approve", "{task}", "--seal", "{seal}"),
    ("approve", "{task}", "--seal", "{seal}", "--with-validation"),
    ("reject", "{task}", "--reason", "r"),
    ("withdraw", "{task}"),
    ("ask-again", "{task}"),
    ("accept", "WO-1"),
    ("reject-work", "WO-1", "--reason", "r"),
    ("allow-correction", "WO-1", "--reason", "r"),
    ("validate-again", "WO-1", "--reason", "r"),
    ("judge", "{task}", "passed", "--reason", "r"),
    ("judge", "{task}", "failed", "--reason", "r"),
    ("reconcile", "{task}", "still-unknown", "--reason", "r", "--saw", "nothing"),
    ("pause", "engine"),
    ("hold", "WO-1", "--reason", "r"),
    ("resume", "engine"),
    ("resume", "WO-1"),
    ("cancel", "{task}", "--reason", "r"),
    ("cancel", "WO-1", "--reason", "r"),
    ("stop", "{task}", "--reason", "r"),
    ("budget", "set", "root", "--cost", "1000000", "--reason", "r"),
    ("serve", "--until-idle", "--quiet"),
)


@pytest.mark.parametrize("stage", ["implementation", "correction"])
def test_no_command_line_leads_on_without_a_decision(
    lost: Callable[[str], Path], stage: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    template = lost(stage)
    monkeypatch.setattr(sys, "stdin", io.StringIO())

    def attempts(praxis: Callable[..., str]) -> list[tuple[str, str]]:
        story = json.loads(praxis("show", "WO-1", "--json"))
        return [(attempt["id"], attempt["state"]) for task in story["tasks"] for attempt in task["attempts"]]

    def seal_of(praxis: Callable[..., str], task: str) -> str:
        found = json.loads(praxis("show", task, "--json") or "{}").get("approval")
        return found["seal"] if found else "0" * 64

    @settings(
        max_examples=max(3, settings().max_examples // 20),
        suppress_health_check=list(HealthCheck),
        deadline=None,
    )
    @given(
        steps=st.lists(st.tuples(st.sampled_from(TYPED), st.integers(1, 3)), min_size=2, max_size=5),
        agent=st.booleans(),
    )
    def anything(steps: list[tuple[tuple[str, ...], int]], agent: bool) -> None:
        with tempfile.TemporaryDirectory() as scratch:
            folder = Path(scratch) / "data"
            shutil.copytree(template / "data", folder, ignore=shutil.ignore_patterns("owner.*"))

            def praxis(*arguments: str) -> str:
                with contextlib.redirect_stdout(io.TextIOWrapper(io.BytesIO())) as out:
                    with contextlib.redirect_stderr(io.TextIOWrapper(io.BytesIO())):
                        cli.run((*arguments, "--data", str(folder)))
                    out.flush()
                    return out.buffer.getvalue().decode()  # type: ignore[attr-defined]

            before = attempts(praxis)
            assert "UNKNOWN" in dict(before).values()
            for words, number in steps:
                task = f"WO-1/{number}"
                seal = seal_of(praxis, task) if "{seal}" in words else ""
                typed = [word.format(task=task, seal=seal) for word in words]
                praxis(*typed, *(["--as-agent", "codex"] if agent and words[0] != "serve" else []))
                assert attempts(praxis) == before, typed

    anything()
