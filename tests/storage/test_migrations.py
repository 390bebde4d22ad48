"""An older database is copied, checked and brought up to date in one transaction, or left as it is (E-15)."""

from __future__ import annotations

import sqlite3
import time
from pathlib import Path

import pytest

from engine.clock import ManualClock
from engine.errors import DatabaseDamaged, DatabaseLocked, DiskFull, MigrationFailed, StorageError
from engine.storage import Storage, opening
from engine.storage.journal import verify_journal
from engine.storage.schema import Migration, statements
from tests.storage.conftest import OpenStorage
from tests.storage.support import SCHEMA, WAIT_SECONDS, digest, names, note, python

THIRD = Migration(3, "colours", "ALTER TABLE note ADD COLUMN colour TEXT NOT NULL DEFAULT 'red';")
FOURTH = Migration(
    4,
    "rebuild",
    """
    -- Rebuilding a table that others refer to; the words ; and 'it''s' are no ends of statements.
    CREATE TABLE note_new (name TEXT PRIMARY KEY, colour TEXT NOT NULL, mark TEXT NOT NULL) STRICT;
    INSERT INTO note_new SELECT name, colour, 'it''s; new' FROM note;
    DROP TABLE note;
    ALTER TABLE note_new RENAME TO note;
    CREATE TRIGGER note_kept BEFORE DELETE ON note BEGIN SELECT RAISE(ABORT, 'kept'); END;
    """,
)


@pytest.fixture
async def older(open_storage: OpenStorage, folder: Path) -> Path:
    """A closed database of the older schema with some notes."""
    storage = await open_storage()
    for name in "abc":
        await storage.write(note, name)
    await storage.write(lambda tx, *, now: tx.run("INSERT INTO reply (note) VALUES ('a')"))
    await storage.close()
    return storage.path


def rows(path: Path, sql: str) -> list[tuple[object, ...]]:
    database = sqlite3.connect(f"{path.as_uri()}?mode=ro&immutable=1", uri=True)
    found = database.execute(sql).fetchall()
    database.close()
    return found


async def test_e15_an_older_database_is_backed_up_and_migrated(
    older: Path, open_storage: OpenStorage, clock: ManualClock
) -> None:
    before = older.read_bytes()
    clock.advance(60_000)
    storage = await open_storage(migrations=(*SCHEMA, THIRD, FOURTH))
    found = await storage.read(lambda rx: rx.all("SELECT name, colour, mark FROM note ORDER BY name"))
    assert [tuple(row) for row in found] == [(name, "red", "it's; new") for name in "abc"]
    steps = await storage.read(lambda rx: rx.all("SELECT version, name, applied_at FROM schema_migration"))
    assert [tuple(step) for step in steps][2:] == [(3, "colours", clock.now()), (4, "rebuild", clock.now())]
    assert (await storage.read(verify_journal)).sound
    with pytest.raises(sqlite3.IntegrityError, match="kept"):
        await storage.write(lambda tx, *, now: tx.run("DELETE FROM note"))

    backup = storage.migration_backup
    assert backup == older.parent / "backups" / "before-schema-004-20260910T000100000Z.sqlite"
    assert [path.name for path in backup.parent.iterdir()] == [backup.name]
    assert rows(backup, "SELECT name FROM note ORDER BY name") == [("a",), ("b",), ("c",)]
    assert rows(backup, "SELECT count(*) FROM schema_migration") == [(2,)]
    assert backup.read_bytes()[18:20] == b"\x01\x01", "it needs no log beside it"
    assert before[18:20] == b"\x02\x02"


async def test_e15_the_backup_can_take_the_place_of_the_database(
    older: Path, open_storage: OpenStorage
) -> None:
    storage = await open_storage(migrations=(*SCHEMA, THIRD))
    await storage.close()
    backup = storage.migration_backup
    assert backup is not None
    backup.replace(older)
    again = await open_storage()
    assert await again.read(names) == ["a", "b", "c"]
    assert again.instance_id == storage.instance_id
    assert await again.write(note, "d") == "d"


async def test_e15_a_database_that_is_up_to_date_is_not_backed_up(
    older: Path, open_storage: OpenStorage
) -> None:
    storage = await open_storage()
    assert storage.migration_backup is None
    assert not (older.parent / "backups").exists()


BAD_MIGRATIONS = {
    "a statement that fails": "CREATE TABLE extra (a) STRICT;",
    "a later statement that fails": "ALTER TABLE note ADD COLUMN x TEXT; DROP TABLE nothing;",
    "rows that refer to nothing": "DELETE FROM note WHERE name = 'a';",
    "an end of the transaction": "ALTER TABLE note ADD COLUMN x TEXT; COMMIT; DROP TABLE note;",
    "an unfinished statement": "ALTER TABLE note ADD COLUMN x TEXT; CREATE TABLE y (",
}


@pytest.mark.parametrize("kind", BAD_MIGRATIONS)
async def test_e15_a_migration_that_fails_changes_nothing(
    older: Path, open_storage: OpenStorage, kind: str
) -> None:
    before = digest(older.parent)
    with pytest.raises(MigrationFailed, match="as it was"):
        await open_storage(migrations=(*SCHEMA, THIRD, Migration(4, "bad", BAD_MIGRATIONS[kind])))
    assert digest(older.parent) == before
    storage = await open_storage()
    assert await storage.read(names) == ["a", "b", "c"]


