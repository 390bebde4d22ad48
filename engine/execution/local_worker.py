"""The local worker: claims, looks again at what would run, is admitted, runs it, and reports what it saw.

One attempt after another passes through the same steps, each its own commit: claim, admission (after the plan was
made again and compared with the approved seal), delivery, acknowledgement, start, evidence. The command itself
runs in a thread of its own. Whatever goes wrong after the acknowledgement ends as UNKNOWN, never in silence. A
database that cannot be written for a while (a full disk, a lock) makes a step wait; it loses nothing.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import shutil
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from engine.actors import ENGINE
from engine.clock import LONGEST_SLEEP_MS, Clock
from engine.dispatch.admission import Admission, admit, refuse_drifted, refuse_unplannable
from engine.dispatch.approvals import Sealed, approval_row
from engine.dispatch.delivery import (
    Delivery,
    acknowledge,
    attempt_row,
    deliver,
    mark_unknown,
    own_delivery,
    record_started,
)
from engine.dispatch.differences import differences
from engine.dispatch.plan import plan_from_json
from engine.dispatch.planning import PlannedStep, Planner, Step, reason_of
from engine.dispatch.steps import step_of_task
from engine.errors import (
    Fenced,
    PraxisError,
    Refused,
    StaleEpoch,
    StorageClosed,
    StorageError,
    WrongState,
)
from engine.execution.blobs import BlobStore
from engine.execution.observe import EvidenceLost, Execution, observe
from engine.execution.process import ProcessIdentity, Stop, StopReason
from engine.execution.record import lock_lane
from engine.execution.since import kept_manifest
from engine.instants import Instant
from engine.scheduling.claims import Claim, claim_tasks, register_worker, release_claim, renew_claim
from engine.scheduling.tasks import task_row
from engine.settings import EngineSettings
from engine.states import AttemptState
from engine.storage import Rx, Storage, Tx
from engine.workspace.manifest import Manifest

LOCAL_WORKER_ID = "local"

Conclude = Callable[..., None]
"""The transaction function that records an `Observation` and takes the workflow's next step."""

T = TypeVar("T")

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _Approved:
    """What was approved for a claimed task."""

    approval_id: str
    plan: str
    seal: str


