"""The main job through the façade, with real processes in a real workspace."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import replace
from pathlib import Path

import pytest

from engine.actors import Actor, ActorKind
from engine.control.decisions import Finding
from engine.control.holds import WHOLE_ENGINE, Node
from engine.engine import Engine
from engine.errors import InvalidValue, InvalidWorkOrder, Unauthorized
from engine.execution.blobs import BlobState
from engine.settings import EngineSettings
from engine.states import AttemptState, NodeKind, WorkOrderState
from engine.storage import Tx
from engine.work_order import CommandSpec, WorkOrderSpec
from tests.conftest import python_command
from tests.ledger import SEEN


@pytest.fixture
async def engine(folder: Path) -> AsyncIterator[Engine]:
    opened = await Engine.open(folder, settings=EngineSettings(grace_ms=500))
    yield opened
    await opened.close()


async def until(engine: Engine, condition: Callable[[], Awaitable[bool]], seconds: float = 30) -> None:
    """Wait for a condition, looking again after each change set; no sleeping to pass time."""
    changed = asyncio.Event()
    end = engine.subscribe(lambda _: changed.set())
    try:
        async with asyncio.timeout(seconds):
            while not await condition():
                await changed.wait()
                changed.clear()
    finally:
        end()


async def state_is(engine: Engine, order: str, *states: WorkOrderState) -> None:
    async def reached() -> bool:
        row = await engine.work_order_row(order)
        return row is not None and row.state in states

    await until(engine, reached)


async def has_pending(engine: Engine) -> None:
    async def reached() -> bool:
        return bool(await engine.approvals.inbox())

    await until(engine, reached)


async def test_from_submit_to_accepted(
    engine: Engine, work_order: Callable[..., WorkOrderSpec], workspace: Path, actor: Actor, agent: Actor
) -> None:
    """E-74 without a correction: one look covers both steps, evidence is kept and true."""
    code = "import pathlib; pathlib.Path('made.txt').write_text('yes'); print('made it')"
    check = "import pathlib, sys; sys.exit(pathlib.Path('made.txt').read_text() != 'yes')"
    order = await engine.submit(work_order(code, check), agent)
    (row,) = await engine.approvals.inbox()
    card = await engine.approvals.card(row.approval_id)
    assert card.validation_plan is not None
    assert {gate.name for gate in card.gates if not gate.open} == {"approval"}
    assert not (workspace / "made.txt").exists()
    await engine.approvals.approve(row.approval_id, actor, seal=card.seal, covers_validation=True)
    await state_is(engine, order.id, WorkOrderState.AWAITING_ACCEPTANCE)
    story = await engine.work_order("WO-1")
    first = story.tasks[0].attempts[0]
    view = await engine.evidence.of(first.id)
    assert view.evidence is not None
    assert [item["path"] for item in view.evidence["workspace"]["added"]] == ["made.txt"]
    assert view.stdout_file is not None
    assert Path(view.stdout_file).read_bytes().strip() == b"made it"
    for blob in view.blobs:
        assert await engine.evidence.verify_blob(blob.sha256) is BlobState.TRUE
    assert view.validation is not None
    assert view.validation.outcome == "PASSED"
    accepted = await engine.accept(order.id, actor, "good")
    assert accepted.state is WorkOrderState.ACCEPTED
    assert (await engine.verify_journal()).sound
    assert not (engine.folder / "runs" / first.id).exists()


async def test_an_edited_script_is_refused(
    engine: Engine, work_order: Callable[..., WorkOrderSpec], workspace: Path, actor: Actor, agent: Actor
) -> None:
    """B-019: edited between approval and run: nothing ran, a changed request waits with approved and now."""
    script = workspace / "task.py"
    script.write_text("print('harmless')")
    spec = work_order(implementation=CommandSpec((sys.executable, "task.py"), max_cost=1))
    order = await engine.submit(spec, agent)
    await engine.pause(WHOLE_ENGINE, actor)
    (row,) = await engine.approvals.inbox()
    await engine.approvals.approve(row.approval_id, actor, seal=row.seal)
    script.write_text("open('ran', 'w'); print('harmful')")
    await engine.resume(WHOLE_ENGINE, actor)
    await has_pending(engine)
    (again,) = await engine.approvals.inbox()
    assert again.changed
    card = await engine.approvals.card(again.approval_id)
    assert any("task.py" in line.field for line in card.differences)
    assert not (workspace / "ran").exists()
    assert await engine.attempts() == ()
    assert (await engine.approvals.card(row.approval_id)).state == "CHANGED"
    assert order.number == again.number


async def test_a_time_limit_is_unknown_until_a_person_decides(
    engine: Engine, work_order: Callable[..., WorkOrderSpec], actor: Actor, agent: Actor
) -> None:
    """B-032: nothing is retried; after the decision a new approval is asked for."""
    slow = python_command("import time; print('begun', flush=True); time.sleep(60)", time_limit_ms=300)
    await engine.submit(work_order(implementation=slow), agent)
    (row,) = await engine.approvals.inbox()
    await engine.approvals.approve(row.approval_id, actor, seal=row.seal)

    async def unknown() -> bool:
        return bool(await engine.attempts(states=(AttemptState.UNKNOWN,)))

    await until(engine, unknown)
    (attempt,) = await engine.attempts()
    assert attempt.reason_code == "time_limit"
    assert "fail" not in attempt.reason.lower()
    assert await engine.approvals.inbox() == ()
    status = await engine.status()
    assert (status.unknown, status.running) == (1, 0)
    await engine.unknowns.reconcile(
        attempt.id, Finding.DID_NOT, actor, reason="nothing was written", proof=SEEN
    )
    await has_pending(engine)


async def test_cancel_stops_what_runs(
    engine: Engine, work_order: Callable[..., WorkOrderSpec], workspace: Path, actor: Actor, agent: Actor
) -> None:
    """E-71, B-047: a command that traps the request and exits 0 is not green."""
    code = (
        "import pathlib, signal, sys, time\n"
        "signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))\n"
        "pathlib.Path('begun').touch()\n"
        "time.sleep(60)"
    )
    order = await engine.submit(work_order(code), agent)
    (row,) = await engine.approvals.inbox()
    await engine.approvals.approve(row.approval_id, actor, seal=row.seal)

    async def running() -> bool:
        return any(item.state is AttemptState.RUNNING for item in await engine.running())

    await until(engine, running)
    while not (workspace / "begun").exists():
        await asyncio.sleep(0.01)
    await engine.cancel(Node(NodeKind.WORK_ORDER, order.id), actor, reason="wrong branch")
    await state_is(engine, order.id, WorkOrderState.CANCELLED)
    (attempt,) = await engine.attempts()
    assert (attempt.state, attempt.reason_code) == (AttemptState.UNKNOWN, "cancelled_by_user")


async def test_only_a_person_decides(
    engine: Engine, work_order: Callable[..., WorkOrderSpec], actor: Actor, agent: Actor
) -> None:
    """E-42, E-90: an agent asks, and nothing else; the refusal changes nothing."""
    order = await engine.submit(work_order(), agent)
    (row,) = await engine.approvals.inbox()
    refused = [
        engine.approvals.approve(row.approval_id, agent, seal=row.seal),
        engine.approvals.reject(row.approval_id, agent, "no"),
        engine.approvals.withdraw(row.approval_id, agent),
        engine.hold(WHOLE_ENGINE, agent, reason="x"),
        engine.resume(WHOLE_ENGINE, agent),
        engine.cancel(WHOLE_ENGINE, agent, reason="x"),
        engine.accept(order.id, agent),
    ]
    for call in refused:
        with pytest.raises(Unauthorized):
            await call
    assert (await engine.approvals.inbox())[0].approval_id == row.approval_id


async def test_what_cannot_be_planned_is_refused_at_once(
    engine: Engine, work_order: Callable[..., WorkOrderSpec], agent: Actor
) -> None:
    """A clear error with what to do, and nothing saved."""
    with pytest.raises(InvalidWorkOrder, match="no-such-program"):
        await engine.submit(work_order(implementation=CommandSpec(("no-such-program",))), agent)
    assert await engine.work_orders() == ()
    assert await engine.journal(before=10**9, limit=1) != ()


async def test_submitting_twice_with_one_key_is_one_order(
    engine: Engine, work_order: Callable[..., WorkOrderSpec], agent: Actor
) -> None:
    first = await engine.submit(work_order(), agent, key="call-1")
    assert (await engine.submit(work_order(), agent, key="call-1")).id == first.id
    assert len(await engine.work_orders()) == 1


async def test_e92_a_key_that_another_agent_used_too_is_an_agents_own(
    engine: Engine, work_order: Callable[..., WorkOrderSpec], agent: Actor, actor: Actor
) -> None:
    """Neither is given the other's work order by it, and neither learns that there is one."""
    other, script = Actor(ActorKind.AGENT, "another"), Actor(ActorKind.SCRIPT, agent.name)
    rows = [await engine.submit(work_order(), one, key="1") for one in (agent, other, script, actor)]
    assert len({row.id for row in rows}) == 4
    assert [row.requested_by for row in rows] == [agent, other, script, actor]
    assert (await engine.submit(work_order(), other, key="1")).id == rows[1].id
    with pytest.raises(InvalidValue, match=f"WO-{rows[1].number}"):
        await engine.submit(work_order("print('something else')"), other, key="1")


