"""The tools of an agent: identity from the host, strict times, answers instead of errors (wakes.md §9)."""

from __future__ import annotations

from typing import Any

import pytest

from engine.instants import format_instant
from engine.wakes import AgentTools, Budgets, Identity, IssuedApproval, ResolveResult, WakeState
from tests.conformance.world import ADA, AGENT, HOUR, MINUTE, World

ME = Identity("w", "s", AGENT, lane="s")


def tools(world: World, identity: Identity = ME, alarm: Any = None, **options: Any) -> AgentTools:
    """The tools of a session."""
    return AgentTools(alarm or world.make(identity.session), identity, world.clock, **options)


async def test_s13_a_tool_is_offered_only_if_its_delivery_path_is_configured(world: World) -> None:
    async def deliver(issued: IssuedApproval, question: str) -> None: ...

    bare = tools(world)
    assert [one.name for one in bare.definitions] == ["schedule_followup", "cancel_wake", "list_wakes"]
    full = AgentTools(world.alarms[0], ME, world.clock, events=True, deliver_token=deliver)
    assert [one.name for one in full.definitions] == [
        "schedule_followup",
        "watch",
        "request_approval",
        "cancel_wake",
        "list_wakes",
    ]
    answer = await bare.call("watch", {"event": "k", "message": "m"}, "c")
    assert (answer.ok, answer.reason) == (False, "unknown_tool")
    for definition in full.definitions:
        assert definition.input_schema["additionalProperties"] is False
        assert not {"workspace", "session", "depth", "actor", "token"} & set(
            definition.input_schema["properties"]
        )


async def test_s13_a_delivered_event_resumes_the_session(world: World) -> None:
    mine = tools(world, events=True)
    answer = await mine.call("watch", {"event": "ci", "message": "look", "expires_in": "2d"}, "c")
    assert answer.ok
    await world.alarms[0].deliver_event("w", "ci", {"n": 1})
    await world.alarms[0].run_due()
    (wake,) = world.turn.entered
    assert (wake.session, wake.lane, wake.intent, wake.result) == (
        "s",
        "s",
        {"title": "look", "message": "look"},
        {"n": 1},
    )


async def test_s32_a_repeated_call_tells_what_was_booked(world: World) -> None:
    mine = tools(world)
    first = await mine.call("schedule_followup", {"when": "+1h", "message": "m"}, "c1")
    due = format_instant(world.clock.now() + HOUR)
    world.clock.advance(10 * MINUTE)
    again = await mine.call("schedule_followup", {"when": "+1h", "message": "m"}, "c1")
    assert due in first.text
    assert due in again.text
    assert "carried out before" in again.text
    assert (again.data["id"], again.data["repeat"], first.data["repeat"]) == (first.data["id"], True, False)
    other = await mine.call("schedule_followup", {"when": "+1h", "message": "m"}, "c2")
    assert other.data["id"] != first.data["id"]
    conflict = await mine.call("schedule_followup", {"when": "+2h", "message": "m"}, "c1")
    assert (conflict.ok, conflict.reason) == (False, "key_conflict")


async def test_s44_keys_of_two_sessions_cannot_meet(world: World) -> None:
    a = tools(world, Identity("w", "a:b", AGENT))
    b = tools(world, Identity("w", "a", AGENT))
    first = await a.call("schedule_followup", {"when": "+1h", "message": "m"}, "c")
    second = await b.call("schedule_followup", {"when": "+1h", "message": "m"}, "b:c")
    assert first.data["id"] != second.data["id"]


@pytest.mark.parametrize("after", ["--5:1", f"{'9' * 5_000}:1", "5", ":", "\u0663:\u0663", "5:1\n"])
async def test_s46_what_is_no_place_in_the_list_is_an_answer_with_a_reason(world: World, after: str) -> None:
    answer = await tools(world).call("list_wakes", {"after": after}, "c")
    assert (answer.ok, answer.reason) == (False, "invalid_value")


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ({"when": "tomorrow 9", "message": "m"}, "invalid_value"),
        ({"when": "2026-03-01T10:00", "message": "m"}, "invalid_value"),
        ({"when": "2026-03-01T10:00Z", "message": "m"}, "past"),
        ({"when": 1_700_000_000, "message": "m"}, "past"),
        ({"when": True, "message": "m"}, "invalid_value"),
        ({"when": "+1h"}, "invalid_value"),
        ({"message": "m"}, "invalid_value"),
        ({"when": "+1h", "cron": "* * * * *", "message": "m"}, "invalid_value"),
        ({"when": "+1h", "message": "m", "session": "t"}, "invalid_value"),
        ({"when": "+1h", "message": "m", "depth": "0"}, "invalid_value"),
        ({"when": "+91d", "message": "m"}, "horizon"),
        ({"cron": "0 0 31 2 *", "message": "m"}, "invalid_value"),
        ({"every": "0s", "message": "m"}, "invalid_value"),
        ({"every": "1ms", "message": "m"}, "min_interval"),
        ({"when": "+1h", "message": "half \ud800"}, "invalid_value"),
        ("when", "invalid_value"),
    ],
    ids=str,
)
async def test_s46_s47_every_mistake_is_an_answer_with_a_reason(
    world: World, arguments: Any, reason: str
) -> None:
    mine = tools(world, alarm=world.make(budgets=Budgets()))
    answer = await mine.call("schedule_followup", arguments, "c")
    assert (answer.ok, answer.reason) == (False, reason)
    assert await world.count() == 0
    if reason == "past":
        assert format_instant(world.clock.now()) in answer.text


