"""An agent's question in the window: seen in the list of wakes, answered by the person in their own words."""

from __future__ import annotations

from tests.app.panels.wakes.conftest import AGENT, Desk


async def test_a_question_of_an_agent_is_answered_once_in_the_persons_words(desk: Desk) -> None:
    asked = await desk.engine.followups.use_tool(
        "request_approval",
        {"question": "Merge it now?\nThe tests pass.", "expires_in": "1d"},
        AGENT,
        session="main",
        call_id="1",
    )
    booked = await desk.book(in_="1h")
    await desk.settle()
    card = desk.page.wakes.card
    desk.page.show_subject(booked.id)
    await desk.settle()
    assert not card._answer.isVisible()
    desk.page.show_subject(asked.data["id"])
    await desk.settle()
    assert card._answer.isVisible()
    assert card._title.text().startswith("Merge it now?")
    await desk.decide(card._answer, "Answer", "Yes, but not on Friday.")
    await desk.alarm.run_due()
    await desk.settle()
    assert not card._answer.isVisible()
    (came,) = await desk.engine.followups.come(AGENT, session="main")
    assert came.result == "Yes, but not on Friday."
    assert came.answered_by == desk.session.actor
    assert await desk.engine.followups.questions() == ()
