"""The chain of hashes that makes the journal tamper-evident (E-16).

A row's hash is the SHA-256, in hexadecimal, of the canonical JSON array ``[previous hash, sequence, at,
epoch, actor kind, actor name, subject kind, subject id, work order id, kind, detail]``. The detail is stored
in its canonical form and enters as it is stored, so that not even its spelling can be altered unseen.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass

from engine.canonical import canonical_json
from engine.instants import Instant

GENESIS = "0" * 64
"""The hash before the first row."""


@dataclass(frozen=True, slots=True)
class Chain:
    """The end of the journal: the last sequence and hash ever given, and the epoch that new rows carry."""

    sequence: int
    hash: str
    epoch: int


@dataclass(frozen=True, slots=True)
class JournalRow:
    """The content of one row, without its hash; ``detail`` is JSON text."""

    sequence: int
    at: Instant
    epoch: int
    actor_kind: str
    actor_name: str
    subject_kind: str
    subject_id: str
    work_order_id: str | None
    kind: str
    detail: str


def detail_text(detail: Mapping[str, object]) -> str:
    """Give the text that a row stores for ``detail``."""
    return canonical_json(detail).decode()


def row_hash(previous: str, row: JournalRow) -> str:
    """Give the hash of ``row`` where ``previous`` is the hash of the row before it."""
    head = canonical_json(
        [
            previous,
            row.sequence,
            row.at,
            row.epoch,
            row.actor_kind,
            row.actor_name,
            row.subject_kind,
            row.subject_id,
            row.work_order_id,
            row.kind,
        ]
    )
    return hashlib.sha256(b"%b,%b]" % (head[:-1], row.detail.encode("utf-8", "surrogatepass"))).hexdigest()
