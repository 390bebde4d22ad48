"""Work orders that no file was read for: an agent's message, a script's call. Each refusal names its field."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest

from engine.dispatch.soundness import LARGEST_AMOUNT, require_sound
from engine.engine import Engine
from engine.errors import InvalidWorkOrder
from engine.work_order import (
    BudgetLimits,
    CommandSpec,
    CorrectionRule,
    ValidatedBy,
    ValidationSpec,
    WorkOrderSpec,
)
from tests.e2e.support import AGENT

GOOD = CommandSpec(("python", "-c", "pass"))


@pytest.mark.parametrize(
    ("field", "change"),
    [
        ("title", {"title": ""}),
        ("title", {"title": "two\nlines"}),
        ("title", {"title": "x" * 201}),
        ("title", {"title": "half \ud800"}),
        ("project", {"project": " "}),
        ("reason", {"reason": "half \ud800"}),
        ("workspace", {"workspace": "/tmp/\0"}),
        ("validation.criteria", {"validation": ValidationSpec(" ", command=GOOD)}),
        ("validation.command", {"validation": ValidationSpec("it works")}),
        ("validation.command", {"validation": ValidationSpec("it works", ValidatedBy.PERSON, GOOD)}),
        ("validation.command.argv", {"validation": ValidationSpec("x", command=CommandSpec(()))}),
        ("correction.max_corrections", {"correction": CorrectionRule(-1)}),
        ("correction.max_corrections", {"correction": CorrectionRule(1_001)}),
        ("correction.command.max_cost", {"correction": CorrectionRule(1, True, replace(GOOD, max_cost=-1))}),
        ("limits.execution_cost", {"limits": BudgetLimits(-1, 1)}),
        ("limits.handoff_active_ms", {"limits": BudgetLimits(1, 1, 1, LARGEST_AMOUNT + 1)}),
        (None, {"approval_life_ms": 0}),
        (None, {"due_at": 10**18}),
    ],
)
def test_a_work_order_that_could_not_be_concluded_is_refused(
    work_order: Callable[..., WorkOrderSpec], field: str | None, change: dict[str, Any]
) -> None:
    require_sound(work_order())
    with pytest.raises(InvalidWorkOrder) as caught:
        require_sound(replace(work_order(), **change))
    assert caught.value.facts.get("field") == field


@pytest.mark.parametrize(
    ("field", "change"),
    [
        ("implementation.argv", {"argv": ()}),
        ("implementation.argv[1]", {"argv": ("python", 5)}),
        ("implementation.argv[1]", {"argv": ("python", "a\0b")}),
        ("implementation.argv[1]", {"argv": ("python", "\udcff")}),
        ("implementation.environment.A", {"environment": MappingProxyType({"A": "\ud800"})}),
        ("implementation.max_cost", {"max_cost": -5}),
        ("implementation.max_cost", {"max_cost": 2**63 - 1}),
        ("implementation.max_cost", {"max_cost": True}),
        ("implementation.max_cost", {"max_cost": float("nan")}),
        ("implementation.time_limit_ms", {"time_limit_ms": 0}),
        ("implementation.time_limit_ms", {"time_limit_ms": -5}),
        ("implementation.output_limit_bytes", {"output_limit_bytes": -1}),
    ],
)
async def test_an_agent_cannot_submit_what_no_file_may_say(
    folder: Path, work_order: Callable[..., WorkOrderSpec], field: str, change: dict[str, Any]
) -> None:
    """E-90, B-100: no negative cost, no empty command, no text that cannot be stored; nothing is saved."""
    engine = await Engine.open(folder, automatic=False)
    try:
        spec = work_order()
        with pytest.raises(InvalidWorkOrder) as caught:
            await engine.submit(replace(spec, implementation=replace(spec.implementation, **change)), AGENT)
        assert caught.value.facts["field"] == field
        assert await engine.work_orders() == ()
    finally:
        await engine.close()
