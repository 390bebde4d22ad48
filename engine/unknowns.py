"""Attempts that are UNKNOWN: what is known of them, what still lives, and the decision that ends it (E-72)."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any

from engine.actors import Actor
from engine.clock import Clock
from engine.control import decisions
from engine.control.decisions import Finding
from engine.control.proofs import Proof, keep_proofs
from engine.execution import leftovers
from engine.execution.blobs import BlobStore
from engine.execution.leftovers import Living
from engine.policy import Authorize
from engine.storage import Storage
from engine.views import unknown as unknown_view
from engine.views import work_orders as order_view
from engine.views.unknown import UnknownView
from engine.views.values import AttemptRow

Write = Callable[..., Awaitable[Any]]


class Unknowns:
    """See the module. ``run_folder`` gives where the output of an attempt was written while it ran."""

    def __init__(
        self,
        storage: Storage,
        clock: Clock,
        blobs: BlobStore,
        run_folder: Callable[[str], Path],
        write: Write,
        authorize: Authorize,
    ) -> None:
        self._storage = storage
        self._clock = clock
        self._blobs = blobs
        self._run_folder = run_folder
        self._write = write
        self._authorize = authorize

    async def case(self, attempt_id: str) -> UnknownView:
        """Everything that is known of an attempt that is or was UNKNOWN."""
        folder = self._run_folder(attempt_id)
        return await self._storage.read(unknown_view.unknown, attempt_id, folder, self._blobs.path)

    async def living(self, attempt_id: str) -> tuple[Living, ...]:
        """Which processes of an attempt live now, as far as they are known; nothing is changed by looking."""
        known = await self._storage.read(leftovers.leftovers_of, attempt_id)
        return await asyncio.to_thread(leftovers.look_at, known, self._clock)

    async def look_again(self, attempt_id: str, actor: Actor) -> tuple[Living, ...]:
        """Look which processes of an attempt still live; if none does, its workspace is free again."""
        self._authorize(actor, "reconcile")
        found = await self.living(attempt_id)
        if not any(one.alive for one in found):
            await self._write(leftovers.unlock_gone, attempt_id, actor)
        return found

    async def reconcile(
        self,
        attempt_id: str,
        finding: Finding,
        actor: Actor,
        *,
        reason: str,
        cost: int | None = None,
        active_ms: int | None = None,
        proof: Sequence[Proof] = (),
    ) -> AttemptRow:
        """End an UNKNOWN by a recorded decision; what is shown as ``proof`` is kept first, and named in it.

        Only a note that it is still unknown may come without.
        """
        self._authorize(actor, "reconcile")
        kept = await asyncio.to_thread(keep_proofs, proof, self._blobs)
        await self._write(decisions.reconcile, attempt_id, finding, actor, reason, cost, active_ms, kept)
        return await self._storage.read(order_view.attempt, attempt_id)
