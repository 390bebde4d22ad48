"""Backups by schedule: made, proven, so many kept, and an alarm when one fails (E-83)."""

from __future__ import annotations

import shutil
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from engine.actors import Actor
from engine.backup.schedule import RETRY_MS, WORKSPACE, BackupSchedule, record_run, set_schedule
from engine.clock import ManualClock
from engine.engine import Engine
from engine.errors import InvalidValue, Unauthorized
from engine.wakes import CancelResult
from engine.wakes.recurrence import rule_from_json
from engine.wakes.values import SERIES_LIVE

HOUR = 3_600_000


@pytest.fixture
async def engine(folder: Path, clock: ManualClock) -> AsyncIterator[Engine]:
    opened = await Engine.open(folder, clock=clock, automatic=False)
    yield opened
    await opened.close()


async def test_e83_so_many_are_kept_and_each_is_proven(
    engine: Engine, clock: ManualClock, actor: Actor, tmp_path: Path
) -> None:
    """The first at once; what a person made is never removed."""
    place = tmp_path / "disk"
    own = await engine.backups.back_up(actor, place=place)
    assert not await engine.scheduled_backups.run_due()
    await engine.scheduled_backups.set(BackupSchedule(HOUR, 2, str(place)), actor)
    made = []
    for _ in range(4):
        assert await engine.scheduled_backups.run_due()
        assert not await engine.scheduled_backups.run_due()
        made.append(clock.now())
        assert (await engine.status()).proven_backup_at == clock.now()
        clock.advance(HOUR - 1)
        assert not await engine.scheduled_backups.run_due()
        clock.advance(1)
    kept = {copy.made_at for copy in await engine.backups.listed([place])}
    assert kept == {own.made_at, *made[-2:]}
    assert len(list(place.iterdir())) == 3
    await engine.scheduled_backups.set(None, actor)
    assert await engine.scheduled_backups.schedule() is None
    assert not await engine.scheduled_backups.run_due()


async def test_e83_a_failed_one_alarms_and_is_tried_again_soon(
    engine: Engine, clock: ManualClock, actor: Actor, tmp_path: Path
) -> None:
    place = tmp_path / "disk"
    place.write_text("not mounted")
    await engine.scheduled_backups.set(BackupSchedule(HOUR, 2, str(place)), actor)
    assert await engine.scheduled_backups.run_due()
    status = await engine.status()
    assert "cannot be written to" in status.backup_error
    assert status.proven_backup_at is None
    clock.advance(RETRY_MS - 1)
    assert not await engine.scheduled_backups.run_due()
    clock.advance(1)
    place.unlink()
    assert await engine.scheduled_backups.run_due()
    assert (await engine.status()).backup_error == ""
    assert [row.kind for row in await engine.journal()].count("backup.failed") == 1


async def test_e83_the_last_proven_one_is_not_removed_by_worse_ones(
    engine: Engine, clock: ManualClock, actor: Actor
) -> None:
    """A kept file is lost: every later backup fails its rehearsal, and removes nothing."""
    await engine.scheduled_backups.set(BackupSchedule(HOUR, 1), actor)
    await engine.scheduled_backups.run_due()
    (proven,) = await engine.backups.listed()

    def lose(tx, *, now: int) -> None:
        tx.run("PRAGMA defer_foreign_keys = ON")
        tx.run("DELETE FROM journal WHERE sequence = 1")

    await engine._write(lose)
    for _ in range(3):
        clock.advance(HOUR)
        assert await engine.scheduled_backups.run_due()
    assert "missing" in (await engine.status()).backup_error
    assert proven.path in {copy.path for copy in await engine.backups.listed()}


async def test_e32_nothing_is_due_by_a_distrusted_clock(
    engine: Engine, clock: ManualClock, actor: Actor
) -> None:
    await engine.scheduled_backups.set(BackupSchedule(HOUR, 2), actor)
    clock.step_wall(48 * HOUR)
    engine.clock.now()
    assert not await engine.scheduled_backups.run_due()


