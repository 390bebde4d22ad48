"""Outcome, exposure and words of every way in which a run can end, with real processes (E-51, E-54, E-69, E-71).

Each has a grandchild that would write a marker later; the marker never appears (B-050).
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import time
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from engine.backup.contents import referenced_blobs
from engine.control.decisions import Finding
from engine.control.holds import Node
from engine.control.proofs import Proof
from engine.engine import Engine
from engine.errors import InvalidValue, NotFound, Unauthorized, WrongState
from engine.execution import leftovers
from engine.execution.blobs import BlobState
from engine.execution.evidence import FileChange
from engine.execution.leftovers import Living
from engine.execution.since import Point
from engine.states import AttemptState, ExposureState, NodeKind, Outcome, TaskState, WorkOrderState
from engine.views.values import AttemptRow
from engine.work_order import ValidationSpec
from engine.workspace.manifest import EntryKind
from tests.conftest import python_command
from tests.e2e.support import AGENT, PERSON, approve_all, manual, spec, step, until
from tests.ledger import SEEN

ROOT = Path(__file__).parents[2]
MARKER_SECONDS = 1.2

GRANDCHILD = f"import time; time.sleep({MARKER_SECONDS}); open('marker', 'w').write('late')"
WITH_GRANDCHILD = (
    "import pathlib, subprocess, sys, time\n"
    f"subprocess.Popen([sys.executable, '-c', {GRANDCHILD!r}], start_new_session=True)\n"
    "pathlib.Path('begun').touch()\n"
    "print('begun', flush=True)\n"
)


posix = pytest.mark.skipif(sys.platform == "win32", reason="looks at processes as Linux shows them")


@pytest.fixture
async def engine(folder: Path) -> AsyncIterator[Engine]:
    opened = await manual(folder)
    yield opened
    await opened.close()


async def run(engine: Engine, workspace: Path, code: str, **fields: object) -> AttemptRow:
    """Submit, approve, run to the end; gives the attempt."""
    await engine.submit(spec(workspace, implementation=python_command(code, **fields)), AGENT)
    await step(engine)
    (attempt,) = await engine.attempts()
    return attempt


async def stopped(engine: Engine, workspace: Path, code: str) -> AttemptRow:
    """Submit, approve, and cancel the work order once the command has begun."""
    row = await engine.submit(spec(workspace, code), AGENT)
    await engine.reconcile_once()
    await approve_all(engine)
    working = asyncio.ensure_future(engine.work_once())

    async def begun() -> bool:
        return (workspace / "begun").exists()

    await until(begun)
    await engine.cancel(Node(NodeKind.WORK_ORDER, row.id), PERSON, reason="wrong branch")
    await working
    (attempt,) = await engine.attempts()
    return attempt


async def exposure(engine: Engine, attempt: AttemptRow) -> set[tuple[ExposureState, int, int]]:
    """State, cost and time in the scopes, which all say the same."""
    view = await engine.unknowns.case(attempt.id)
    assert [one.name for one in view.exposure][-1] == f"WO-{attempt.number}"
    assert len(view.exposure) == 3
    return {(one.state, one.cost, one.active_ms) for one in view.exposure}


def frozen(attempt: AttemptRow) -> set[tuple[ExposureState, int, int]]:
    return {(ExposureState.FROZEN, attempt.max_cost, attempt.max_active_ms)}


def no_marker(workspace: Path, since: float) -> None:
    """Wait until the grandchild would have written, and see that it did not."""
    rest = MARKER_SECONDS + 0.4 - (time.monotonic() - since)
    if rest > 0:
        time.sleep(rest)
    assert not (workspace / "marker").exists()


async def still_nothing_new(engine: Engine) -> None:
    """E-72: nothing is asked for and nothing runs while it is UNKNOWN."""
    await engine.reconcile_once()
    assert await engine.approvals.inbox() == ()
    assert await engine.work_once() == 0
    assert len(await engine.attempts()) == 1


async def test_a_time_limit(engine: Engine, workspace: Path) -> None:
    """B-032: UNKNOWN, the whole reservation frozen, the word failed nowhere."""
    began = time.monotonic()
    attempt = await run(engine, workspace, WITH_GRANDCHILD + "time.sleep(60)", time_limit_ms=500)
    assert (attempt.state, attempt.reason_code) == (AttemptState.UNKNOWN, "time_limit")
    assert "fail" not in attempt.reason.lower()
    assert await exposure(engine, attempt) == frozen(attempt)
    await still_nothing_new(engine)
    no_marker(workspace, began)


async def test_an_output_limit(engine: Engine, workspace: Path) -> None:
    code = WITH_GRANDCHILD + "while True: print('x' * 1000)"
    began = time.monotonic()
    attempt = await run(engine, workspace, code, output_limit_bytes=100_000)
    assert (attempt.state, attempt.reason_code) == (AttemptState.UNKNOWN, "output_limit")
    assert await exposure(engine, attempt) == frozen(attempt)
    await still_nothing_new(engine)
    no_marker(workspace, began)


async def test_a_cancel_with_a_trap_that_exits_0(engine: Engine, workspace: Path) -> None:
    """B-047, B-049: cancelled by a person, exit code shown, not green."""
    trap = "import signal, sys; signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))\n"
    began = time.monotonic()
    attempt = await stopped(engine, workspace, trap + WITH_GRANDCHILD + "time.sleep(60)")
    assert (attempt.state, attempt.reason_code) == (AttemptState.UNKNOWN, "cancelled_by_user")
    assert "exit code 0" in attempt.reason
    assert attempt.outcome is Outcome.UNKNOWN
    assert await exposure(engine, attempt) == frozen(attempt)
    row = await engine.work_order_row(attempt.work_order_id)
    assert row is not None
    assert row.state is WorkOrderState.CANCELLED
    no_marker(workspace, began)


async def test_a_child_that_is_killed_by_hand(engine: Engine, workspace: Path) -> None:
    """B-043: UNKNOWN, and the signal is named."""
    began = time.monotonic()
    attempt = await run(
        engine, workspace, WITH_GRANDCHILD + "import os, signal; os.kill(os.getpid(), signal.SIGKILL)"
    )
    if sys.platform != "win32":
        assert (attempt.state, attempt.reason_code) == (AttemptState.UNKNOWN, "killed")
        assert "SIGKILL" in attempt.reason
    assert await exposure(engine, attempt) == frozen(attempt)
    view = await engine.unknowns.case(attempt.id)
    assert "signal 9" in view.certain[-1].sentence
    no_marker(workspace, began)


async def test_a_detached_grandchild_of_a_command_that_succeeds(engine: Engine, workspace: Path) -> None:
    """B-050: the command's own exit counts, and what it left behind is ended and named."""
    began = time.monotonic()
    attempt = await run(engine, workspace, WITH_GRANDCHILD)
    assert attempt.outcome is Outcome.SUCCEEDED
    view = await engine.evidence.of(attempt.id)
    assert view.evidence is not None
    assert view.evidence["tree"]["ended"]
    no_marker(workspace, began)


