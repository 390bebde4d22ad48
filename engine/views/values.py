"""The values that reads return. All instants are epoch milliseconds UTC, costs are whole budget units."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from engine.actors import Actor
from engine.instants import Instant
from engine.scheduling.gates import Gate
from engine.states import (
    ApprovalState,
    AttemptState,
    HoldKind,
    NodeKind,
    Outcome,
    Partition,
    Purpose,
    TaskState,
    Verdict,
    WorkOrderState,
)


@dataclass(frozen=True, slots=True)
class BudgetLine:
    """One ancestor scope as it would be with this dispatch: one line of the waterfall, root first.

    ``spent``, ``reserved`` and ``frozen`` are without this dispatch; ``asked`` is what it would reserve.
    ``fits`` is false for the scope that would refuse it.
    """

    scope_id: str
    name: str
    partition: Partition
    cost_limit: int
    spent_cost: int
    reserved_cost: int
    frozen_cost: int
    asked_cost: int
    active_ms_limit: int
    spent_ms: int
    reserved_ms: int
    frozen_ms: int
    asked_ms: int

    @property
    def cost_left(self) -> int:
        """What remains of the cost limit after this dispatch; negative if it does not fit."""
        return self.cost_limit - self.spent_cost - self.reserved_cost - self.frozen_cost - self.asked_cost

    @property
    def active_ms_left(self) -> int:
        """What remains of the active time after this dispatch; negative if it does not fit."""
        return self.active_ms_limit - self.spent_ms - self.reserved_ms - self.frozen_ms - self.asked_ms

    @property
    def fits(self) -> bool:
        """Whether this scope has the headroom."""
        return self.cost_left >= 0 and self.active_ms_left >= 0


@dataclass(frozen=True, slots=True)
class InboxRow:
    """One pending request for approval as the queue lists it; ``alike`` counts those of the same seal."""

    approval_id: str
    task_id: str
    work_order_id: str
    number: int
    title: str
    purpose: Purpose
    argv: tuple[str, ...]
    workspace: str
    project: str
    asked_by: Actor
    asked_at: Instant
    expires_at: Instant
    changed: bool
    seal: str
    alike: int


@dataclass(frozen=True, slots=True)
class DifferenceLine:
    """One thing that differs between what was approved or asked and what would run now."""

    field: str
    approved: str
    now: str


@dataclass(frozen=True, slots=True)
class GivenBy:
    """By which standing grant a request was approved: use ``ordinal`` of ``max_uses``."""

    grant_id: str
    given_by: str
    ordinal: int
    max_uses: int


@dataclass(frozen=True, slots=True)
class ApprovalCard:
    """Everything about one request for approval. ``plan`` is the sealed plan's JSON, secrets by reference.

    ``validation_plan`` is the step's own validation when one look may cover both (E-42b). ``differences``
    compares with the request before it (``previous_id``) if what would run has changed since. ``grant`` is the use of
    the standing grant that approved it, if one did. ``requested_by`` asked for the work order and gave the ``reason``;
    ``asked_by`` asked for this approval, for later steps often the engine.
    """

    approval_id: str
    task_id: str
    work_order_id: str
    number: int
    title: str
    reason: str
    purpose: Purpose
    state: ApprovalState
    project: str
    workspace: str
    plan: Mapping[str, Any]
    seal: str
    validation_plan: Mapping[str, Any] | None
    validation_seal: str | None
    covers_validation: bool
    requested_by: Actor
    asked_by: Actor
    asked_at: Instant
    expires_at: Instant
    decided_by: str | None
    decided_at: Instant | None
    decision_reason: str
    ended_at: Instant | None
    previous_id: str | None
    differences: tuple[DifferenceLine, ...]
    gates: tuple[Gate, ...]
    budget: tuple[BudgetLine, ...]
    alike: tuple[str, ...]
    guarantee: str
    grant: GivenBy | None = None


@dataclass(frozen=True, slots=True)
class QuietMeter:
    """How much deciding goes on: decisions in the last hour, and their median look time in ms."""

    decisions_last_hour: int
    median_look_ms: int | None


@dataclass(frozen=True, slots=True)
class WorkOrderRow:
    """One work order as lists show it. ``why`` says in words what it waits for, or what it is doing."""

    id: str
    number: int
    title: str
    project: str
    workspace: str
    state: WorkOrderState
    purpose: Purpose | None
    task_state: TaskState | None
    why: str
    requested_by: Actor
    created_at: Instant
    changed_at: Instant
    ended_at: Instant | None
    spent_cost: int
    held_cost: int
    cost_limit: int


@dataclass(frozen=True, slots=True)
class AttemptRow:
    """One attempt of a task.

    ``decided_by`` is the person who ended its UNKNOWN: its state and outcome are then their verdict, and not what
    was observed (E-72).
    """

    id: str
    task_id: str
    work_order_id: str
    number: int
    title: str
    ordinal: int
    purpose: Purpose
    state: AttemptState
    outcome: Outcome | None
    reason_code: str
    reason: str
    argv: tuple[str, ...]
    workspace: str
    authorized_at: Instant
    started_at: Instant | None
    ended_at: Instant | None
    settled_at: Instant | None
    stop_requested_at: Instant | None
    process_pid: int | None
    max_cost: int
    max_active_ms: int
    actual_cost: int | None
    actual_active_ms: int | None
    cost_source: str | None
    overrun: bool
    seal: str
    approval_id: str
    evidence_id: str | None
    decided_by: str | None = None


@dataclass(frozen=True, slots=True)
class TaskRow:
    """One task of a work order, why it is not running (``why``, "" if nothing keeps it), and its attempts.

    ``grant`` is the use of the standing grant that approved its newest request, if one did.
    """

    id: str
    work_order_id: str
    ordinal: int
    purpose: Purpose
    state: TaskState
    why: str
    argv: tuple[str, ...]
    due_at: Instant | None
    ready_at: Instant | None
    created_at: Instant
    changed_at: Instant
    approval_id: str | None
    approval_state: ApprovalState | None
    source_attempt_id: str | None
    attempts: tuple[AttemptRow, ...]
    grant: GivenBy | None = None


@dataclass(frozen=True, slots=True)
class ValidationRow:
    """The judgement of one attempt (E-60)."""

    id: str
    attempt_id: str
    outcome: Verdict
    judged_by: str
    criteria: str
    evidence_id: str | None
    validating_attempt_id: str | None
    actual_cost: int | None
    actual_active_ms: int | None
    correction_exhausted: bool
    reason: str
    actor: Actor
    recorded_at: Instant


@dataclass(frozen=True, slots=True)
class ProofRef:
    """One kept thing that a decision was based on: its name, digest and size in bytes."""

    name: str
    sha256: str
    size: int


@dataclass(frozen=True, slots=True)
class HandoffRow:
    """What one finished stage handed over (E-73).

    ``summary`` and ``questions`` are the command's own words. ``accepted_at`` is None while nobody has taken it
    up; ``to_task_id`` is None when a person took it up, by accepting the work.
    """

    id: str
    from_task_id: str
    from_ordinal: int
    from_purpose: Purpose
    from_attempt_id: str
    to_task_id: str | None
    to_ordinal: int | None
    to_purpose: Purpose | None
    evidence_id: str | None
    evidence_sha256: str | None
    summary: str
    questions: tuple[str, ...]
    written_at: Instant
    accepted_at: Instant | None
    accepted_by: Actor | None


@dataclass(frozen=True, slots=True)
class DecisionRow:
    """A person's decision about a work order or one of its attempts, and what it was based on."""

    kind: str
    attempt_id: str | None
    actor: Actor
    reason: str
    decided_at: Instant
    proof: tuple[ProofRef, ...] = ()


