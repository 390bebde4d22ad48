"""One execution from the look before to the evidence after, in the attempt's own thread (E-55)."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from engine.canonical import canonical_json
from engine.clock import Clock
from engine.dispatch.plan import Prepared
from engine.errors import DiskFault, InvalidValue, PraxisError, StorageError
from engine.execution.artifacts import keep_artifacts
from engine.execution.blobs import Blob, BlobStore
from engine.execution.evidence import (
    RESULT_VARIABLE,
    Artifact,
    ArtifactProblem,
    Evidence,
    ResultRecord,
    ResultUnreadable,
    changes_between,
    host_facts,
    read_result,
)
from engine.execution.others import changed_by_others, mark_end
from engine.execution.process import (
    EndedBy,
    GuardedFile,
    Launch,
    NotStarted,
    ProcessIdentity,
    ProcessReport,
    Stop,
    outcome_of,
    run,
)
from engine.execution.record import KeptBlob, Observation
from engine.execution.since import BEFORE_FILE
from engine.execution.watching import StartRefused
from engine.version import VERSION
from engine.workspace.containment import Root, find_root
from engine.workspace.folders import Folder
from engine.workspace.manifest import Manifest, take_manifest
from engine.workspace.repository import WorkspaceState, find_git, workspace_state

RESULT_FILE = "result.json"


@dataclass(frozen=True, slots=True)
class Execution:
    """What one admitted attempt needs to be run.

    ``run_folder`` is made for it and gets the outputs while they are written, the command's own result record,
    and the manifest from before the start; ``grace_ms`` is the time between asking its processes to end and
    killing them. ``left`` is the workspace as the step before left it, None if this is the first.
    """

    prepared: Prepared
    run_folder: Path
    grace_ms: int
    left: Manifest | None = None


class EvidenceLost(StorageError):
    """A command has ended, and what was observed of it could not be kept; ``survivors`` names what still lives."""

    code = "evidence_lost"

    def __init__(self, report: ProcessReport, error: PraxisError) -> None:
        super().__init__(
            f"{outcome_of(report)[2]} Its evidence could not be kept: {error.what}",
            means="What it did is not known.",
            do=error.do,
        )
        self.survivors = _survivors(report)


def observe(
    execution: Execution,
    stop: Stop,
    clock: Clock,
    blobs: BlobStore,
    started: Callable[[ProcessIdentity], None],
) -> Observation:
    """Run the command and give everything that was seen of it; blocks until its whole process tree has ended.

    Outputs, artifacts and both manifests are in the blob store before this returns. What prevents a start is
    observed as such: no run folder, no workspace to look at. Raises `EvidenceLost` if it ended but nothing can
    be kept (a full disk, say), and lets an error of ``started`` through; the attempt is then UNKNOWN by the
    caller.
    """
    asked_at = clock.now()
    before: Manifest | None = None
    try:
        before = _look_before(execution, clock)
        report = run(_launch_of(execution), stop, clock, started)
    except StartRefused as refused:
        report = refused.report(asked_at, clock, stop)
    try:
        return _keep(execution, before, report, clock, blobs)
    except PraxisError as error:
        raise EvidenceLost(report, error) from error


def _look_before(execution: Execution, clock: Clock) -> Manifest:
    """Make the run folder and keep what stands in the workspace; `StartRefused` if that cannot be done."""
    try:
        execution.run_folder.mkdir(parents=True, exist_ok=True)
        before = _manifest(find_root(execution.prepared.plan.workspace.path), clock, execution.left)
        (execution.run_folder / BEFORE_FILE).write_bytes(canonical_json(before.to_json()))
    except PraxisError as error:
        raise StartRefused(NotStarted.FOLDER, error.what) from error
    except OSError as error:
        why = f"Its run folder {execution.run_folder} cannot be used: {error.strerror or error}."
        raise StartRefused(NotStarted.OUTPUT_FILE, why) from error
    return before


def _keep(
    execution: Execution, before: Manifest | None, report: ProcessReport, clock: Clock, blobs: BlobStore
) -> Observation:
    """Look at what the command left, keep it, and give it all as one observation."""
    plan = execution.prepared.plan
    end = None
    with contextlib.suppress(OSError):  # without it nothing is said of what others changed
        end = mark_end(execution.run_folder)
    root: Root | None = None
    after: Manifest | None = None
    workspace_problem = ""
    try:
        root = find_root(plan.workspace.path)
        after = _manifest(root, clock, before)
    except PraxisError as error:
        workspace_problem = error.what
    artifacts: tuple[Artifact, ...] = ()
    problems: tuple[ArtifactProblem, ...] = ()
    if root is not None and after is not None:
        artifacts, problems = keep_artifacts(
            root, (*plan.artifacts, *((plan.report,) if plan.report else ())), blobs
        )
    result, result_file, result_problem = None, None, ""
    if report.ended_by is not EndedBy.NOT_STARTED:
        result, result_file, result_problem = _result(execution, blobs)
    program, *inputs = (GuardedFile(item.path, item.sha256) for item in execution.prepared.files)
    evidence = Evidence(
        argv=plan.argv,
        cwd=str(execution.prepared.folder),
        environment=tuple(sorted({*execution.prepared.environment.values, RESULT_VARIABLE})),
        program=program,
        inputs=tuple(inputs),
        report=report,
        host=host_facts(clock, VERSION),
        stdout=_keep_output(execution.run_folder / "stdout", report, blobs),
        stderr=_keep_output(execution.run_folder / "stderr", report, blobs),
        artifacts=artifacts,
        artifact_problems=problems,
        workspace=changes_between(before, after) if before is not None and after is not None else None,
        repository_before=plan.state,
        repository_after=_repository(root, execution, clock) if root is not None else None,
        by_others=changed_by_others(execution.left, before, after, report, root, end)
        if root is not None and before is not None and after is not None and end is not None
        else (),
        result=result,
        result_file=result_file,
        result_problem=result_problem,
        workspace_problem=workspace_problem,
    )
    manifests = [
        KeptBlob("manifest", name, blob.sha256, blob.size)
        for name, manifest in (("before", before), ("after", after))
        if manifest is not None
        for blob in (blobs.put_bytes(canonical_json(manifest.to_json())),)
    ]
    outcome, reason_code, reason = evidence.judge()
    return Observation(
        outcome=outcome,
        reason_code=reason_code,
        reason=reason,
        body=evidence.canonical(),
        sha256=evidence.sha256,
        blobs=(*_kept(evidence), *manifests),
        active_ms=report.active_ms,
        reported_cost=result.cost if result is not None else None,
        never_started=report.ended_by is EndedBy.NOT_STARTED,
        survivors=_survivors(report),
    )


def _survivors(report: ProcessReport) -> str:
    return ", ".join(f"{one.name} ({one.identity.pid})" for one in report.tree.survived)


def _launch_of(execution: Execution) -> Launch:
    """What is to be started; `StartRefused` if no system could start it."""
    try:
        return _launch(execution)
    except InvalidValue as error:
        raise StartRefused(NotStarted.REFUSED_BY_SYSTEM, error.what) from error


def _launch(execution: Execution) -> Launch:
    plan = execution.prepared.plan
    folder = execution.run_folder.absolute()
    return Launch(
        program=plan.program.path,
        argv=plan.argv,
        cwd=str(execution.prepared.folder),
        environment={**execution.prepared.environment.values, RESULT_VARIABLE: str(folder / RESULT_FILE)},
        stdout=str(folder / "stdout"),
        stderr=str(folder / "stderr"),
        time_limit_ms=plan.limits.time_ms,
        output_limit_bytes=plan.limits.output_bytes,
        guarded=tuple(GuardedFile(item.path, item.sha256) for item in execution.prepared.files),
        grace_ms=execution.grace_ms,
    )


def _manifest(root: Root, clock: Clock, previous: Manifest | None) -> Manifest:
    try:
        with Folder(root.real) as folder:
            return take_manifest(folder, now=clock.now(), previous=previous)
    except OSError as error:
        raise DiskFault(
            f"The workspace {root.path} cannot be looked at: {error.strerror or error}.",
            do="Give yourself access to the folder.",
        ) from error


def _repository(root: Root, execution: Execution, clock: Clock) -> WorkspaceState | None:
    """The repository afterwards; None where the command left no workspace that can be looked at."""
    environment = execution.prepared.environment.base
    try:
        return workspace_state(root, find_git(environment), environment, now=clock.now())
    except PraxisError:
        return None


def _result(execution: Execution, blobs: BlobStore) -> tuple[ResultRecord | None, Blob | None, str]:
    """The command's own result record, its raw bytes, and what is wrong with it ("" if nothing).

    Its texts go on to handoffs, cards and exports, so values of secrets are masked in them; the raw bytes stay.
    """
    path, mask = execution.run_folder / RESULT_FILE, execution.prepared.environment.mask
    try:
        record = read_result(path)
    except ResultUnreadable as error:
        try:
            return None, blobs.put_file(path), mask(error.what)
        except PraxisError:
            return None, None, mask(error.what)
    if record is None:
        return None, None, ""
    masked = replace(
        record, summary=mask(record.summary), questions=tuple(mask(one) for one in record.questions)
    )
    return masked, blobs.put_file(path), ""


def _keep_output(path: Path, report: ProcessReport, blobs: BlobStore) -> Blob | None:
    if report.ended_by is EndedBy.NOT_STARTED and not path.exists():
        return None
    return blobs.put_file(path)


def _kept(evidence: Evidence) -> list[KeptBlob]:
    named = [("stdout", evidence.stdout), ("stderr", evidence.stderr), ("result", evidence.result_file)]
    return [
        *(KeptBlob(role, role, blob.sha256, blob.size) for role, blob in named if blob is not None),
        *(KeptBlob("artifact", one.path, one.sha256, one.size) for one in evidence.artifacts),
    ]