async def test_e92_a_key_stored_before_keys_were_an_agents_own_is_still_known(
    engine: Engine, work_order: Callable[..., WorkOrderSpec], agent: Actor
) -> None:
    def as_it_was(tx: Tx, *, now: int) -> None:
        tx.run("UPDATE work_order SET request_key = 'call-1'")

    first = await engine.submit(work_order(), agent, key="call-1")
    await engine._storage.write(as_it_was)
    assert (await engine.submit(work_order(), agent, key="call-1")).id == first.id
    other = Actor(ActorKind.AGENT, "another")
    assert (await engine.submit(work_order(), other, key="call-1")).id != first.id


async def test_a_drifted_validation_is_asked_once_more_and_then_runs(
    engine: Engine, work_order: Callable[..., WorkOrderSpec], workspace: Path, actor: Actor, agent: Actor
) -> None:
    """E-41, E-42b: what was covered drifts; the new request stands alone, and one approval of it is enough."""
    check = workspace / "check.py"
    check.write_text("raise SystemExit(0)")
    spec = work_order("open('check.py', 'a').write('  # edited')")
    judged_by = replace(
        spec.validation, command=CommandSpec((sys.executable, "check.py"), max_cost=1, time_limit_ms=30_000)
    )
    order = await engine.submit(replace(spec, validation=judged_by), agent)
    (row,) = await engine.approvals.inbox()
    await engine.approvals.approve(row.approval_id, actor, seal=row.seal, covers_validation=True)
    await has_pending(engine)
    (again,) = await engine.approvals.inbox()
    card = await engine.approvals.card(again.approval_id)
    assert [line.field for line in card.differences] == ["input check.py"]
    assert card.plan["state"]["kind"] == "files"
    await engine.approvals.approve(again.approval_id, actor, seal=again.seal)
    await state_is(engine, order.id, WorkOrderState.AWAITING_ACCEPTANCE)


async def test_a_workspace_that_holds_the_data_folder_is_refused(
    engine: Engine, work_order: Callable[..., WorkOrderSpec], folder: Path, agent: Actor
) -> None:
    """Every commit of the engine would be drift there; the folder itself and what is below it are meant alike."""
    for workspace in (folder, folder.parent):
        with pytest.raises(InvalidWorkOrder, match="inside the workspace"):
            await engine.submit(work_order(workspace=str(workspace)), agent)
    below = folder / "scratch"
    below.mkdir()
    await engine.submit(work_order(workspace=str(below)), agent)
