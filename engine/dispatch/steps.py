"""From rows to steps: what the planner is asked to plan for a task or a whole work order."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace

from engine.dispatch.differences import Difference, differences
from engine.dispatch.plan import plan_from_json
from engine.dispatch.planning import PlannedStep, Step
from engine.dispatch.work_orders import spec_of, work_order_row
from engine.scheduling.tasks import task_row
from engine.states import Purpose
from engine.storage import Rx
from engine.work_order import ValidatedBy, WorkOrderSpec, command_from_json
from engine.workspace.repository import AS_LEFT_BY_APPROVED_STEP


@dataclass(frozen=True, slots=True)
class Asked:
    """The newest request for the approval of a task: its id and its plan as canonical JSON text."""

    approval_id: str
    plan: str

    def changes(self, planned: PlannedStep) -> tuple[Difference, ...]:
        """What differs between what was asked for and what would run now.

        A covered validation was sealed over the workspace "as the approved step leaves it"; against that no
        present state of the workspace is a change.
        """
        before, now = plan_from_json(json.loads(self.plan)), planned.prepared.plan
        if before.state == AS_LEFT_BY_APPROVED_STEP:
            now = replace(now, state=before.state)
        return differences(before, now)


def step_of_task(rx: Rx, task_id: str) -> tuple[Step, Asked | None]:
    """The step of a task as it is to be planned, and the newest request for its approval, if any."""
    task = task_row(rx, task_id)
    newest = rx.one(
        """SELECT id, state, covered_by, plan FROM approval WHERE task_id = ?
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
    return step, Asked(newest["id"], newest["plan"]) if newest is not None else None


def steps_of_order(spec: WorkOrderSpec) -> tuple[Step, ...]:
    """The steps of a work order that can be planned beforehand: implementation, and validation by a command."""
    steps = [Step(Purpose.IMPLEMENT, spec.implementation, spec)]
    if spec.validation.by is ValidatedBy.COMMAND and spec.validation.command is not None:
        steps.append(Step(Purpose.VALIDATE, spec.validation.command, spec))
    return tuple(steps)
