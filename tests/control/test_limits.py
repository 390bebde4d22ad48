"""Changing budgets: what binds from when on, what is refused and at which value (E-43, E-44, B-100 to B-103)."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from engine.clock import ManualClock
from engine.control.limits import change_limits, create_project, remove_project
from engine.dispatch.soundness import LARGEST_AMOUNT
from engine.errors import GateClosed, InvalidValue, NotFound, Refused, WrongState
from engine.states import ExposureState, Partition
from engine.views.budgets import ScopeView, find_scope, limits_mean, scope_view, scopes
from engine.work_order import BudgetLimits
from tests.ledger import PERSON, ROOT, Ledger

OWN = BudgetLimits(300, 600_000, 10, 60_000)


@pytest.fixture
async def ledger(folder: Path, clock: ManualClock) -> AsyncIterator[Ledger]:
    opened = await Ledger.open(folder, clock)
    yield opened
    await opened.close()


async def view(ledger: Ledger, name: str) -> ScopeView:
    return await ledger.read(scope_view, name)


async def change(ledger: Ledger, name: str, limits: BudgetLimits, *more: Any) -> ScopeView:
    scope_id = await ledger.read(find_scope, name)
    await ledger.write(change_limits, scope_id, limits, PERSON, "as agreed", *more)
    return await view(ledger, name)


async def test_the_tree_shows_both_partitions_and_what_draws_on_each_scope(ledger: Ledger) -> None:
    order = await ledger.submit("/one")
    await ledger.approve(order)
    (claim,) = await ledger.claim()
    admission = await ledger.admit(claim)
    (root,) = await ledger.read(scopes, None, None, 10)
    (project,) = await ledger.read(scopes, root.id, None, 10)
    (own,) = await ledger.read(scopes, project.id, None, 10)
    assert [scope.kind for scope in (root, project, own)] == ["ROOT", "PROJECT", "WORK_ORDER"]
    for scope in (root, project, own):
        assert (scope.execution.reserved_cost, scope.execution.reserved_ms) == (30, 5_000)
        assert (scope.handoff.used_cost, scope.handoff.used_ms) == (0, 0)
    assert (own.execution.free_cost, own.handoff.free_cost) == (270, 10)
    for name in ("root", "project:payments", "WO-1", order):
        seen = await view(ledger, name)
        assert [draw.attempt_id for draw in seen.draws] == [admission.attempt_id]
        assert (seen.draws[0].cost, seen.draws[0].exposure) == (30, ExposureState.RESERVED)
        assert seen.drawing == 1
    assert [scope.name for scope in (await view(ledger, "WO-1")).path] == ["everything", "payments", "WO-1"]


async def test_the_queries_of_the_page_use_their_indexes(ledger: Ledger) -> None:
    plans = {
        "SELECT id FROM scope WHERE parent_id = 'x' AND id < 'y' ORDER BY id DESC LIMIT 3": "scope_children",
        "SELECT count(*) FROM exposure WHERE scope_id = 'x' AND state IN ('RESERVED', 'FROZEN')": "exposure_drawing",
    }
    for sql, index in plans.items():
        steps = [row["detail"] for row in await ledger.all(f"EXPLAIN QUERY PLAN {sql}")]
        assert any(index in step for step in steps), steps
        assert not any("SCAN" in step or "B-TREE" in step for step in steps), steps


@pytest.mark.parametrize("partition", list(Partition))
@pytest.mark.parametrize("measure", ["cost", "active_ms"])
async def test_a_limit_below_what_is_counted_has_to_be_meant_and_equal_does_not(
    ledger: Ledger, partition: Partition, measure: str
) -> None:
    order = await ledger.submit("/one")
    field = f"{partition.lower()}_{measure}"
    counted = {"cost": 30, "active_ms": 5_000}[measure]
    if partition is Partition.EXECUTION:
        await ledger.approve(order)
        (claim,) = await ledger.claim()
        await ledger.admit(claim)
    else:
        counted = 0
    equal = replace(OWN, **{field: counted})
    if counted:
        below = replace(OWN, **{field: counted - 1})
        with pytest.raises(Refused, match="already, more than") as refused:
            await change(ledger, "WO-1", below)
        assert refused.value.facts["scope"] == "WO-1"
        assert (await view(ledger, "WO-1")).row.limits == OWN
        seen = await change(ledger, "WO-1", below, None, True)
        part = seen.row.execution
        assert (part.free_cost if measure == "cost" else part.free_ms) == -1
    seen = await change(ledger, "WO-1", equal)
    part = seen.row.execution if partition is Partition.EXECUTION else seen.row.handoff
    assert (part.free_cost if measure == "cost" else part.free_ms) == 0
    said = " ".join(limits_mean(seen.path, equal))
    assert ("Nothing is left" if measure == "cost" else "No active time is left") in said


async def test_a_lowered_limit_stops_what_is_new_and_a_raised_one_lets_it_go_at_once(ledger: Ledger) -> None:
    """B-101: what waits says for which scope, and starts as soon as there is room."""
    await ledger.submit("/one")
    await change(ledger, "project:payments", replace(ROOT, execution_cost=29))
    order = await ledger.submit("/two")
    await ledger.approve(order)
    assert await ledger.claim() == ()
    (waiting,) = (await view(ledger, "project:payments")).waiting
    assert waiting.work_order_id == order
    assert waiting.why == "“payments” has 29 units left, this needs up to 30."
    assert (await view(ledger, "WO-1")).waiting == ()
    await change(ledger, "project:payments", replace(ROOT, execution_cost=30))
    (claim,) = await ledger.claim()
    await ledger.admit(claim)
    assert (await view(ledger, "project:payments")).row.execution.free_cost == 0


async def test_a_limit_lowered_between_claim_and_admission_refuses_the_admission(ledger: Ledger) -> None:
    order = await ledger.submit("/one")
    await ledger.approve(order)
    (claim,) = await ledger.claim()
    await change(ledger, "root", replace(ROOT, execution_cost=29))
    with pytest.raises(GateClosed, match="29 units left"):
        await ledger.admit(claim)


@pytest.mark.parametrize("value", [-1, LARGEST_AMOUNT + 1, 2**63, 1.5, True, "7", None])
async def test_odd_limits_are_refused_and_the_largest_is_not(ledger: Ledger, value: Any) -> None:
    for field in BudgetLimits.__dataclass_fields__:
        with pytest.raises(InvalidValue):
            await change(ledger, "root", replace(ROOT, **{field: value}))
    most = BudgetLimits(*(LARGEST_AMOUNT,) * 4)
    assert (await change(ledger, "root", most)).row.limits == most
    none = BudgetLimits(0, 0, 0, 0)
    assert (await change(ledger, "root", none)).row.limits == none


async def test_a_change_needs_a_reason_and_the_limits_that_were_seen(ledger: Ledger) -> None:
    scope_id = await ledger.read(find_scope, "root")
    with pytest.raises(InvalidValue, match="give a reason"):
        await ledger.write(change_limits, scope_id, ROOT, PERSON, "  ")
    other = replace(ROOT, execution_cost=5)
    await change(ledger, "root", other, ROOT)
    with pytest.raises(WrongState, match="while you looked"):
        await change(ledger, "root", replace(ROOT, execution_cost=9), ROOT)
    first, last = (await view(ledger, "root")).history[::-1]
    assert (first.before, first.after) == (None, ROOT)
    assert (last.before, last.after, last.reason, last.actor) == (ROOT, other, "as agreed", PERSON)


async def test_a_limit_above_that_of_the_scope_above_says_what_binds(ledger: Ledger) -> None:
    await ledger.submit("/one")
    wide = replace(OWN, execution_cost=ROOT.execution_cost + 1)
    path = (await view(ledger, "WO-1")).path
    assert any("“everything” above it allows less" in said for said in limits_mean(path, wide))
    assert not limits_mean(path, replace(OWN, execution_cost=ROOT.execution_cost))


async def test_projects_are_made_beforehand_and_removed_only_while_nothing_was_asked_in_them(
    ledger: Ledger,
) -> None:
    made = await ledger.write(create_project, "payments", OWN, PERSON, "a quarter's worth")
    assert (await view(ledger, "project:payments")).history[0].reason == "a quarter's worth"
    for name in ("payments", "", " padded", "two\nlines", "x" * 201):
        with pytest.raises((InvalidValue, WrongState)):
            await ledger.write(create_project, name, OWN, PERSON, "again")
    await ledger.write(remove_project, made, PERSON, "not needed")
    with pytest.raises(NotFound):
        await view(ledger, "project:payments")
    await ledger.write(create_project, "payments", OWN, PERSON, "needed after all")
    order = await ledger.submit("/one")
    seen = await view(ledger, order)
    assert seen.path[1].limits == OWN, "the order came into the project as it was made"
    with pytest.raises(WrongState, match="1 work order; what they used stays counted"):
        await ledger.write(remove_project, seen.path[1].id, PERSON, "away")
    for place in (0, 2):
        with pytest.raises(WrongState, match="no project"):
            await ledger.write(remove_project, seen.path[place].id, PERSON, "away")
