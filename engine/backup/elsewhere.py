"""Backups that were made outside the data folder, as its database remembers them."""

from __future__ import annotations

import json
from contextlib import closing
from pathlib import Path

from engine.backup.comparing import open_present
from engine.backup.shelf import Copy, CopyKind, look_at_copy
from engine.errors import NotFound
from engine.storage import Rx
from engine.storage.opening import BACKUP_FOLDER

GONE = "It is not there any more."
"""The problem of a copy that was made once and is not where it was made."""


def copies_elsewhere(folder: Path) -> tuple[Copy, ...]:
    """Give the backups of a data folder that were made elsewhere, newest first. Blocks; changes nothing.

    The folder may be open. One that somebody moved, removed or has not plugged in has the problem `GONE`; those
    that the schedule removed are left out. Where the database cannot be read, nothing is known of any.
    """
    database, _ = open_present(folder)
    if database is None:
        return ()
    with closing(database):
        made = _made(Rx(database), folder / BACKUP_FOLDER)
    return tuple(
        sorted(map(_present, made), key=lambda copy: (copy.made_at or 0, copy.path.name), reverse=True)
    )


def _made(rx: Rx, own: Path) -> list[Copy]:
    found: dict[str, Copy] = {}
    for row in rx.all(
        """SELECT kind, at, detail FROM journal
           WHERE subject_kind = 'backup' AND kind IN ('backup.made', 'backup.removed') ORDER BY sequence"""
    ):
        told = json.loads(row["detail"])
        if row["kind"] == "backup.removed":
            for path in told["paths"]:
                found.pop(path, None)
        elif Path(told["path"]).parent != own:
            found[told["path"]] = Copy(
                Path(told["path"]),
                CopyKind.BACKUP,
                row["at"],
                None,
                "",
                told["size"],
                told["journal"][0],
                GONE,
            )
    return list(found.values())


def _present(made: Copy) -> Copy:
    try:
        return look_at_copy(made.path)
    except (NotFound, OSError):
        return made
