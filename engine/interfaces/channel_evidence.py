"""Asking for evidence through a door; see `engine.kept_evidence.KeptEvidence` for what each method does."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from engine.execution.blobs import BlobState
from engine.execution.reading import LARGEST_PART, OutputPart
from engine.views.values import EvidenceView


class EvidenceClient:
    """The methods of the evidence for one actor; ``call`` asks the engine for a method of the table."""

    def __init__(self, call: Callable[..., Awaitable[Any]]) -> None:
        self._call = call

    async def of(self, attempt_id: str) -> EvidenceView:
        """What was observed of an attempt."""
        result: EvidenceView = await self._call("evidence.of", attempt_id=attempt_id)
        return result

    async def read_output(
        self, attempt_id: str, role: str, *, path: str = "", offset: int = 0, most_bytes: int = LARGEST_PART
    ) -> OutputPart:
        """A part of what an attempt wrote, with secrets masked."""
        result: OutputPart = await self._call(
            "evidence.read_output",
            attempt_id=attempt_id,
            role=role,
            path=path,
            offset=offset,
            most_bytes=most_bytes,
        )
        return result

    async def verify_blob(self, sha256: str) -> BlobState:
        """Read a kept file again and compare it with its digest."""
        result: BlobState = await self._call("evidence.verify_blob", sha256=sha256)
        return result
