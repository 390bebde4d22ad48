"""The ledger under every act in any order: claims, admission, delivery, outcomes, control, clocks, restarts.

Hypothesis chooses what happens next; after each step `ledger_truth.check` asks what must be true (engine.md §12),
and at the end of every run a willing person brings all of it to an end.
"""

from __future__ import annotations

import os
import sys
from itertools import cycle
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from engine.control.decisions import Finding
from engine.states import HoldKind, NodeKind, Outcome, Verdict
from engine.work_order import BudgetLimits, ValidatedBy, ValidationSpec
from tests.ledger import observation
from tests.properties.ledger_hands import HOUR, SWEEPS, Hands, pick
from tests.properties.ledger_truth import IN_FLIGHT, check

PICK = st.integers(0, 11)
LANES = st.sampled_from(["/a", "/a", "/b"])
LEASES = st.sampled_from([HOUR, 60_000, 1])
OUTCOMES = st.sampled_from([Outcome.SUCCEEDED, Outcome.SUCCEEDED, Outcome.FAILED, Outcome.UNKNOWN])
NARROW = [NodeKind.TASK, NodeKind.WORK_ORDER]
SEEN = st.builds(
    observation,
    OUTCOMES,
    reported_cost=st.sampled_from([None, 0, 12, 30, 31, 500]),
    active_ms=st.sampled_from([0, 1_200, 5_000, 5_001]),
    survivors=st.sampled_from(["", "", "", "sleep (77)"]),
)
NEVER_STARTED = observation(Outcome.FAILED, never_started=True, reported_cost=None, active_ms=0)


def judged_by(person: bool) -> dict[str, Any]:
    return {"validation": ValidationSpec("as agreed", ValidatedBy.PERSON)} if person else {}


