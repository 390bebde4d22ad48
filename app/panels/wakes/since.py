"""What a pause did to things: what fired late or would fire, leases that lapsed, requests that expired (E-85)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QWidget

from app.panels.rows import BadgeDelegate, Column, RowModel, RowTable
from app.panels.wakes.words import CATCH_UP_WORDS, kind_words
from app.panels.words import order_name, span_words
from app.theme import Look, Shape, Tone, state_word
from app.widgets import Times
from engine.control.downtime import QuietKind
from engine.instants import Instant
from engine.states import HoldKind
from engine.views.docket import Docket, DueItem, QuietTime
from engine.wakes import WakeState

MOST_LINES = 12
"""More lines than these scroll within the table."""


@dataclass(frozen=True, slots=True)
class SinceRow:
    """One thing that a pause touched: when it was due or ended, what became of it, and where to look."""

    key: str
    at: Instant
    look: Look
    late_ms: int
    what: str
    note: str
    page: str
    subject: str


def since_rows(docket: Docket) -> tuple[SinceRow, ...]:
    """Everything of a docket but what waits for a decision: what would fire first, then what happened."""
    rows = [_due_row(item, Look("would fire", Tone.WARN, Shape.CLOCK)) for item in docket.would_fire]
    for lapsed in docket.lapsed:
        rows.append(
            SinceRow(
                f"lapsed {lapsed.id}",
                lapsed.lapsed_at,
                Look("lease lapsed", Tone.WARN, Shape.HALF),
                0,
                _name(lapsed.number, lapsed.title if lapsed.number is not None else kind_words(lapsed.title)),
                "taken back; it may be claimed anew"
                if lapsed.what == "claim"
                else "taken back; it is tried again",
                "work_orders" if lapsed.work_order_id is not None else "wakes",
                lapsed.work_order_id or lapsed.id,
            )
        )
    for expired in docket.expired:
        rows.append(
            SinceRow(
                f"expired {expired.approval_id}",
                expired.expired_at,
                Look("request expired", Tone.WARN, Shape.CLOCK),
                0,
                f"{_name(expired.number, expired.title)} · {state_word(expired.purpose)}",
                "nobody could see it; ask again in its work order",
                "work_orders",
                expired.work_order_id,
            )
        )
    rows += [_due_row(item, _LATE[item.state]) for item in docket.late]
    return tuple(rows)


_LATE = {
    **dict.fromkeys(WakeState, Look("late", Tone.WARN, Shape.CLOCK)),
    WakeState.FIRED: Look("fired late", Tone.OK, Shape.DOT),
    WakeState.EXPIRED: Look("expired", Tone.WARN, Shape.CLOCK),
}


def _due_row(item: DueItem, look: Look) -> SinceRow:
    notes = []
    if item.missed:
        notes.append(f"stands for {item.missed} more that {'was' if item.missed == 1 else 'were'} missed")
    if item.catch_up is not None and look.word == "would fire":
        notes.append(f"if missed: {CATCH_UP_WORDS[item.catch_up].lower()}")
    return SinceRow(
        f"{look.word} {item.wake_id}",
        item.due_at,
        look,
        item.late_ms,
        _name(item.number, item.title or kind_words(item.kind)),
        "; ".join(notes),
        "wakes" if item.work_order_id is None else "work_orders",
        item.work_order_id or item.wake_id,
    )


def _name(number: int | None, title: str) -> str:
    return title if number is None else f"{order_name(number)} · {title}"


def quiet_sentence(quiet: QuietTime | None, times: Times) -> str:
    """The latest pause in a sentence."""
    if quiet is None:
        return "No pause of more than a minute is on record."
    span = f"from {times.stamp(quiet.began_at)} to {times.stamp(quiet.ended_at)}"
    length = span_words(quiet.ended_at - quiet.began_at)
    match quiet.kind:
        case QuietKind.SLEEP:
            return f"The machine slept {length}, {span}."
        case QuietKind.RESTORE:
            return f"The data is that of a restored copy: between it and the restore lie {length}, {span}."
        case _:
            return f"Nothing had this data folder open for {length}, {span}."


def held_sentence(held_by: HoldKind | None) -> str:
    """Why nothing fires now, "" if it does."""
    return {
        HoldKind.RESTORE: "Nothing fires before you have looked and said so: “I have looked…” in the strip above.",
        HoldKind.CLOCK: "Nothing fires by time before the clock is trusted again.",
    }.get(held_by or HoldKind.PAUSE, "")


def more_sentence(docket: Docket, undecided: int) -> str:
    """How many rows the cut lists left out, "" if none; ``undecided`` is how many decisions wait in all."""
    said = []
    if (waiting := undecided - len(docket.undecided)) > 0:
        said.append(f"{waiting} more decisions wait; they come up as these are decided.")
    left = docket.would_fire_count - len(docket.would_fire) + docket.late_count - len(docket.late)
    if left > 0:
        said.append(f"{left} more were touched; the part Wakes has them all.")
    return " ".join(said)


def describe(row: SinceRow, times: Times) -> str:
    """A row for a screen reader."""
    late = f", {span_words(row.late_ms)} late" if row.late_ms else ""
    said = f"{row.what}: {row.look.word}, due {times.stamp(row.at)}{late}"
    return f"{said}. {row.note}" if row.note else said


class SinceTable(RowTable[SinceRow]):
    """The rows; Enter or a double click goes to where one belongs."""

    def __init__(self, times: Times, go: Callable[[str, str], None], parent: QWidget | None = None) -> None:
        self.rows: RowModel[SinceRow] = RowModel(
            [
                Column("Due", lambda one: times.stamp(one.at), lambda one: times.exact(one.at)),
                Column("State", lambda one: one.look.word),
                Column("How late", lambda one: span_words(one.late_ms) if one.late_ms else "–"),
                Column("What", lambda one: one.what, lambda one: one.what),
                Column("Note", lambda one: one.note, lambda one: one.note),
            ],
            lambda one: one.key,
            lambda one: describe(one, times),
        )
        super().__init__(self.rows, "What the latest pause touched", (22, 22, 17, 38, 40), parent)
        self.rows.setParent(self)
        self.setItemDelegateForColumn(1, BadgeDelegate(lambda number: self.rows.row(number).look, self))
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self._go = go
        self.opened.connect(self._open)

    def show_rows(self, rows: Sequence[SinceRow]) -> None:
        """Show these, by row signals."""
        here = {one.key for one in rows}
        there = [self.rows.row(number).key for number in range(self.rows.rowCount())]
        self.rows.merge(rows, [key for key in there if key not in here])
        lines = max(1, min(len(rows), MOST_LINES)) * self.verticalHeader().defaultSectionSize()
        self.setFixedHeight(self.horizontalHeader().sizeHint().height() + lines + 2)

    def _open(self) -> None:
        one = self.rows.row(self.currentIndex().row())
        self._go(one.page, one.subject)