@dataclass(frozen=True, slots=True)
class JournalRow:
    """One row of the journal."""

    sequence: int
    at: Instant
    epoch: int
    actor: Actor
    subject_kind: str
    subject_id: str
    work_order_id: str | None
    kind: str
    detail: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class WorkOrderStory:
    """A work order from request to acceptance, stage by stage. ``can`` names the decisions possible now.

    Words in ``can``: accept, reject, cancel, allow_correction, replan, validate, validate_again, ask_again, hold,
    resume, pause. ``handoffs`` are those between its stages, oldest first.
    """

    row: WorkOrderRow
    reason: str
    criteria: str
    spec: Mapping[str, Any]
    state_reason: str
    corrections_made: int
    corrections_allowed: int
    tasks: tuple[TaskRow, ...]
    validations: tuple[ValidationRow, ...]
    decisions: tuple[DecisionRow, ...]
    holds: tuple[HoldRow, ...]
    budget: tuple[BudgetLine, ...]
    journal: tuple[JournalRow, ...]
    can: tuple[str, ...]
    handoffs: tuple[HandoffRow, ...] = ()


@dataclass(frozen=True, slots=True)
class BlobRef:
    """One kept file of an evidence; ``role`` is stdout, stderr, artifact, result or manifest."""

    role: str
    path: str
    sha256: str
    size: int


