"""Hands on the ledger: each act of a person, worker or coordinator, together with what must come of it.

Every act knows from the snapshot whether it has to work (``works``); a refusal must leave everything as it was.
"""

from __future__ import annotations

import asyncio
import shutil
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from engine.backup.aftermath import acknowledge_restore, make_safe
from engine.clock import ManualClock
from engine.clock_watch import Anomaly, AnomalyKind, Reading
from engine.control import decisions
from engine.control.cancel import cancel, request_stop
from engine.control.clock_trust import SAMPLES_WANTED, record_anomalies, restore_trust
from engine.control.decisions import Finding
from engine.control.holds import WHOLE_ENGINE, Node, place_hold, resume
from engine.dispatch import approvals, budgets
from engine.dispatch.admission import admit, refuse_drifted, refuse_unplannable
from engine.dispatch.approvals import expire_approvals
from engine.dispatch.delivery import acknowledge, deliver, record_started, settle_abandoned_attempts
from engine.errors import PraxisError, StaleEpoch, StorageError
from engine.execution.local_worker import _lose
from engine.execution.record import Observation, unlock_lane
from engine.scheduling.claims import (
    claim_tasks,
    recover_abandoned_claims,
    register_worker,
    release_claim,
    renew_claim,
)
from engine.scheduling.gates import explain
from engine.scheduling.tasks import drain_due_wakeups
from engine.states import HoldKind, NodeKind, Outcome, Verdict
from engine.storage import Rx, Storage
from engine.storage.journal import verify_journal
from engine.validation import workflow
from engine.validation.requesting import ask_if_missing, unasked
from engine.work_order import BudgetLimits
from tests.ledger import AGENT, KEPT, PERSON, Ledger, observation, sealed
from tests.properties.ledger_truth import (
    ENDED_ORDER,
    IN_FLIGHT,
    OPEN_TASK,
    Row,
    Snapshot,
    check,
    install_watch,
    read_snapshot,
)

SLOTS = 3
HOUR = 3_600_000
LONG = 1_000 * HOUR
WIDE = BudgetLimits(1_000_000, 10_000 * HOUR, 1_000, HOUR)
SWEEPS = (
    settle_abandoned_attempts,
    recover_abandoned_claims,
    drain_due_wakeups,
    expire_approvals,
    workflow.finish_cancelled_orders,
)


def pick(rows: list[Row], place: int) -> Row:
    return rows[place % len(rows)]


