"""Standing grants through the whole engine (E-42a): uses counted, ends kept to, and every attack refused."""

from __future__ import annotations

import asyncio
import os
import sqlite3
import sys
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest

from engine.actors import Actor, ActorKind
from engine.backup import restore
from engine.clock import ManualClock
from engine.clock_watch import SAMPLES_WANTED
from engine.control.holds import WHOLE_ENGINE
from engine.dispatch import grants as granting
from engine.dispatch.admission import admit
from engine.engine import Engine
from engine.errors import (
    ClockDistrusted,
    GateClosed,
    InvalidValue,
    PraxisError,
    Refused,
    Unauthorized,
    WrongState,
)
from engine.interfaces.channel_methods import METHODS, perform
from engine.scheduling.claims import claim_tasks
from engine.states import ApprovalState, GrantState, WorkOrderState
from engine.views.grants import GrantView
from engine.views.values import WorkOrderRow
from engine.work_order import BudgetLimits, CommandSpec, CorrectionRule, ValidationSpec, WorkOrderSpec
from tests.e2e.support import AGENT, PERSON, QUICK

HOUR = 3_600_000


class Desk:
    """An engine that does nothing by itself, a workspace with a script, and the same work order again and again."""

    def __init__(self, engine: Engine, workspace: Path, clock: ManualClock, folder: Path) -> None:
        self.engine = engine
        self.workspace = workspace
        self.clock = clock
        self.folder = folder

    def spec(self, *words: str, **changes: Any) -> WorkOrderSpec:
        command = CommandSpec(
            (sys.executable, "task.py", *words),
            environment=MappingProxyType({"PYTHONDONTWRITEBYTECODE": "1"}),
            max_cost=10,
            time_limit_ms=30_000,
        )
        check = replace(command, argv=(sys.executable, "check.py"))
        values: dict[str, Any] = {
            "title": "Convert",
            "workspace": str(self.workspace),
            "implementation": command,
            "validation": ValidationSpec("it is right", command=check),
            "limits": BudgetLimits(1_000, 600_000, 100, 60_000),
        }
        return WorkOrderSpec(**{**values, **changes})

    async def submit(self, *words: str, actor: Actor = AGENT, **changes: Any) -> WorkOrderRow:
        return await self.engine.submit(self.spec(*words, **changes), actor)

    async def state(self, order: WorkOrderRow) -> ApprovalState | None:
        """The state of the newest request of the order's newest task."""
        return (await self.engine.work_order(order.id)).tasks[-1].approval_state

    async def card(self, order: WorkOrderRow) -> Any:
        approval_id = (await self.engine.work_order(order.id)).tasks[-1].approval_id
        assert approval_id is not None
        return await self.engine.approvals.card(approval_id)

    async def give(self, order: WorkOrderRow, actor: Actor = PERSON, **terms: Any) -> GrantView:
        card = await self.card(order)
        values = {"ends_at": self.clock.now() + HOUR, "uses": 3, **terms}
        return await self.engine.grants.give(card.approval_id, actor, seal=card.seal, **values)

    async def grant(self, view: GrantView) -> GrantView:
        return await self.engine.grants.grant(view.row.id)

    def touch(self) -> None:
        (self.workspace / "notes.txt").write_text(f"{self.clock.now()} {os.urandom(4).hex()}")


@pytest.fixture
async def desk(folder: Path, workspace: Path, clock: ManualClock) -> AsyncIterator[Desk]:
    (workspace / "task.py").write_text("import sys; print('converted', *sys.argv[1:])")
    (workspace / "check.py").write_text("print('right')")
    engine = await Engine.open(folder, clock=clock, automatic=False, settings=QUICK)
    made = Desk(engine, workspace, clock, folder)
    yield made
    await made.engine.close()


def kinds(rows: Sequence[Any]) -> list[str]:
    return [row.kind for row in rows]


