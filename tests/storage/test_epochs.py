"""Epochs: they only grow, and fence whoever has been superseded (E-20)."""

from __future__ import annotations

import pytest

from engine.errors import StaleEpoch
from engine.storage import Rx, Storage, Tx, current_epoch, require_epoch, take_epoch
from tests.storage.conftest import OpenStorage
from tests.storage.support import note


def require(tx: Tx, epoch: int, *, now: int) -> None:
    require_epoch(tx, epoch)


def epochs_of_rows(rx: Rx) -> list[int]:
    return [row["epoch"] for row in rx.all("SELECT epoch FROM journal ORDER BY sequence")]


async def test_e20_each_take_gives_a_greater_epoch(storage: Storage) -> None:
    assert await storage.read(current_epoch) == 0
    assert [await storage.write(take_epoch, storage.owner) for _ in range(3)] == [1, 2, 3]
    assert await storage.read(current_epoch) == 3


async def test_e20_an_older_and_a_future_epoch_are_refused(storage: Storage) -> None:
    first = await storage.write(take_epoch, storage.owner)
    await storage.write(require, first)
    second = await storage.write(take_epoch, storage.owner)
    await storage.write(require, second)
    for epoch in (first, second + 1, 0):
        with pytest.raises(StaleEpoch) as caught:
            await storage.write(require, epoch)
        assert caught.value.facts == {"epoch": epoch, "current": second}


async def test_e16_journal_rows_carry_the_epoch_in_force(open_storage: OpenStorage) -> None:
    storage = await open_storage()
    await storage.write(note, "before any")
    await storage.write(take_epoch, storage.owner)
    await storage.write(note, "in the first")
    await storage.close()
    again = await open_storage()
    await again.write(note, "still in the first")
    await again.write(take_epoch, again.owner)
    await again.write(note, "in the second")
    assert await again.read(epochs_of_rows) == [0, 1, 1, 1, 2, 2]


async def test_an_epoch_that_was_rolled_back_was_never_in_force(storage: Storage) -> None:
    def take_and_fail(tx: Tx, *, now: int) -> None:
        take_epoch(tx, storage.owner, now)
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await storage.write(take_and_fail)
    await storage.write(note, "a")
    assert await storage.read(epochs_of_rows) == [0]
    assert await storage.write(take_epoch, storage.owner) == 1


async def test_e20_an_epoch_says_who_took_it(storage: Storage) -> None:
    await storage.write(take_epoch, storage.owner)
    [row] = await storage.read(lambda rx: rx.all("SELECT * FROM epoch"))
    owner = storage.owner
    assert (row["owner_program"], row["owner_pid"], row["owner_host"]) == (
        owner.program,
        owner.pid,
        owner.host,
    )
    assert row["taken_at"] == owner.since
