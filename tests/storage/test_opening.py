"""Opening a data folder: made new, opened again, or refused with nothing changed (E-15, E-16a)."""

from __future__ import annotations

import asyncio
import os
import sqlite3
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from engine.errors import (
    DatabaseDamaged,
    DatabaseLocked,
    DatabaseMisconfigured,
    DatabaseNewer,
    DatabaseReadOnly,
    DiskFault,
    DiskFull,
    FolderNotUsable,
    NotADatabase,
    SchemaMismatch,
    StorageError,
    UnsuitableFolder,
)
from engine.storage import Storage, opening
from engine.storage.connections import storage_error
from engine.storage.folder_place import Mount, PlaceKind, PosixSurroundings
from engine.storage.owner_lock import NOTE_FILE
from engine.storage.schema import APPLICATION_ID, Migration, shipped_migrations
from tests.storage.conftest import OpenStorage
from tests.storage.support import SCHEMA, WAIT_SECONDS, digest, names, note, python

PAGE = 4096
DATABASE = "praxis.sqlite"


async def closed_with_notes(open_storage: OpenStorage, folder: Path, size: int = 10) -> Path:
    """Make a database of some notes, close it, and give its path."""
    storage = await open_storage(folder)
    for name in "abc":
        await storage.write(note, name, size)
    await storage.close()
    return storage.path


# ------------------------------------------------------------------------------------------------ new, and again


async def test_a_missing_folder_is_made_with_a_new_database(
    open_storage: OpenStorage, tmp_path: Path
) -> None:
    folder = tmp_path / ("a b#c%20é" if sys.platform == "win32" else "a b#c%20?é") / "data"
    storage = await open_storage(folder)
    assert storage.folder == folder
    assert storage.path == folder / DATABASE
    assert storage.path.exists()
    assert storage.migration_backup is None
    assert storage.place.kind is not PlaceKind.NETWORK
    assert await storage.write(note, "a") == "a"


async def test_the_identity_is_made_once_and_differs_between_databases(
    open_storage: OpenStorage, tmp_path: Path
) -> None:
    first = await open_storage(tmp_path / "one")
    other = await open_storage(tmp_path / "two")
    assert first.instance_id != other.instance_id
    await first.close()
    assert (await open_storage(tmp_path / "one")).instance_id == first.instance_id


async def test_the_shipped_schema_is_whole_strict_and_marked_as_ours(open_storage: OpenStorage) -> None:
    storage = await open_storage(migrations=None)
    tables = await storage.read(lambda rx: rx.all("PRAGMA table_list"))
    ours = [row for row in tables if row["schema"] == "main" and not row["name"].startswith("sqlite_")]
    assert {row["name"] for row in ours} >= {"schema_migration", "meta", "epoch", "journal", "journal_head"}
    assert [row["name"] for row in ours if not row["strict"]] == []
    [mark] = await storage.read(lambda rx: rx.all("PRAGMA application_id"))
    assert mark[0] == APPLICATION_ID
    steps = await storage.read(lambda rx: rx.all("SELECT version, name, sha256 FROM schema_migration"))
    assert [tuple(step) for step in steps] == [(m.version, m.name, m.sha256) for m in shipped_migrations()]
    [vacuum] = await storage.read(lambda rx: rx.all("PRAGMA auto_vacuum"))
    assert vacuum[0] == 2, "space can be given back in steps"


async def test_a_creation_that_was_killed_is_started_over(open_storage: OpenStorage, folder: Path) -> None:
    for name in (f"{DATABASE}.new", f"{DATABASE}.new-journal", f"{DATABASE}.new-wal"):
        (folder / name).write_bytes(b"half a file")
    storage = await open_storage()
    assert await storage.read(names) == []
    await storage.close()
    assert set(digest(folder)) == {DATABASE}


async def test_b086_a_log_left_by_a_kill_is_read_and_kept(open_storage: OpenStorage, folder: Path) -> None:
    child = python(
        "import asyncio, os, sys\n"
        "from pathlib import Path\n"
        "from engine.clock import ManualClock\n"
        "from engine.storage import Storage\n"
        "from tests.storage.support import SCHEMA, note\n"
        "async def main():\n"
        "    storage = await Storage.open(Path(sys.argv[1]), clock=ManualClock(), migrations=SCHEMA)\n"
        "    await storage.write(note, 'a')\n"
        "    os._exit(9)\n"
        "asyncio.run(main())\n",
        folder,
    )
    child.communicate(timeout=WAIT_SECONDS)
    assert child.returncode == 9
    assert (folder / f"{DATABASE}-wal").stat().st_size > 0
    storage = await open_storage()
    assert await storage.read(names) == ["a"]


