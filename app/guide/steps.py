"""The steps of the first ten minutes: what is said, where it is seen, and what means that it was done."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto


class Offer(Enum):
    """What a step can do for the person, by a button of its own."""

    OPEN_FOLDER = auto()
    ASK_FOR_A_LONG_ONE = auto()


class Shown(Enum):
    """Which attempt a step's page is to show."""

    WHAT_RUNS = auto()
    FIRST_OF_THE_TOUR = auto()


@dataclass(frozen=True, slots=True)
class Step:
    """One step.

    ``page`` is where it is seen, with the attempt ``shown`` if it is there. ``done_by`` are kinds of journal rows;
    once all of them came since the step began, it counts as done. It also does by ``new_epoch`` (the console ended and
    was opened again) and by ``window_back`` (the window was closed and opened); a step with none of these is done by
    reading. ``{process}`` in the text becomes the number of the console's process.
    """

    key: str
    title: str
    text: str
    page: str
    done_by: frozenset[str] = frozenset()
    new_epoch: bool = False
    window_back: bool = False
    offer: Offer | None = None
    shown: Shown | None = None


STEPS: tuple[Step, ...] = (
    Step(
        "start",
        "Welcome",
        "Seven harmless work orders wait in the Inbox, so that each situation can be met without real work. The tour "
        "takes about ten minutes, at your pace, and each step may be skipped. Nothing runs before you approve it.",
        "inbox",
    ),
    Step(
        "approve",
        "Understand one request",
        "Choose “Works” in the list. Its card shows exactly what would run. Enter goes to the card, End to the end of "
        "it; tick “Also approve its validation”, then press Ctrl+Enter once the card says ready.",
        "inbox",
        frozenset({"approval.approved"}),
    ),
    Step(
        "fool",
        "Try to fool it",
        "Approve “Edits its own check” together with its validation. It rewrites the script that is to judge it; the "
        "changed script is not run and comes back at the end of the list, “approved” and “now” side by side. Or do it "
        "yourself: Pause, approve another one, edit its script in the folder, Resume.",
        "inbox",
        frozenset({"approval.changed"}),
        offer=Offer.OPEN_FOLDER,
    ),
    Step(
        "watch",
        "Watch it run",
        "Ask for a long one with the button here, approve it in the Inbox, then look at its output on the page "
        "Evidence while it grows. Follow it on the Timeline too, if you like.",
        "evidence",
        frozenset({"attempt.running"}),
        offer=Offer.ASK_FOR_A_LONG_ONE,
        shown=Shown.WHAT_RUNS,
    ),
    Step(
        "stop",
        "Stop it",
        "Press Stop… beside its evidence and say why. A kill does not prove that nothing happened: the attempt becomes "
        "UNKNOWN, its budget stays frozen, and nothing tries it again by itself.",
        "evidence",
        frozenset({"attempt.unknown"}),
        shown=Shown.WHAT_RUNS,
    ),
    Step(
        "lose",
        "Lose the console",
        "Ask for one more, approve it, and while it runs end this program hard: in the Task Manager, or with kill -9 "
        "{process}. Then start it again. The tour goes on here; what ran is UNKNOWN, and nothing runs twice.",
        "inbox",
        new_epoch=True,
        offer=Offer.ASK_FOR_A_LONG_ONE,
    ),
    Step(
        "decide",
        "Decide an UNKNOWN",
        "Look at the last certain fact, at what lives still and at what changed. Then say that it took effect, that it "
        "did not, or that you still do not know, with a reason. Only you can end an UNKNOWN.",
        "unknown",
        frozenset({"attempt.reconciled"}),
    ),
    Step(
        "hold",
        "Hold everything, then resume",
        "On this page nothing is selected, so the commands act on the whole engine. Press Hold… and give a reason: "
        "what runs goes on, nothing new starts. Then press Resume and answer the reason.",
        "timeline",
        frozenset({"hold.placed", "hold.released"}),
    ),
    Step(
        "evidence",
        "Read the evidence, then accept",
        "Choose “Works”: what the command claims stands beside what was observed, with its output, what it changed, "
        "and digests that you can verify now. Then accept the work order on the page Work orders.",
        "evidence",
        frozenset({"work_order.accepted"}),
        shown=Shown.FIRST_OF_THE_TOUR,
    ),
    Step(
        "back_up",
        "Back up, and look at a restore",
        "Press Ctrl+B. A backup is made while work goes on, and is green only after its restore was rehearsed. Data > "
        "Restore… compares a backup with now before anything changes; what comes back is held until you have looked.",
        "inbox",
        frozenset({"backup.proven"}),
        new_epoch=True,
    ),
    Step(
        "close",
        "Close the window, and the lid",
        "Close the window: the engine goes on in the tray, and a click there brings it back. Close the lid: the time "
        "slept through is a gap on the pages Clock and Timeline. That was all; Help explains the words and the keys.",
        "clock",
        window_back=True,
    ),
)


def step_number(key: str) -> int | None:
    """Where the step with this key stands, from 0; None if there is none."""
    return next((number for number, step in enumerate(STEPS) if step.key == key), None)