class LocalWorker:
    """Runs admitted attempts on this machine, at most ``settings.slots`` at once, one per workspace.

    Nothing is claimed while ``may_claim`` says no.
    """

    def __init__(
        self,
        storage: Storage,
        clock: Clock,
        settings: EngineSettings,
        planner: Planner,
        blobs: BlobStore,
        conclude: Conclude,
        may_claim: Callable[[], bool] = lambda: True,
    ) -> None:
        self._storage = storage
        self._clock = clock
        self._settings = settings
        self._planner = planner
        self._blobs = blobs
        self._conclude = conclude
        self._may_claim = may_claim
        self._threads = ThreadPoolExecutor(settings.slots, thread_name_prefix="attempt")
        self._epoch = 0
        self._nudged = asyncio.Event()
        self._repeating: asyncio.Task[None] | None = None
        self._running: set[asyncio.Task[Any]] = set()
        self._stops: dict[str, Stop] = {}
        self._closing = asyncio.Event()

    async def register(self, epoch: int) -> None:
        """Register under a coordinator's epoch; claims are made under it from now on."""
        self._epoch = epoch
        await self._storage.write(
            register_worker, LOCAL_WORKER_ID, "local", self._settings.slots, epoch, control=True
        )

    def start(self) -> None:
        """Begin to claim and run in the background."""
        self._repeating = asyncio.create_task(self._repeat(), name="local worker")

    def nudge(self) -> None:
        """Say that a claim may be possible; a hint that may be lost without harm."""
        self._nudged.set()

    async def stop(self) -> None:
        """Claim nothing more, stop what runs (it becomes UNKNOWN) and wait until that is recorded."""
        self._closing.set()
        await self._stop_claiming()
        for stop in self._stops.values():
            stop.request(StopReason.SHUTDOWN)
        while self._running:
            await asyncio.wait(self._running)
        self._threads.shutdown(wait=True)

    async def finish(self) -> None:
        """Claim nothing more and wait until what was claimed has ended by itself.

        If this is cancelled, claiming goes on as before.
        """
        was_claiming = self._repeating is not None
        try:
            await self._stop_claiming()
            while self._running:
                await asyncio.wait(self._running)
        except asyncio.CancelledError:
            if was_claiming:
                self.start()
            raise

    async def _stop_claiming(self) -> None:
        repeating, self._repeating = self._repeating, None
        if repeating is not None:
            repeating.cancel()
            # Not `await repeating`: a cancellation of who waits here would be taken for the end of claiming.
            await asyncio.wait((repeating,))
            if not repeating.cancelled():
                repeating.result()

    def request_stop(self, attempt_id: str) -> None:
        """Ask for the end of a running attempt; nothing happens if it has ended."""
        stop = self._stops.get(attempt_id)
        if stop is not None:
            stop.request(StopReason.PERSON)

    def run_folder(self, attempt_id: str) -> Path:
        """Where the output of an attempt is written while it runs."""
        return self._storage.folder / "runs" / attempt_id

    async def work_once(self) -> int:
        """Claim what can be claimed now and take it to its end; returns the number of claims.

        If this is cancelled, what was claimed goes on to its end all the same.
        """
        taken = await self._claim_and_take()
        if taken:
            await asyncio.wait(taken)
        return len(taken)

    async def _repeat(self) -> None:
        while True:
            self._nudged.clear()
            try:
                await self._claim_and_take()
            except (StaleEpoch, StorageClosed):
                return
            except Exception:
                # Whatever it is: without its worker the engine would stand still and not say so.
                _log.exception("Claiming did not work; it is tried again.")
            await self._wait(self._nudged)

    async def _wait(self, event: asyncio.Event) -> None:
        nudge = asyncio.create_task(event.wait())
        sleep = asyncio.create_task(self._clock.sleep(LONGEST_SLEEP_MS))
        try:
            await asyncio.wait((nudge, sleep), return_when=asyncio.FIRST_COMPLETED)
        finally:
            nudge.cancel()
            sleep.cancel()
            await asyncio.gather(nudge, sleep, return_exceptions=True)

    def _keep_running(self, work: Coroutine[Any, Any, T], name: str) -> asyncio.Task[T]:
        """Run it as a task that only `stop` and `finish` wait for, whoever else is cancelled."""
        task = asyncio.create_task(work, name=name)
        self._running.add(task)
        task.add_done_callback(self._running.discard)
        return task

    async def _claim_and_take(self) -> tuple[asyncio.Task[None], ...]:
        """Claim, and take each claim on its way; a cancelled caller leaves no claim behind without its taker."""
        if not self._may_claim():
            return ()
        return await asyncio.shield(self._keep_running(self._claim(), "claim"))

    async def _claim(self) -> tuple[asyncio.Task[None], ...]:
        claims = await self._storage.write(
            claim_tasks, LOCAL_WORKER_ID, self._epoch, self._settings.slots, self._settings.lease_ms
        )
        return tuple(self._keep_running(self._take(claim), f"attempt of {claim.task_id}") for claim in claims)

    async def _take(self, claim: Claim) -> None:
        """Take one claimed task through admission and execution; every refusal is recorded where it belongs."""
        try:
            admitted = await self._admit(claim)
            if admitted is not None:
                await self._execute(*admitted)
        except (Fenced, Refused, StorageClosed, WrongState) as error:
            _log.info("Claim %s was lost: %s", claim.id, error)
        except Exception:
            _log.exception("Claim %s could not be taken further; it ends with its lease.", claim.id)
        finally:
            self._nudged.set()

    async def _record(self, function: Callable[..., T], *arguments: object) -> T:
        """Commit a step, again and again while the database cannot be written (full, locked, read-only).

        Nothing of a failed commit is kept, so trying again does nothing twice, and what was observed is not
        lost. When the engine closes it is tried no more; the next one then judges what stands there (E-51).
        """
        told = False
        while True:
            try:
                return await self._storage.write(function, *arguments, control=True)
            except StorageClosed:
                raise
            except StorageError as error:
                if self._closing.is_set():
                    raise
                if not told:
                    _log.error("A step cannot be recorded yet; it is tried again until it can be. %s", error)
                told = True
            await self._wait(self._closing)

    async def _admit(self, claim: Claim) -> tuple[Admission, PlannedStep] | None:
        approved = await self._storage.read(_approved, claim.task_id)
        if approved is None:
            await self._release(claim, "its approval has ended")
            return None
        renewal = asyncio.create_task(self._renew(claim))
        try:
            step, _ = await self._storage.read(step_of_task, claim.task_id)
            planned = await asyncio.get_running_loop().run_in_executor(None, self._planner.plan, step)
        except PraxisError as error:
            if isinstance(error, Fenced | StorageClosed):
                raise
            await self._record(refuse_unplannable, claim.id, LOCAL_WORKER_ID, self._epoch, reason_of(error))
            return None
        finally:
            renewal.cancel()
            await asyncio.gather(renewal, return_exceptions=True)
        if self._closing.is_set():
            await self._release(claim, "the console closes")
            return None
        if planned.sealed.seal != approved.seal:
            await self._record(
                refuse_drifted,
                claim.id,
                LOCAL_WORKER_ID,
                self._epoch,
                await self._seal_afresh(step, planned),
                differences(plan_from_json(json.loads(approved.plan)), planned.prepared.plan),
                step.spec.approval_life_ms,
            )
            return None
        try:
            admission = await self._record(admit, claim.id, LOCAL_WORKER_ID, self._epoch, planned.sealed.seal)
        except Refused as error:
            await self._release(claim, error.what)
            return None
        return admission, planned

    async def _seal_afresh(self, step: Step, planned: PlannedStep) -> Sealed:
        """What is asked for after drift: a step of its own, over the workspace as it is now."""
        if not step.covered:
            return planned.sealed
        alone = replace(step, covered=False)
        return (await asyncio.get_running_loop().run_in_executor(None, self._planner.plan, alone)).sealed

    async def _renew(self, claim: Claim) -> None:
        """Keep the lease while the plan is made again; a big workspace may take longer than one lease."""
        while True:
            passed = 0
            while passed < self._settings.lease_ms // 3:
                await self._clock.sleep(LONGEST_SLEEP_MS)
                passed += LONGEST_SLEEP_MS
            await self._storage.write(
                renew_claim, claim.id, LOCAL_WORKER_ID, self._epoch, self._settings.lease_ms
            )

    async def _release(self, claim: Claim, reason: str) -> None:
        with contextlib.suppress(WrongState):
            await self._record(release_claim, claim.id, LOCAL_WORKER_ID, self._epoch, reason)

    async def _execute(self, admission: Admission, planned: PlannedStep) -> None:
        stop = self._stops[admission.attempt_id] = Stop()
        delivery: Delivery | None = None
        try:
            delivery = await self._record(deliver, admission.intent_id, LOCAL_WORKER_ID, self._epoch)
            await self._record(acknowledge, delivery.id, LOCAL_WORKER_ID, self._epoch)
            if await self._storage.read(_stop_was_requested, admission.attempt_id):
                stop.request(StopReason.PERSON)
            if self._closing.is_set():
                stop.request(StopReason.SHUTDOWN)
            loop = asyncio.get_running_loop()
            left = await self._storage.read(_manifest_left_before, admission.task_id, admission.attempt_id)
            execution = Execution(
                prepared=planned.prepared,
                run_folder=self.run_folder(admission.attempt_id),
                grace_ms=self._settings.grace_ms,
                left=await loop.run_in_executor(None, _kept_manifest, self._blobs, left),
            )
            observation = await loop.run_in_executor(
                self._threads,
                observe,
                execution,
                stop,
                self._clock,
                self._blobs,
                self._started_callback(loop, delivery.id, stop),
            )
            await self._record(self._conclude, delivery.id, LOCAL_WORKER_ID, self._epoch, observation)
            # The outputs are kept as blobs now; a reader that still has them open may delay their going.
            await loop.run_in_executor(
                self._threads, partial(shutil.rmtree, execution.run_folder, ignore_errors=True)
            )
        except (Fenced, StorageClosed, WrongState):
            raise
        except EvidenceLost as error:
            assert delivery is not None
            _log.error("The evidence of attempt %s could not be kept. %s", admission.attempt_id, error)
            await self._record(
                _lose,
                delivery.id,
                LOCAL_WORKER_ID,
                self._epoch,
                f"{error.what} {error.means}",
                "evidence_lost",
                error.survivors,
            )
        except Exception as error:
            _log.exception("Attempt %s was lost by its worker.", admission.attempt_id)
            if delivery is not None:
                await self._record(_lose, delivery.id, LOCAL_WORKER_ID, self._epoch, _lost_sentence(error))
        finally:
            self._stops.pop(admission.attempt_id, None)

    def _started_callback(
        self, loop: asyncio.AbstractEventLoop, delivery_id: str, stop: Stop
    ) -> Callable[[ProcessIdentity], None]:
        """Commit RUNNING from the attempt's thread, before the program is let go.

        While the database cannot be written the program stays parked; a stop ends the wait, and then the
        program, which is never let go after a stop, provably did not run.
        """

        def started(identity: ProcessIdentity) -> None:
            while True:
                try:
                    asyncio.run_coroutine_threadsafe(
                        self._storage.write(
                            record_started,
                            delivery_id,
                            LOCAL_WORKER_ID,
                            self._epoch,
                            identity.pid,
                            str(identity.started),
                            identity.boot,
                            control=True,
                        ),
                        loop,
                    ).result()
                except StorageClosed:
                    raise
                except StorageError:
                    if stop.wait(LONGEST_SLEEP_MS):
                        return
                else:
                    return

        return started