async def test_a_cancelled_opening_leaves_the_folder_free(open_storage: OpenStorage, folder: Path) -> None:
    for turns in range(0, 40, 2):
        task = asyncio.create_task(open_storage())
        for _ in range(turns):
            await asyncio.sleep(0.0005)
        task.cancel()
        results = await asyncio.gather(task, return_exceptions=True)
        if isinstance(results[0], Storage):
            await results[0].close()
        assert not (folder / NOTE_FILE).exists()
    assert await (await open_storage()).read(names) == []


# -------------------------------------------------------------------------------------------------- bad files table


def overwrite(path: Path, start: int, content: bytes) -> None:
    with path.open("r+b") as file:
        file.seek(start)
        file.write(content)


def other_program(path: Path) -> None:
    path.unlink()
    database = sqlite3.connect(path)
    database.execute("CREATE TABLE bookmark (url TEXT)")
    database.close()


def run_sql(sql: str) -> Callable[[Path], None]:
    def spoil(path: Path) -> None:
        database = sqlite3.connect(path)
        database.execute(sql)
        database.commit()
        database.close()

    return spoil


def only_the_log(path: Path) -> None:
    path.unlink()
    path.with_name(f"{DATABASE}-wal").write_bytes(b"frames")


def root_page(path: Path, table: str) -> int:
    database = sqlite3.connect(path)
    found = database.execute("SELECT rootpage FROM sqlite_master WHERE name = ?", (table,)).fetchone()[0]
    database.close()
    return int(found)


