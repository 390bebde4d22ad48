"""What fired late, or lapsed, newest first: what sleep, downtime and restores did to the schedule of things."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from PySide6.QtWidgets import QStackedWidget, QWidget

from app.panels.rows import BadgeDelegate, Column, RowModel, RowTable
from app.panels.wakes.row_text import describe_wake
from app.panels.wakes.words import late_by, wake_look, wake_title
from app.panels.words import span_words
from app.session import Session
from app.theme import Text
from app.widgets import column, label
from engine.wakes import AlarmClock, WakeState
from engine.wakes.values import WakeSummary

LATE_FROM_MS = 60_000
"""What fired less late than this is not worth a line here."""

LOOKED_THROUGH = 500
MOST_SHOWN = 50


class LateList(QWidget):
    """A table of wakes; Enter opens one. `read` looks at the latest that ended."""

    def __init__(
        self,
        session: Session,
        alarm: AlarmClock,
        open_wake: Callable[[str], None],
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self._alarm = alarm
        self._open_wake = open_wake
        times = session.times
        self.model: RowModel[WakeSummary] = RowModel(
            [
                Column(
                    "Due",
                    lambda wake: times.stamp(wake.due_at or 0),
                    lambda wake: times.exact(wake.due_at or 0),
                ),
                Column("State", lambda wake: wake_look(wake, times.now()).word),
                Column("How late", lambda wake: span_words(late_by(wake, times.now()))),
                Column("What", wake_title),
                Column("Workspace", lambda wake: wake.workspace),
            ],
            lambda wake: wake.id,
            lambda wake: describe_wake(wake, times),
            self,
        )
        self._table: RowTable[WakeSummary] = RowTable(
            self.model, "What fired late or lapsed lately, newest first", (24, 18, 18, 34, 20), self
        )
        self._table.setItemDelegateForColumn(
            1, BadgeDelegate(lambda number: wake_look(self.model.row(number), times.now()), self)
        )
        self._table.setMinimumHeight(120)
        self._table.opened.connect(self._open)
        self._none = label(
            "Nothing fired late or lapsed lately.", Text.BODY, muted=True, wrap=True, parent=self
        )
        self._stack = QStackedWidget(self)
        self._stack.addWidget(self._none)
        self._stack.addWidget(self._table)
        lines = column(self)
        lines.addWidget(self._stack)

    def focus_first(self) -> None:
        """The table."""
        self._table.setFocus()
        if self.model.rowCount() and not self._table.currentIndex().isValid():
            self._table.choose(0)

    async def read(self) -> None:
        """Look at the latest that ended, and show those that were late."""
        found = await self._alarm.list_ended(limit=LOOKED_THROUGH)
        self.show_rows([wake for wake in found if _is_late(wake)][:MOST_SHOWN])

    def show_rows(self, rows: Sequence[WakeSummary]) -> None:
        """Show these."""
        here = {wake.id for wake in rows}
        gone = [
            self.model.row(number).id
            for number in range(self.model.rowCount())
            if self.model.row(number).id not in here
        ]
        self.model.merge(rows, gone)
        self._stack.setCurrentWidget(self._table if rows else self._none)

    def _open(self) -> None:
        self._open_wake(self.model.row(self._table.currentIndex().row()).id)


def _is_late(wake: WakeSummary) -> bool:
    if wake.state is WakeState.EXPIRED:
        return True
    return wake.state is WakeState.FIRED and (wake.late_ms or 0) >= LATE_FROM_MS
