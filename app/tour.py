"""The guided tour where nobody can see a window: the scratch workspace, played through and told with pictures.

It acts on the engine as a person would and lets the real window show it. The story is a Markdown file with a
picture beside each step.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from pathlib import Path

from app.first_start import SCRATCH
from app.session import Session
from app.shell.geometry import DEFAULT_SIZE
from app.shell.window import MainWindow
from engine.control.decisions import Finding
from engine.control.holds import WHOLE_ENGINE, Node
from engine.control.proofs import Proof
from engine.interfaces.scratch import create_scratch_workspace
from engine.states import AttemptState, NodeKind
from engine.views.values import AttemptRow, InboxRow, WorkOrderStory
from engine.wakes import CatchUp
from engine.work_order import work_order_from_json

PATIENCE_SECONDS = 60
STORY = "story.md"


@dataclass(frozen=True, slots=True)
class Step:
    """One step of the story: what is told, the page that shows it, and what is done before the picture."""

    title: str
    text: str
    page: str
    act: Callable[[], Awaitable[str]]


async def run_tour(window: MainWindow, session: Session, folder: Path) -> None:
    """Play the tour and write ``story.md`` with its pictures into ``folder``."""
    from app.main import picture

    # The screen that nobody sees is small, and the window was fitted to it.
    window.resize(DEFAULT_SIZE)
    lines = ["# A tour of Praxis Console", ""]
    for number, step in enumerate(_Tour(session).steps(), start=1):
        subject = await step.act()
        window.open_page(step.page, subject)
        name = f"{number:02d}-{step.page.replace('_', '-')}.png"
        await picture(window, folder / name)
        lines += [f"## {number}. {step.title}", "", step.text, "", f"![{step.title}]({name})", ""]
    (folder / STORY).write_text("\n".join(lines), encoding="utf-8")


class _Tour:
    """The acts of the tour over one session; each returns the subject that its page is to show."""

    def __init__(self, session: Session) -> None:
        self._engine = session.engine
        self._person = session.actor

    def steps(self) -> tuple[Step, ...]:
        return (
            Step(
                "Seven harmless work orders wait",
                "A first start fills the inbox from a scratch workspace. Each request shows exactly what would run: "
                "the program with its digest, every argument, the folder, the inputs, the limits and the budget. "
                "Nothing runs before you approve it.",
                "inbox",
                self._submit_all,
            ),
            Step(
                "One look covers a step and its validation",
                "The first request was approved together with the validation that follows it. Both ran, and the "
                "work order now waits for your acceptance: a worker's success is not a verdict.",
                "work_orders",
                lambda: self._approve_and_wait("Works", lambda story: "accept" in story.can),
            ),
            Step(
                "Evidence is kept with its digests",
                "What was observed stands beside what the command says of itself: the output, the artifacts, what "
                "changed in the workspace, and how it was judged.",
                "evidence",
                lambda: self._attempt_of("Works"),
            ),
            Step(
                "You accept",
                "Accepting ends the work order; who and why is in the journal.",
                "work_orders",
                self._accept,
            ),
            Step(
                "A certain failure is FAILED",
                "The second step ended with exit code 1. That is certain, so it is settled, and the work order asks "
                "for your decision.",
                "work_orders",
                lambda: self._approve_and_wait("Fails", lambda story: "reject" in story.can),
            ),
            Step(
                "What cannot be known is UNKNOWN",
                "The third step was ended at its time limit. Whether its effect happened cannot be told from that, "
                "so its budget stays frozen and nothing is tried again until a person has decided.",
                "evidence",
                self._run_into_the_time_limit,
            ),
            Step(
                "You decide an UNKNOWN, with a reason",
                "After looking, you say that it did not take effect: the count was to reach 120. The budget is "
                "released and the step may be asked for again; nothing starts by itself.",
                "work_orders",
                self._reconcile,
            ),
            Step(
                "What was approved is what runs, or nothing does",
                "This step edited the script that was to judge it. The approved validation was refused, and the "
                "request came back with approved and now side by side.",
                "inbox",
                self._run_into_drift,
            ),
            Step(
                "Hold everything, resume, hold one",
                "A hold stops anything new from starting, whatever has been approved; what runs goes on. It ends "
                "with an answer to its reason. Everything was held and resumed; this work order is held still.",
                "inbox",
                self._hold_and_resume,
            ),
            Step(
                "What recurs is a schedule",
                "A schedule submits a work order at its times, and each one asks for your approval like any other. Its "
                "coming occurrences are listed with local time and UTC; days whose clocks change are marked. What was "
                "missed while the machine slept can wait for your decision in the docket.",
                "wakes",
                self._schedule,
            ),
        )

    async def _submit_all(self) -> str:
        for spec in await asyncio.to_thread(create_scratch_workspace, self._engine.folder / SCRATCH):
            await self._engine.submit(spec, self._person)
        return (await self._engine.approvals.inbox())[0].approval_id

    async def _approve_and_wait(self, title: str, reached: Callable[[WorkOrderStory], bool]) -> str:
        row = await self._request(title)
        card = await self._engine.approvals.card(row.approval_id)
        await self._engine.approvals.approve(
            row.approval_id, self._person, seal=card.seal, covers_validation=card.validation_seal is not None
        )
        await self._until(row.work_order_id, reached)
        return row.work_order_id

    async def _accept(self) -> str:
        order = await self._order("Works")
        await self._engine.accept(order, self._person, "Looked at the greeting.")
        return order

    async def _run_into_the_time_limit(self) -> str:
        await self._approve_and_wait("Passes", lambda story: _last(story) is AttemptState.UNKNOWN)
        return await self._attempt_of("Passes")

    async def _reconcile(self) -> str:
        await self._engine.unknowns.reconcile(
            await self._attempt_of("Passes"),
            Finding.DID_NOT,
            self._person,
            reason="count.txt stops far from 120.",
            proof=[Proof("count.txt", text="Its last line is far from 120.")],
        )
        return await self._order("Passes")

    async def _run_into_drift(self) -> str:
        order = await self._approve_and_wait(
            "Edits", lambda story: story.tasks[-1].approval_state == "PENDING"
        )
        return next(
            row.approval_id for row in await self._engine.approvals.inbox() if row.work_order_id == order
        )

    async def _hold_and_resume(self) -> str:
        await self._engine.hold(WHOLE_ENGINE, self._person, reason="Lunch.")
        await self._engine.resume(WHOLE_ENGINE, self._person, reason="Back from lunch.")
        order = await self._order("Starts")
        await self._engine.hold(Node(NodeKind.WORK_ORDER, order), self._person, reason="Ask Grace first.")
        return (await self._request("Starts")).approval_id

    async def _schedule(self) -> str:
        story = await self._engine.work_order(await self._order("Works"))
        spec = replace(work_order_from_json(story.spec), title="Works, every night")
        row = await self._engine.schedules.add(
            spec, self._person, cron="30 2 * * *", zone="Europe/Berlin", catch_up=CatchUp.ASK
        )
        return row.id

    async def _request(self, title: str) -> InboxRow:
        return next(row for row in await self._engine.approvals.inbox() if row.title.startswith(title))

    async def _order(self, title: str) -> str:
        return next(row.id for row in await self._engine.work_orders() if row.title.startswith(title))

    async def _attempt_of(self, title: str) -> str:
        rows: tuple[AttemptRow, ...] = await self._engine.attempts()
        return next(row.id for row in reversed(rows) if row.title.startswith(title))

    async def _until(self, order: str, reached: Callable[[WorkOrderStory], bool]) -> None:
        changed = asyncio.Event()
        end = self._engine.subscribe(lambda _: changed.set())
        try:
            async with asyncio.timeout(PATIENCE_SECONDS):
                while not reached(await self._engine.work_order(order)):
                    await changed.wait()
                    changed.clear()
        finally:
            end()


def _last(story: WorkOrderStory) -> AttemptState | None:
    made = [attempt for task in story.tasks for attempt in task.attempts]
    return made[-1].state if made else None