async def test_a_schedule_survives_and_an_automatic_engine_keeps_it(
    folder: Path, clock: ManualClock, actor: Actor
) -> None:
    engine = await Engine.open(folder, clock=clock, automatic=False)
    schedule = BackupSchedule(HOUR, 3)
    await engine.scheduled_backups.set(schedule, actor)
    await engine.close()
    engine = await Engine.open(folder, clock=clock)
    try:
        assert await engine.scheduled_backups.schedule() == schedule
        from tests.e2e.test_engine import until

        async def made() -> bool:
            return (await engine.status()).proven_backup_at is not None

        await until(engine, made)
    finally:
        await engine.close()


async def test_what_is_no_schedule_is_refused(engine: Engine, agent: Actor) -> None:
    year = 366 * 24 * HOUR
    for every, keep, place in (
        (59_999, 1, ""),
        (year + 1, 1, ""),
        (HOUR, 0, ""),
        (HOUR, 1, "relative"),
        (-1, 1, ""),
    ):
        with pytest.raises(InvalidValue):
            BackupSchedule(every, keep, place)
    with pytest.raises(Unauthorized):
        await engine.scheduled_backups.set(BackupSchedule(HOUR, 1), agent)


async def test_one_that_somebody_removed_is_no_trouble(
    engine: Engine, clock: ManualClock, actor: Actor
) -> None:
    await engine.scheduled_backups.set(BackupSchedule(HOUR, 1), actor)
    await engine.scheduled_backups.run_due()
    shutil.rmtree(engine.backups.folder)
    clock.advance(HOUR)
    assert await engine.scheduled_backups.run_due()
    assert (await engine.status()).backup_error == ""


async def test_the_series_follows_the_schedule_and_nobody_else_changes_it(
    engine: Engine, clock: ManualClock, actor: Actor
) -> None:
    """One series at a time, of the engine's own; a person ends it through the schedule."""
    await engine.scheduled_backups.set(BackupSchedule(HOUR, 1), actor)
    await engine.scheduled_backups.set(BackupSchedule(2 * HOUR, 1), actor)
    (series,) = await engine.wakes.list_series(WORKSPACE, states=SERIES_LIVE)
    assert str(rule_from_json(series.rule)) == "every 2h"
    assert await engine.wakes.cancel_series(series.id, actor) is CancelResult.UNAUTHORIZED
    with pytest.raises(Unauthorized):
        await engine.wakes.pause_series(series.id, actor)
    assert await engine.scheduled_backups.run_due()
    assert len(await engine.backups.listed()) == 1
    await engine.scheduled_backups.set(None, actor)
    assert await engine.wakes.list_series(WORKSPACE, states=SERIES_LIVE) == ()


async def test_a_schedule_of_before_the_wakes_gets_its_series_and_keeps_its_turn(
    folder: Path, clock: ManualClock, actor: Actor
) -> None:
    """So does one whose process was killed between schedule and series."""
    engine = await Engine.open(folder, clock=clock, automatic=False)
    await engine._storage.write(set_schedule, BackupSchedule(HOUR, 2), actor)
    await engine._storage.write(record_run, "", "")
    await engine.close()
    clock.advance(HOUR // 2)
    engine = await Engine.open(folder, clock=clock, automatic=False)
    try:
        assert not await engine.scheduled_backups.run_due()
        clock.advance(HOUR // 2)
        assert await engine.scheduled_backups.run_due()
        assert not await engine.scheduled_backups.run_due()
    finally:
        await engine.close()


async def test_after_downtime_there_is_one_and_the_grid_goes_on(
    folder: Path, clock: ManualClock, actor: Actor
) -> None:
    engine = await Engine.open(folder, clock=clock, automatic=False)
    await engine.scheduled_backups.set(BackupSchedule(HOUR, 9), actor)
    assert await engine.scheduled_backups.run_due()
    await engine.close()
    clock.advance(50 * HOUR + HOUR // 2)
    engine = await Engine.open(folder, clock=clock, automatic=False)
    try:
        assert await engine.scheduled_backups.run_due()
        assert len(await engine.backups.listed()) == 2
        clock.advance(HOUR // 2)
        assert await engine.scheduled_backups.run_due()
    finally:
        await engine.close()
