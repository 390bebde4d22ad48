"""View > Find anything: one field over work orders, runs, requests, grants, projects and wakes, and the way to each."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QObject, Qt, QTimer
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QLineEdit, QWidget

from app.panels.inbox.row_text import one_line
from app.panels.rows import Column, OwnedTasks, RowModel, RowTable
from app.session import Session
from app.theme import Text
from app.widgets import Question, label, opened
from engine.views.finding import Found

MOST = 50
"""Things listed at once; more words find fewer."""

PAUSE_MS = 150
"""After the last key it takes this long until it is looked for."""

_WORDS = {
    "work_order": "work order",
    "attempt": "run",
    "approval": "request",
    "grant": "grant",
    "project": "project",
    "schedule": "schedule",
    "wake": "wake",
}


class FindDialog(Question):
    """A field and what it finds. Enter goes to the row that is chosen; up and down choose, from the field too."""

    def __init__(self, parent: QWidget | None, session: Session) -> None:
        super().__init__(parent, "Find anything")
        self._session = session
        self._tasks = OwnedTasks(session, self)
        self._asked = ""
        self.chosen: Found | None = None
        self.setMinimumWidth(680)
        self._field = QLineEdit(self)
        self._field.setAccessibleName("What to find")
        self._field.setToolTip(
            "A name, an identity, a seal, a digest, or words of a title, workspace or project"
        )
        self._field.setPlaceholderText("WO-118, 118/2/1, an id, a seal, a digest, or words")
        self._field.setClearButtonEnabled(True)
        self._field.setMinimumHeight(self._field.sizeHint().height())
        self._field.installEventFilter(self)
        self.body.addWidget(self._field)
        self._model: RowModel[Found] = RowModel(
            [
                Column("What", lambda one: _WORDS[one.kind]),
                Column("Name", lambda one: one_line(one.name), lambda one: one_line(one.name)),
                Column("", lambda one: one_line(one.line), lambda one: one_line(one.line)),
            ],
            lambda one: f"{one.kind} {one.id}",
            lambda one: f"{_WORDS[one.kind]} {one_line(one.name)}, {one_line(one.line)}",
            self,
        )
        self._table: RowTable[Found] = RowTable(self._model, "What was found", (15, 46), self)
        self._table.setMinimumHeight(260)
        self._table.opened.connect(self._take)
        self.body.addWidget(self._table, 1)
        self._count = label("", Text.SMALL, muted=True, parent=self)
        self.add_aside(self._count)
        self.add_back("Close")
        self._go = self.add_action("Go there", "Show what is chosen (Enter)")
        self._go.clicked.disconnect()
        self._go.clicked.connect(self._take)
        self._pause = QTimer(self, interval=PAUSE_MS, singleShot=True)
        self._pause.timeout.connect(self._look)
        self._field.textChanged.connect(lambda: self._pause.start())
        self._say()
        self._field.setFocus(Qt.FocusReason.OtherFocusReason)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Up, down and Enter in the field belong to the list."""
        if watched is self._field and isinstance(event, QKeyEvent) and event.type() == QEvent.Type.KeyPress:
            match event.key():
                case Qt.Key.Key_Down | Qt.Key.Key_Up:
                    step = 1 if event.key() == Qt.Key.Key_Down else -1
                    at = self._table.currentIndex().row() + step
                    if 0 <= at < self._model.rowCount():
                        self._table.choose(at)
                    return True
                case Qt.Key.Key_Return | Qt.Key.Key_Enter:
                    if not event.isAutoRepeat():
                        self._take()
                    return True
        return super().eventFilter(watched, event)

    def _look(self) -> None:
        self._asked = self._field.text()
        self._tasks.spawn(self._find(self._asked), "find anything")

    async def _find(self, text: str) -> None:
        found = await self._session.engine.find(text, limit=MOST)
        if text == self._asked:
            self._model.replace(found, complete=True)
            self._table.choose(0 if found else -1)
            self._say()

    def _say(self) -> None:
        count = self._model.rowCount()
        self._go.setEnabled(count > 0)
        found = "1 thing" if count == 1 else f"{count}{'+' if count == MOST else ''} things"
        self._count.setText(found if count else "")
        self._table.say_empty(
            "Nothing is called so."
            if self._asked.strip()
            else "Ids and digests are found when they are whole, a seal by its first 8 digits, anything else by a part."
        )

    def _take(self) -> None:
        """Accept the row that is chosen; what was typed since is looked for first."""
        if self._pause.isActive():
            self._pause.stop()
            self._look()
            return
        at = self._table.currentIndex().row()
        if 0 <= at < self._model.rowCount():
            self.chosen = self._model.row(at)
            self.accept()


async def find_anything(window: QWidget, session: Session) -> None:
    """Let a person find something, and show it on its page."""
    dialog = FindDialog(window, session)
    dialog.setWindowModality(Qt.WindowModality.WindowModal)
    if await opened(dialog) and (found := dialog.chosen) is not None:
        session.open_page(*place_of(found))


def place_of(found: Found) -> tuple[str, str]:
    """The page that shows a thing, and the subject to show there."""
    match found.kind:
        case "attempt":
            return ("unknown" if found.unknown else "evidence"), found.id
        case "approval":
            return "inbox", found.id
        case "grant":
            return "inbox", f"grant:{found.id}"
        case "project":
            return "budgets", found.id
        case "schedule" | "wake":
            return "wakes", found.id
    return "work_orders", found.id
