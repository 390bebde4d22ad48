"""From rows to steps: what the planner is asked to plan for a task or a whole work order."""

from __future__ import annotations

import json

from engine.dispatch.planning import Step
from engine.dispatch.work_orders import spec_of, work_order_row
from engine.scheduling.tasks import task_row
from engine.states import Purpose
from engine.storage import Rx
from engine.work_order import ValidatedBy, WorkOrderSpec, command_from_json


def step_of_task(rx: Rx, task_id: str) -> tuple[Step, str | None]:
    """The step of a task as it is to be planned, and the id of its newest request for approval, if any."""
    task = task_row(rx, task_id)
    newest = rx.one(
        """SELECT id, state, covered_by FROM approval WHERE task_id = ?
           ORDER BY ordinal DESC LIMIT 1""",
        (task_id,),
    )
    covered = newest is not None and newest["covered_by"] is not None and newest["state"] == "APPROVED"
    step = Step(
        Purpose(task["purpose"]),
        command_from_json(json.loads(task["command"])),
        spec_of(work_order_row(rx, task["work_order_id"])),
        covered,
    )
    return step, newest["id"] if newest is not None else None


def steps_of_order(spec: WorkOrderSpec) -> tuple[Step, ...]:
    """The steps of a work order that can be planned beforehand: implementation, and validation by a command."""
    steps = [Step(Purpose.IMPLEMENT, spec.implementation, spec)]
    if spec.validation.by is ValidatedBy.COMMAND and spec.validation.command is not None:
        steps.append(Step(Purpose.VALIDATE, spec.validation.command, spec))
    return tuple(steps)