def _approved(rx: Rx, task_id: str) -> _Approved | None:
    approval_id = task_row(rx, task_id)["approval_id"]
    if approval_id is None:
        return None
    row = approval_row(rx, approval_id)
    return _Approved(row["id"], row["plan"], row["seal"])


def _manifest_left_before(rx: Rx, task_id: str, attempt_id: str) -> str | None:
    """The digest of the manifest of how the run before this one left the workspace, None if there is none.

    That is an earlier attempt of the same task, else the stage that this one follows from.
    """
    row = rx.one(
        """SELECT coalesce(
             (SELECT earlier.id FROM attempt AS earlier JOIN delivery ON delivery.attempt_id = earlier.id
              WHERE earlier.task_id = task.id AND earlier.id <> ? ORDER BY earlier.ordinal DESC LIMIT 1),
             (SELECT coalesce(validating_attempt_id, attempt_id) FROM validation WHERE id = task.source_validation_id),
             task.source_attempt_id) AS before
           FROM task WHERE task.id = ?""",
        (attempt_id, task_id),
    )
    blob = rx.one(
        """SELECT evidence_blob.sha256 FROM evidence
           JOIN evidence_blob ON evidence_blob.evidence_id = evidence.id
           WHERE evidence.attempt_id = ? AND evidence_blob.role = 'manifest' AND evidence_blob.path = 'after'""",
        (row["before"] if row is not None else None,),
    )
    return blob["sha256"] if blob is not None else None


