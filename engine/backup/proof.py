"""What the database remembers of its backups: that one was made, and the last one that was proven."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

from engine.actors import Actor
from engine.instants import Instant, format_instant, parse_instant
from engine.storage import Rx, Subject, Tx

if TYPE_CHECKING:
    from engine.backup.rehearsing import Rehearsal
    from engine.backup.taking import Backup

_KEY = "last_proven_backup"


@dataclass(frozen=True, slots=True)
class Proof:
    """A backup that was verified and rehearsed without a flaw: when it was made, when proven, and where it is."""

    path: str
    made_at: Instant
    proven_at: Instant


def record_made(tx: Tx, backup: Backup, actor: Actor, *, now: Instant) -> None:
    """Journal that a backup was made."""
    tx.journal(
        "backup.made",
        Subject("backup", backup.path.name),
        actor,
        now,
        detail={
            "path": str(backup.path),
            "size": backup.size,
            "files": backup.files,
            "journal": [backup.journal_sequence, backup.journal_hash],
            "lacking": list(backup.lacking),
        },
    )


def record_proof(tx: Tx, rehearsal: Rehearsal, actor: Actor, *, now: Instant) -> None:
    """Journal that a backup was proven; it is the last proven one unless a later one was proven before."""
    if rehearsal.made_at is None:
        return
    tx.journal(
        "backup.proven",
        Subject("backup", rehearsal.path.name),
        actor,
        now,
        detail={"path": str(rehearsal.path), "made_at": format_instant(rehearsal.made_at)},
    )
    remember_proof(tx, Proof(str(rehearsal.path), rehearsal.made_at, now))


def remember_proof(tx: Tx, proof: Proof) -> None:
    """Take a proof as the last one unless that of a later backup is known."""
    known = last_proof(tx)
    if known is None or known.made_at <= proof.made_at:
        value = json.dumps(
            {
                "path": proof.path,
                "made_at": format_instant(proof.made_at),
                "proven_at": format_instant(proof.proven_at),
            }
        )
        tx.run(
            """INSERT INTO meta(key, value) VALUES (?, ?)
               ON CONFLICT (key) DO UPDATE SET value = excluded.value""",
            (_KEY, value),
        )


def last_proof(rx: Rx) -> Proof | None:
    """The last proven backup of this data, or None."""
    row = rx.one("SELECT value FROM meta WHERE key = ?", (_KEY,))
    if row is None:
        return None
    said = json.loads(row["value"])
    return Proof(said["path"], parse_instant(said["made_at"]), parse_instant(said["proven_at"]))