@dataclass(frozen=True, slots=True)
class EvidenceView:
    """What was observed of one attempt, and how it was judged.

    While the attempt runs ``evidence`` is None and ``stdout_file``/``stderr_file`` are the files being written;
    afterwards they are the kept blobs. ``evidence`` is the JSON of `engine.execution.evidence.Evidence`.
    ``handoffs`` are the one its stage took up, and those it handed over.
    """

    attempt: AttemptRow
    work_order_state: WorkOrderState
    plan: Mapping[str, Any]
    evidence: Mapping[str, Any] | None
    evidence_id: str | None
    evidence_sha256: str | None
    recorded_at: Instant | None
    blobs: tuple[BlobRef, ...]
    stdout_file: str | None
    stderr_file: str | None
    validation: ValidationRow | None
    criteria: str
    handoffs: tuple[HandoffRow, ...] = ()


@dataclass(frozen=True, slots=True)
class HoldRow:
    """One active hold."""

    id: str
    node_kind: NodeKind
    node_id: str
    node_name: str
    kind: HoldKind
    reason: str
    actor: Actor
    placed_at: Instant


@dataclass(frozen=True, slots=True)
class EngineStatus:
    """The facts of the foot line and the rail: always true at the snapshot it was read from.

    ``superseded``: another coordinator has taken over, and this one's commands are refused. ``recovery_error``:
    the last pass over what waits failed with this, and nothing new is dispatched until one succeeds.
    ``proven_backup_at``: when the newest backup was made that was verified and rehearsed without a flaw.
    ``backup_error``: why the latest scheduled backup failed, "" if it did not. ``undecided``: how often missed
    occurrences wait in the docket for a decision; ``dead_wakes``: wakes that are given up unless a person releases
    them.
    """

    epoch: int
    folder: str
    holds: tuple[HoldRow, ...]
    pending_approvals: int
    open_work_orders: int
    running: int
    unknown: int
    awaiting_decision: int
    waiting_control: int
    waiting_background: int
    latency_ms: float
    last_sequence: int
    superseded: bool
    clock_trusted: bool = True
    recovery_error: str = ""
    proven_backup_at: Instant | None = None
    backup_error: str = ""
    undecided: int = 0
    dead_wakes: int = 0

    @property
    def engine_hold(self) -> HoldRow | None:
        """The oldest hold on the whole engine, if any."""
        return next((hold for hold in self.holds if hold.node_kind is NodeKind.ENGINE), None)


@dataclass(frozen=True, slots=True)
class DryCheck:
    """What a work order would be sealed as if it were submitted now; nothing was saved.

    ``warnings`` are sentences about what is allowed but worth a look.
    """

    plan: Mapping[str, Any]
    seal: str
    validation_plan: Mapping[str, Any] | None
    warnings: tuple[str, ...]