async def test_b002_a_grant_approves_counts_and_ends_with_its_last_use(desk: Desk) -> None:
    """The same exact thing three times: the first is the card itself, the fourth waits for a person again."""
    first = await desk.submit()
    view = await desk.give(first)
    assert (view.row.uses, view.row.left, view.row.state) == (1, 2, GrantState.LIVE)
    assert await desk.state(first) is ApprovalState.APPROVED
    second, third = await desk.submit(), await desk.submit()
    card = await desk.card(third)
    assert card.decision_reason == "by the standing grant of ada · use 3 of 3"
    assert (card.grant.ordinal, card.grant.max_uses, card.grant.given_by) == (3, 3, "ada")
    assert card.expires_at == view.row.ends_at, "what a grant approves lives no longer than the grant"
    gate = next(gate for gate in card.gates if gate.name == "approval")
    assert gate.why == "Approved by the standing grant of ada · use 3 of 3."
    fourth = await desk.submit()
    assert await desk.state(fourth) is ApprovalState.PENDING
    assert (await desk.grant(view)).row.state is GrantState.USED_UP
    for _ in range(3):
        await desk.engine.work_once()
    for order in (first, second, third):
        assert (await desk.engine.work_order(order.id)).tasks[0].attempts[0].outcome == "SUCCEEDED"
    told = await desk.engine.journal(limit=1000)
    assert kinds(told).count("grant.used") == 3
    assert kinds(told).count("grant.used_up") == 1
    assert (await desk.engine.verify_journal()).sound
    assert (await desk.engine.approvals.quiet_meter()).decisions_last_hour == 0, "nobody looked at these"


async def test_nothing_that_waits_already_is_approved_by_a_grant(desk: Desk) -> None:
    first, waiting = await desk.submit(), await desk.submit()
    view = await desk.give(first)
    await desk.engine.reconcile_once()
    assert await desk.state(waiting) is ApprovalState.PENDING
    assert (await desk.grant(view)).row.uses == 1


async def test_two_requests_racing_for_the_last_use(desk: Desk) -> None:
    view = await desk.give(await desk.submit(), uses=2)
    orders = await asyncio.gather(*(desk.submit() for _ in range(8)))
    states = [await desk.state(order) for order in orders]
    assert states.count(ApprovalState.APPROVED) == 1
    assert states.count(ApprovalState.PENDING) == 7
    found = await desk.grant(view)
    assert (found.row.uses, len(found.uses), found.row.state) == (2, 2, GrantState.USED_UP)


@pytest.mark.parametrize("late_ms", [-1, 0, 60_000])
async def test_a_minute_after_its_end_and_the_very_moment_are_too_late(desk: Desk, late_ms: int) -> None:
    view = await desk.give(await desk.submit())
    desk.clock.advance(HOUR + late_ms)
    order = await desk.submit()
    in_time = late_ms < 0
    assert await desk.state(order) is (ApprovalState.APPROVED if in_time else ApprovalState.PENDING)
    found = await desk.grant(view)
    assert found.row.state is (GrantState.LIVE if in_time else GrantState.EXPIRED)
    await desk.engine.reconcile_once()
    assert (await desk.grant(view)).row.ended_at == (None if in_time else desk.clock.now())


async def test_what_it_approved_in_time_does_not_start_after_its_end_and_is_asked_anew(desk: Desk) -> None:
    order = await desk.submit()
    await desk.give(order)
    (claim,) = await desk.engine._storage.write(claim_tasks, "local", desk.engine.epoch, 1, 24 * HOUR)
    desk.clock.advance(HOUR)
    seal = (await desk.card(order)).seal
    with pytest.raises(GateClosed):
        await desk.engine._storage.write(admit, claim.id, "local", desk.engine.epoch, seal)
    desk.clock.advance(24 * HOUR)
    for _ in range(3):
        await desk.engine.reconcile_once()
    row = await desk.engine.work_order_row(order.id)
    assert row is not None
    assert row.state is WorkOrderState.ACTIVE
    assert await desk.state(order) is ApprovalState.PENDING
    assert not await desk.engine.attempts()