BAD_FILES: dict[str, tuple[Callable[[Path], object], type[StorageError], str]] = {
    "empty": (lambda path: path.write_bytes(b""), NotADatabase, "empty"),
    "text": (lambda path: path.write_text("hello " * 1_000), NotADatabase, "not a database"),
    "short text": (lambda path: path.write_text("hello"), NotADatabase, "not a database"),
    "zeros": (lambda path: path.write_bytes(bytes(8 * PAGE)), NotADatabase, "not a database"),
    "of another program": (other_program, NotADatabase, "another program"),
    "without our mark": (run_sql("PRAGMA application_id = 0"), NotADatabase, "another program"),
    "newer": (
        run_sql("INSERT INTO schema_migration VALUES (3, 'future', 0, 'x')"), DatabaseNewer, "newer version",
    ),
    "of another build": (
        run_sql("UPDATE schema_migration SET sha256 = 'x' WHERE version = 2"), SchemaMismatch, "Another build",
    ),
    "without record of its schema": (run_sql("DROP TABLE schema_migration"), DatabaseDamaged, "no record"),
    "without identity": (run_sql("DELETE FROM meta"), DatabaseDamaged, "identity"),
    "cut in half": (
        lambda path: os.truncate(path, path.stat().st_size // PAGE // 2 * PAGE), DatabaseDamaged, "is damaged",
    ),
    "cut within a page": (lambda path: os.truncate(path, 3 * PAGE + 100), DatabaseDamaged, "is damaged"),
    "a spoilt page": (
        lambda path: overwrite(path, (root_page(path, "journal") - 1) * PAGE, b"\xff" * PAGE),
        DatabaseDamaged,
        "is damaged",
    ),
    "a spoilt header": (lambda path: overwrite(path, 0, b"\0" * 16), NotADatabase, "not a database"),
    "only its log": (only_the_log, DatabaseDamaged, "missing while its log"),
}  # fmt: skip


@pytest.mark.parametrize("kind", BAD_FILES)
async def test_e15_a_file_that_cannot_be_used_is_refused_by_name_and_left_alone(
    open_storage: OpenStorage, folder: Path, kind: str
) -> None:
    spoil, expected, words = BAD_FILES[kind]
    path = await closed_with_notes(open_storage, folder)
    spoil(path)
    before = digest(folder)
    for _ in range(2):
        with pytest.raises(expected) as caught:
            await open_storage()
        assert type(caught.value) is expected
        assert words in str(caught.value)
        assert str(path) in caught.value.what
        assert caught.value.means
        assert caught.value.do
        assert digest(folder) == before


async def test_e15_a_newer_database_with_a_log_beside_it_is_left_alone_too(
    open_storage: OpenStorage, folder: Path
) -> None:
    path = await closed_with_notes(open_storage, folder)
    script = (
        "import os, sqlite3, sys\n"
        "database = sqlite3.connect(sys.argv[1], isolation_level=None)\n"
        "database.execute(\"INSERT INTO schema_migration VALUES (3, 'future', 0, 'x')\")\n"
        "os._exit(0)\n"
    )
    python(script, path).communicate(timeout=WAIT_SECONDS)
    before = digest(folder, f"{DATABASE}-shm")
    assert f"{DATABASE}-wal" in before
    with pytest.raises(DatabaseNewer):
        await open_storage()
    assert digest(folder, f"{DATABASE}-shm") == before


async def test_e15_a_database_locked_by_another_program_is_named_waited_for_and_left_alone(
    open_storage: OpenStorage, folder: Path
) -> None:
    path = await closed_with_notes(open_storage, folder)
    before = digest(folder)
    child = python(
        "import sqlite3, sys\n"
        "database = sqlite3.connect(sys.argv[1], isolation_level=None)\n"
        "database.execute('BEGIN EXCLUSIVE')\n"
        "print('locked', flush=True)\n"
        "sys.stdin.readline()\n"
        "database.execute('ROLLBACK')\n"
        "database.close()\n",
        path,
    )
    assert child.stdout is not None
    assert child.stdout.readline() == "locked\n"
    try:
        with pytest.raises(DatabaseLocked) as caught:
            await open_storage(lock_wait_ms=50)
        if sys.platform != "win32":  # Windows would take many seconds to say who it is
            assert f"(process {child.pid})" in caught.value.what
        waiting = asyncio.create_task(open_storage(lock_wait_ms=20_000))
        await asyncio.sleep(0.05)
        assert not waiting.done()
    finally:
        child.communicate("\n", timeout=WAIT_SECONDS)
    storage = await waiting
    assert await storage.read(names) == ["a", "b", "c"]
    await storage.close()
    assert digest(folder) == before


async def test_e15_a_write_protected_file_is_refused(
    open_storage: OpenStorage, folder: Path, protect: Callable[[Path], None]
) -> None:
    path = await closed_with_notes(open_storage, folder)
    before = digest(folder)
    protect(path)
    with pytest.raises(DatabaseReadOnly, match="cannot be written to"):
        await open_storage()
    assert digest(folder) == before


async def test_e15_a_write_protected_folder_is_refused(
    open_storage: OpenStorage, folder: Path, protect: Callable[[Path], None]
) -> None:
    await closed_with_notes(open_storage, folder)
    (folder / "owner.lock").unlink()
    before = digest(folder)
    protect(folder)
    with pytest.raises(FolderNotUsable, match="cannot be used"):
        await open_storage()
    assert digest(folder) == before
    with pytest.raises(FolderNotUsable):
        await open_storage(folder / "inside")


def test_e15_a_database_that_may_not_be_read_is_no_fault_of_the_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "praxis.sqlite"
    path.touch()
    error = sqlite3.OperationalError("unable to open database file")
    error.sqlite_errorcode = sqlite3.SQLITE_CANTOPEN
    assert isinstance(storage_error(error, path), DiskFault)
    monkeypatch.setattr(os, "access", lambda _path, _mode: False)
    assert isinstance(storage_error(error, path), FolderNotUsable)


async def test_e15_a_file_in_the_place_of_the_folder_is_refused(
    open_storage: OpenStorage, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("x", encoding="utf-8")
    for place in (tmp_path / "file", tmp_path / "file" / "below"):
        with pytest.raises(FolderNotUsable):
            await open_storage(place)


async def test_e15_a_full_disk_is_said_and_leaves_no_half_made_database(
    open_storage: OpenStorage, small_disk: Path
) -> None:
    filler = small_disk / "filler"
    with pytest.raises(OSError, match="No space"), filler.open("wb") as file:  # noqa: PT012
        while True:
            file.write(bytes(PAGE))
            file.flush()
    with filler.open("r+b") as file:
        file.truncate(filler.stat().st_size - 6 * PAGE)
    with pytest.raises(DiskFull, match="no room left"):
        await open_storage(small_disk)
    assert sorted(path.name for path in small_disk.iterdir()) == ["filler", "owner.lock"]
    filler.unlink()
    storage = await open_storage(small_disk)
    assert await storage.write(note, "a") == "a"
    await storage.close()


async def test_e15_a_disk_that_fills_up_refuses_operations_and_keeps_what_there_is(
    open_storage: OpenStorage, small_disk: Path
) -> None:
    storage = await open_storage(small_disk)
    written = []
    with pytest.raises(DiskFull):  # noqa: PT012
        for number in range(1_000):
            written.append(await storage.write(note, f"{number:04}", 20_000))
    assert await storage.read(names) == written
    await storage.close()
    again = await open_storage(small_disk)
    assert await again.read(names) == written
    await again.close()


async def test_b085_a_network_share_is_refused_before_anything_is_made(
    open_storage: OpenStorage, tmp_path: Path
) -> None:
    folder = tmp_path / "share" / "data"
    from pathlib import PurePosixPath

    surroundings = PosixSurroundings([Mount(PurePosixPath(tmp_path / "share"), "nfs4")])
    with pytest.raises(UnsuitableFolder):
        await open_storage(folder, surroundings=surroundings)
    assert not folder.exists()


async def test_b085_a_synced_folder_is_opened_with_a_warning(
    open_storage: OpenStorage, tmp_path: Path
) -> None:
    storage = await open_storage(tmp_path / "Dropbox" / "data")
    assert storage.place.kind is PlaceKind.SYNCED
    assert "Dropbox" in storage.place.warning


@pytest.mark.skipif(sys.platform == "win32", reason="links need a right that most people there do not have")
async def test_a_link_does_not_hide_where_the_folder_is(open_storage: OpenStorage, tmp_path: Path) -> None:
    (tmp_path / "Dropbox").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "Dropbox", target_is_directory=True)
    storage = await open_storage(tmp_path / "link" / "data")
    assert storage.place.kind is PlaceKind.SYNCED
    assert storage.folder == tmp_path / "Dropbox" / "data"


async def test_a_setting_that_does_not_hold_is_refused(
    open_storage: OpenStorage, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await closed_with_notes(open_storage, folder)
    before = digest(folder)
    monkeypatch.setattr(
        "engine.storage.connections._WRITER_SETTINGS", {"journal_mode": "wal", "synchronous": 7}
    )
    with pytest.raises(DatabaseMisconfigured, match="synchronous = 7 does not hold"):
        await open_storage()
    assert digest(folder) == before


async def test_a_sqlite_that_is_too_old_is_refused(
    open_storage: OpenStorage, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(opening, "OLDEST_SQLITE", (99, 0, 0))
    with pytest.raises(DatabaseMisconfigured, match="too old"):
        await open_storage()
    assert list(folder.iterdir()) == []


async def test_a_reader_that_cannot_open_closes_the_writer_again(
    open_storage: OpenStorage, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr("engine.storage.connections._READER_SETTINGS", {"synchronous": 7})
        with pytest.raises(DatabaseMisconfigured):
            await open_storage()
    assert await (await open_storage()).read(names) == []


def test_p13_no_module_of_the_storage_opens_the_live_file_with_plain_calls() -> None:
    """Only the note of the owner and the backups' neighbours are files; the database is SQLite's."""
    import engine.storage

    package = Path(engine.storage.__file__).parent
    for module in package.glob("*.py"):
        text = module.read_text(encoding="utf-8")
        assert "open(path" not in text.replace("sqlite3.connect", ""), module.name
        assert "path.open(" not in text, module.name
        assert "path.read_bytes(" not in text, module.name


def test_shipped_migrations_are_numbered_without_gaps() -> None:
    migrations = shipped_migrations()
    assert [migration.version for migration in migrations] == list(range(1, len(migrations) + 1))
    assert isinstance(migrations[0], Migration)
    assert SCHEMA[0] == migrations[0]
