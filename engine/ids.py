"""Identities: ULIDs, 26 characters that sort by the instant of their making."""

from __future__ import annotations

from ulid import ULID

from engine.instants import Instant


def new_id(now: Instant) -> str:
    """Make a fresh identity that sorts by ``now``; a time before 1970 sorts as 1970."""
    return str(ULID.from_timestamp(max(now, 0) / 1000))
