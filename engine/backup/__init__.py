"""Backup, verification, rehearsal and restore of a data folder (E-80 to E-82).

What a backup holds: the database as one self-contained file, every kept file (blob) that it refers to, and
``secret.key``, without which the digests of sealed secrets could not be compared any more. So whoever has a
backup can test guesses of secrets against those digests: keep it as private as the data folder. The channel's
key is left out: it lets one speak to the owner of a data folder and is made anew where it is missing. Live
output of attempts that run is left out too; after a restore these attempts are UNKNOWN.
"""

from engine.backup.comparing import Comparison, compare
from engine.backup.elsewhere import GONE, copies_elsewhere
from engine.backup.manifest import Manifest
from engine.backup.rehearsing import Rehearsal, rehearse
from engine.backup.restoring import RestoreReport, restore, undo_restore
from engine.backup.shelf import Copy, CopyKind, list_copies, look_at_copy
from engine.backup.taking import Backup, take_backup
from engine.backup.verifying import Verification, verify_backup
from engine.backup.watch import Progress, Stage, Watch

__all__ = [
    "GONE",
    "Backup",
    "Comparison",
    "Copy",
    "CopyKind",
    "Manifest",
    "Progress",
    "Rehearsal",
    "RestoreReport",
    "Stage",
    "Verification",
    "Watch",
    "compare",
    "copies_elsewhere",
    "list_copies",
    "look_at_copy",
    "rehearse",
    "restore",
    "take_backup",
    "undo_restore",
    "verify_backup",
]