async def test_e15_a_damaged_older_database_is_not_migrated(
    older: Path, open_storage: OpenStorage, monkeypatch: pytest.MonkeyPatch
) -> None:
    look = sqlite3.connect(older)
    root = look.execute("SELECT rootpage FROM sqlite_master WHERE name = 'reply'").fetchone()[0]
    look.close()
    with older.open("r+b") as file:
        file.seek((root - 1) * 4096)
        file.write(b"\xff" * 4096)
    before = digest(older.parent)
    monkeypatch.setattr(opening, "CHECK_AT_MOST_BYTES", 0)
    with pytest.raises(DatabaseDamaged):
        await open_storage(migrations=(*SCHEMA, THIRD))
    assert digest(older.parent) == before


async def test_e15_a_locked_older_database_is_not_migrated(older: Path, open_storage: OpenStorage) -> None:
    outsider = sqlite3.connect(older, isolation_level=None)
    outsider.execute("BEGIN IMMEDIATE")
    with pytest.raises(DatabaseLocked):
        await open_storage(migrations=(*SCHEMA, THIRD), lock_wait_ms=50)
    outsider.execute("ROLLBACK")
    outsider.close()
    assert not (older.parent / "backups").exists()
    assert rows(older, "SELECT count(*) FROM schema_migration") == [(2,)]


async def test_e15_a_migration_without_room_changes_nothing(
    open_storage: OpenStorage, small_disk: Path
) -> None:
    storage = await open_storage(small_disk)
    await storage.write(note, "a", 200_000)
    await storage.close()
    before = digest(small_disk)
    grow = Migration(3, "grow", "UPDATE note SET body = zeroblob(600000);")
    with pytest.raises(DiskFull):
        await open_storage(small_disk, migrations=(*SCHEMA, grow))
    assert digest(small_disk) == before
    filler = small_disk / "filler"
    filler.write_bytes(bytes(700_000))
    with pytest.raises(DiskFull):
        await open_storage(small_disk, migrations=(*SCHEMA, THIRD))
    assert list((small_disk / "backups").iterdir()) == [], "no half backup is left"
    again = await open_storage(small_disk)
    assert await again.read(names) == ["a"]
    await again.close()


MIGRATES_SLOWLY = """
import asyncio, sys
from pathlib import Path
from engine.clock import ManualClock
from engine.storage import Storage
from engine.storage.schema import Migration
from tests.storage.support import SCHEMA

SLOW = Migration(3, "slow", '''
    ALTER TABLE note ADD COLUMN x TEXT;
    INSERT INTO note (name) WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n;
''')
asyncio.run(Storage.open(Path(sys.argv[1]), clock=ManualClock(), migrations=(*SCHEMA, SLOW)))
"""


@pytest.mark.crash
async def test_e15_a_kill_within_a_migration_leaves_the_older_database(
    older: Path, open_storage: OpenStorage
) -> None:
    child = python(MIGRATES_SLOWLY, older.parent)
    log = older.with_name(f"{older.name}-wal")
    deadline = time.monotonic() + WAIT_SECONDS
    while not (log.exists() and log.stat().st_size > 1_000_000):
        assert child.poll() is None, child.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.01)
    child.kill()
    child.communicate()
    storage = await open_storage()
    assert await storage.read(names) == ["a", "b", "c"]
    assert (await storage.read(verify_journal)).sound


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        ("", []),
        ("-- nothing; here\n /* nor; here */", []),
        ("SELECT 1; SELECT 2;", ["SELECT 1;", "SELECT 2;"]),
        ("SELECT ';'; SELECT \"a;b\"; -- end;", ["SELECT ';';", 'SELECT "a;b";']),
        ("-- a;\nSELECT 1; -- b\n", ["SELECT 1;"]),
        (
            "CREATE TRIGGER t AFTER INSERT ON x BEGIN SELECT 1; SELECT 2; END; SELECT 3;",
            ["CREATE TRIGGER t AFTER INSERT ON x BEGIN SELECT 1; SELECT 2; END;", "SELECT 3;"],
        ),
    ],
)
def test_scripts_are_split_into_statements(script: str, expected: list[str]) -> None:
    assert list(statements(script)) == expected


@pytest.mark.parametrize(
    "script", ["SELECT 1", "SELECT 1; SELECT ';", "CREATE TRIGGER t AFTER INSERT ON x BEGIN SELECT 1;"]
)
def test_an_unfinished_script_is_an_error(script: str) -> None:
    with pytest.raises(ValueError, match="unfinished"):
        list(statements(script))


def test_line_ends_do_not_change_a_migrations_digest() -> None:
    unix = Migration(1, "x", "SELECT 1;\nSELECT 2;\n")
    assert unix.sha256 == Migration(1, "x", unix.sql.replace("\n", "\r\n")).sha256
    assert unix.sha256 != Migration(1, "x", unix.sql + " ").sha256


async def test_every_storage_error_says_what_to_do(older: Path, open_storage: OpenStorage) -> None:
    with pytest.raises(StorageError) as caught:
        await open_storage(migrations=SCHEMA[:1])
    assert caught.value.do
    assert isinstance(await open_storage(), Storage)
