"""Coordinator epochs: a number that grows with each takeover and fences the scheduler's writes (E-20)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar

from engine.actors import ENGINE
from engine.errors import StaleEpoch
from engine.instants import Instant
from engine.storage.changes import Subject
from engine.storage.owner_lock import Owner
from engine.storage.transaction import Rx, Tx

T = TypeVar("T")


def current_epoch(rx: Rx) -> int:
    """Give the epoch in force; 0 before the first coordinator."""
    row = rx.one("SELECT epoch FROM epoch ORDER BY epoch DESC LIMIT 1")
    return 0 if row is None else int(row["epoch"])


def take_epoch(tx: Tx, owner: Owner, now: Instant, *, above: int = 0) -> int:
    """Start a new epoch for ``owner`` and give it; from its commit on every older one is refused.

    It is greater than ``above`` too: what a restore set aside may have had a later epoch than the backup.
    """
    epoch = max(current_epoch(tx), above) + 1
    tx.run(
        "INSERT INTO epoch (epoch, taken_at, owner_program, owner_pid, owner_host) VALUES (?, ?, ?, ?, ?)",
        (epoch, now, owner.program, owner.pid, owner.host),
    )
    tx.chain = replace(tx.chain, epoch=epoch)
    tx.journal(
        "epoch.taken",
        Subject("epoch", str(epoch)),
        ENGINE,
        now,
        detail={"program": owner.program, "pid": owner.pid, "host": owner.host},
    )
    return epoch


def require_epoch(tx: Tx, epoch: int) -> None:
    """Raise `StaleEpoch` unless ``epoch`` is the one in force."""
    current = current_epoch(tx)
    if epoch != current:
        raise StaleEpoch(
            f"Epoch {epoch} is no longer in force; it is {current} now.",
            means="Another coordinator has taken over this data folder. Nothing was changed.",
            do="Stop this coordinator.",
            epoch=epoch,
            current=current,
        )


def under_epoch(tx: Tx, epoch: int, function: Callable[..., T], *arguments: object, now: Instant) -> T:
    """Run a transaction function for the coordinator of ``epoch``; `StaleEpoch` if another took over (E-20)."""
    require_epoch(tx, epoch)
    return function(tx, *arguments, now=now)
