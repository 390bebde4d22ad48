"""Follow-ups of agents in the engine: times, events of their own work, questions, restarts (wakes.md §9)."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from engine.actors import Actor, ActorKind
from engine.clock import ManualClock
from engine.engine import Engine
from engine.errors import InvalidValue, NotFound, Refused, Unauthorized, WrongState
from tests.e2e.support import PERSON

CODEX = Actor(ActorKind.AGENT, "codex")
OTHER = Actor(ActorKind.AGENT, "other")
SCRIPT = Actor(ActorKind.SCRIPT, "ci")


@pytest.fixture
async def engine(folder: Path, clock: ManualClock) -> AsyncIterator[Engine]:
    engine = await Engine.open(folder, clock=clock, automatic=False)
    yield engine
    await engine.close()


async def use(engine: Engine, tool: str, call_id: str = "1", actor: Actor = CODEX, **arguments: Any) -> Any:
    answer = await engine.followups.use_tool(tool, arguments, actor, session="main", call_id=call_id)
    assert answer.ok, answer
    return answer.data


async def come(engine: Engine, actor: Actor = CODEX, after: int = 0, session: str = "main") -> list[Any]:
    await engine.reconcile_once()
    return list(await engine.followups.come(actor, session=session, after=after))


async def test_a_follow_up_comes_at_its_time_once_and_also_after_a_restart(
    engine: Engine, folder: Path, clock: ManualClock
) -> None:
    booked = await use(engine, "schedule_followup", message="look", when="+1h")
    assert await use(engine, "schedule_followup", message="look", when="+1h") == {**booked, "repeat": True}
    clock.advance(3_599_999)
    assert await come(engine) == []
    clock.advance(1)
    (one,) = await come(engine)
    assert (one.id, one.intent["message"], one.expired) == (booked["id"], "look", False)
    await engine.close()
    again = await Engine.open(folder, clock=clock, automatic=False)
    assert await come(again) == [one]
    assert await come(again, after=one.sequence) == []
    assert await come(again, OTHER) == []
    assert await come(again, session="another") == []
    await again.close()


async def test_events_of_its_own_work_come_by_themselves_and_of_others_never(
    engine: Engine, work_order: Any
) -> None:
    await engine.submit(work_order(), CODEX)
    await engine.submit(work_order(), PERSON)
    for number, event in enumerate(
        ("WO-1:ended", "WO-2:ended", "WO-1:decision_needed", "WO-9:ended", "WO-x:y")
    ):
        await use(engine, "watch", str(number), event=event, message=event)
    await use(engine, "watch", "o", OTHER, event="WO-1:ended", message="not mine")
    assert await come(engine) == []
    for number in ("1", "2"):
        order = await engine.work_order(number)
        await engine.take_back(order.row.id, order.row.requested_by, "no")
    (one,) = await come(engine)
    assert (one.event_key, one.result["state"]) == ("WO-1:ended", "CANCELLED")
    await use(engine, "watch", "later", event="WO-1:ended", message="late")
    assert [row.intent["message"] for row in await come(engine, after=one.sequence)] == ["late"]
    assert await come(engine, OTHER) == []


async def test_a_script_or_person_tells_an_event_an_agent_does_not(engine: Engine) -> None:
    await use(engine, "watch", event="build", message="it is built")
    with pytest.raises(Refused, match="tells no events"):
        await engine.followups.tell_event("codex", "build", OTHER)
    with pytest.raises(NotFound, match="watches other"):
        await engine.followups.tell_event("codex", "other", SCRIPT)
    with pytest.raises(NotFound):
        await engine.followups.tell_event("nobody", "build", SCRIPT)
    await engine.followups.tell_event("codex", "build", SCRIPT, payload="green", delivery_id="d")
    assert (await engine.followups.tell_event("codex", "build", SCRIPT, delivery_id="d")).repeat
    assert [one.result for one in await come(engine)] == ["green"]


async def test_only_a_person_answers_and_once_and_in_time(engine: Engine, clock: ManualClock) -> None:
    for number in range(3):
        await use(engine, "request_approval", str(number), question=f"Merge {number}?", expires_in="1h")
    first, second, third = await engine.followups.questions()
    assert (first.question, first.asked_by, first.session) == ("Merge 0?", CODEX, "main")
    with pytest.raises(Unauthorized):
        await engine.followups.answer(first.id, "yes", OTHER)
    with pytest.raises(InvalidValue):
        await engine.followups.answer(first.id, " ", PERSON)
    with pytest.raises(NotFound):
        await engine.followups.answer("nothing", "yes", PERSON)
    follow_up = await use(engine, "schedule_followup", "f", message="m", when="+2h")
    with pytest.raises(NotFound):
        await engine.followups.answer(follow_up["id"], "yes", PERSON)
    await engine.followups.answer(first.id, "yes, but later", PERSON)
    with pytest.raises(WrongState, match="no answer any more"):
        await engine.followups.answer(first.id, "no", PERSON)
    await use(engine, "cancel_wake", "c", id=second.id)
    with pytest.raises(WrongState):
        await engine.followups.answer(second.id, "no", PERSON)
    clock.advance(3_600_000)
    with pytest.raises(WrongState):
        await engine.followups.answer(third.id, "too late", PERSON)
    came = {one.intent["question"]: one for one in await come(engine)}
    assert came["Merge 0?"].result == "yes, but later"
    assert (came["Merge 0?"].answered_by, came["Merge 2?"].expired) == (PERSON, True)
    assert set(came) == {"Merge 0?", "Merge 2?"}
    assert await engine.followups.questions() == ()


async def test_what_an_agent_does_wrong_is_an_answer(engine: Engine) -> None:
    for tool, arguments in (
        ("schedule_followup", {}),
        ("schedule_followup", {"message": "m", "when": "-1h"}),
        ("schedule_followup", {"message": "m", "when": "soon", "every": "1h"}),
        ("watch", {"event": "", "message": "m"}),
        ("request_approval", {"question": "q", "expires_in": "never"}),
        ("cancel_wake", {"id": "x"}),
        ("list_wakes", {"after": "x"}),
        ("approve", {}),
    ):
        answer = await engine.followups.use_tool(tool, arguments, CODEX, session="main", call_id="w")
        assert not answer.ok, tool
    listed = await engine.followups.use_tool("list_wakes", {}, CODEX, session="main", call_id="l")
    assert listed.data["wakes"] == []