async def test_revoked_between_request_and_admission_nothing_runs(desk: Desk) -> None:
    """At once: what it approved is taken back, even from under a claim, and waits for a person."""
    first, second = await desk.submit(), await desk.submit()
    view = await desk.give(first)
    third = await desk.submit()
    (claim,) = await desk.engine._storage.write(claim_tasks, "local", desk.engine.epoch, 1, HOUR)
    seal = (await desk.card(first)).seal
    revoked = await desk.engine.grants.revoke(view.row.id, PERSON, "enough")
    assert revoked.row.state is GrantState.REVOKED
    assert revoked.row.end_reason == "enough"
    with pytest.raises(GateClosed, match="no approval"):
        await desk.engine._storage.write(admit, claim.id, "local", desk.engine.epoch, seal)
    desk.clock.advance(HOUR)
    for _ in range(3):
        await desk.engine.reconcile_once()
    assert await desk.engine.work_once() == 0
    for order in (first, second, third):
        assert await desk.state(order) is ApprovalState.PENDING
    assert not await desk.engine.attempts()
    again = await desk.engine.grants.revoke(view.row.id, PERSON, "again")
    assert again.row.end_reason == "enough", "a second time changes nothing"


async def test_a_used_up_grant_can_still_be_revoked_and_an_ended_one_cannot(desk: Desk) -> None:
    order = await desk.submit()
    view = await desk.give(order, uses=1)
    await desk.engine.grants.revoke(view.row.id, PERSON, "not after all")
    await desk.engine.reconcile_once()
    assert await desk.state(order) is ApprovalState.PENDING
    other = await desk.give(order)
    desk.clock.advance(HOUR)
    await desk.engine.reconcile_once()
    with pytest.raises(WrongState, match="its time ended"):
        await desk.engine.grants.revoke(other.row.id, PERSON, "late")


async def test_b019_a_drifted_script_voids_the_grant_and_nothing_runs(desk: Desk) -> None:
    view = await desk.give(await desk.submit("alpha"), any_state=True, free=(2,))
    script = desk.workspace / "task.py"
    text = script.read_text()
    script.write_text("print('something else')")
    order = await desk.submit("beta")
    assert await desk.state(order) is ApprovalState.PENDING
    found = await desk.grant(view)
    assert found.row.state is GrantState.VOID
    assert found.row.end_reason == "drift: input task.py"
    script.write_text(text)
    assert await desk.state(await desk.submit("beta")) is ApprovalState.PENDING, "void stays void"


async def test_b019_a_script_that_drifts_after_the_grant_approved_it_does_not_run(desk: Desk) -> None:
    await desk.submit()
    view = await desk.give(await desk.submit(), any_state=True)
    (desk.workspace / "task.py").write_text("print('something else')")
    await desk.engine.work_once()
    assert not await desk.engine.attempts()
    assert (await desk.grant(view)).row.state is GrantState.VOID
    assert len(await desk.engine.approvals.inbox()) == 2


@pytest.mark.parametrize(
    "change",
    [
        {"time_limit_ms": 60_000},
        {"max_cost": 11},
        {"environment": MappingProxyType({"PYTHONDONTWRITEBYTECODE": "1", "MODE": "other"})},
        {"inputs": ("check.py",)},
        {"artifacts": ("out.txt",)},
    ],
)
async def test_any_other_term_of_the_same_thing_voids_the_grant(desk: Desk, change: dict[str, Any]) -> None:
    view = await desk.give(await desk.submit(), any_state=True)
    changed = replace(desk.spec().implementation, **change)
    assert await desk.state(await desk.submit(implementation=changed)) is ApprovalState.PENDING
    assert (await desk.grant(view)).row.state is GrantState.VOID


