"""The engine as one object: the façade that console, command line and channel share.

Each command is one transaction function on the writer thread; each read one function on one snapshot. What
changed is told to subscribers after its commit. Nothing here holds state that the database does not.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TypeVar

from engine.actors import Actor
from engine.approving import Approvals
from engine.backup.aftermath import acknowledge_restore
from engine.backup.backups import Backups
from engine.backup.schedule import ScheduledBackups
from engine.budgeting import Budgets
from engine.clock import Clock, SystemClock
from engine.clock_trust import ClockTrust
from engine.clock_watch import WatchedClock
from engine.control import asking, decisions, holds
from engine.control import cancel as cancelling
from engine.control.agents import Agents
from engine.control.alarm import STOP_LIMIT, make_alarm_clock
from engine.control.clock_keeping import ClockKeeper
from engine.control.downtime import Presence
from engine.control.holds import Node
from engine.dispatch import budgets
from engine.dispatch.approvals import expire_approvals
from engine.dispatch.delivery import settle_abandoned_attempts
from engine.dispatch.expiry_notices import set_notice_time
from engine.dispatch.grants import expire_grants
from engine.dispatch.planning import Planner, lane_of, read_secret_key
from engine.dispatch.steps import steps_of_order
from engine.dispatch.work_orders import create_work_order
from engine.errors import PraxisError, StaleEpoch
from engine.execution import leftovers
from engine.execution.blobs import BlobStore
from engine.execution.local_worker import LocalWorker
from engine.followups import FollowUps
from engine.granting import Grants
from engine.instants import Instant
from engine.kept_evidence import KeptEvidence
from engine.policy import Authorize, Right, person_decides
from engine.retention import Retention
from engine.schedules import Schedules
from engine.scheduling.claims import recover_abandoned_claims
from engine.scheduling.coordinator import Coordinator, Duty
from engine.scheduling.gates import Gate, explain
from engine.scheduling.tasks import drain_due_wakeups
from engine.settings import DEFAULT_SETTINGS, EngineSettings
from engine.states import AttemptState, HoldKind, Verdict, WorkOrderState
from engine.storage import Boundary, ChangeSet, Storage, under_epoch
from engine.storage.checkpoints import CheckpointKey
from engine.storage.folder_place import default_data_folder
from engine.storage.journal import JournalReport, verify_journal
from engine.unknowns import Unknowns
from engine.validation import workflow
from engine.validation.requesting import MissingRequests
from engine.version import VERSION
from engine.views import diagnostics as diagnostics_view
from engine.views import docket as docket_view
from engine.views import figures as figures_view
from engine.views import finding as finding_view
from engine.views import journal as journal_view
from engine.views import receipt as receipt_view
from engine.views import status as status_view
from engine.views import timeline as timeline_view
from engine.views import work_orders as order_view
from engine.views.diagnostics import Diagnostics
from engine.views.docket import Docket
from engine.views.figures import Figures
from engine.views.finding import Found
from engine.views.journal import ALL as ALL_ROWS
from engine.views.journal import JournalFilter
from engine.views.receipt import ReceiptEntry
from engine.views.timeline import Grouping, TimelineView
from engine.views.unsettled import unsettled
from engine.views.values import (
    AttemptRow,
    DryCheck,
    EngineStatus,
    HoldRow,
    JournalRow,
    ValidationRow,
    WorkOrderRow,
    WorkOrderStory,
)
from engine.views.wake_figures import wake_figures
from engine.wakes import CatchUp
from engine.work_order import WorkOrderSpec

T = TypeVar("T")

ROWS_PER_CHECK = 20_000

IN_FLIGHT = (
    AttemptState.DISPATCH_AUTHORIZED,
    AttemptState.DELIVERED,
    AttemptState.ACKNOWLEDGED,
    AttemptState.RUNNING,
)

_NUDGING = frozenset(
    {
        "approval.approved",
        "approval.covered",
        "approval.changed",
        "task.created",
        "task.ready",
        "task.cancelled",
        "task.succeeded",
        "task.failed",
        "task.unknown",
        "hold.released",
        "scope.limits_changed",
        "attempt.settled",
        "lane.unlocked",
    }
)
"""Changes after which a claim, or a new request for approval, may be possible."""


class Engine:
    """One open data folder with its coordinator and its local worker. It belongs to one event loop."""

    def __init__(
        self,
        storage: Storage,
        clock: WatchedClock,
        settings: EngineSettings,
        authorize: Authorize,
    ) -> None:
        self._storage = storage
        self._authorize = authorize
        self.clock = clock
        self.settings = settings
        key = read_secret_key(storage.folder)
        self._planner = Planner(storage.folder, key, clock)
        self._checkpoint_key = CheckpointKey.of(key)
        self._blobs = BlobStore(storage.folder / "blobs")
        self._requests = MissingRequests(storage, self._planner, clock, settings.recovery_batch)
        self._clock_keeper = ClockKeeper(storage, clock, self._write, lambda: self.epoch)
        self.backups = Backups(storage, clock, authorize)
        self.agents = Agents(storage, authorize, self._write)
        self.budgets = Budgets(storage, self._write, authorize)
        self.grants = Grants(storage, clock, self._write, authorize)
        self._coordinator = Coordinator(
            storage,
            clock,
            (
                Duty(settle_abandoned_attempts, settings.recovery_batch, recovers=True),
                Duty(recover_abandoned_claims, settings.recovery_batch, recovers=True),
                Duty(drain_due_wakeups, settings.wakeup_batch),
                Duty(expire_approvals, settings.recovery_batch),
                Duty(expire_grants, settings.recovery_batch),
                Duty(workflow.finish_cancelled_orders, settings.recovery_batch),
            ),
            self._look,
            self._follow_up,
            lambda: self._worker.nudge(),
        )
        self._worker = LocalWorker(
            storage,
            clock,
            settings,
            self._planner,
            self._blobs,
            workflow.conclude_execution,
            self._may_dispatch,
        )
        self.approvals = Approvals(storage, clock, self._planner, self._write, authorize)
        self.evidence = KeptEvidence(storage, clock, self._blobs, self._worker.run_folder)
        self.unknowns = Unknowns(storage, clock, self._blobs, self._worker.run_folder, self._write, authorize)
        self.clock_trust = ClockTrust(storage, clock, self._clock_keeper, authorize, self._nudge)
        self._presence = Presence(clock, self._write)
        self.wakes = make_alarm_clock(storage, clock, lambda: self.epoch, self._taken_over)
        self.scheduled_backups = ScheduledBackups(self.backups, storage, clock, self.wakes, authorize)
        self.followups = FollowUps(storage, self.wakes, clock, authorize)
        self.schedules = Schedules(storage, self.wakes, self.check, self._submit, authorize)
        self.retention = Retention(
            storage,
            clock,
            authorize,
            self._blobs,
            self.backups,
            self.wakes,
            self._checkpoint_key,
            lambda: self.epoch,
        )
        self._automatic = self._taken_back = False
        self.begun = False
        """Whether it took an epoch; if not, it only reads what is stored."""
        self._closing: asyncio.Task[None] | None = None
        self._unsubscribe = storage.subscribe(self._on_changes)

    @classmethod
    async def open(
        cls,
        folder: Path,
        *,
        clock: Clock | None = None,
        boundary: Boundary | None = None,
        automatic: bool = True,
        reading: bool = False,
        settings: EngineSettings = DEFAULT_SETTINGS,
        authorize: Authorize = person_decides,
        program: str = "praxis",
    ) -> Engine:
        """Own ``folder``, take a new epoch, judge what an earlier one left, and begin to work.

        With ``automatic=False`` nothing is claimed or swept by itself: the caller runs `reconcile_once` and
        `work_once`. With ``reading`` no epoch is taken and nothing is written if nothing was left to judge: then
        `begun` is false, and only reads are for this engine. ``boundary`` is for tests (E-13). Raises a
        `StorageError` that says what is wrong.
        """
        watched = WatchedClock(clock or SystemClock(), settings.clock_tolerance_ms)
        storage = await Storage.open(
            folder,
            clock=watched,
            time_trusted=lambda: watched.trusted,
            boundary=boundary,
            program=program,
        )
        try:
            engine = cls(storage, watched, settings, authorize)
            if not reading or await storage.read(unsettled, watched.now()):
                await engine._begin(automatic)
        except BaseException:
            await storage.close()
            raise
        return engine

    async def _begin(self, automatic: bool) -> None:
        await self._clock_keeper.begin()
        await self._storage.write(budgets.root_scope, self.settings.root_limits, control=True)
        await self._storage.write(set_notice_time, self.settings.expiry_notice_ms, control=True)
        epoch = await self._coordinator.take_over()
        self.begun = True
        await asyncio.to_thread(self._blobs.clear_incoming)
        await leftovers.lock_abandoned_lanes(self._storage, epoch, self.clock)
        await self._clock_keeper.look()
        await self._worker.register(epoch)
        self._automatic = automatic
        await self.scheduled_backups.begin()
        if automatic:
            await self._presence.tick()
            self._coordinator.start()
            self._worker.start()
            await self.wakes.start()

    async def finish(self) -> None:
        """Start nothing more and wait until what runs has ended; if cancelled, work goes on as before."""
        await self._worker.finish()

    async def close(self) -> None:
        """Stop claiming, stop what runs (it becomes UNKNOWN), and close the folder.

        A second call waits for the first; a cancelled caller does not stop it.
        """
        if self._closing is None:
            self._closing = asyncio.create_task(self._close(), name="closing the engine")
        await asyncio.shield(self._closing)

    async def _close(self) -> None:
        self._unsubscribe()
        try:
            await self.wakes.stop(STOP_LIMIT)
            await self._coordinator.stop()
            await self._worker.stop()
            if self.begun and not self._coordinator.superseded:
                with suppress(PraxisError):
                    await self._clock_keeper.look(store=True)
                    await self._presence.end()
        finally:
            await self._storage.close()

    @staticmethod
    def default_folder() -> Path:
        """The data folder for who names none: this user's folder for local application data."""
        return default_data_folder()

    @property
    def folder(self) -> Path:
        """The data folder."""
        return self._storage.folder

    @property
    def epoch(self) -> int:
        """The epoch of this coordinator; 0 if none was taken."""
        return self._coordinator.epoch

    @property
    def place_warning(self) -> str:
        """What is risky about where the data folder lies, or ""."""
        return self._storage.place.warning or ""

    def subscribe(self, listener: Callable[[ChangeSet], None]) -> Callable[[], None]:
        """Have ``listener`` called in the loop after each commit; returns how to end it."""
        return self._storage.subscribe(listener)

    async def reconcile_once(self, *, fire: bool = True) -> dict[str, tuple[str, ...]]:
        """One bounded pass of everything that waits; the identities it processed, by duty (E-26).

        What the alarm clock has to fire is part of it, unless ``fire`` is False: then the engine looks after what
        an earlier one left, and does not count as having run.
        """
        if fire:
            await self._presence.tick()
        done = await self._coordinator.reconcile_once()
        if fire:
            if not (self._automatic or self._taken_back):
                await self.wakes.recover()
                self._taken_back = True
            await self.wakes.run_due(self.settings.wakeup_batch)
        return done

    async def work_once(self) -> int:
        """Claim what can be claimed now and run it to its end; how many attempts were made or refused."""
        return await self._worker.work_once()

    # Commands

    async def submit(self, spec: WorkOrderSpec, actor: Actor, *, key: str | None = None) -> WorkOrderRow:
        """Plan, seal and save a work order, with the request for its approval in the inbox."""
        create = partial(create_work_order, limits=self.settings.request_limits)
        row = await self.work_order_row(await self._submit(create, spec, actor, key))
        assert row is not None
        return row

    async def check(self, spec: WorkOrderSpec) -> DryCheck:
        """Plan a work order as `submit` would, and save nothing."""
        step, *later = steps_of_order(spec)
        sealed = (await asyncio.to_thread(self._planner.plan, step)).sealed
        warnings = []
        for following in later:
            try:
                await asyncio.to_thread(self._planner.plan, following)
            except PraxisError as error:
                warnings.append(f"The validation cannot be planned yet: {error}")
        return DryCheck(
            plan=json.loads(sealed.plan),
            seal=sealed.seal,
            validation_plan=json.loads(sealed.validation_plan) if sealed.validation_plan else None,
            warnings=tuple(warnings),
        )

    async def take_back(self, work_order_id: str, actor: Actor, reason: str) -> WorkOrderRow:
        """Cancel a work order that the actor itself asked for, as long as nothing of it was authorised."""
        self._authorize(actor, "submit")
        await self._write(asking.take_back, work_order_id, actor, reason)
        row = await self.work_order_row(work_order_id)
        assert row is not None
        return row

    async def note_refusal(self, method: str, actor: Actor) -> None:
        """Journal that an actor tried what it has no right to; at most so many in a minute (E-90)."""
        with suppress(PraxisError):
            await self._storage.write(under_epoch, self.epoch, asking.note_refusal, actor, method)

    async def pause(self, node: Node, actor: Actor, *, reason: str = "", key: str | None = None) -> HoldRow:
        """Start nothing new below a node until resume; what runs goes on."""
        return await self._place_hold(node, HoldKind.PAUSE, actor, reason, key)

    async def hold(self, node: Node, actor: Actor, *, reason: str, key: str | None = None) -> HoldRow:
        """Start nothing new below a node until its reason is answered; what runs goes on."""
        return await self._place_hold(node, HoldKind.HOLD, actor, reason, key)

    async def resume(
        self, node: Node, actor: Actor, *, reason: str = "", key: str | None = None
    ) -> tuple[HoldRow, ...]:
        """Lift the pauses and holds on a node; returns what was lifted."""
        self._authorize(actor, "resume")
        lifted = await self._write(holds.resume, node, actor, reason, key)
        return await self._storage.read(order_view.holds_by_id, lifted)

    async def cancel(self, node: Node, actor: Actor, *, reason: str, key: str | None = None) -> None:
        """Cancel everything below a node and stop what runs (it becomes UNKNOWN)."""
        self._authorize(actor, "cancel")
        await self._write(cancelling.cancel, node, actor, reason, key)

    async def stop_attempt(self, attempt_id: str, actor: Actor, reason: str) -> None:
        """Stop a running attempt; it becomes UNKNOWN, since a kill proves nothing."""
        self._authorize(actor, "cancel")
        await self._write(cancelling.request_stop, attempt_id, actor, reason)

    async def accept(self, work_order_id: str, actor: Actor, reason: str = "") -> WorkOrderRow:
        """Accept validated work."""
        return await self._decide("accept", decisions.accept, work_order_id, actor, reason)

    async def reject_work(self, work_order_id: str, actor: Actor, reason: str) -> WorkOrderRow:
        """Reject the work of an order."""
        return await self._decide("reject", decisions.reject_work, work_order_id, actor, reason)

    async def allow_correction(self, work_order_id: str, actor: Actor, reason: str) -> WorkOrderRow:
        """Allow one more correction after the rule was exhausted."""
        return await self._decide("decide", decisions.allow_correction, work_order_id, actor, reason)

    async def replan(
        self, work_order_id: str, spec: WorkOrderSpec, actor: Actor, *, reason: str, key: str | None = None
    ) -> WorkOrderRow:
        """End a work order (rejected if it awaits a person, else cancelled) and submit another in its place."""
        self._authorize(actor, "decide")
        planned = await asyncio.to_thread(self._planner.plan, steps_of_order(spec)[0])
        lane = await asyncio.to_thread(lane_of, spec.workspace)
        identity, _ = await self._write(
            decisions.replan, work_order_id, spec, lane, planned.sealed, actor, reason, key
        )
        row = await self.work_order_row(identity)
        assert row is not None
        return row

    async def validate_again(self, work_order_id: str, actor: Actor, reason: str) -> WorkOrderRow:
        """Make a new validation of a result that was executed but not judged."""
        return await self._decide("decide", decisions.validate_again, work_order_id, actor, reason)

    async def validate_by_person(
        self, attempt_id: str, verdict: Verdict, actor: Actor, *, reason: str, actual_cost: int | None = None
    ) -> ValidationRow:
        """Judge an executed attempt by its criteria, as a person."""
        self._authorize(actor, "decide")
        await self._write(workflow.validate_by_person, attempt_id, verdict, actor, reason, actual_cost)
        row = await self._storage.read(order_view.validation_for, attempt_id)
        assert row is not None
        return row

    async def decide_missed(self, docket_id: str, choice: CatchUp, actor: Actor, *, reason: str) -> None:
        """Decide about missed occurrences in the docket: fire all of them, the latest, or none (E-85)."""
        self._authorize(actor, "decide")
        await self.wakes.decide(docket_id, choice, actor, reason)

    async def acknowledge_restore(self, actor: Actor, reason: str) -> None:
        """Let work begin again after a restore: a person has looked at what it left (E-82)."""
        self._authorize(actor, "resume")
        await self._write(acknowledge_restore, actor, reason)

    # Reads

    async def status(self) -> EngineStatus:
        """The facts of the foot line and the rail."""
        counts = await self._storage.read(status_view.counts)
        health = self._storage.health()
        return EngineStatus(
            epoch=self.epoch,
            folder=str(self.folder),
            holds=counts.holds,
            pending_approvals=counts.pending_approvals,
            open_work_orders=counts.open_work_orders,
            running=counts.running,
            unknown=counts.unknown,
            awaiting_decision=counts.awaiting_decision,
            waiting_control=health.waiting_control,
            waiting_background=health.waiting_background,
            latency_ms=health.latency_ms.p50,
            last_sequence=counts.last_sequence,
            superseded=self._coordinator.superseded,
            clock_trusted=self.clock.trusted,
            recovery_error=self._coordinator.error,
            proven_backup_at=counts.proven_backup_at,
            backup_error=counts.backup_error,
            undecided=counts.undecided,
            dead_wakes=counts.dead_wakes,
        )

    async def docket(self, *, limit: int = 200) -> Docket:
        """What came due, lapsed or is late since the engine last ran, and what waits for a decision (E-85)."""
        return await self._storage.read(docket_view.docket, limit, self.clock.now())

    async def figures(self) -> Figures:
        """What the engine can say of itself in numbers, for monitoring."""
        now, health = self.clock.now(), self._storage.health()
        return Figures(
            at=now,
            version=VERSION,
            epoch=self.epoch,
            counted=await self._storage.read(figures_view.counted, now),
            waiting_control=health.waiting_control,
            waiting_background=health.waiting_background,
            latency_p50_ms=health.latency_ms.p50,
            latency_p95_ms=health.latency_ms.p95,
            commits=health.commits,
            log_bytes=health.log_bytes,
            clock_trusted=self.clock.trusted,
            superseded=self._coordinator.superseded,
            recovery_failing=bool(self._coordinator.error),
            wakes=wake_figures(await self.wakes.metrics()),
        )

    async def diagnostics(self) -> Diagnostics:
        """What helps to find a fault, without anything that people wrote."""
        figures = await self.figures()
        stored = await self._storage.read(diagnostics_view.stored_facts)
        return Diagnostics(diagnostics_view.engine_facts(figures, self.settings), stored)

    async def timeline(
        self,
        start: Instant,
        end: Instant,
        *,
        grouping: Grouping = Grouping.WORK_ORDER,
        slices: int = 600,
        lanes: int = 200,
        text: str = "",
    ) -> TimelineView:
        """Everything in a window of time, bar by bar, or counted in ``slices`` where it is too much."""
        return await self._storage.read(
            timeline_view.timeline, start, end, grouping, slices, lanes, text, self.clock.now()
        )

    async def work_orders(
        self,
        *,
        after: str | None = None,
        limit: int = 200,
        text: str = "",
        states: Sequence[WorkOrderState] = (),
        requested_by: Actor | None = None,
    ) -> tuple[WorkOrderRow, ...]:
        """Work orders, newest change first; those of one actor if ``requested_by`` names it."""
        return await self._storage.read(
            order_view.work_orders, after, limit, text, tuple(states), self.clock.now(), requested_by
        )

    async def work_order_row(self, work_order_id: str) -> WorkOrderRow | None:
        """One work order as lists show it, or None."""
        return await self._storage.read(order_view.work_order, work_order_id, self.clock.now())

    async def work_order(self, name: str) -> WorkOrderStory:
        """The story of the work order ``WO-118``, ``118`` or an id; nothing can be decided once superseded."""
        story = await self._storage.read(order_view.story, name, self.clock.now())
        return replace(story, can=()) if self._coordinator.superseded else story

    async def asked_by(self, kind: order_view.Asked, name: str) -> Actor | None:
        """Who asked for the work order to which this work order, task, attempt or approval belongs; or None."""
        return await self._storage.read(order_view.asked_by, kind, name)

    async def attempts(
        self, *, after: str | None = None, limit: int = 200, states: Sequence[AttemptState] = ()
    ) -> tuple[AttemptRow, ...]:
        """Attempts, newest first."""
        return await self._storage.read(order_view.attempts, after, limit, tuple(states))

    async def running(self) -> tuple[AttemptRow, ...]:
        """Attempts in flight."""
        return await self.attempts(limit=1000, states=IN_FLIGHT)

    async def receipt(self, name: str) -> tuple[ReceiptEntry, ...]:
        """Everything that a receipt of the work order ``WO-118``, ``118`` or an id tells (E-93)."""
        return await self._storage.read(receipt_view.receipt, name)

    async def explain(self, task_id: str) -> tuple[Gate, ...]:
        """All gates of a task, each with open or closed and why."""
        return await self._storage.read(explain, task_id, self.clock.now())

    async def journal(
        self,
        *,
        after: int = 0,
        before: int | None = None,
        limit: int = 500,
        work_order_id: str | None = None,
        only: JournalFilter = ALL_ROWS,
    ) -> tuple[JournalRow, ...]:
        """Rows of the journal in ascending order: the oldest above ``after``, or the newest below ``before``."""
        return await self._storage.read(journal_view.journal, after, before, limit, work_order_id, only)

    async def find(self, text: str, *, limit: int = 50) -> tuple[Found, ...]:
        """At most ``limit`` things that ``text`` may mean: by name, identity, seal, digest, or words."""
        return await self._storage.read(finding_view.find, text, limit, self.clock.now())

    async def verify_journal(self, progress: Callable[[int, int], None] | None = None) -> JournalReport:
        """Check the whole chain of the journal; ``progress`` gets rows checked and the newest sequence."""
        report = JournalReport()
        newest = await self._storage.read(journal_view.last_sequence)
        while not report.finished:
            report = await self._storage.read(
                verify_journal, report, at_most=ROWS_PER_CHECK, key=self._checkpoint_key
            )
            if progress is not None:
                progress(report.rows, newest)
        return report

    # What the façade does for itself

    async def _write(self, function: Callable[..., T], *arguments: object) -> T:
        """Run a command, unless another coordinator has taken over the folder (E-20)."""
        try:
            return await self._storage.write(under_epoch, self.epoch, function, *arguments, control=True)
        except StaleEpoch:
            self._taken_over()
            raise

    def _taken_over(self) -> None:
        self._coordinator.superseded = True

    def _may_dispatch(self) -> bool:
        """Whether anything may be claimed: not while what was left is unjudged, or judging it fails (B-040)."""
        coordinator = self._coordinator
        return not coordinator.error and (coordinator.recovered or not self._automatic)

    async def _submit(
        self, create: Callable[..., T], spec: WorkOrderSpec, actor: Actor, key: str | None
    ) -> T:
        """Plan and seal, then have ``create`` save it, in the transaction that decides whether it is still wanted."""
        self._authorize(actor, "submit")
        planned = await asyncio.to_thread(self._planner.plan, steps_of_order(spec)[0])
        lane = await asyncio.to_thread(lane_of, spec.workspace)
        return await self._write(create, spec, lane, planned.sealed, actor, key)

    async def _place_hold(
        self, node: Node, kind: HoldKind, actor: Actor, reason: str, key: str | None
    ) -> HoldRow:
        self._authorize(actor, "hold")
        row = await self._write(holds.place_hold, node, kind, reason, actor, key)
        return await self._storage.read(order_view.hold_row, row)

    async def _decide(
        self,
        right: Right,
        function: Callable[..., object],
        work_order_id: str,
        actor: Actor,
        reason: str,
    ) -> WorkOrderRow:
        self._authorize(actor, right)
        await self._write(function, work_order_id, actor, reason)
        row = await self.work_order_row(work_order_id)
        assert row is not None
        return row

    def _nudge(self) -> None:
        self._coordinator.nudge()
        self._worker.nudge()

    async def _look(self) -> None:
        await self._clock_keeper.look()
        if self._automatic:
            await self._presence.tick()

    async def _follow_up(self) -> None:
        await leftovers.unlock_free_lanes(self._storage, self.epoch, self.clock)
        await self._requests.ask()
        await self.followups.tell_watchers()

    def _on_changes(self, changes: ChangeSet) -> None:
        for change in changes.changes:
            # Here and not after the command, whose caller may have been cancelled right after its commit.
            if change.kind == "attempt.stop_requested":
                self._worker.request_stop(change.subject_id)
        if any(change.kind in _NUDGING for change in changes.changes):
            self._nudge()