class EngineMachine(RuleBasedStateMachine):
    """One person, one agent, one worker and a coordinator, who do anything at any time.

    Few rules with a choice inside, so that none of claims, attempts, decisions, control and time drowns the others.
    """

    def __init__(self) -> None:
        super().__init__()
        self.hands = Hands()
        self.hands.open()

    @initialize(
        orders=st.lists(
            st.tuples(LANES, st.booleans(), st.integers(0, 2), st.booleans()), min_size=1, max_size=3
        ),
        steps=st.lists(st.integers(0, 28), min_size=3, max_size=3),
        outcomes=st.lists(OUTCOMES, min_size=1, max_size=5),
        queue=st.integers(0, 3),
        cost=st.sampled_from([1_000, 60, 45]),
    )
    def begin(
        self,
        orders: list[tuple[str, bool, int, bool]],
        steps: list[int],
        outcomes: list[Outcome],
        queue: int,
        cost: int,
    ) -> None:
        """Some work orders that have come some way, and some that wait for a lane and one budget."""
        hands = self.hands
        hands.set_limits(hands.now["scope"][0], BudgetLimits(cost, HOUR, 10, HOUR))
        ahead = cycle(outcomes)
        outcome = next(ahead)
        for (lane, by_person, corrections, covers), count in zip(orders, steps, strict=False):
            order = hands.submit(lane, corrections=corrections, **judged_by(by_person))
            for _ in range(count):
                concluded = len(hands.now["evidence"])
                hands.next_step(hands.now.by_id("work_order")[order], outcome, covers)
                check(hands.now)
                if len(hands.now["evidence"]) > concluded:
                    outcome = next(ahead)
        for number in range(queue):
            hands.submit("/b" if number % 2 else "/a", max_cost=25)
            hands.approve(hands.now["approval"][-1])

    # ------------------------------------------------------------------------------------------------- asking

    @precondition(lambda self: len(self.hands.now["work_order"]) < 7)
    @rule(
        lane=LANES,
        project=st.sampled_from(["p", "q"]),
        cost=st.sampled_from([30, 1, 0, 400]),
        limit=st.sampled_from([300, 60, 30]),
        corrections=st.integers(0, 2),
        by_person=st.booleans(),
        due=st.sampled_from([None, None, 1, 60_000]),
        life=st.sampled_from([1_000 * HOUR, 25 * HOUR, 1_000]),
    )
    def submit(
        self,
        lane: str,
        project: str,
        cost: int,
        limit: int,
        corrections: int,
        by_person: bool,
        due: int | None,
        life: int,
    ) -> None:
        self.hands.submit(
            lane,
            project=project,
            max_cost=cost,
            limits=BudgetLimits(limit, 30_000, 10, 60_000),
            corrections=corrections,
            due_at=None if due is None else self.hands.clock.now() + due,
            approval_life_ms=life,
            **judged_by(by_person),
        )

    @precondition(lambda self: self.hands.some("approval"))
    @rule(
        place=PICK,
        word=st.sampled_from(["approve", "approve", "approve", "withdraw", "reject", "ask"]),
        covers=st.booleans(),
        right=st.sampled_from([True, True, True, False]),
    )
    def request(self, place: int, word: str, covers: bool, right: bool) -> None:
        hands = self.hands
        rows = hands.rows("approval", "PENDING", "APPROVED") or hands.rows("approval")
        if word == "approve":
            hands.approve(pick(hands.rows("approval", "PENDING") or rows, place), covers, right)
        elif word == "withdraw":
            hands.withdraw(pick(rows, place))
        elif word == "reject":
            hands.reject(pick(rows, place))
        else:
            hands.ask_again(pick(hands.rows("task", "READY", "WAITING") or hands.rows("task"), place))

    # ----------------------------------------------------------------------------------------------- the worker

    @rule(limit=st.integers(1, 4), lease=LEASES)
    def claim(self, limit: int, lease: int) -> None:
        self.hands.claim(limit, lease)

    @rule(
        place=PICK,
        word=st.sampled_from(["admit", "admit", "renew", "release", "drifted", "unplannable"]),
        when=st.sampled_from(["now", "now", "just before its end", "at its end", "held"]),
        lease=LEASES,
        stranger=st.sampled_from(["", "", "", "", "v", "late", "wrong seal", "dead"]),
    )
    def act_on_claim(self, place: int, word: str, when: str, lease: int, stranger: str) -> None:
        hands = self.hands
        hands.come_to("claim", "LIVE")
        if not hands.some("claim"):
            return
        live = hands.rows("claim", "LIVE") if stranger != "dead" else []
        claim = pick(live or hands.rows("claim"), place)
        if when == "held":
            task = hands.now.by_id("task")[claim["task_id"]]
            kind = (NodeKind.TASK, NodeKind.WORK_ORDER, NodeKind.SCOPE, NodeKind.ENGINE)[place % 4]
            of = {NodeKind.TASK: task["id"], NodeKind.WORK_ORDER: task["work_order_id"]}
            places = {row["id"]: at for at, row in enumerate(hands.rows(kind.lower()))} if kind in of else {}
            hands.place_hold(hands.node(kind, places.get(of.get(kind, ""), 0)), HoldKind.HOLD)
        elif when != "now":
            end = claim["lease_until"] - (1 if when == "at its end" else 2)
            hands.clock.advance(max(0, end - hands.clock.now()))
        if word == "admit":
            hands.admit(claim, right=stranger != "wrong seal")
        elif word == "renew":
            hands.renew(claim, lease, "v" if stranger == "v" else "w", late=stranger == "late")
        elif word == "release":
            hands.release(claim)
        else:
            hands.refuse(claim, plannable=word == "drifted")

    @rule(
        place=PICK,
        flying=st.sampled_from([True, True, True, False]),
        word=st.sampled_from(
            [
                "step",
                "step",
                "deliver",
                "deliver to v",
                "acknowledge",
                "start",
                "conclude",
                "never",
                "lose",
                "stop",
            ]
        ),
        seen=SEEN,
    )
    def act_on_attempt(self, place: int, flying: bool, word: str, seen: Any) -> None:
        hands = self.hands
        if flying:
            hands.come_to("attempt", *IN_FLIGHT)
        if not hands.some("attempt"):
            return
        attempt = pick((hands.rows("attempt", *IN_FLIGHT) if flying else []) or hands.rows("attempt"), place)
        if word == "step":
            hands.step_on(attempt, seen)
        elif word == "deliver":
            hands.deliver(attempt)
        elif word == "deliver to v":
            hands.deliver(attempt, "v")
        elif word == "acknowledge":
            hands.acknowledge(attempt)
        elif word == "start":
            hands.start(attempt)
        elif word == "conclude":
            hands.conclude(attempt, seen)
        elif word == "never" and attempt["state"] != "RUNNING":
            hands.conclude(attempt, NEVER_STARTED)
        elif word == "lose":
            hands.lose(attempt)
        elif word == "stop":
            hands.stop(attempt)

    @precondition(lambda self: self.hands.some("lane_lock"))
    @rule(place=PICK)
    def survivors_are_gone(self, place: int) -> None:
        self.hands.unlock(pick(self.hands.rows("lane_lock"), place))

    @precondition(lambda self: any(row["ended_at"] is None for row in self.hands.now["work_order"]))
    @rule(places=st.lists(PICK, min_size=1, max_size=6), outcome=OUTCOMES, covers=st.booleans())
    def press_on(self, places: list[int], outcome: Outcome, covers: bool) -> None:
        """Some work orders take their next steps, so that runs get far."""
        for place in places:
            orders = [row for row in self.hands.now["work_order"] if row["ended_at"] is None]
            if orders:
                self.hands.next_step(pick(orders, place), outcome, covers)
                check(self.hands.now)

    # ----------------------------------------------------------------------------------------------- the person

    @precondition(lambda self: self.hands.some("attempt"))
    @rule(
        place=PICK,
        verdict=st.sampled_from(Verdict),
        finding=st.sampled_from(Finding),
        cost=st.sampled_from([None, 0, 12, 500]),
        active_ms=st.sampled_from([None, 0, 9_000]),
    )
    def look_at_attempt(
        self, place: int, verdict: Verdict, finding: Finding, cost: int | None, active_ms: int | None
    ) -> None:
        """Reconcile what is UNKNOWN, judge what was executed; or try it with what is neither."""
        hands = self.hands
        attempt = pick(hands.rows("attempt", "UNKNOWN", "EXECUTED") or hands.rows("attempt"), place)
        if attempt["state"] == "UNKNOWN" or place % 2:
            hands.reconcile(attempt, finding, cost, active_ms)
        else:
            hands.judge(attempt, verdict, cost)

    @precondition(lambda self: self.hands.some("work_order"))
    @rule(place=PICK, word=st.sampled_from(["accept", "reject", "allow_correction", "validate_again"]))
    def decide(self, place: int, word: str) -> None:
        orders = self.hands.rows("work_order", "AWAITING_ACCEPTANCE", "DECISION_NEEDED")
        self.hands.decide(pick(orders or self.hands.rows("work_order"), place), word)

    @rule(
        kind=st.sampled_from([*NARROW, NodeKind.SCOPE, NodeKind.ENGINE]),
        place=PICK,
        word=st.sampled_from(["lift", "lift", "pause", "hold"]),
    )
    def hold(self, kind: NodeKind, place: int, word: str) -> None:
        if word == "lift" and self.hands.holds():
            self.hands.lift(pick(self.hands.holds(), place))
        else:
            node = self.hands.node(kind, place)
            self.hands.place_hold(node, HoldKind.PAUSE if word == "pause" else HoldKind.HOLD)

    @rule(word=st.sampled_from(["distrust", "distrust", "restore", "lift"]))
    def hold_of_the_engine_itself(self, word: str) -> None:
        """The clock is seen to jump, or the data turn out to be a restored copy; a person's way out of either."""
        hands = self.hands
        own = [hold for hold in hands.holds() if hold["kind"] in ("CLOCK", "RESTORE")]
        if own:
            hands.lift(own[0])
        elif word == "distrust":
            hands.distrust()
        elif word == "restore":
            hands.restore()

    @rule(kind=st.sampled_from([*NARROW * 4, NodeKind.SCOPE, NodeKind.ENGINE]), place=PICK)
    def cancel(self, kind: NodeKind, place: int) -> None:
        self.hands.cancel(self.hands.node(kind, place))

    @rule(place=PICK, cost=st.sampled_from([1_000, 60, 30, 0]))
    def set_limits(self, place: int, cost: int) -> None:
        self.hands.set_limits(pick(self.hands.rows("scope"), place), BudgetLimits(cost, HOUR, 10, HOUR))

    # ---------------------------------------------------------------------------------- time and the coordinator

    @rule(
        word=st.sampled_from(["advance", "deadline", "deadline", "step"]),
        milliseconds=st.sampled_from([1, 60_000, HOUR, 25 * HOUR]),
        step=st.sampled_from([-HOUR, -2_000, -1, 2_000, HOUR]),
        place=PICK,
        late=st.sampled_from([-1, 0, 1]),
    )
    def pass_time(self, word: str, milliseconds: int, step: int, place: int, late: int) -> None:
        """Time passes, or to the very millisecond at which something ends (or one off), or the wall clock is set."""
        clock, deadlines = self.hands.clock, self.hands.deadlines()
        if word == "step":
            clock.step_wall(step)
        elif word == "deadline" and deadlines:
            clock.advance(max(0, deadlines[place % len(deadlines)] + late - 1 - clock.now()))
        else:
            clock.advance(milliseconds)

    @rule(
        word=st.sampled_from([*["sweep"] * 4, "ask", "ask", "late", "take over", "restart"]),
        limit=st.integers(1, 3),
        duty=st.sampled_from(SWEEPS),
    )
    def coordinate(self, word: str, limit: int, duty: Any) -> None:
        hands = self.hands
        if word == "sweep":
            hands.sweep(limit)
        elif word == "ask":
            hands.ask_missing()
        elif word == "late" and hands.epoch > 1:
            hands.sweep_late(duty)
        elif word in ("take over", "restart"):
            hands.take_over(reopen=word == "restart")

    @invariant()
    def true(self) -> None:
        check(self.hands.now)

    def teardown(self) -> None:
        try:
            if sys.exc_info()[0] is None:
                self.hands.wind_down()
        finally:
            self.hands.close()


def test_the_ledger_stays_true_whatever_is_done() -> None:
    """§12, E-20 to E-26, E-32, E-42 to E-51, E-60 to E-64, E-69 to E-72, E-82."""
    run_state_machine_as_test(
        EngineMachine,
        settings=settings(
            max_examples=max(10, settings().max_examples * 2 // 3),
            stateful_step_count=int(os.environ.get("MACHINE_STEPS", "50")),
            suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
        ),
    )