async def test_the_environment_of_the_console_is_in_the_grant(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    view = await desk.give(await desk.submit())
    monkeypatch.setenv("LANG", "xx_XX.UTF-8")
    monkeypatch.setenv("PATH", f"{os.environ['PATH']}{os.pathsep}/somewhere/else")
    assert await desk.state(await desk.submit()) is ApprovalState.PENDING
    assert "drift: " in (await desk.grant(view)).row.end_reason


async def test_the_state_of_the_workspace_is_fixed_unless_it_was_left_free(desk: Desk) -> None:
    exact = await desk.give(await desk.submit("alpha"))
    loose = await desk.give(await desk.submit("beta"), any_state=True)
    desk.touch()
    assert await desk.state(await desk.submit("alpha")) is ApprovalState.PENDING
    assert await desk.state(await desk.submit("beta")) is ApprovalState.APPROVED
    assert (await desk.grant(exact)).row.state is GrantState.VOID
    assert (await desk.grant(loose)).row.uses == 2


async def test_a_workspace_that_moved_on_costs_another_use_and_stays_bounded(desk: Desk) -> None:
    """Between asking and start the state is sealed as ever: another state is asked for anew, and counted."""
    order = await desk.submit()
    view = await desk.give(order, any_state=True, uses=3)
    for used in (2, 3):
        desk.touch()
        await desk.engine.work_once()
        assert (await desk.grant(view)).row.uses == used
    desk.touch()
    await desk.engine.work_once()
    assert await desk.state(order) is ApprovalState.PENDING
    assert not await desk.engine.attempts()


async def test_another_workspace_requester_or_project_is_not_covered(desk: Desk, tmp_path: Path) -> None:
    view = await desk.give(await desk.submit(), any_state=True)
    other = tmp_path / "other"
    other.mkdir()
    for name in ("task.py", "check.py"):
        (other / name).write_bytes((desk.workspace / name).read_bytes())
    for changes in ({"workspace": str(other)}, {"project": "another"}):
        assert await desk.state(await desk.submit(**changes)) is ApprovalState.PENDING
    for actor in (Actor(ActorKind.AGENT, "codex-2"), Actor(ActorKind.SCRIPT, "codex-1"), PERSON):
        assert await desk.state(await desk.submit(actor=actor)) is ApprovalState.PENDING
    found = await desk.grant(view)
    assert (found.row.state, found.row.uses) == (GrantState.LIVE, 1)
    moved = desk.workspace.with_name("moved")
    desk.workspace.rename(moved)
    desk.workspace.mkdir()
    for name in ("task.py", "check.py"):
        (desk.workspace / name).write_bytes((moved / name).read_bytes())
    assert await desk.state(await desk.submit()) is ApprovalState.PENDING, "another folder in its place"
    assert "identity of the workspace folder" in (await desk.grant(view)).row.end_reason


@pytest.mark.parametrize(
    "words", [("-O",), ("--force",), ("/etc/passwd",), ("../x",), ("a", "b"), (), ("a b",)]
)
async def test_a_free_argument_adds_no_element_and_reaches_no_option(
    desk: Desk, words: tuple[str, ...]
) -> None:
    view = await desk.give(await desk.submit("alpha"), any_state=True, free=(2,))
    assert await desk.state(await desk.submit(*words)) is ApprovalState.PENDING
    assert (await desk.grant(view)).row.uses == 1


async def test_a_free_argument_is_shown_with_each_use(desk: Desk) -> None:
    view = await desk.give(await desk.submit("alpha"), free=(2,))
    assert view.row.argv == (sys.executable, "task.py", None)
    await desk.submit("beta")
    assert [use.values for use in (await desk.grant(view)).uses] == [("alpha",), ("beta",)]
    for place in (0, 1, 3, -1):
        with pytest.raises(InvalidValue):
            await desk.give(await desk.submit("alpha"), free=(place,))


async def test_e82_a_live_grant_in_a_backup_is_void_after_the_restore(desk: Desk) -> None:
    order = await desk.submit()
    view = await desk.give(order)
    made = await desk.engine.backups.back_up(PERSON)
    await desk.engine.close()
    restore(desk.folder, Path(made.path), actor=PERSON, reason="try", clock=desk.clock)
    desk.engine = await Engine.open(desk.folder, clock=desk.clock, automatic=False, settings=QUICK)
    found = await desk.grant(view)
    assert (found.row.state, found.row.end_reason) == (GrantState.VOID, "the data was restored from a backup")
    await desk.engine.acknowledge_restore(PERSON, "looked")
    assert await desk.state(await desk.submit()) is ApprovalState.PENDING
    await desk.engine.reconcile_once()
    assert await desk.engine.work_once() == 0


@pytest.mark.parametrize("step", [60_000, -60_000])
async def test_e32_a_distrusted_clock_voids_grants_for_good(desk: Desk, step: int) -> None:
    order = await desk.submit()
    view = await desk.give(order)
    desk.clock.step_wall(step)
    assert await desk.state(await desk.submit()) is ApprovalState.PENDING
    await desk.engine.reconcile_once()
    found = await desk.grant(view)
    assert (found.row.state, found.row.end_reason) == (GrantState.VOID, "the clock was distrusted")
    with pytest.raises(ClockDistrusted):
        await desk.give(order)
    desk.clock.step_wall(-step)
    for _ in range(SAMPLES_WANTED + 1):
        desk.clock.advance(1_000)
        await desk.engine.reconcile_once()
    await desk.engine.clock_trust.restore(PERSON, "set right")
    assert await desk.state(await desk.submit()) is ApprovalState.PENDING
    assert await desk.state(order) is ApprovalState.PENDING, "what it had approved is asked for again"


async def test_e40_only_a_person_makes_or_ends_a_grant(desk: Desk) -> None:
    order = await desk.submit()
    card = await desk.card(order)
    view = await desk.give(order)
    others = [
        AGENT,
        Actor(ActorKind.SCRIPT, "nightly"),
        Actor(ActorKind.WORKER, "local"),
        Actor(ActorKind.ENGINE, "engine"),
    ]
    ends_at = desk.clock.now() + HOUR
    terms = {"approval_id": card.approval_id, "seal": card.seal, "ends_at": ends_at, "uses": 9}
    for actor in others:
        with pytest.raises(Unauthorized):
            await desk.give(order, actor)
        with pytest.raises(Unauthorized):
            await desk.engine.grants.revoke(view.row.id, actor, "r")
        for name, values in (
            ("grants.give", terms),
            ("grants.revoke", {"grant_id": view.row.id, "reason": "r"}),
            ("grants.listed", {}),
        ):
            with pytest.raises(Unauthorized):
                await perform(desk.engine, METHODS[name], actor, values)
        # Even if a policy let it through.
        with pytest.raises(Unauthorized):
            await desk.engine._storage.write(granting.give, card.approval_id, card.seal, actor, ends_at, 9)
        with pytest.raises(Unauthorized):
            await desk.engine._storage.write(granting.revoke, view.row.id, actor, "r")
    assert len(await desk.engine.grants.listed()) == 1
    assert not [
        name for name in METHODS if name.startswith("grants.") and name.split(".")[1] in ("change", "extend")
    ]


async def test_what_a_person_rejected_or_withdrew_no_grant_approves(desk: Desk) -> None:
    await desk.give(await desk.submit())
    waiting = await desk.submit("alpha")
    await desk.give(await desk.submit("alpha"))
    card = await desk.card(waiting)
    await desk.engine.approvals.reject(card.approval_id, PERSON, "not this one")
    again = await desk.engine.approvals.ask_again(card.task_id, AGENT)
    assert again.state is ApprovalState.PENDING
    granted = await desk.submit()
    await desk.engine.approvals.withdraw((await desk.card(granted)).approval_id, PERSON, "wait")
    again = await desk.engine.approvals.ask_again((await desk.card(granted)).task_id, AGENT)
    assert again.state is ApprovalState.APPROVED, (
        "taking back one use is no decision against the grant's thing"
    )


@pytest.mark.parametrize(
    "terms",
    [
        {"uses": 0},
        {"uses": -1},
        {"uses": 101},
        {"uses": True},
        {"uses": 1.0},
        {"ends_at": 0},
        {"ends_at": -1},
        {"lasts": 0},
        {"lasts": -1},
        {"lasts": 24 * HOUR + 1},
        {"covers_validation": True, "words": ("no validation",)},
    ],
)
async def test_odd_terms_are_refused_and_the_bounds_are_not(desk: Desk, terms: dict[str, Any]) -> None:
    given = dict(terms)
    changes: dict[str, Any] = {}
    if given.pop("words", None):
        changes["validation"] = replace(desk.spec().validation, by="person", command=None)
    if "lasts" in given:
        given["ends_at"] = desk.clock.now() + given.pop("lasts")
    order = await desk.submit(**changes)
    with pytest.raises(InvalidValue):
        await desk.give(order, **given)
    assert await desk.engine.grants.listed() == ()
    assert await desk.state(order) is ApprovalState.PENDING
    if not changes:
        bounds = await desk.give(order, ends_at=desk.clock.now() + 24 * HOUR, uses=100)
        assert bounds.row.left == 99


async def test_a_seal_that_was_not_shown_grants_nothing(desk: Desk) -> None:
    order = await desk.submit()
    card = await desk.card(order)
    with pytest.raises(Refused, match="not what is asked"):
        await desk.engine.grants.give(
            card.approval_id, PERSON, seal="0" * 64, ends_at=desk.clock.now() + HOUR, uses=1
        )
    await desk.engine.approvals.reject(card.approval_id, PERSON, "no")
    with pytest.raises(WrongState):
        await desk.give(order)


async def test_everything_else_stays_as_it_is_under_a_grant(desk: Desk) -> None:
    """A hold and a limit stop what a grant approved exactly as they stop what a person approved."""
    await desk.give(await desk.submit())
    await desk.engine.hold(WHOLE_ENGINE, PERSON, reason="look first")
    order = await desk.submit()
    assert await desk.state(order) is ApprovalState.APPROVED
    assert await desk.engine.work_once() == 0
    await desk.engine.resume(WHOLE_ENGINE, PERSON, reason="looked")
    root = (await desk.engine.budgets.scope("root")).row.limits
    await desk.engine.budgets.set_limits("root", replace(root, execution_cost=9), PERSON, reason="stop")
    assert await desk.engine.work_once() == 0


async def test_e42b_the_validation_is_covered_only_if_it_was_granted_and_only_while_the_grant_lasts(
    desk: Desk,
) -> None:
    alone = await desk.submit("alpha")
    await desk.give(alone)
    await desk.engine.work_once()
    await desk.engine.reconcile_once()
    assert await desk.state(alone) is ApprovalState.PENDING, "its validation is asked for"
    both = await desk.submit("beta")
    view = await desk.give(both, covers_validation=True, uses=2)
    await desk.engine.work_once()
    assert await desk.state(both) is ApprovalState.APPROVED
    await desk.engine.grants.revoke(view.row.id, PERSON, "no more")
    await desk.engine.reconcile_once()
    assert await desk.state(both) is ApprovalState.PENDING, "its validation was taken back"


async def test_e62_a_correction_without_reapproval_needs_a_persons_approval_and_no_grants(desk: Desk) -> None:
    (desk.workspace / "check.py").write_text("import sys; sys.exit(1)")
    order = await desk.submit(correction=CorrectionRule(max_corrections=1, reapproval_required=False))
    await desk.give(order, covers_validation=True, any_state=True, uses=5)
    for _ in range(3):
        await desk.engine.work_once()
        await desk.engine.reconcile_once()
    story = await desk.engine.work_order(order.id)
    assert [task.purpose for task in story.tasks] == ["IMPLEMENT", "VALIDATE", "CORRECT"]
    assert await desk.state(order) is ApprovalState.PENDING


async def test_what_a_grant_approves_is_not_noticed_as_expiring(desk: Desk) -> None:
    orders = [await desk.submit()]
    await desk.give(orders[0])
    orders.append(await desk.submit())
    for order in orders:
        wake = await desk.engine.wakes.get((await desk.card(order)).approval_id)
        assert wake is not None
        assert wake.state == "cancelled"


async def test_a_grant_survives_a_restart_with_its_count(desk: Desk) -> None:
    view = await desk.give(await desk.submit())
    await desk.engine.close()
    desk.engine = await Engine.open(desk.folder, clock=desk.clock, automatic=False, settings=QUICK)
    assert await desk.state(await desk.submit()) is ApprovalState.APPROVED
    assert (await desk.grant(view)).row.left == 1


async def test_a_fault_in_the_middle_of_a_use_leaves_neither_the_use_nor_the_approval(desk: Desk) -> None:
    view = await desk.give(await desk.submit())

    def break_it(tx: Any, *, now: int) -> None:
        tx.run("CREATE TRIGGER no_use BEFORE INSERT ON grant_use BEGIN SELECT RAISE(ABORT, 'no'); END")

    await desk.engine._storage.write(break_it)
    with pytest.raises((PraxisError, sqlite3.Error)):
        await desk.submit()
    assert (await desk.grant(view)).row.uses == 1
    assert len(await desk.engine.work_orders()) == 1
