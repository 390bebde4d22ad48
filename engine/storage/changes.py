"""What a commit changed: told to subscribers so that every view reads again only what it shows."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Subject:
    """What a journal row is about: a kind, such as ``task``, and an identity within it."""

    kind: str
    id: str


@dataclass(frozen=True, slots=True)
class Change:
    """One journal row in short: what happened (``kind``) to which subject, and of which work order."""

    kind: str
    subject_kind: str
    subject_id: str
    work_order_id: str | None


@dataclass(frozen=True, slots=True)
class ChangeSet:
    """All journal rows of one commit, in their order, and the journal sequences they have."""

    changes: tuple[Change, ...]
    first_sequence: int
    last_sequence: int
