"""The part "Wakes": everything that is coming, late, firing, dead or ended, and the chosen one's card."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import StrEnum
from functools import partial

from PySide6.QtCore import QTimer
from PySide6.QtGui import QShowEvent
from PySide6.QtWidgets import QStackedWidget, QWidget

from app.panels.rows import (
    CardDelegate,
    Column,
    FilteredList,
    OwnedTasks,
    Refresh,
    RowFeed,
    RowModel,
    side_by_side,
)
from app.panels.rows.feed import MOST_AGAIN, PAGE
from app.panels.wakes.doings import answer_wake, cancel_wake, drop_wake, release_wake
from app.panels.wakes.row_text import describe_wake, explain_wake, wake_card
from app.panels.wakes.wake_card import WakeCard, WakeDoings, WakeView
from app.panels.wakes.words import LATE_MS, why_it_waits
from app.session import Changes, Session
from app.widgets import EmptyState, column, frame
from engine.states import HoldKind
from engine.wakes import AlarmClock, LaneRow, Wake, WakeState, end_place, place
from engine.wakes.values import OPEN, WakeSummary

STEPS_SHOWN = 200
MOST_LANES = 1_000
LATE_AGAIN_MS = 2_000
"""How often the late ones are read again: what becomes late by the passing of time tells nobody."""


class Which(StrEnum):
    """What the list shows."""

    OPEN = "open"
    LATE = "late"
    FIRING = "firing"
    DEAD = "dead"
    ENDED = "ended"


FILTERS = (
    ("Open", (Which.OPEN,)),
    ("Late", (Which.LATE,)),
    ("Firing", (Which.FIRING,)),
    ("Dead", (Which.DEAD,)),
    ("Ended", (Which.ENDED,)),
)

_NOTHING = {
    Which.OPEN: (
        "Nothing is to come",
        "A wake fires at its time, or when its event or answer comes. Make a schedule in the part Schedules, or "
        "give a work order a time.",
    ),
    Which.LATE: ("Nothing is late", "What is due and has not fired stands here."),
    Which.FIRING: ("Nothing fires now", "What is being carried out stands here."),
    Which.DEAD: (
        "Nothing is dead",
        "A wake that failed too often stands here until you release or drop it.",
    ),
    Which.ENDED: (
        "Nothing has ended lately",
        "What fired, expired or was cancelled stands here for some days.",
    ),
}


def _key(wake: WakeSummary) -> str:
    return wake.id


class WakesPart(QWidget):
    """See the module. Everything is read from the alarm clock; changes only say where to look again."""

    def __init__(
        self,
        session: Session,
        alarm: AlarmClock,
        open_series: Callable[[str], None],
        open_docket: Callable[[], None],
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self._session = session
        self._alarm = alarm
        self._tasks = OwnedTasks(session, self)
        self._text = ""
        self._wanted = ""
        self._editing = False
        self._places: dict[str, tuple[int, int]] = {}
        times = session.times
        self._model: RowModel[WakeSummary] = RowModel(
            [Column("Wake", lambda wake: wake.kind, partial(explain_wake, times=times))],
            _key,
            partial(describe_wake, times=times),
            self,
        )
        self._feed = RowFeed(self._model, self._read_page, _key, changed_first=False)
        self._touched: set[str] = set()
        self._catch_up = Refresh(self._tasks, self._take_changes, "catch up with wakes")
        self._reread = Refresh(self._tasks, self._read_wake, "read a wake")
        self._late = QTimer(self, interval=LATE_AGAIN_MS)
        self._late.timeout.connect(self._look_for_late)
        self._doings = WakeDoings(
            cancel=partial(self._do, cancel_wake),
            answer=partial(self._do, answer_wake),
            release=partial(self._do, release_wake),
            drop=partial(self._do, drop_wake),
            open_series=open_series,
            open_docket=open_docket,
            open_order=partial(session.open_page, "work_orders"),
            open_request=partial(session.open_page, "inbox"),
        )
        self._build()
        self._model.more_wanted.connect(self._read_more)
        self._model.about_to_edit.connect(self._hold_choice)
        self._model.edited.connect(self._keep_choice)
        self._model.edited.connect(self._say_count)
        self._model.modelReset.connect(self._filled)
        self._list.chosen.connect(self._on_chosen)
        self._list.opened.connect(self._card.focus_body)
        self._tasks.spawn(self._feed.start(), "read the wakes")

    # ------------------------------------------------------------------------------- what the page asks

    @property
    def card(self) -> WakeCard:
        """What is shown at the right."""
        return self._card

    def show_subject(self, wake_id: str) -> None:
        """Show one wake, also if the filter leaves it out."""
        self._wanted = wake_id
        self._list.choose(self._model.number_of(wake_id))
        self._reread.ask()

    def show_only(self, which: Which) -> None:
        """Filter the list."""
        self._side.states.setCurrentIndex([found for _, (found,) in FILTERS].index(which))

    def search(self, text: str) -> None:
        """Ask for wakes whose kind, workspace, lane, event, session, id or error holds ``text``."""
        if text.strip() != self._text:
            self._text = text.strip()
            self._filter_changed()

    def focus_first(self) -> None:
        """The list."""
        self._list.setFocus()
        if not self._list.currentIndex().isValid() and self._model.rowCount():
            self._list.choose(0)

    def take(self, changes: Changes) -> None:
        """Look again where something changed."""
        if not changes.touches("wake", "lane", "series", "docket", "hold", "clock"):
            return
        self._touched |= changes.ids("wake")
        if self.isVisible():
            self._look_again()

    # -------------------------------------------------------------------------------------------- building

    def _build(self) -> None:
        outer = column(self)
        self._side = FilteredList(
            self._model,
            CardDelegate(partial(wake_card, times=self._session.times)),
            self._session.times,
            "wakes",
            "by time",
            FILTERS,
            self._filter_changed,
            280,
        )
        self._list = self._side.list
        outer.addWidget(
            side_by_side(
                self._session.settings, "wakes split", self._side.side, self._build_right, (400, 712), self
            )
        )

    def _build_right(self, place: QWidget) -> QWidget:
        right = frame("window", place)
        right.setMinimumWidth(360)
        lines = column(right)
        self._stack = QStackedWidget(right)
        self._choose_one = EmptyState(
            "Choose a wake", "Its time, why it waits and what happened to it are shown here."
        )
        self._card = WakeCard(self._session.times, self._doings, self._stack)
        self._stack.addWidget(self._choose_one)
        self._stack.addWidget(self._card)
        lines.addWidget(self._stack)
        return right

    # ------------------------------------------------------------------------------------------- the list

    @property
    def which(self) -> Which:
        """What the list shows."""
        return Which(self._side.wanted_states[0])

    async def _read_page(self, after: str | None, limit: int) -> Sequence[WakeSummary]:
        found = await self._read(self._places.get(after) if after is not None else None, limit)
        at = end_place if self.which is Which.ENDED else place
        self._places.update((wake.id, at(wake)) for wake in found)
        return found

    async def _read(self, after: tuple[int, int] | None, limit: int) -> Sequence[WakeSummary]:
        which, text = self.which, self._text
        if which is Which.ENDED:
            return await self._alarm.list_ended(text=text, after=after, limit=limit)
        states: Sequence[WakeState] = {
            Which.FIRING: (WakeState.FIRING,),
            Which.DEAD: (WakeState.DEAD,),
            Which.LATE: (WakeState.PENDING,),
        }.get(which, OPEN)
        before = self._session.times.now() - LATE_MS if which is Which.LATE else None
        return await self._alarm.list_wakes(
            states=states, text=text, due_before=before, after=after, limit=limit
        )

    def _filter_changed(self) -> None:
        self._places.clear()
        self._wanted = ""
        self._tasks.spawn(self._feed.start(), "read the wakes")
        if self.which is Which.LATE:
            self._late.start()
        else:
            self._late.stop()

    def _read_more(self) -> None:
        self._tasks.spawn(self._feed.more(), "read more wakes")

    def _filled(self) -> None:
        """After the first page, or another filter: choose again what was chosen."""
        if self._wanted:
            self._list.choose(self._model.number_of(self._wanted))
        elif self._model.rowCount():
            self._list.choose(0)
        self._say_count()

    def _say_count(self) -> None:
        words = (
            ("Nothing matches", f"No wake here matches “{self._text}”.")
            if self._text
            else _NOTHING[self.which]
        )
        loaded = self._side.say_count(words)
        if self._card.view is None or not self._wanted:
            self._choose_one.say(
                *(
                    ("Choose a wake", "Its time, why it waits and what happened to it are shown here.")
                    if loaded
                    else words
                )
            )
            self._stack.setCurrentWidget(self._choose_one)

    def showEvent(self, event: QShowEvent) -> None:
        """Take in what changed while nobody looked."""
        super().showEvent(event)
        self._look_again()

    def _look_again(self) -> None:
        self._catch_up.ask()
        if self._wanted:
            self._reread.ask()

    def _look_for_late(self) -> None:
        if self.isVisible():
            self._catch_up.ask()

    async def _take_changes(self) -> None:
        touched, self._touched = self._touched, set()
        loaded = max(self._model.rowCount(), PAGE)
        if loaded > MOST_AGAIN:
            await self._feed.catch_up(touched)
            return
        # A wake can move within the list, so whatever is loaded is read again.
        await self._feed.read_again(loaded)
        if not self._model.complete:
            self._model.truncate(loaded)

    # ------------------------------------------------------------------------------------------- the card

    def _hold_choice(self) -> None:
        self._editing = True

    def _keep_choice(self) -> None:
        """What one looks at stays, also if its row has left the list."""
        self._editing = False
        place = self._model.number_of(self._wanted) if self._wanted else -1
        if self._list.currentIndex().row() != place:
            self._list.choose(place)

    def _on_chosen(self, number: int) -> None:
        if number < 0 or self._editing:
            return
        self._wanted = self._model.row(number).id
        self._reread.ask()

    async def _read_wake(self) -> None:
        wanted = self._wanted
        if not wanted:
            return
        wake = await self._alarm.get(wanted)
        if wanted != self._wanted:
            return
        if wake is None:
            self._wanted = ""
            self._choose_one.say(
                "This wake is gone",
                "It ended, and was cleaned up after some days. The journal still has its steps.",
            )
            self._stack.setCurrentWidget(self._choose_one)
            return
        view = WakeView(wake, await self._alarm.history(wanted, limit=STEPS_SHOWN), await self._reasons(wake))
        if wanted == self._wanted:
            self._card.show_view(view)
            self._stack.setCurrentWidget(self._card)

    async def _reasons(self, wake: Wake) -> tuple[str, ...]:
        if wake.state is not WakeState.PENDING:
            return ()
        lane, ahead = await self._lane_of(wake)
        status = self._session.status
        return why_it_waits(
            wake,
            lane,
            ahead,
            self._session.times,
            trusted=status is None or status.clock_trusted,
            restored=status is not None and any(hold.kind is HoldKind.RESTORE for hold in status.holds),
        )

    async def _lane_of(self, wake: Wake) -> tuple[LaneRow | None, WakeSummary | None]:
        """What its lane does, and which wake of it goes next."""
        if wake.lane is None:
            return None, None
        lanes = await self._alarm.lanes(wake.workspace, limit=MOST_LANES)
        lane = next((found for found in lanes if found.lane == wake.lane), None)
        same = await self._alarm.list_wakes(
            wake.workspace, states=(WakeState.PENDING,), text=wake.lane, limit=MOST_AGAIN
        )
        return lane, next(
            (found for found in same if found.lane == wake.lane and found.armed_at is not None), None
        )

    # ---------------------------------------------------------------------------------------------- doing

    def _do(self, work: Callable[..., object], wake: Wake) -> None:
        self._session.spawn(
            work(self._session, self._alarm, wake, self.window()),  # type: ignore[arg-type]
            "decide about a wake",
        )
