"""One work order whose step cannot be planned, for whatever reason, leaves all others alone."""

from __future__ import annotations

import logging
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from engine.dispatch import planning
from engine.engine import Engine
from engine.states import WorkOrderState
from engine.work_order import WorkOrderSpec
from tests.e2e.support import AGENT, approve_all, until


@pytest.mark.parametrize("text", ["a fault of our own", "in a file named \udcff"])
async def test_a_fault_in_planning_stops_only_its_own_work_order(
    folder: Path,
    tmp_path: Path,
    work_order: Callable[..., WorkOrderSpec],
    monkeypatch: pytest.MonkeyPatch,
    expected_log: Callable[..., AbstractContextManager[list[logging.LogRecord]]],
    text: str,
) -> None:
    """B-104's kind: the poisoned one waits for a person with its reason, the healthy one runs to its end."""
    (tmp_path / "poisoned").mkdir()
    make_plan = planning.make_plan

    def faulty(purpose: Any, command: Any, criteria: Any, workspace: str, **rest: Any) -> Any:
        if workspace.endswith("poisoned") and rest["state"] is None and purpose == "VALIDATE":
            raise RuntimeError(text)
        return make_plan(purpose, command, criteria, workspace, **rest)

    monkeypatch.setattr(planning, "make_plan", faulty)
    engine = await Engine.open(folder)
    try:
        with expected_log("could not be planned", logging.ERROR):
            poisoned = await engine.submit(replace(work_order(), workspace=str(tmp_path / "poisoned")), AGENT)
            healthy = await engine.submit(work_order(), AGENT)
            await approve_all(engine)

            async def both() -> bool:
                await approve_all(engine)
                states = [(await engine.work_order(one.id)).row.state for one in (poisoned, healthy)]
                return states == [WorkOrderState.DECISION_NEEDED, WorkOrderState.AWAITING_ACCEPTANCE]

            await until(both)
    finally:
        await engine.close()