def _kept_manifest(blobs: BlobStore, sha256: str | None) -> Manifest | None:
    """The manifest with this digest; without it nothing is said of what others changed."""
    if sha256 is None:
        return None
    try:
        return kept_manifest(blobs, sha256)
    except PraxisError:
        _log.warning("The manifest that the stage before left cannot be read.", exc_info=True)
        return None


def _stop_was_requested(rx: Rx, attempt_id: str) -> bool:
    return attempt_row(rx, attempt_id)["stop_requested_at"] is not None


def _lose(
    tx: Tx,
    delivery_id: str,
    worker_id: str,
    epoch: int,
    reason: str,
    reason_code: str = "worker_lost",
    survivors: str = "",
    *,
    now: Instant,
) -> None:
    """Say that the worker lost an attempt it had taken: UNKNOWN, exposure kept, the lane locked by survivors."""
    delivery = own_delivery(tx, delivery_id, worker_id, epoch)
    attempt = attempt_row(tx, delivery["attempt_id"])
    if survivors:
        lock_lane(tx, attempt, survivors, ENGINE, now)
    if attempt["state"] in (AttemptState.DELIVERED, AttemptState.ACKNOWLEDGED, AttemptState.RUNNING):
        mark_unknown(tx, attempt, reason_code, reason, ENGINE, now)


def _lost_sentence(error: Exception) -> str:
    said = str(error).strip() or type(error).__name__
    return f"The worker lost sight of the command; what it did is not known. ({said})"
