"""Processes of an attempt that may still live, and the lane that stays locked while one does (E-54, B-052).

A process is known by pid, start and boot. Of an attempt whose end was observed those are known that survived it;
of one that was lost with its console only the first process is, never what that one started.
"""

from __future__ import annotations

import asyncio
import json
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass

import psutil

from engine.actors import ENGINE, Actor
from engine.clock import Clock
from engine.dispatch.delivery import attempt_row
from engine.execution.process import ProcessIdentity, still_running
from engine.execution.record import lock_lane, unlock_lane
from engine.instants import Instant
from engine.storage import Rx, Storage, Tx, require_epoch


@dataclass(frozen=True, slots=True)
class Leftover:
    """One process as it was last known; ``name`` is "" if that was never seen."""

    identity: ProcessIdentity
    name: str


@dataclass(frozen=True, slots=True)
class Living:
    """One process and whether it lives now."""

    pid: int
    name: str
    alive: bool


def leftovers_of(rx: Rx, attempt_id: str) -> tuple[Leftover, ...]:
    """The processes of an attempt that may still live, as far as they are known."""
    evidence = rx.one("SELECT body FROM evidence WHERE attempt_id = ?", (attempt_id,))
    if evidence is not None:
        tree = json.loads(evidence["body"]).get("tree") or {}
        return tuple(
            Leftover(ProcessIdentity(**one["identity"]), one["name"]) for one in tree.get("survived", ())
        )
    delivery = rx.one(
        "SELECT * FROM delivery WHERE attempt_id = ? AND process_pid IS NOT NULL", (attempt_id,)
    )
    return (_of_delivery(delivery),) if delivery is not None else ()


def abandoned_processes(rx: Rx, epoch: int) -> dict[str, Leftover]:
    """The first process of every attempt that an earlier epoch left in flight, by attempt."""
    rows = rx.all(
        """SELECT delivery.* FROM attempt JOIN delivery ON delivery.attempt_id = attempt.id
           WHERE attempt.epoch < ? AND attempt.state IN ('ACKNOWLEDGED', 'RUNNING')
             AND delivery.process_pid IS NOT NULL""",
        (epoch,),
    )
    return {row["attempt_id"]: _of_delivery(row) for row in rows}


def locked_lanes(rx: Rx) -> dict[str, tuple[Leftover, ...]]:
    """Every locked lane with the processes it waits for."""
    rows = rx.all("SELECT lane, attempt_id FROM lane_lock")
    return {row["lane"]: leftovers_of(rx, row["attempt_id"]) for row in rows}


def look_at(leftovers: Sequence[Leftover], clock: Clock) -> tuple[Living, ...]:
    """Look which of these processes live now. Reads the system; call it in a thread."""
    return tuple(
        Living(
            one.identity.pid, one.name or _name_of(one.identity, clock), still_running(one.identity, clock)
        )
        for one in leftovers
    )


def lock_lanes(tx: Tx, epoch: int, alive: dict[str, str], *, now: Instant) -> None:
    """Lock the lane of each attempt that an earlier epoch left while its process, named here, still lives."""
    require_epoch(tx, epoch)
    for attempt_id, survivors in alive.items():
        lock_lane(tx, attempt_row(tx, attempt_id), survivors, ENGINE, now)


def unlock_gone(tx: Tx, attempt_id: str, actor: Actor, *, now: Instant) -> bool:
    """Free the lane that an attempt locks, after its processes were seen to be gone; whether there was one."""
    row = tx.one("SELECT lane FROM lane_lock WHERE attempt_id = ?", (attempt_id,))
    if row is None:
        return False
    unlock_lane(tx, row["lane"], actor, now=now)
    return True


def unlock_lanes(tx: Tx, epoch: int, lanes: Sequence[str], *, now: Instant) -> None:
    """Free lanes whose processes were seen to be gone."""
    require_epoch(tx, epoch)
    for lane in lanes:
        unlock_lane(tx, lane, ENGINE, now=now)


def _of_delivery(row: sqlite3.Row) -> Leftover:
    identity = ProcessIdentity(row["process_pid"], int(row["process_started"]), row["process_boot"])
    return Leftover(identity, "")


def _name_of(identity: ProcessIdentity, clock: Clock) -> str:
    if not still_running(identity, clock):
        return ""
    try:
        return psutil.Process(identity.pid).name()
    except psutil.Error:
        return ""


async def lock_abandoned_lanes(storage: Storage, epoch: int, clock: Clock) -> None:
    """Before anything is judged: what still lives of an earlier console's attempts keeps its workspace."""
    known = await storage.read(abandoned_processes, epoch)
    if known:
        living = await asyncio.to_thread(look_at, tuple(known.values()), clock)
        alive = {
            attempt_id: f"{one.name} ({one.pid})"
            for attempt_id, one in zip(known, living, strict=True)
            if one.alive
        }
        await storage.write(lock_lanes, epoch, alive, control=True)


async def unlock_free_lanes(storage: Storage, epoch: int, clock: Clock) -> None:
    """Free the lanes whose processes have gone meanwhile."""
    free = []
    for lane, known in (await storage.read(locked_lanes)).items():
        living = await asyncio.to_thread(look_at, known, clock)
        if known and not any(one.alive for one in living):
            free.append(lane)
    if free:
        await storage.write(unlock_lanes, epoch, free)