async def test_s47_budgets_and_states_are_reasons_too(world: World) -> None:
    mine = tools(world, alarm=world.make(budgets=Budgets(live=1)))
    booked = await mine.call("schedule_followup", {"when": "+1m", "message": "m"}, "c1")
    full = await mine.call("schedule_followup", {"when": "+1m", "message": "m"}, "c2")
    assert (full.ok, full.reason) == (False, "max_live")
    assert "1 wakes" not in full.text, "how many others there are is not for this session"
    world.clock.advance(MINUTE)
    await world.alarms[0].run_due()
    gone = await mine.call("cancel_wake", {"id": booked.data["id"]}, "c3")
    assert (gone.ok, gone.reason) == (False, "not_pending")


async def test_a_series_is_booked_and_cancelled_by_its_id(world: World) -> None:
    mine = tools(world)
    arguments = {"cron": "30 9 * * MON-FRI", "zone": "Europe/Berlin", "message": "m"}
    booked = await mine.call("schedule_followup", arguments, "c")
    assert booked.data["series"] in booked.text
    assert (await mine.call("cancel_wake", {"id": booked.data["series"]}, "c2")).ok
    assert await world.state(booked.data["id"]) is WakeState.CANCELLED


async def test_refusals_tell_nothing_about_other_sessions(world: World) -> None:
    mine, others = tools(world), tools(world, Identity("w", "t", AGENT))
    theirs = await others.call("schedule_followup", {"every": "1h", "message": "secret"}, "c")
    for wake_id in (theirs.data["id"], theirs.data["series"], "nothing"):
        answer = await mine.call("cancel_wake", {"id": wake_id}, "c")
        assert (answer.ok, answer.reason) == (False, "not_found")
        assert answer.text == f"This session has no wake or series {wake_id}."
    assert (await mine.call("list_wakes", {}, "c")).data["wakes"] == []


async def test_lists_are_paged_and_show_no_payload(world: World) -> None:
    mine = tools(world)
    for number in range(120):
        await mine.call("schedule_followup", {"when": f"+{number + 1}m", "message": "secret"}, f"c{number}")
    first = await mine.call("list_wakes", {}, "x")
    second = await mine.call("list_wakes", {"after": first.data["after"]}, "y")
    ids = [wake["id"] for page in (first, second) for wake in page.data["wakes"]]
    assert (len(first.data["wakes"]), len(second.data["wakes"]), len(set(ids))) == (100, 20, 120)
    assert "after" not in second.data
    assert "secret" not in repr(first)
    for bad in ("x", "1", "1:x", ":"):
        assert (await mine.call("list_wakes", {"after": bad}, "z")).reason == "invalid_value"


async def test_an_agent_never_sees_the_token_of_its_approval(world: World) -> None:
    delivered: list[tuple[IssuedApproval, str]] = []

    async def deliver(issued: IssuedApproval, question: str) -> None:
        delivered.append((issued, question))

    mine = tools(world, deliver_token=deliver)
    arguments = {"question": "Merge?", "expires_in": "1d"}
    answer = await mine.call("request_approval", arguments, "c")
    again = await mine.call("request_approval", arguments, "c")
    assert again.data["repeat"]
    ((issued, question),) = delivered
    assert issued.token is not None
    assert issued.token not in repr((answer, again))
    assert question == "Merge?"
    alarm = world.alarms[0]
    assert (await alarm.resolve(issued.token, "yes", AGENT)).result is ResolveResult.UNAUTHORIZED
    assert (await alarm.resolve(issued.token, "yes", ADA)).ok
    await alarm.run_due()
    assert [(wake.intent, wake.result) for wake in world.turn.entered] == [
        ({"title": "Merge?", "question": "Merge?"}, "yes")
    ]


async def test_depth_comes_from_the_host_or_the_running_sink_whichever_is_deeper(world: World) -> None:
    alarm = world.make(budgets=Budgets(depth=3))
    shallow = AgentTools(alarm, ME, world.clock)
    deep = AgentTools(alarm, Identity("w", "s", AGENT, depth=3), world.clock)

    async def act(wake: Any) -> None:
        if wake.depth == 0:
            await shallow.call("schedule_followup", {"when": "+1m", "message": "m"}, "c1")

    world.turn.action = act
    await shallow.call("schedule_followup", {"when": "+1m", "message": "m"}, "c0")
    await deep.call("schedule_followup", {"when": "+1m", "message": "m"}, "c2")
    world.clock.advance(MINUTE)
    await alarm.run_due()
    world.clock.advance(MINUTE)
    await alarm.run_due()
    assert sorted(wake.depth for wake in world.turn.entered) == [0, 1, 3]
    too_deep = AgentTools(alarm, Identity("w", "s", AGENT, depth=4), world.clock)
    answer = await too_deep.call("schedule_followup", {"when": "+1m", "message": "m"}, "c4")
    assert answer.reason == "depth"
