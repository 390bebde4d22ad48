"""Storages that are closed after the test, with the tests' own small schema."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from engine.clock import ManualClock
from engine.storage import Storage
from tests.storage.support import SCHEMA

OpenStorage = Callable[..., Awaitable[Storage]]


@pytest.fixture
async def open_storage(folder: Path, clock: ManualClock) -> AsyncIterator[OpenStorage]:
    """Open storages with any options; they are closed after the test."""
    opened: list[Storage] = []

    async def open_one(place: Path = folder, **options: Any) -> Storage:
        options = {"clock": clock, "migrations": SCHEMA, **options}
        storage = await Storage.open(place, **options)
        opened.append(storage)
        return storage

    yield open_one
    for storage in opened:
        await storage.close()


@pytest.fixture
async def storage(open_storage: OpenStorage) -> Storage:
    """An open storage on an empty folder."""
    return await open_storage()


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of one megabyte, where the system lets us have one."""
    place = tmp_path / "disk"
    place.mkdir()
    mount = shutil.which("mount")
    command = [mount or "", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(place)]
    if mount is None or subprocess.run(command, capture_output=True, check=False).returncode:
        pytest.skip("this system lets us mount nothing")
    yield place
    subprocess.run(["umount", "--lazy", str(place)], check=True)


@pytest.fixture
def protect() -> Iterator[Callable[[Path], None]]:
    """Write-protect a file so that it binds the superuser too; it is freed after the test."""
    protected: list[Path] = []
    root = hasattr(os, "geteuid") and os.geteuid() == 0

    def make(path: Path) -> None:
        if os.name == "nt" and path.is_dir():
            pytest.skip("Windows write-protects no folders")
        if root:
            done = subprocess.run(["chattr", "+i", str(path)], capture_output=True, check=False)
            if done.returncode:
                pytest.skip("nothing is write-protected for the superuser here")
        else:
            path.chmod(0o555 if path.is_dir() else 0o444)
        protected.append(path)

    yield make
    for path in protected:
        if root:
            subprocess.run(["chattr", "-i", str(path)], check=True)
        else:
            with suppress(OSError):
                path.chmod(0o755 if path.is_dir() else 0o644)
