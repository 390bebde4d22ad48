"""One owner of a data folder, held by the system (E-10, B-098)."""

from __future__ import annotations

import ctypes
import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from engine.clock import ManualClock
from engine.errors import FolderInUse
from engine.instants import format_instant
from engine.storage import owner_lock
from engine.storage.owner_lock import NOTE_FILE, Owner, OwnerLock, read_owner
from tests.storage.conftest import OpenStorage
from tests.storage.support import WAIT_SECONDS, digest, names, note, python

STARTS = 10

STARTS_WHEN_TOLD = """
import asyncio, sys
from pathlib import Path
from engine.clock import ManualClock
from engine.errors import FolderInUse
from engine.storage import Storage
from tests.storage.support import SCHEMA

async def main():
    print("ready", flush=True)
    sys.stdin.readline()
    try:
        storage = await Storage.open(Path(sys.argv[1]), clock=ManualClock(), migrations=SCHEMA, program=sys.argv[2])
    except FolderInUse as error:
        print("lost to", error.facts.get("program"), error.facts.get("pid"), flush=True)
        return
    print("won", flush=True)
    sys.stdin.readline()
    await storage.close()

asyncio.run(main())
"""


def start(folder: Path, program: str) -> subprocess.Popen[str]:
    child = python(STARTS_WHEN_TOLD, folder, program)
    assert child.stdout is not None
    assert child.stdout.readline() == "ready\n"
    return child


def tell(child: subprocess.Popen[str]) -> None:
    assert child.stdin is not None
    child.stdin.write("\n")
    child.stdin.flush()


def answer(child: subprocess.Popen[str]) -> str:
    assert child.stdout is not None
    return child.stdout.readline().strip()


def test_b098_of_ten_starts_at_once_one_wins_and_the_others_name_it(folder: Path) -> None:
    children = {f"program {number}": start(folder, f"program {number}") for number in range(STARTS)}
    try:
        for child in children.values():
            tell(child)
        answers = {program: answer(child) for program, child in children.items()}
        [winner] = [program for program, said in answers.items() if said == "won"]
        lost = {said for said in answers.values() if said != "won"}
        assert lost == {f"lost to {winner} {children[winner].pid}"}
        tell(children[winner])
        for child in children.values():
            child.communicate(timeout=WAIT_SECONDS)
            assert child.returncode == 0
    finally:
        for child in children.values():
            if child.poll() is None:
                child.kill()
                child.communicate()


async def test_b098_a_killed_owner_leaves_the_folder_free(folder: Path, open_storage: OpenStorage) -> None:
    child = start(folder, "first")
    tell(child)
    assert answer(child) == "won"
    with pytest.raises(FolderInUse) as caught:
        await open_storage()
    assert "first" in caught.value.what
    assert str(child.pid) in caught.value.what
    child.kill()
    child.communicate(timeout=WAIT_SECONDS)
    assert (folder / NOTE_FILE).exists(), "the note is left behind, the lock is not"
    storage = await open_storage(program="second")
    assert await storage.read(names) == []
    owner = read_owner(folder)
    assert owner is not None
    assert (owner.pid, owner.program) == (os.getpid(), "second")


async def test_e10_a_second_opening_in_one_process_is_refused_and_touches_nothing(
    open_storage: OpenStorage, folder: Path, clock: ManualClock
) -> None:
    storage = await open_storage(program="praxis-console")
    await storage.write(note, "a")
    before = {path: path.stat().st_mtime_ns for path in folder.iterdir()}
    with pytest.raises(FolderInUse) as caught:
        await open_storage()
    assert {path: path.stat().st_mtime_ns for path in folder.iterdir()} == before
    assert caught.value.facts == {
        "folder": str(folder),
        "pid": os.getpid(),
        "program": "praxis-console",
        "host": storage.owner.host,
        "since": clock.now(),
    }
    assert format_instant(clock.now()) in str(caught.value)
    assert await storage.write(note, "b") == "b"


async def test_e10_the_note_says_who_and_is_gone_after_closing(
    open_storage: OpenStorage, folder: Path
) -> None:
    storage = await open_storage(program="praxis-console")
    note_text = json.loads((folder / NOTE_FILE).read_text(encoding="utf-8"))
    assert note_text == {
        "pid": os.getpid(),
        "program": "praxis-console",
        "host": storage.owner.host,
        "since": "2026-09-10T00:00:00.000Z",
    }
    await storage.close()
    assert not (folder / NOTE_FILE).exists()


@pytest.mark.parametrize(
    "content", [None, b"", b"{}", b'{"pid": 1', b"[]", b'{"pid": 1, "program": "x"}', b"\xff"]
)
def test_an_owner_without_a_readable_note_is_called_another_process(
    folder: Path, content: bytes | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("engine.storage.owner_lock._NOTE_ATTEMPTS", 2)
    lock = OwnerLock.take(folder, Owner.this_process("one", 0))
    try:
        (folder / NOTE_FILE).unlink()
        if content is not None:
            (folder / NOTE_FILE).write_bytes(content)
        with pytest.raises(FolderInUse, match="another process"):
            OwnerLock.take(folder, Owner.this_process("two", 0))
    finally:
        lock.release()
    lock.release()
    OwnerLock.take(folder, Owner.this_process("two", 0)).release()
    assert digest(folder) == {}


@pytest.mark.skipif(sys.platform == "win32", reason="the other tests here try the real one")
def test_b098_the_windows_lock_keeps_the_same_promises(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The port for Windows on a stand-in for its kernel that locks as it does: by file, at once or not at all."""
    locked: dict[int, int] = {}

    class Kernel:
        def LockFile(self, handle: ctypes.c_void_p, *first_byte: int) -> int:
            assert first_byte == (0, 0, 1, 0)
            descriptor = handle.value or 0
            return int(locked.setdefault(os.fstat(descriptor).st_ino, descriptor) == descriptor)

        def UnlockFile(self, handle: ctypes.c_void_p, *first_byte: int) -> int:
            assert first_byte == (0, 0, 1, 0)
            descriptor = handle.value or 0
            return int(locked.pop(os.fstat(descriptor).st_ino) == descriptor)

    stand_in = ModuleType("msvcrt")
    stand_in.__dict__.update(get_osfhandle=lambda descriptor: descriptor)
    monkeypatch.setitem(sys.modules, "msvcrt", stand_in)
    for name, value in {
        "WinDLL": lambda _name, use_last_error: Kernel(),
        "WinError": lambda number: PermissionError(13, "The file is locked", None, number),
        "get_last_error": lambda: 33,
    }.items():
        monkeypatch.setattr(ctypes, name, value, raising=False)
    here = sys.platform
    monkeypatch.setattr(sys, "platform", "win32")
    spec = importlib.util.spec_from_file_location("windows_owner_lock", owner_lock.__file__)
    assert spec is not None
    assert spec.loader is not None
    windows = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, spec.name, windows)
    spec.loader.exec_module(windows)
    monkeypatch.setattr(sys, "platform", here)

    owner = windows.Owner.this_process("one", 0)
    lock = windows.OwnerLock.take(folder, owner)
    with pytest.raises(FolderInUse, match=f"process {os.getpid()}"):
        windows.OwnerLock.take(folder, windows.Owner.this_process("two", 0))
    lock.release()
    assert locked == {}
    windows.OwnerLock.take(folder, owner).release()
