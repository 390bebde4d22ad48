"""`praxis wakes`, `praxis schedule` and `praxis docket`: alone on a folder, and through its owner (E-91, E-85)."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from engine.actors import Actor, ActorKind
from engine.clock import ManualClock, SystemClock
from engine.engine import Engine
from engine.instants import format_instant
from engine.interfaces import wire
from engine.interfaces.work_order_file import read_work_order
from engine.views.docket import Docket
from engine.views.schedules import ScheduleView
from engine.wakes import CatchUp, Wake, external
from tests.interfaces.conftest import Praxis
from tests.interfaces.test_cli_owner import environment, owner, until_true

__all__ = ["environment", "owner"]

PERSON = Actor(ActorKind.PERSON, "ada")
HOUR, DAY = 3_600_000, 86_400_000


def with_engine(folder: Path, at: int, work: Callable[[Engine, ManualClock], Awaitable[None]]) -> None:
    """Do something with an engine whose clock stands at an instant; it fires only when told."""

    async def run() -> None:
        clock = ManualClock(at, boot=f"boot at {at}")
        engine = await Engine.open(folder, clock=clock, automatic=False)
        try:
            await work(engine, clock)
        finally:
            await engine.close()

    asyncio.run(run())


# ------------------------------------------------------------------------------------------------------ schedules


def test_a_schedule_from_its_preview_to_its_end(praxis: Praxis, order_file: Any) -> None:
    file = order_file(title="Nightly report")
    assert praxis("docket", "list", ok=False).code == 3, "there is no data yet"
    seen = praxis("schedule", "preview", "--cron", "30 2 * * *", "--zone", "Europe/Berlin", "-n", "400").out
    assert "2027-03-28T03:00+02:00" in seen
    assert "moved" in seen
    made = praxis("schedule", "add", file, "--every", "1d", "--catch-up", "ask", "--key", "k")
    assert "Nightly report" in made.out
    assert "Nothing runs now" in made.out
    again = praxis("schedule", "add", file, "--every", "1d", "--catch-up", "ask", "--key", "k", "--json").json
    (row,) = praxis("schedule", "list", "--json").json
    assert (row["id"], row["catch_up"], row["state"]) == (again["id"], "ask", "active")
    short = row["id"][-8:]
    assert praxis("docket", "list").out == "Nothing was missed, and nothing waits for a decision.\n"
    shown = praxis("schedule", "show", short).out
    assert 'title = "Nightly report"' in shown
    assert praxis("schedule", "preview", short, "-n", "2", "--json").json[0]["utc"] == row["next_at"]
    assert praxis("schedule", "pause", short, "--reason", "holidays", "--json").json["state"] == "paused"
    assert praxis("schedule", "resume", short, "--reason", "back", "--json").json["state"] == "active"
    changed = praxis(
        "schedule", "change", short, "--reason", "earlier", "--cron", "0 6 * * MON", "--count", "3", "--json"
    ).json
    assert (changed["rule"], changed["count"]) == ("cron 0 6 * * MON (UTC)", 3)
    assert praxis("schedule", "change", short, "--reason", "on", "--no-end", "--json").json["count"] is None
    other = order_file(title="Weekly report", name="other.toml")
    praxis("schedule", "change", short, "--reason", "another", "--file", other)
    assert "Weekly report" in praxis("schedule", "list").out
    assert praxis("schedule", "cancel", short, "--reason", "enough", "--json").json["state"] == "cancelled"
    assert praxis("schedule", "list").out.startswith("There is no schedule")
    assert "cancelled" in praxis("schedule", "list", "--all").out
    kinds = [json.loads(line)["kind"] for line in praxis("journal", "export").out.splitlines()]
    assert [kind for kind in kinds if kind.startswith("series.")] == [
        "series.created",
        "series.paused",
        "series.resumed",
        "series.changed",
        "series.changed",
        "series.changed",
        "series.cancelled",
    ]


def test_what_is_wrong_with_a_schedule_is_said_with_an_exit_code(praxis: Praxis, order_file: Any) -> None:
    file = order_file()
    for arguments, code in (
        (["schedule", "add", file], 2),
        (["schedule", "add", file, "--every", "30s"], 2),
        (["schedule", "add", file, "--every", "1d", "--cron", "0 6 * * *"], 2),
        (["schedule", "add", file, "--cron", "0 25 * * *"], 2),
        (["schedule", "add", file, "--every", "1d", "--until", "tomorrow"], 2),
        (["schedule", "add", file, "--every", "1d", "--catch-up", "some"], 2),
        (["schedule", "add", "no-such-file.toml", "--every", "1d"], 3),
        (["schedule", "preview"], 2),
    ):
        assert praxis(*arguments, ok=False).code == code, arguments
    praxis("schedule", "add", file, "--every", "1d")
    for arguments, code in (
        (["schedule", "show", "short"], 2),
        (["schedule", "show", "ABCDEFGH"], 3),
        (["schedule", "show", "0" * 26], 3),
        (["schedule", "pause", "ABCDEFGH"], 2),
    ):
        assert praxis(*arguments, ok=False).code == code, arguments


# ------------------------------------------------------------------------------------------------------- wakes


def test_wakes_are_listed_shown_and_cancelled_but_not_the_engines_own(
    praxis: Praxis, order_file: Any, folder: Path
) -> None:
    later = SystemClock().now() + DAY
    praxis("submit", order_file(due_at=later))
    praxis("schedule", "add", order_file(name="b.toml"), "--every", "1d")
    rows = {row["kind"]: row for row in praxis("wakes", "list", "--json").json}
    assert {"task.wake_up", "work_order.submit"} <= rows.keys()
    assert rows["task.wake_up"]["due_at"] == format_instant(later)
    task, occurrence = (rows[kind]["id"] for kind in ("task.wake_up", "work_order.submit"))
    assert task[-8:] in praxis("wakes", "list", "--text", "wake_up").out
    shown = praxis("wakes", "show", occurrence[-8:]).out
    assert "created by" in shown
    refused = praxis("wakes", "cancel", task, "--reason", "r", "--json", ok=False)
    assert (refused.code, json.loads(refused.err)["code"]) == (5, "refused")
    assert praxis("wakes", "cancel", occurrence[-8:], "--reason", "not this one", "--json").json["state"] == (
        "cancelled"
    )
    assert praxis("wakes", "cancel", occurrence, "--reason", "again", ok=False).code == 4
    assert occurrence[-8:] in praxis("wakes", "list", "--ended").out
    assert praxis("wakes", "list", "--dead").out == "There is none.\n"
    assert praxis("wakes", "list", "--dead", "--ended", ok=False).code == 2
    assert praxis("wakes", "show", "0" * 26, ok=False).code == 3


def test_a_poisoned_and_an_unknown_kind_are_shown_and_a_dead_one_is_released_or_dropped(
    praxis: Praxis, folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    begin = SystemClock().now() - 3 * DAY
    booked: list[str] = []

    async def poison(engine: Engine, clock: ManualClock) -> None:
        async def fail(wake: Wake) -> None:
            raise OSError("\x1b[2Jthe bridge is down")

        engine.wakes.register("bell", external(fail, max_attempts=1))
        for kind in ("bell", "bell", "gong"):
            done = await engine.wakes.schedule(workspace="w", actor=PERSON, kind=kind, in_="1s")
            booked.append(done.id)
        clock.advance(2_000)
        await engine.reconcile_once()

    with caplog.at_level("WARNING"):
        with_engine(folder, begin, poison)
    listed = praxis("wakes", "list").out
    assert "the bridge is down" in listed
    assert "\x1b" not in listed
    assert "no sink for gong" in listed
    dead = praxis("wakes", "list", "--dead", "--json").json
    assert sorted(row["id"] for row in dead) == sorted(booked[:2])
    first, second = booked[:2]
    assert praxis("wakes", "release", first[-8:], "--reason", "mended", "--json").json["state"] == "pending"
    assert (
        praxis("wakes", "drop", second[-8:], "--reason", "not needed", "--json").json["state"] == "cancelled"
    )
    assert praxis("wakes", "drop", second, "--reason", "again", ok=False).code == 4
    assert "released by" in praxis("wakes", "show", first).out


# ------------------------------------------------------------------------------------------------------- docket


def test_e85_the_docket_is_listed_and_decided(praxis: Praxis, folder: Path, work_order: Any) -> None:
    now = SystemClock().now()
    kept: list[Docket | ScheduleView] = []

    async def run_a_while(engine: Engine, clock: ManualClock) -> None:
        row = await engine.schedules.add(
            work_order(title="Asks first"), PERSON, every="1d", catch_up=CatchUp.ASK
        )
        await engine.submit(work_order(title="Waits", due_at=clock.now() + HOUR), PERSON)
        await engine.reconcile_once()
        kept.append(await engine.schedules.show(row.id))

    async def come_back(engine: Engine, clock: ManualClock) -> None:
        await engine.reconcile_once()
        kept.append(await engine.docket())

    with_engine(folder, now - 6 * DAY, run_a_while)
    with_engine(folder, now - 2 * DAY + HOUR, come_back)
    for value, kind in zip(kept, (ScheduleView, Docket), strict=True):
        assert wire.decode(kind, json.loads(json.dumps(wire.encode(value))), "value") == value
    listed = praxis("docket", "list").out
    assert "Nothing fired from" in listed
    assert "Asks first" in listed
    assert "Fired late (1)" in listed
    (row,) = praxis("docket", "list", "--json").json["undecided"]
    assert row["missed"] == 4
    for arguments, code in (
        (["docket", "decide", "ABCDEFGH", "all", "--reason", "r"], 3),
        (["docket", "decide", row["id"], "ask", "--reason", "r"], 2),
        (["docket", "decide", row["id"], "all"], 2),
        (["docket", "decide", row["id"], "all", "--reason", "r", "--as-agent", "codex"], 5),
    ):
        assert praxis(*arguments, ok=False).code == code, arguments
    done = praxis("docket", "decide", row["id"][-8:], "none", "--reason", "stale")
    assert done.out == "Decided. None of them fires.\n"
    assert "Waits for your decision" not in praxis("docket", "list").out
    assert praxis("docket", "decide", row["id"], "all", "--reason", "r", ok=False).code == 4


# -------------------------------------------------------------------------------------------------- with an owner


def test_e90_all_of_it_through_the_owner(praxis: Praxis, owner: Any, order_file: Any) -> None:
    """The owner's engine fires by itself: a task is ready at its instant, and commands see and steer the rest."""
    process = owner("--quiet")
    soon = SystemClock().now() + 1_500
    praxis("submit", order_file(title="Waits", due_at=soon))
    made = praxis("schedule", "add", order_file(name="b.toml"), "--every", "1h", "--json").json
    assert "Nothing runs now" not in praxis("schedule", "resume", made["id"], "--reason", "r", ok=False).err
    (row,) = praxis("schedule", "list", "--json").json
    assert row["id"] == made["id"]
    assert praxis("schedule", "show", made["id"], "--json").json["work_order"]["title"] == "Say done"
    praxis(
        "schedule", "change", made["id"], "--reason", "r", "--file", order_file(title="New", name="c.toml")
    )
    assert praxis("schedule", "preview", made["id"], "-n", "3", "--json").json[2]["utc"]
    (occurrence,) = [row for row in praxis("wakes", "list", "--json").json if row["series"] == made["id"]]
    assert praxis("wakes", "show", occurrence["id"], "--json").json["wake"]["intent"]["title"] == "New"
    assert praxis("docket", "list", "--json").json["undecided"] == []
    until_true(
        lambda: praxis("show", "WO-1", "--json").json["tasks"][0]["state"] == "READY" or time.sleep(0.1),
        process,
    )
    ended = praxis("wakes", "list", "--ended", "--text", "task.wake_up", "--json").json
    assert [one["state"] for one in ended] == ["fired"]
    assert (
        praxis("schedule", "cancel", made["id"], "--reason", "enough", "--json").json["state"] == "cancelled"
    )


def test_the_docket_says_what_is_overdue_while_nobody_runs(
    praxis: Praxis, order_file: Any, folder: Path
) -> None:
    """Nothing was missed yet, but it is not true that nothing is late."""
    file = order_file(title="Hourly")

    async def book(engine: Engine, clock: ManualClock) -> None:
        await engine.schedules.add(read_work_order(file), PERSON, every="1h")

    with_engine(folder, SystemClock().now() - DAY, book)
    said = praxis("docket", "list").out
    assert "Overdue (1)" in said
    assert "23h" in said
    assert "Nothing was missed" not in said
