"""What was observed of attempts: the record, the output, the files that changed, the kept blobs."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from pathlib import Path

from engine.clock import Clock
from engine.execution.blobs import BlobState, BlobStore
from engine.execution.evidence import FileChange
from engine.execution.reading import LARGEST_PART, OutputPart, read_part
from engine.execution.since import FileComparison, Point, Since, compare_file
from engine.storage import Storage
from engine.views import evidence as evidence_view
from engine.views import kept as kept_view
from engine.views.values import EvidenceView


class KeptEvidence:
    """See the module. ``run_folder`` gives where the output of an attempt is written while it runs."""

    def __init__(
        self, storage: Storage, clock: Clock, blobs: BlobStore, run_folder: Callable[[str], Path]
    ) -> None:
        self._storage = storage
        self._clock = clock
        self._blobs = blobs
        self._run_folder = run_folder

    async def of(self, attempt_id: str) -> EvidenceView:
        """What was observed of an attempt; while it runs, where its output is being written."""
        folder = self._run_folder(attempt_id)
        return await self._storage.read(evidence_view.evidence, attempt_id, folder, self._blobs.path)

    async def read_output(
        self, attempt_id: str, role: str, *, path: str = "", offset: int = 0, most_bytes: int = LARGEST_PART
    ) -> OutputPart:
        """A part of what an attempt wrote, with the values of its secrets masked, as far as they are still set.

        ``role`` is stdout, stderr (while it runs as well), result, or artifact with its ``path``.
        """
        view = await self.of(attempt_id)
        secrets = [
            os.environ.get(value["secret"], "")
            for value in view.plan["environment"]["own"].values()
            if isinstance(value, dict)
        ]
        file = kept_view.output_file(view, role, path, self._blobs.path)
        return await asyncio.to_thread(read_part, file, offset, most_bytes, secrets)

    async def workspace_since(self, attempt_id: str, point: Point) -> Since:
        """What changed in an attempt's workspace since its dispatch, or since its end, until now."""
        view = await self.of(attempt_id)
        folder = self._run_folder(attempt_id)
        return await asyncio.to_thread(
            kept_view.workspace_since, view, point, self._blobs, folder, self._clock
        )

    async def compare_file(self, attempt_id: str, change: FileChange) -> FileComparison:
        """Both texts of a changed file, where their bytes are found again, and how they differ."""
        view = await self.of(attempt_id)
        sources = kept_view.sources(view, self._blobs, dict(os.environ))
        return await asyncio.to_thread(compare_file, change, sources)

    async def verify_blob(self, sha256: str) -> BlobState:
        """Read a kept file again and compare it with its digest."""
        return await asyncio.to_thread(self._blobs.verify, sha256)