class Hands:
    """One data folder with its ledger, watched; `now` is how it stands."""

    now: Snapshot

    def open(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="praxis-machine-"))
        self.loop = asyncio.new_event_loop()
        self.clock = ManualClock()
        self.ledger = self.loop.run_until_complete(Ledger.open(self.folder, self.clock, slots=SLOTS))
        self.keys = 0
        self.do(install_watch)

    def close(self) -> None:
        self.loop.run_until_complete(self.ledger.close())
        self.loop.run_until_complete(self.loop.shutdown_default_executor())
        self.loop.close()
        shutil.rmtree(self.folder)

    # ------------------------------------------------------------------------------------------ how it works

    @property
    def epoch(self) -> int:
        return self.ledger.epoch

    @property
    def next_instant(self) -> int:
        """When the next transaction will be."""
        return self.clock.now() + 1

    def write(self, function: Callable[..., Any], *arguments: object) -> Any:
        """One committed transaction, at an instant of its own."""
        self.clock.advance(1)
        return self.loop.run_until_complete(self.ledger.write(function, *arguments))

    def look(self) -> None:
        self.now = self.loop.run_until_complete(self.ledger.read(read_snapshot))

    def do(self, function: Callable[..., Any], *arguments: object) -> Any:
        """Something that must work."""
        value = self.write(function, *arguments)
        self.look()
        return value

    def may(self, function: Callable[..., Any], *arguments: object, works: bool | None = None) -> bool:
        """Something that may be refused: then nothing has changed. ``works`` says what must happen, if known."""
        before = self.now
        refusal: PraxisError | None = None
        try:
            self.write(function, *arguments)
        except StorageError:
            raise
        except PraxisError as error:
            refusal = error
        self.look()
        if refusal is None:
            assert works is not False, "this should have been refused"
            return True
        assert not works, f"refused: {refusal}"
        assert self.now.tables == before.tables, "a refusal changed something"
        return False

    def same_again(self, function: Callable[..., Any], *arguments: object) -> Any:
        """A command with the same idempotency key: it changes nothing (E-70)."""
        before = self.now
        value = self.do(function, *arguments)
        assert self.now.tables == before.tables, "a repeated command changed something"
        return value

    def key(self) -> str:
        self.keys += 1
        return f"key-{self.keys}"

    def rows(self, table: str, *states: str) -> list[Row]:
        return [row for row in self.now[table] if not states or row["state"] in states]

    def some(self, table: str, *states: str) -> bool:
        return bool(self.rows(table, *states))

    def trusted(self) -> bool:
        """Whether leases, expiries and due times are judged by the clock (E-32)."""
        return not any(hold["kind"] == "CLOCK" for hold in self.holds())

    def can_be_decided(self, request: Row) -> bool:
        lasts = self.next_instant < request["expires_at"] or not self.trusted()
        return bool(request["state"] == "PENDING" and lasts)

    def armed(self) -> list[Row]:
        return [row for row in self.now["task"] if row["armed_at"] is not None]

    def holds(self) -> list[Row]:
        return [row for row in self.now["hold"] if row["released_at"] is None]

    def engine_is_held(self) -> bool:
        return any(hold["node_kind"] == "ENGINE" for hold in self.holds())

    def node(self, kind: NodeKind, place: int) -> Node:
        if kind is NodeKind.ENGINE:
            return WHOLE_ENGINE
        table = {NodeKind.SCOPE: "scope", NodeKind.WORK_ORDER: "work_order", NodeKind.TASK: "task"}[kind]
        rows = self.rows(table)
        return Node(kind, pick(rows, place)["id"]) if rows else WHOLE_ENGINE

    # ------------------------------------------------------------------------------------- requests, approvals

    def submit(self, lane: str, **changes: Any) -> str:
        self.clock.advance(1)
        order: str = self.loop.run_until_complete(self.ledger.submit(lane, **changes))
        self.look()
        return order

    def approve(self, request: Row, covers: bool = False, right: bool = True) -> None:
        is_open = self.can_be_decided(request)
        decided = request["state"] in ("APPROVED", "REJECTED", "CONSUMED")
        look = partial(approvals.approve, covers_validation=covers)
        seal = request["seal"] if right else "x" * 64
        self.may(look, request["id"], PERSON, seal, works=decided or (is_open and right))

    def reject(self, request: Row) -> None:
        is_open = self.can_be_decided(request)
        decided = request["state"] in ("APPROVED", "REJECTED", "CONSUMED")
        self.may(approvals.reject, request["id"], PERSON, "no", works=is_open or decided)

    def withdraw(self, request: Row) -> None:
        works = request["state"] in ("PENDING", "APPROVED", "WITHDRAWN")
        self.may(approvals.withdraw, request["id"], PERSON, "not now", works=works)

    def ask_again(self, task: Row) -> None:
        asked = any(row["task_id"] == task["id"] for row in self.rows("approval", "PENDING", "APPROVED"))
        works = not asked and task["state"] in ("READY", "WAITING")
        self.may(approvals.ask_approval, task["id"], sealed(), AGENT, 25 * HOUR, works=works)

    def ask_missing(self) -> None:
        """What the coordinator does after each round of its duties."""
        for task in self.loop.run_until_complete(self.ledger.read(unasked, 100)):
            self.do(ask_if_missing, task, sealed(), 25 * HOUR, None, ())

    # --------------------------------------------------------------------------------------- claims, admission

    def claim(self, limit: int, lease: int) -> None:
        """E-23: as many as are wanted, free and open; none while the engine is held."""
        busy = len(self.rows("claim", "LIVE")) + len(
            [row for row in self.rows("attempt", *IN_FLIGHT) if row["epoch"] == self.epoch]
        )
        approved = self.now.by_id("approval")
        lasting = [
            row
            for row in self.armed()
            if self.next_instant < approved[row["approval_id"]]["expires_at"]
            and row["id"] not in self.now.short
        ]
        held, most = self.engine_is_held(), max(0, min(limit, SLOTS - busy))
        closed = self.closed_gates()
        claims = self.do(claim_tasks, "w", self.epoch, limit, lease)
        # More than were lasting only if one that was not gave way to the next of its lane.
        assert min(most, len(lasting)) <= len(claims) <= most if not held else claims == ()
        for claim in claims:
            assert closed[claim.task_id] <= {"lane"}, f"claimed though {closed[claim.task_id]} were closed"
        if len(claims) < most:
            taken = {claim.task_id for claim in claims}
            assert not [task for task, gates in closed.items() if not gates and task not in taken]

    def closed_gates(self) -> dict[str, set[str]]:
        """What the engine says keeps each READY task from being claimed (E-23)."""

        def ask(rx: Rx) -> dict[str, set[str]]:
            return {
                row["id"]: {gate.name for gate in explain(rx, row["id"], self.next_instant) if not gate.open}
                for row in rx.all("SELECT id FROM task WHERE state = 'READY'")
            }

        return self.loop.run_until_complete(self.ledger.read(ask))

    def may_write(self, claim: Row) -> bool:
        """Whether the worker still holds this claim (E-24)."""
        return bool(
            claim["state"] == "LIVE"
            and claim["epoch"] == self.epoch
            and self.trusted()
            and claim["claimed_at"] <= self.next_instant < claim["lease_until"]
        )

    def renew(self, claim: Row, lease: int, worker: str = "w", *, late: bool = False) -> None:
        works = self.may_write(claim) and worker == "w" and not late
        epoch = self.epoch - 1 if late else self.epoch
        if self.may(renew_claim, claim["id"], worker, epoch, lease, works=works):
            renewed = self.now.by_id("claim")[claim["id"]]
            assert renewed["lease_until"] >= claim["lease_until"], "a renewal shortened a lease"

    def release(self, claim: Row) -> None:
        works = self.may_write(claim)
        self.may(release_claim, claim["id"], "w", self.epoch, "given back", works=works)

    def refuse(self, claim: Row, *, plannable: bool) -> None:
        """The worker found that what would run has changed, or that it cannot be planned any more."""
        if self.now.by_id("task")[claim["task_id"]]["approval_id"] is None:
            return  # the worker looks at that first, and releases such a claim
        arguments = claim["id"], "w", self.epoch
        works = self.may_write(claim)
        if plannable:
            self.may(refuse_drifted, *arguments, sealed("c" * 64), (), 25 * HOUR, works=works)
        else:
            self.may(refuse_unplannable, *arguments, "gone", works=works)

    def admit(self, claim: Row, *, right: bool = True) -> str | None:
        """E-43: every check that stands in the way, and nothing else, refuses it; gives the attempt's id."""
        task = self.now.by_id("task")[claim["task_id"]]
        order = self.now.by_id("work_order")[task["work_order_id"]]
        approval = self.now.by_id("approval").get(task["approval_id"] or "")
        works = (
            self.may_write(claim)
            and approval is not None
            and approval["state"] == "APPROVED"
            and self.next_instant < approval["expires_at"]
            and order["state"] == "ACTIVE"
            and not self.engine_is_held()
            and task["id"] not in self.now.held
            and task["id"] not in self.now.short
            and right
        )
        seal = approval["seal"] if approval is not None and right else "x" * 64
        if not self.may(admit, claim["id"], "w", self.epoch, seal, works=works):
            return None
        self.within_limits(task)
        return str(self.now["attempt"][-1]["id"])

    def within_limits(self, task: Row) -> None:
        """No scope above the task has passed its limit by its admission."""
        above = {row["ancestor_id"] for row in self.now["scope_path"] if row["scope_id"] == task["scope_id"]}
        assert len(above) == 3
        for part in self.now["scope_partition"]:
            if part["scope_id"] in above and part["partition"] == task["partition"]:
                for unit, limit in (("cost", "cost_limit"), ("ms", "active_ms_limit")):
                    exposed = sum(part[f"{word}_{unit}"] for word in ("reserved", "frozen", "spent"))
                    assert exposed <= part[limit], f"{unit} beyond the limit"

    # -------------------------------------------------------------------------------------------- execution

    def deliver(self, attempt: Row, worker: str = "w") -> None:
        (intent,) = [row for row in self.now["intent"] if row["attempt_id"] == attempt["id"]]
        works = attempt["state"] == "DISPATCH_AUTHORIZED" and worker == "w" and attempt["epoch"] == self.epoch
        self.may(deliver, intent["id"], worker, self.epoch, works=works)

    def delivery(self, attempt: Row) -> Row | None:
        return next((row for row in self.now["delivery"] if row["attempt_id"] == attempt["id"]), None)

    def step_on(self, attempt: Row, seen: Observation) -> None:
        """The worker's next step with an attempt, whatever that is."""
        if attempt["state"] == "DISPATCH_AUTHORIZED":
            self.deliver(attempt)
        elif attempt["state"] == "DELIVERED":
            self.acknowledge(attempt)
        elif attempt["state"] == "ACKNOWLEDGED":
            self.start(attempt)
        elif attempt["state"] == "RUNNING":
            self.conclude(attempt, seen)

    def acknowledge(self, attempt: Row) -> None:
        self._with_delivery(acknowledge, attempt, ("DELIVERED",))

    def start(self, attempt: Row) -> None:
        self._with_delivery(record_started, attempt, ("ACKNOWLEDGED",), 42, "7", "boot")

    def conclude(self, attempt: Row, seen: Observation) -> None:
        """What was observed of a command is kept, whatever a person did meanwhile; once."""
        self._with_delivery(workflow.conclude_execution, attempt, ("ACKNOWLEDGED", "RUNNING"), seen)

    def lose(self, attempt: Row) -> None:
        """The worker lost sight of it; of one that has ended nothing is lost."""
        before = self.now.tables
        self._with_delivery(_lose, attempt, None, "lost")
        if attempt["state"] not in IN_FLIGHT:
            assert self.now.tables == before

    def _with_delivery(
        self, step: Callable[..., Any], attempt: Row, states: tuple[str, ...] | None, *arguments: object
    ) -> None:
        delivery = self.delivery(attempt)
        if delivery is not None:
            works = attempt["epoch"] == self.epoch and (states is None or attempt["state"] in states)
            self.may(step, delivery["id"], "w", self.epoch, *arguments, works=works)

    def unlock(self, lock: Row) -> None:
        self.do(unlock_lane, lock["lane"], PERSON)

    # ---------------------------------------------------------------------------------------- decisions, control

    def judge(self, attempt: Row, verdict: Verdict, cost: int | None = None) -> None:
        """E-60: judged again, the first judgement stands."""
        judged = [row for row in self.now["validation"] if row["attempt_id"] == attempt["id"]]
        arguments = attempt["id"], verdict, PERSON, "looked", cost
        worked = self.may(workflow.validate_by_person, *arguments, works=True if judged else None)
        if worked and judged:
            assert judged == [row for row in self.now["validation"] if row["attempt_id"] == attempt["id"]]

    def decide(self, order: Row, word: str) -> None:
        """What is offered works, and nothing else does."""
        act: tuple[Callable[..., Any], ...] = {
            "accept": (decisions.accept,),
            "reject": (decisions.reject_work,),
            "allow_correction": (decisions.allow_correction,),
            "validate_again": (decisions.validate_again,),
        }[word]
        before = len(self.now["decision"])
        repeated = {"accept": "ACCEPTED", "reject": "REJECTED"}.get(word) == order["state"]
        offered = word in self.now.can[order["id"]]
        self.may(*act, order["id"], PERSON, "as I see it", works=offered or repeated)
        assert len(self.now["decision"]) - before == offered

    def reconcile(
        self, attempt: Row, finding: Finding, cost: int | None = None, active_ms: int | None = None
    ) -> None:
        """E-72: what a person found out is taken; only nonsense is refused."""
        judged = any(row["attempt_id"] == attempt["id"] for row in self.now["validation"])
        works = (
            attempt["state"] == "UNKNOWN"
            and {
                Finding.TOOK_EFFECT: attempt["purpose"] != "VALIDATE",
                Finding.DID_NOT: not judged,
                Finding.STILL_UNKNOWN: True,
            }[finding]
        )
        arguments = attempt["id"], finding, PERSON, "looked", cost, active_ms, KEPT
        self.may(decisions.reconcile, *arguments, works=works)

    def place_hold(self, node: Node, word: HoldKind) -> None:
        arguments = place_hold, node, word, "look first", PERSON, self.key()
        assert self.do(*arguments)["id"] == self.same_again(*arguments)["id"]

    def lift(self, hold: Row) -> None:
        if hold["kind"] == "CLOCK":
            reading = self.reading()
            self.do(restore_trust, PERSON, "seen to agree", reading, reading.now, SAMPLES_WANTED)
            return
        if hold["kind"] == "RESTORE":
            assert self.do(acknowledge_restore, PERSON, "looked") == hold["id"]
            return
        lifted = self.do(resume, Node(NodeKind(hold["node_kind"]), hold["node_id"]), PERSON, "seen")
        assert hold["id"] in lifted

    def reading(self) -> Reading:
        return Reading(self.clock.now(), self.clock.elapsed(), self.clock.awake(), self.clock.boot_id())

    def distrust(self) -> None:
        """The wall clock was seen to jump: the engine is held, and nothing is judged by it (E-31, E-32)."""
        reading = self.reading()
        fault = Anomaly(AnomalyKind.WALL_BACK, reading, reading, 5_000)
        self.do(record_anomalies, self.epoch, (fault,), reading, reading.now)
        assert not self.trusted()
        assert self.engine_is_held()

    def restore(self) -> None:
        """The data turn out to be a restored copy (E-82): nothing under way is, nothing approved is, a hold stays."""
        flying = {row["id"] for row in self.rows("attempt", *IN_FLIGHT)}
        made = self.do(make_safe, None, {}, "restored", PERSON, self.ledger.storage.owner)
        self.ledger.epoch = made.epoch
        self.do(register_worker, "w", "local", SLOTS, made.epoch)
        assert set(made.unknown) == flying
        assert {row["id"] for row in self.rows("attempt", "UNKNOWN")} >= flying
        assert not self.some("approval", "APPROVED")
        assert not self.some("claim", "LIVE")
        assert self.engine_is_held()

    def lift_all(self) -> None:
        while self.holds():
            self.lift(self.holds()[0])

    def cancel(self, node: Node) -> None:
        """E-71: only what has ended cannot be cancelled."""
        works = True
        if node.kind is NodeKind.TASK:
            works = self.now.by_id("task")[node.id]["state"] in (*OPEN_TASK, "CANCELLED")
        elif node.kind is NodeKind.WORK_ORDER:
            works = self.now.by_id("work_order")[node.id]["state"] not in ("ACCEPTED", "REJECTED")
        arguments = cancel, node, PERSON, "no longer wanted", self.key()
        if self.may(*arguments, works=works):
            assert self.same_again(*arguments) == ()

    def stop(self, attempt: Row) -> None:
        runs = self.do(request_stop, attempt["id"], PERSON, "stop it")
        assert runs == (attempt["state"] in IN_FLIGHT[1:])

    def set_limits(self, scope: Row, limits: BudgetLimits) -> None:
        self.do(budgets.set_limits, scope["id"], limits, PERSON, "as agreed")

    # ------------------------------------------------------------------------------------------ the coordinator

    def sweep(self, limit: int) -> None:
        """E-25, E-26: each duty does what is there for it, at most ``limit``, and nothing else."""
        for duty in SWEEPS:
            there = self.there_for(duty)
            done = self.do(duty, self.epoch, limit)
            assert len(done) == min(limit, len(there)), f"{duty.__name__}: {len(done)} of {len(there)}"
            assert set(done) <= there

    def there_for(self, duty: Callable[..., Any]) -> set[str]:
        now = self.next_instant
        if duty is settle_abandoned_attempts:
            return {row["id"] for row in self.rows("attempt", *IN_FLIGHT) if row["epoch"] < self.epoch}
        if duty is recover_abandoned_claims:
            live = self.rows("claim", "LIVE")
            ended = {row["id"] for row in live if row["lease_until"] <= now and self.trusted()}
            return ended | {row["id"] for row in live if row["epoch"] < self.epoch}
        if duty is drain_due_wakeups:
            quiet = not self.trusted() or any(hold["kind"] == "RESTORE" for hold in self.holds())
            return {row["id"] for row in self.rows("task", "WAITING") if row["due_at"] <= now and not quiet}
        if duty is expire_approvals:
            claimed = {row["id"] for row in self.rows("task", "CLAIMED")}
            requests = [
                row
                for row in self.rows("approval", "PENDING", "APPROVED")
                if row["expires_at"] <= now and self.trusted()
            ]
            return {row["id"] for row in requests if row["task_id"] not in claimed}
        flying = {row["work_order_id"] for row in self.rows("attempt", *IN_FLIGHT)}
        return {row["id"] for row in self.rows("work_order", "CANCELLING") if row["id"] not in flying}

    def sweep_late(self, duty: Callable[..., Any]) -> None:
        """E-20: a superseded coordinator is refused."""
        try:
            self.write(duty, self.epoch - 1, 10)
        except StaleEpoch:
            return
        raise AssertionError("a stale epoch was taken")

    def take_over(self, *, reopen: bool = False) -> None:
        async def anew() -> None:
            if reopen:
                await self.ledger.close()
                self.ledger.storage = await Storage.open(self.folder, clock=self.clock)
            await self.ledger.take_over(SLOTS)

        self.clock.advance(1)
        self.loop.run_until_complete(anew())
        self.look()

    def deadlines(self) -> list[int]:
        return [
            at
            for at in (
                *(row["lease_until"] for row in self.rows("claim", "LIVE")),
                *(row["expires_at"] for row in self.rows("approval", "PENDING", "APPROVED")),
                *(row["due_at"] for row in self.rows("task", "WAITING")),
            )
            if at > self.clock.now()
        ]

    # --------------------------------------------------------------------------------------------- getting on

    def next_step(self, order: Row, outcome: Outcome, covers: bool) -> None:
        """What comes next for a work order, done by whoever does it."""
        tasks = [row for row in self.rows("task", *OPEN_TASK) if row["work_order_id"] == order["id"]]
        unknown = [row for row in self.rows("attempt", "UNKNOWN") if row["work_order_id"] == order["id"]]
        if tasks:
            self._next_step_of_task(tasks[0], outcome, covers)
        elif unknown:
            self.settle_unknown(unknown[0])
        else:
            self.take_offer(order, ("validate", "validate_again", "allow_correction", "accept"))

    def come_to(self, table: str, *states: str) -> None:
        """Go on until there is such a row, unless that takes too long."""
        for _ in range(8):
            self.sweep(3)
            for order in self.rows("work_order", "ACTIVE", "DECISION_NEEDED"):
                if self.some(table, *states):
                    return
                self.lift_all()
                self.next_step(self.now.by_id("work_order")[order["id"]], Outcome.SUCCEEDED, covers=False)
                check(self.now)

    def _next_step_of_task(self, task: Row, outcome: Outcome, covers: bool) -> None:
        asked = [row for row in self.rows("approval", "PENDING", "APPROVED") if row["task_id"] == task["id"]]
        if task["state"] == "READY" and not asked:
            self.ask_again(task)
        elif task["state"] == "READY" and asked[0]["state"] == "PENDING":
            self.approve(asked[0], covers)
        elif task["armed_at"] is not None:
            self.claim(1, HOUR)
        elif task["state"] == "CLAIMED":
            self.admit(next(row for row in self.rows("claim", "LIVE") if row["task_id"] == task["id"]))
        elif task["state"] == "DISPATCHED":
            flying = self.rows("attempt", *IN_FLIGHT)
            attempt = next(row for row in flying if row["task_id"] == task["id"])
            self.step_on(attempt, observation(outcome))

    def settle_unknown(self, attempt: Row) -> None:
        effect = attempt["purpose"] != "VALIDATE"
        self.reconcile(attempt, Finding.TOOK_EFFECT if effect else Finding.DID_NOT)

    def take_offer(self, order: Row, words: tuple[str, ...]) -> bool:
        """Take the first of these decisions that is offered; whether there was one."""
        offered = [word for word in words if word in self.now.can[order["id"]]]
        if not offered:
            return False
        if offered[0] == "validate":
            executed = self.rows("attempt", "EXECUTED")
            (attempt,) = [row for row in executed if row["work_order_id"] == order["id"]]
            self.judge(attempt, Verdict.PASSED)
            assert self.now["validation"][-1]["attempt_id"] == attempt["id"]
        elif offered[0] == "ask_again":
            waiting = self.rows("task", "READY", "WAITING")
            self.ask_again(next(row for row in waiting if row["work_order_id"] == order["id"]))
        else:
            self.decide(order, offered[0])
        return True

    def wind_down(self) -> None:
        """A willing person brings everything to an end, by what is offered alone: nothing is ever stuck."""
        self.take_over()
        self.lift_all()
        self.clock.advance(LONG)
        while any(self.there_for(duty) for duty in SWEEPS):
            self.sweep(3)
            check(self.now)
        for lock in self.now["lane_lock"]:
            self.unlock(lock)
        for scope in self.now["scope"]:
            self.set_limits(scope, WIDE)
        for _ in range(100):
            self.lift_all()
            check(self.now)
            if not self._all_take_a_step():
                break
        assert {row["state"] for row in self.now["work_order"]} <= set(ENDED_ORDER)
        assert not self.rows("task", *OPEN_TASK)
        assert not self.rows("attempt", "UNKNOWN", "EXECUTED", *IN_FLIGHT)
        for part in self.now["scope_partition"]:
            assert (part["reserved_cost"], part["reserved_ms"]) == (0, 0)
            assert (part["frozen_cost"], part["frozen_ms"]) == (0, 0)
        report = self.loop.run_until_complete(self.ledger.read(verify_journal))
        assert report.sound, report.problems

    def _all_take_a_step(self) -> bool:
        before = self.now.tables
        self.ask_missing()
        for attempt in self.rows("attempt", "UNKNOWN"):
            self.settle_unknown(attempt)
        for order in self.now["work_order"]:
            if order["ended_at"] is None and not self.take_offer(order, ("ask_again",)):
                self.next_step(self.now.by_id("work_order")[order["id"]], Outcome.SUCCEEDED, covers=False)
                if self.now.tables == before:
                    self.take_offer(order, ("reject",))
        return self.now.tables != before