async def test_exit_1_is_failed_and_settles(engine: Engine, workspace: Path) -> None:
    """B-037: an ordinary non-zero exit is no UNKNOWN; without a report the whole reservation counts (B-100)."""
    attempt = await run(engine, workspace, "raise SystemExit(1)")
    assert (attempt.state, attempt.outcome) == (AttemptState.SETTLED, Outcome.FAILED)
    assert attempt.cost_source == "assumed_maximum"
    assert {one[0] for one in await exposure(engine, attempt)} == {ExposureState.SPENT}


async def test_a_worker_whose_thread_breaks(
    engine: Engine, workspace: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """E-54: worker lost is UNKNOWN, said so, and its exposure kept."""

    def broken(*_: object) -> None:
        raise RuntimeError("the thread fell over")

    monkeypatch.setattr("engine.execution.local_worker.observe", broken)
    with caplog.at_level("ERROR"):
        attempt = await run(engine, workspace, "print('never')")
    assert (attempt.state, attempt.reason_code) == (AttemptState.UNKNOWN, "worker_lost")
    assert "the thread fell over" in attempt.reason
    assert await exposure(engine, attempt) == frozen(attempt)
    view = await engine.unknowns.case(attempt.id)
    assert view.certain[-1].sentence.startswith("The worker acknowledged it")
    assert view.evidence.evidence is None


CONSOLE = """
import asyncio, sys
from pathlib import Path
from tests.e2e.support import AGENT, approve_all, manual, spec
async def main(folder, workspace, code):
    engine = await manual(folder)
    await engine.submit(spec(workspace, code), AGENT)
    await engine.reconcile_once()
    await approve_all(engine)
    await engine.work_once()
asyncio.run(main(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3]))
"""


async def test_a_console_that_is_killed(folder: Path, workspace: Path) -> None:
    """E-51, B-052: UNKNOWN at the next start, its output still shown, the changes since dispatch too."""
    (workspace / "kept.txt").write_text("old\n")
    code = WITH_GRANDCHILD + "pathlib.Path('kept.txt').write_text('new\\n'); time.sleep(60)"
    child = subprocess.Popen([sys.executable, "-c", CONSOLE, str(folder), str(workspace), code], cwd=ROOT)

    async def changed() -> bool:
        return (workspace / "kept.txt").read_text() == "new\n"

    await until(changed)
    began = time.monotonic()
    tree = psutil.Process(child.pid).children(recursive=True)
    child.kill()
    child.wait(30)
    _, alive = psutil.wait_procs(tree, timeout=10)
    assert not alive
    engine = await manual(folder)
    try:
        await still_nothing_new(engine)
        (attempt,) = await engine.attempts()
        assert (attempt.state, attempt.reason_code) == (AttemptState.UNKNOWN, "console_lost")
        assert await exposure(engine, attempt) == frozen(attempt)
        view = await engine.unknowns.case(attempt.id)
        assert view.certain[-1].sentence == f"Process {attempt.process_pid} was started."
        assert view.measured_ms is None
        assert Path(view.evidence.stdout_file or "").read_text() == "begun\n"
        assert await engine.unknowns.look_again(attempt.id, PERSON) == (
            Living(attempt.process_pid or 0, "", False),
        )
        since = await engine.evidence.workspace_since(attempt.id, Point.DISPATCH)
        assert since.changes is not None
        assert [one.path for one in since.changes.changed] == ["kept.txt"]
        found = await engine.evidence.compare_file(attempt.id, since.changes.changed[0])
        assert (found.before.text, found.after.text) == (None, "new\n")
        assert "not kept" in found.before.why_not
        no_marker(workspace, began)
    finally:
        await engine.close()


@posix
async def test_what_survives_a_killed_console_keeps_its_workspace_until_it_is_gone(
    folder: Path, workspace: Path
) -> None:
    """B-052, E-54: matched by pid and start, listed; nothing else runs there before it is gone."""
    engine = await manual(folder)
    survivor = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
    try:
        await engine.submit(spec(workspace), AGENT)
        await engine.submit(spec(workspace), AGENT)
        await step_to_lost(engine, survivor.pid)
        await engine.close()
        engine = await manual(folder)
        await engine.reconcile_once()
        (lost,) = await engine.attempts()
        assert lost.reason_code == "console_lost"
        (living,) = await engine.unknowns.look_again(lost.id, PERSON)
        assert (living.pid, living.alive) == (survivor.pid, True)
        assert (await engine.unknowns.case(lost.id)).lane_locked
        await approve_all(engine)
        assert await engine.work_once() == 0
        other = next(row for row in await engine.work_orders() if row.id != lost.work_order_id)
        assert str(survivor.pid) in other.why
        with pytest.raises(Unauthorized):
            await engine.unknowns.look_again(lost.id, AGENT)
        survivor.kill()
        survivor.wait(10)
        assert not (await engine.unknowns.look_again(lost.id, PERSON))[0].alive
        assert not (await engine.unknowns.case(lost.id)).lane_locked
        assert await engine.work_once() == 1
    finally:
        survivor.kill()
        survivor.wait(10)
        await engine.close()


@posix
async def test_a_lane_is_freed_by_itself_when_its_survivors_have_gone(folder: Path, workspace: Path) -> None:
    engine = await manual(folder)
    survivor = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
    try:
        await engine.submit(spec(workspace), AGENT)
        await step_to_lost(engine, survivor.pid)
        await engine.close()
        engine = await manual(folder)
        await engine.reconcile_once()
        (lost,) = await engine.attempts()
        assert (await engine.unknowns.case(lost.id)).lane_locked
        survivor.kill()
        survivor.wait(10)
        await engine.reconcile_once()
        assert not (await engine.unknowns.case(lost.id)).lane_locked
    finally:
        survivor.kill()
        survivor.wait(10)
        await engine.close()


async def step_to_lost(engine: Engine, pid: int) -> None:
    """Leave an attempt RUNNING as a killed console does, with ``pid`` as its process."""
    from engine.dispatch.admission import admit
    from engine.dispatch.delivery import acknowledge, deliver, record_started
    from engine.execution.keeper import look_at
    from engine.scheduling.claims import claim_tasks

    await engine.reconcile_once()
    (first, *_) = await engine.approvals.inbox()
    await engine.approvals.approve(first.approval_id, PERSON, seal=first.seal)
    write, epoch = engine._storage.write, engine.epoch
    (claim,) = await write(claim_tasks, "local", epoch, 1, 60_000)
    admission = await write(admit, claim.id, "local", epoch, first.seal)
    delivery = await write(deliver, admission.intent_id, "local", epoch)
    await write(acknowledge, delivery.id, "local", epoch)
    seen = look_at(pid)
    assert seen is not None
    await write(record_started, delivery.id, "local", epoch, pid, str(seen.started), engine.clock.boot_id())


# ------------------------------------------------------------------------------- what others changed (B-029)


async def by_others(engine: Engine, attempt_id: str) -> list[str]:
    view = await engine.evidence.of(attempt_id)
    assert view.evidence is not None
    return list(view.evidence["by_others"])


async def test_what_changed_between_two_steps_is_marked_as_by_others(engine: Engine, workspace: Path) -> None:
    """B-029: between the end of one step and the start of the next it was neither of them."""
    (workspace / "a").write_text("1")
    (workspace / "b").write_text("1")
    row = await engine.submit(spec(workspace, "open('made', 'w').write('x')"), AGENT)
    await step(engine, covers=True)
    (workspace / "a").write_text("2")
    (workspace / "b").unlink()
    (workspace / "c").write_text("1")
    await step(engine)
    story = await engine.work_order(row.id)
    assert await by_others(engine, story.tasks[0].attempts[0].id) == []
    assert await by_others(engine, story.tasks[1].attempts[0].id) == ["a", "b", "c"]
    assert story.row.state is WorkOrderState.AWAITING_ACCEPTANCE


async def test_another_work_order_in_the_same_workspace_counts_as_others(
    engine: Engine, workspace: Path
) -> None:
    """E-69: one lane, so they never run at once; what the other did in between is told."""
    first = await engine.submit(spec(workspace, "open('one', 'w').write('x')"), AGENT)
    await step(engine)
    second = spec(workspace, "open('two', 'w').write('x')")
    await engine.submit(replace(second, title="Another"), AGENT)
    rows = {row.number: row for row in await engine.approvals.inbox()}
    await engine.approvals.approve(rows[2].approval_id, PERSON, seal=rows[2].seal)
    await engine.work_once()
    for _ in range(3):
        await step(engine)
    story = await engine.work_order(first.id)
    assert await by_others(engine, story.tasks[1].attempts[0].id) == ["two"]


async def test_a_second_attempt_is_compared_with_the_first(engine: Engine, workspace: Path) -> None:
    """What the command itself left half-done is not by others."""
    code = (
        "import pathlib, time; p = pathlib.Path('half'); time.sleep(0 if p.exists() else (p.touch(), 60)[1])"
    )
    attempt = await run(engine, workspace, code, time_limit_ms=700)
    await engine.unknowns.reconcile(attempt.id, Finding.DID_NOT, PERSON, reason="only half", proof=SEEN)
    await step(engine)
    second = next(one for one in await engine.attempts() if one.id != attempt.id)
    assert second.outcome is Outcome.SUCCEEDED
    assert await by_others(engine, second.id) == []


@pytest.mark.skipif(sys.platform == "win32", reason="Windows keeps no time of change that nobody can set")
async def test_a_change_after_the_last_process_ended_is_by_others(
    engine: Engine, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from engine.execution import observe, others

    def late(folder: Path) -> os.stat_result:
        mark = others.mark_end(folder)
        while mark_file(workspace).stat().st_ctime_ns <= mark.st_ctime_ns:
            mark_file(workspace).write_text("by hand")
        return mark

    monkeypatch.setattr(observe, "mark_end", late)
    mark_file(workspace).write_text("before")
    attempt = await run(engine, workspace, "open('own', 'w').write('x')")
    assert await by_others(engine, attempt.id) == ["by-hand"]


def mark_file(workspace: Path) -> Path:
    return workspace / "by-hand"


# ----------------------------------------------------------------------------------------- proof (E-72)


async def test_proof_is_kept_with_its_digest_and_stays_true(
    engine: Engine, workspace: Path, tmp_path: Path
) -> None:
    attempt = await run(engine, workspace, "import time; time.sleep(60)", time_limit_ms=200)
    file = tmp_path / "dump.bin"
    file.write_bytes(b"\0\xff proof")
    row = await engine.unknowns.reconcile(
        attempt.id,
        Finding.STILL_UNKNOWN,
        PERSON,
        reason="looked twice",
        proof=[Proof(file=str(file)), Proof("what I saw", text="nothing")],
    )
    assert row.decided_by is None
    (note,) = (await engine.unknowns.case(attempt.id)).notes
    assert [one.name for one in note.proof] == ["dump.bin", "what I saw"]
    file.unlink()
    for one in note.proof:
        assert await engine.evidence.verify_blob(one.sha256) is BlobState.TRUE
    kept = await engine._storage.read(referenced_blobs)
    assert {one.sha256 for one in note.proof} <= kept.keys(), "a backup takes the proof along"


@pytest.mark.parametrize(
    ("proof", "error"),
    [
        (Proof(), InvalidValue),
        (Proof(text="x", file="/x"), InvalidValue),
        (Proof(file="relative"), InvalidValue),
        (Proof(file=str(ROOT / "no such file")), NotFound),
        (Proof(file=str(ROOT / "tests" / "__init__.py")), InvalidValue),
        (Proof(text="x" * ((1 << 20) + 1)), InvalidValue),
    ],
)
async def test_proof_that_is_none_is_refused_and_nothing_is_decided(
    engine: Engine, workspace: Path, proof: Proof, error: type[Exception]
) -> None:
    attempt = await run(engine, workspace, "import time; time.sleep(60)", time_limit_ms=200)
    with pytest.raises(error):
        await engine.unknowns.reconcile(attempt.id, Finding.DID_NOT, PERSON, reason="x", proof=[proof])
    assert (await engine.unknowns.case(attempt.id)).is_open


async def test_the_exits_that_are_closed_say_why(engine: Engine, workspace: Path) -> None:
    """A validation proves nothing; what was validated UNKNOWN had run; what is decided is decided."""
    slow = python_command("import time; time.sleep(60)", time_limit_ms=200)
    await engine.submit(spec(workspace, validation=ValidationSpec("never", command=slow)), AGENT)
    await step(engine)
    await step(engine)
    (lost,) = await engine.attempts(states=(AttemptState.UNKNOWN,))
    closed = {one.finding: one.why_not for one in (await engine.unknowns.case(lost.id)).exits}
    assert "proves nothing" in closed[Finding.TOOK_EFFECT]
    assert closed[Finding.DID_NOT] == closed[Finding.STILL_UNKNOWN] == ""
    with pytest.raises(WrongState, match="proves nothing"):
        await engine.unknowns.reconcile(lost.id, Finding.TOOK_EFFECT, PERSON, reason="x", proof=SEEN)
    await engine.unknowns.reconcile(lost.id, Finding.DID_NOT, PERSON, reason="x", proof=SEEN)
    view = await engine.unknowns.case(lost.id)
    assert all(one.why_not for one in view.exits)
    assert view.attempt.decided_by == "ada"
    story = await engine.work_order(lost.work_order_id)
    assert story.tasks[-1].state is TaskState.READY


@posix
async def test_leftovers_are_never_matched_by_pid_alone(engine: Engine) -> None:
    """E-54: another start, or another boot, is another process."""
    own = psutil.Process()
    from engine.execution.keeper import look_at

    seen = look_at(own.pid)
    assert seen is not None
    boot = engine.clock.boot_id()
    identity = leftovers.ProcessIdentity(own.pid, seen.started, boot)
    assert leftovers.look_at([leftovers.Leftover(identity, "me")], engine.clock) == (
        Living(own.pid, "me", True),
    )
    for other in (replace(identity, started=seen.started + 1), replace(identity, boot="another")):
        (found,) = leftovers.look_at([leftovers.Leftover(other, "")], engine.clock)
        assert not found.alive


async def test_a_file_that_is_gone_or_too_large_is_said_honestly(engine: Engine, workspace: Path) -> None:
    attempt = await run(
        engine, workspace, "open('big', 'w').write('x' * 2_000_000); open('bin', 'wb').write(b'a\\0b')"
    )
    view = await engine.evidence.workspace_since(attempt.id, Point.DISPATCH)
    assert view.changes is not None
    said = {
        one.path: (await engine.evidence.compare_file(attempt.id, one)).after.why_not
        for one in view.changes.added
    }
    assert said == {"big": "too large to be shown here", "bin": "not text"}
    gone = FileChange("bin", None, replace(view.changes.added[1].after, sha256="0" * 64))  # type: ignore[type-var]
    assert "not kept" in (await engine.evidence.compare_file(attempt.id, gone)).after.why_not
    assert view.changes.added[0].after is not None
    assert view.changes.added[0].after.kind is EntryKind.FILE
