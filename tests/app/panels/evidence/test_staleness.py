"""Green, then dirty; differences of files; what one stage handed over: on the evidence page over a real engine."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest
from PySide6.QtWidgets import QWidget

from app.panels.evidence.page import EvidencePage
from app.theme import Tone
from engine.states import Verdict
from tests.app.panels.work_orders.console import Console, console

__all__ = ["console"]

WRITE = "import pathlib; pathlib.Path('made.txt').write_text('one\\ntwo\\n')"


@pytest.fixture
async def page(console: Console) -> AsyncIterator[EvidencePage]:
    made = EvidencePage(console.session)
    made.resize(1000, 640)
    made.show()
    yield made
    await console.settle()
    made.close()
    made.deleteLater()
    await asyncio.sleep(0)


def said(widget: QWidget) -> str:
    return "\n".join(child.accessibleName() for child in widget.findChildren(QWidget))


async def test_green_then_dirty_is_told_when_opened_and_on_demand(console, page, until) -> None:
    """console.md §6: what was validated is no longer what is there, with the paths."""
    identity = await console.finished("Make it", WRITE)
    first = (await console.story(identity)).tasks[0].attempts[0]
    strip = page._stale_strip
    page.show_subject(first.id)
    await until(lambda: "as it was after its validation" in strip.words)
    (console.workspace / "made.txt").write_text("three\n")
    strip._again.click()
    await until(lambda: "has changed since its validation passed" in strip.words)
    assert "0 added, 1 changed, 0 removed" in strip.words
    assert "made.txt" in strip.words
    assert strip._notice._tone is Tone.WARN
    await console.engine.accept(identity, console.session.actor, "all the same")
    await console.settle()
    assert "has changed since" in strip.words


async def test_nothing_is_said_of_what_never_passed(console, page, until) -> None:
    identity = await console.finished("Make it", WRITE, "raise SystemExit(1)")
    first = (await console.story(identity)).tasks[0].attempts[0]
    page.show_subject(first.id)
    await until(lambda: page._view is not None and page._view.attempt.id == first.id)
    assert not page._stale_strip.isVisible()


async def test_a_changed_file_is_shown_as_a_difference(console, page, until) -> None:
    identity = await console.finished("Make it", WRITE)
    first = (await console.story(identity)).tasks[0].attempts[0]
    page.show_subject(first.id)
    await until(lambda: page._changes.model.rowCount() == 1)
    page._changes._table.choose(0)
    await until(lambda: "+two" in page._changes.diff.text)
    (console.workspace / "made.txt").unlink()
    page._changes._table.choose(-1)
    page._changes._table.choose(0)
    await until(lambda: "not kept" in page._changes.diff.said)
    assert page._changes.diff.text == ""


async def test_a_persons_verdict_carries_their_name_and_handoffs_are_shown(console, page, until) -> None:
    """E-72: decided by a person looks different from observed; E-73: who took it up."""
    identity = await console.finished("Make it", WRITE, by_person=True, steps=1)
    first = (await console.story(identity)).tasks[0].attempts[0]
    await console.engine.validate_by_person(
        first.id, Verdict.PASSED, console.session.actor, reason="reads well"
    )
    page.show_subject(first.id)
    await until(lambda: page._badges[1].word == "decided by ada: passed")
    assert "1 · implement handed over; nobody has taken it up yet." in said(page)
    await console.engine.accept(identity, console.session.actor, "good")
    await until(lambda: "handed over to ada, who accepted the work" in said(page))
