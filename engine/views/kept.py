"""What was kept of an attempt, found again: its output files, and its workspace to compare with."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from engine.clock import Clock
from engine.errors import NotFound, PraxisError
from engine.execution.blobs import BlobStore
from engine.execution.since import Point, Since, Sources, changes_since, kept_manifest, manifest_left
from engine.views.values import EvidenceView
from engine.workspace.manifest import Manifest


def output_file(view: EvidenceView, role: str, path: str, blob_path: Callable[[str], Path]) -> Path:
    """The file of an output: ``role`` is stdout, stderr (while it runs as well), result, or artifact with ``path``."""
    live = {"stdout": view.stdout_file, "stderr": view.stderr_file}.get(role)
    if live is not None:
        return Path(live)
    for blob in view.blobs:
        if blob.role == role and (role == "result" or (role == "artifact" and blob.path == path)):
            return blob_path(blob.sha256)
    raise NotFound(
        f"No {f'{role} {path}'.strip()} was kept of this attempt.",
        do="Look at its evidence for what was kept.",
    )


def workspace_since(
    view: EvidenceView, point: Point, blobs: BlobStore, run_folder: Path, clock: Clock
) -> Since:
    """What changed in an attempt's workspace between its dispatch, or its end, and now. Blocks."""
    role = "before" if point is Point.DISPATCH else "after"
    digest = next((one.sha256 for one in view.blobs if (one.role, one.path) == ("manifest", role)), None)
    if digest is not None:
        try:
            before: Manifest | None = kept_manifest(blobs, digest)
        except PraxisError as error:
            return Since(clock.now(), None, error.what)
    elif point is Point.DISPATCH and view.evidence is None:
        before = manifest_left(run_folder)
    else:
        before = None
    if before is None:
        why = f"What stood in the workspace at its {point} was not kept, so nothing can be compared."
        return Since(clock.now(), None, why)
    return changes_since(view.attempt.workspace, before, clock)


def sources(view: EvidenceView, blobs: BlobStore, environment: Mapping[str, str]) -> Sources:
    """Where the texts of an attempt's files may be found again: workspace, kept files, the commit before it."""
    commit = str(view.plan.get("state", {}).get("head", ""))
    if view.evidence is not None and view.evidence["repository_before"]:
        commit = view.evidence["repository_before"]["head"] or commit
    return Sources(view.attempt.workspace, blobs, environment, commit)
