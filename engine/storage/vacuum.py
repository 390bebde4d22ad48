"""Giving the disk back what deletions freed, in steps so small that no command waits for them (E-84, B-097)."""

from __future__ import annotations

from engine.instants import Instant
from engine.storage.connections import PAGES_PER_CHECKPOINT
from engine.storage.transaction import Rx, Tx


def free_pages(rx: Rx) -> int:
    """How many pages of the database hold nothing."""
    return _number(rx, "freelist_count")


def database_bytes(rx: Rx) -> int:
    """How large the database is, with its free pages and without its log."""
    return _number(rx, "page_count") * _number(rx, "page_size")


def free_bytes(rx: Rx) -> int:
    """How much of that is free."""
    return free_pages(rx) * _number(rx, "page_size")


def give_back(tx: Tx, pages: int, *, now: Instant) -> int:
    """Move what is at the end of the database into free pages, at most ``pages`` of them; how many are left.

    The file becomes smaller at the next checkpoint. 0 at once if the database was made without that possibility.
    """
    if _number(tx, "auto_vacuum") != 2:
        return 0
    left = free_pages(tx)
    for _ in range(min(pages, left)):
        tx.run("PRAGMA incremental_vacuum(1)")  # one statement frees one page, whatever number it is given
    return free_pages(tx)


def checkpoint_soon(tx: Tx, wanted: bool, *, now: Instant) -> None:
    """Have the log written back after this commit and every later one, or again only now and then."""
    tx.all(f"PRAGMA wal_autocheckpoint = {1 if wanted else PAGES_PER_CHECKPOINT}")


def _number(rx: Rx, name: str) -> int:
    row = rx.one(f"PRAGMA {name}")
    return 0 if row is None else int(row[0])
