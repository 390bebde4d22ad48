"""From rows to steps: what the planner is asked to plan for a task or a whole work order."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace

from engine.dispatch.differences import Difference, differences
from engine.dispatch.plan import plan_from_json
from engine.dispatch.planning import PlannedStep, Step
from engine.dispatch.restores import given_before_restore
from engine.dispatch.soundness import require_sound
from engine.dispatch.work_orders import spec_of, work_order_row
from engine.instants import Instant
from engine.scheduling.tasks import task_row
from engine.states import Purpose
from engine.storage import Rx
from engine.work_order import ValidatedBy, WorkOrderSpec, command_from_json
from engine.workspace.repository import (
    AS_LEFT_BY_APPROVED_STEP,
    AS_LEFT_BY_FAILED_VALIDATION,
    WorkspaceState,
    state_from_json,
)


@dataclass(frozen=True, slots=True)
class Asked:
    """The newest request for the approval of a task: its id and its plan as canonical JSON text."""

    approval_id: str
    plan: str

    def changes(self, planned: PlannedStep) -> tuple[Difference, ...]:
        """What differs between what was asked for and what would run now.

        What was covered was sealed over the workspace as the step before it leaves it; against that no present
        state of the workspace is a change.
        """
        before, now = plan_from_json(json.loads(self.plan)), planned.prepared.plan
        if before.state in (AS_LEFT_BY_APPROVED_STEP, AS_LEFT_BY_FAILED_VALIDATION):
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
    spec = spec_of(work_order_row(rx, task["work_order_id"]))
    may_be_covered = task["purpose"] == Purpose.CORRECT and not spec.correction.reapproval_required
    step = Step(
        Purpose(task["purpose"]),
        command_from_json(json.loads(task["command"])),
        spec,
        covered,
        _state_left(rx, task["source_validation_id"]) if may_be_covered else None,
    )
    return step, Asked(newest["id"], newest["plan"]) if newest is not None else None


def covering_approval(
    rx: Rx, task_id: str, planned: PlannedStep, left: WorkspaceState, now: Instant
) -> str | None:
    """The approval that covers a correction whose rule asks for no new one, None if it has to be asked for.

    It is the newest unexpired one that a person, and no standing grant, gave for a step of the same work order
    with the very same program, argv, inputs, environment, limits and criteria. The workspace must be as the failed
    validation left it, and this must be the first request for this task: what has drifted once is for a person.
    """
    if planned.prepared.plan.state != left or rx.one("SELECT 1 FROM approval WHERE task_id = ?", (task_id,)):
        return None
    task = task_row(rx, task_id)
    for row in rx.all(
        """SELECT approval.id, approval.plan FROM approval JOIN task ON task.id = approval.task_id
           WHERE approval.work_order_id = ? AND approval.state = 'CONSUMED' AND approval.covered_by IS NULL
             AND approval.id NOT IN (SELECT approval_id FROM grant_use)
             AND approval.expires_at > ? AND task.purpose IN ('IMPLEMENT', 'CORRECT')
           ORDER BY approval.decided_at DESC, approval.id DESC""",
        (task["work_order_id"], now),
    ):
        if given_before_restore(rx, row["id"]):
            continue
        approved = plan_from_json(json.loads(row["plan"]))
        if replace(approved, purpose=Purpose.CORRECT, state=left) == planned.prepared.plan:
            return str(row["id"])
    return None


def _state_left(rx: Rx, validation_id: str | None) -> WorkspaceState | None:
    """The state of the workspace that was recorded at the end of the run that failed, None if there is none."""
    row = rx.one(
        """SELECT evidence.body FROM validation
           JOIN evidence ON evidence.attempt_id = coalesce(validation.validating_attempt_id, validation.attempt_id)
           WHERE validation.id = ?""",
        (validation_id,),
    )
    state = json.loads(row["body"]).get("repository_after") if row is not None else None
    return state_from_json(state) if state is not None else None


def steps_of_order(spec: WorkOrderSpec) -> tuple[Step, ...]:
    """The steps of a work order that can be planned beforehand: implementation, and validation by a command.

    `InvalidWorkOrder` for a work order that is not sound.
    """
    require_sound(spec)
    steps = [Step(Purpose.IMPLEMENT, spec.implementation, spec)]
    if spec.validation.by is ValidatedBy.COMMAND and spec.validation.command is not None:
        steps.append(Step(Purpose.VALIDATE, spec.validation.command, spec))
    return tuple(steps)
