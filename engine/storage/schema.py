"""Numbered migrations: what the schema is made of, and bringing a database up to date with them (E-15).

The files ``migrations/NNN_name.sql`` hold plain statements. Each is recorded with its digest in
``schema_migration`` when applied, so that a file that was changed afterwards is noticed.
"""

from __future__ import annotations

import hashlib
import re
import sqlite3
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

from engine.errors import DatabaseNewer, SchemaMismatch
from engine.instants import Instant
from engine.storage.transaction import controls_transaction

APPLICATION_ID = 0x50525843
"""Marks the file as ours ("PRXC")."""

_FILE_NAME = re.compile(r"(\d{3})_([a-z0-9_]+)\.sql", re.ASCII)
_BLANK = re.compile(r"(\s|--[^\n]*(\n|$)|/\*.*?\*/)*", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Migration:
    """One step of the schema; versions run from 1 without gaps."""

    version: int
    name: str
    sql: str

    @property
    def sha256(self) -> str:
        """The digest of its text, whatever the line ends it was shipped with."""
        return hashlib.sha256(self.sql.replace("\r\n", "\n").encode()).hexdigest()


def shipped_migrations() -> tuple[Migration, ...]:
    """Give the migrations of this version of the program, oldest first."""
    found = []
    for item in resources.files("engine.storage").joinpath("migrations").iterdir():
        match = _FILE_NAME.fullmatch(item.name)
        if match:
            found.append(Migration(int(match[1]), match[2], item.read_text(encoding="utf-8")))
    return tuple(sorted(found, key=lambda migration: migration.version))


def statements(sql: str) -> Iterator[str]:
    """Split a script into its statements, without the comments before each.

    An unfinished one at the end, or one that controls the transaction, is a `ValueError`.
    """
    rest = ""
    for piece in sql.split(";")[:-1]:
        rest += piece + ";"
        if sqlite3.complete_statement(rest):
            statement = _BLANK.sub("", rest, count=1)
            if controls_transaction(statement):
                raise ValueError(f"a migration must not control its transaction: {statement}")
            yield statement
            rest = ""
    rest += sql.rpartition(";")[2]
    if not _BLANK.fullmatch(rest):
        raise ValueError(f"unfinished statement at the end of a script: {rest.strip()[:80]!r}")


def applied(database: sqlite3.Connection) -> list[tuple[int, str]]:
    """Give version and digest of every migration that was applied, oldest first."""
    rows = database.execute("SELECT version, sha256 FROM schema_migration ORDER BY version").fetchall()
    return [(int(row[0]), str(row[1])) for row in rows]


def require_known(
    database: sqlite3.Connection, path: Path, migrations: Sequence[Migration], *, otherwise: str
) -> int:
    """Give the schema version, if every step of it is one of these migrations.

    Else raises `DatabaseNewer` or `SchemaMismatch`; ``otherwise`` is what a person can do instead of using the
    version that made the database.
    """
    steps = applied(database)
    if len(steps) > len(migrations):
        raise DatabaseNewer(
            f"The database {path} has schema {len(steps)}; this version knows up to {len(migrations)}.",
            means="A newer version wrote it. Nothing was changed.",
            do=f"Use the newer version, or {otherwise}.",
            path=str(path),
            found=len(steps),
            known=len(migrations),
        )
    for (version, digest), migration in zip(steps, migrations, strict=False):
        if (version, digest) != (migration.version, migration.sha256):
            raise SchemaMismatch(
                f"Step {migration.version} of the schema of {path} is not the one of this version.",
                means="Another build of the program made it. Nothing was changed.",
                do=f"Use the build that made it, or {otherwise}.",
                path=str(path),
                version=migration.version,
            )
    return len(steps)


def migrate(database: sqlite3.Connection, migrations: Sequence[Migration], now: Instant) -> None:
    """Apply what is missing, in the transaction that is open; the caller commits.

    Foreign keys must be off on the connection, so that tables can be rebuilt; they are checked at the end.
    """
    database.execute(
        "CREATE TABLE IF NOT EXISTS schema_migration (version INTEGER PRIMARY KEY, name TEXT NOT NULL,"
        " applied_at INTEGER NOT NULL, sha256 TEXT NOT NULL) STRICT"
    )
    done = len(applied(database))
    for migration in migrations[done:]:
        for statement in statements(migration.sql):
            database.execute(statement)
        database.execute(
            "INSERT INTO schema_migration (version, name, applied_at, sha256) VALUES (?, ?, ?, ?)",
            (migration.version, migration.name, now, migration.sha256),
        )
    broken = database.execute("PRAGMA foreign_key_check").fetchall()
    if broken:
        raise ValueError(
            f"migrations leave {len(broken)} rows that refer to nothing, first in {broken[0][0]}"
        )
