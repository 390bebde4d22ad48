"""The part "Schedules": every series with when it fires next, and the chosen one's card."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Sequence
from functools import partial
from typing import Any

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
from app.panels.wakes.doings import cancel_series, pause_series, resume_series
from app.panels.wakes.row_text import describe_series, explain_series, series_card
from app.panels.wakes.schedule_card import ScheduleCard, SeriesDoings, SeriesView
from app.session import Changes, Session
from app.widgets import EmptyState, Role, button, column, frame, row, rule
from engine.control.alarm import OWN_KINDS
from engine.errors import InvalidValue
from engine.wakes import AlarmClock, Occurrence, Series, SeriesState
from engine.wakes.values import SERIES_LIVE

COMING = 10
"""How many coming occurrences the card shows."""

STEPS_SHOWN = 100

FILTERS: tuple[tuple[str, tuple[SeriesState, ...]], ...] = (
    ("Going on", SERIES_LIVE),
    ("Paused", (SeriesState.PAUSED,)),
    ("Broken", (SeriesState.BROKEN,)),
    ("Ended", (SeriesState.ENDED, SeriesState.CANCELLED)),
)

_NONE = (
    "No schedule of yours yet",
    "A schedule submits a work order again and again, at the times you set. Each one still waits for your approval.",
)


def _key(series: Series) -> str:
    return series.id


Doing = Callable[[Session, AlarmClock, Series, QWidget], Coroutine[Any, Any, None]]


class SchedulesPart(QWidget):
    """See the module. ``make`` opens the editor: with None for a new schedule, else to change one."""

    def __init__(
        self,
        session: Session,
        alarm: AlarmClock,
        make: Callable[[Series | None], None],
        can_change: Callable[[Series], bool],
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self._session = session
        self._alarm = alarm
        self._make = make
        self._can_change = can_change
        self._tasks = OwnedTasks(session, self)
        self._text = ""
        self._wanted = ""
        self._editing = False
        times = session.times
        self._model: RowModel[Series] = RowModel(
            [Column("Schedule", lambda series: series.kind, partial(explain_series, times=times))],
            _key,
            partial(describe_series, times=times),
            self,
        )
        self._feed = RowFeed(self._model, self._read_page, _key, changed_first=False)
        self._again = Refresh(self._tasks, self._read_again, "catch up with schedules")
        self._reread = Refresh(self._tasks, self._read_series, "read a schedule")
        self._build()
        self._model.more_wanted.connect(self._read_more)
        self._model.about_to_edit.connect(self._hold_choice)
        self._model.edited.connect(self._keep_choice)
        self._model.edited.connect(self._say_count)
        self._model.modelReset.connect(self._filled)
        self._list.chosen.connect(self._on_chosen)
        self._list.opened.connect(self._card.focus_body)
        self._tasks.spawn(self._feed.start(), "read the schedules")

    # ------------------------------------------------------------------------------- what the page asks

    @property
    def card(self) -> ScheduleCard:
        """What is shown at the right."""
        return self._card

    def show_subject(self, series_id: str) -> None:
        """Show one series, also if the filter leaves it out."""
        self._wanted = series_id
        self._list.choose(self._model.number_of(series_id))
        self._reread.ask()

    def search(self, text: str) -> None:
        """Schedules are few: all of them are shown whatever is searched for elsewhere."""

    def focus_first(self) -> None:
        """The list, or the button for the first schedule."""
        if self._model.rowCount():
            self._list.setFocus()
            if not self._list.currentIndex().isValid():
                self._list.choose(0)
        else:
            self._new.setFocus()

    def take(self, changes: Changes) -> None:
        """Look again where something changed."""
        if changes.touches("series", "wake", "docket") and self.isVisible():
            self._look_again()

    # -------------------------------------------------------------------------------------------- building

    def _build(self) -> None:
        outer = column(self)
        self._side = FilteredList(
            self._model,
            CardDelegate(partial(series_card, times=self._session.times)),
            self._session.times,
            "schedules",
            "oldest first",
            FILTERS,
            self._filter_changed,
            280,
        )
        self._list = self._side.list
        foot = row(margins=(13, 8, 13, 8))
        self._new = button(
            "New schedule…",
            "Have a work order submitted again and again",
            partial(self._make, None),
            role=Role.PRIMARY,
            parent=self._side.side,
        )
        foot.addWidget(self._new)
        foot.addStretch(1)
        lines = self._side.side.layout()
        assert lines is not None
        lines.addWidget(rule(self._side.side))
        lines.addItem(foot)
        outer.addWidget(
            side_by_side(
                self._session.settings,
                "schedules split",
                self._side.side,
                self._build_right,
                (400, 712),
                self,
            )
        )

    def _build_right(self, place: QWidget) -> QWidget:
        right = frame("window", place)
        right.setMinimumWidth(360)
        inner = column(right)
        self._stack = QStackedWidget(right)
        self._nothing = EmptyState(*_NONE, "New schedule…", partial(self._make, None))
        self._choose_one = EmptyState("Choose a schedule", "Its coming occurrences are shown here.")
        self._card = ScheduleCard(
            self._session.times,
            SeriesDoings(
                change=self._make,
                pause=partial(self._do, pause_series),
                resume=partial(self._do, resume_series),
                cancel=partial(self._do, cancel_series),
            ),
            self._stack,
        )
        for page in (self._choose_one, self._nothing, self._card):
            self._stack.addWidget(page)
        inner.addWidget(self._stack)
        return right

    # ------------------------------------------------------------------------------------------- the list

    async def _read_page(self, after: str | None, limit: int) -> Sequence[Series]:
        return await self._alarm.list_series(states=self._side.wanted_states, after=after, limit=limit)

    def _filter_changed(self) -> None:
        self._wanted = ""
        self._tasks.spawn(self._feed.start(), "read the schedules")

    def _read_more(self) -> None:
        self._tasks.spawn(self._feed.more(), "read more schedules")

    def _filled(self) -> None:
        if self._wanted:
            self._list.choose(self._model.number_of(self._wanted))
        else:
            self._list.choose(self._first_of_others())
        self._say_count()

    def _first_of_others(self) -> int:
        """The first schedule that is not the program's own, -1 if there is none: those are nobody's to steer."""
        rows = range(self._model.rowCount())
        return next((number for number in rows if self._model.row(number).kind not in OWN_KINDS), -1)

    def _say_count(self) -> None:
        first = self._side.states.currentIndex() == 0
        words = (
            ("No schedules", "Yours will stand here.") if first else ("None", "No schedule is in this state.")
        )
        self._side.say_count(words)
        if self._card.view is None or not self._wanted:
            none = first and self._first_of_others() < 0
            self._stack.setCurrentWidget(self._nothing if none else self._choose_one)

    def showEvent(self, event: QShowEvent) -> None:
        """Take in what changed while nobody looked."""
        super().showEvent(event)
        self._look_again()

    def _look_again(self) -> None:
        self._again.ask()
        if self._wanted:
            self._reread.ask()

    async def _read_again(self) -> None:
        loaded = min(max(self._model.rowCount(), PAGE), MOST_AGAIN)
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
        if number >= 0 and not self._editing:
            self._wanted = self._model.row(number).id
            self._reread.ask()

    async def _read_series(self) -> None:
        wanted = self._wanted
        if not wanted:
            return
        series = await self._alarm.series(wanted)
        if wanted != self._wanted:
            return
        if series is None:
            self._wanted = ""
            self._choose_one.say("This schedule is gone", "It ended, and was cleaned up after some days.")
            self._stack.setCurrentWidget(self._choose_one)
            return
        history = await self._alarm.series_history(wanted, limit=STEPS_SHOWN)
        view = SeriesView(series, await self._coming(series), history, self._can_change(series))
        if wanted == self._wanted:
            self._card.show_view(view)
            self._stack.setCurrentWidget(self._card)

    async def _coming(self, series: Series) -> tuple[Occurrence, ...]:
        """The coming occurrences; none of what has ended, or of a rule that cannot be reckoned any more."""
        if series.state not in SERIES_LIVE:
            return ()
        try:
            return await self._alarm.preview(series.id, COMING)
        except InvalidValue:
            return ()

    # ---------------------------------------------------------------------------------------------- doing

    def _do(self, work: Doing, series: Series) -> None:
        self._session.spawn(
            work(self._session, self._alarm, series, self.window()), "decide about a schedule"
        )
