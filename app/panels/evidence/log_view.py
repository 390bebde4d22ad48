"""The log view: one output file of any size, live or later, read in the background.

It opens at the end, follows while the scrollbar is at the bottom, loads earlier rows when one scrolls up, and
never holds more than a bounded part (B-055, B-056). Colours and cursor movement are honoured, ``Raw`` shows
them instead (B-059); the encoding is shown and can be changed (B-061).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from functools import partial
from pathlib import Path
from typing import Any, Protocol

from PySide6.QtCore import QEvent, QItemSelectionModel, Qt, QTimer
from PySide6.QtGui import (
    QAction,
    QHideEvent,
    QKeyEvent,
    QResizeEvent,
    QShowEvent,
)
from PySide6.QtWidgets import (
    QComboBox,
    QLineEdit,
    QPushButton,
    QStackedLayout,
    QWidget,
)

from app.panels.evidence.log_delegate import LogDelegate
from app.panels.evidence.log_model import LogModel
from app.panels.evidence.log_search import Search
from app.panels.evidence.log_source import LogSource, Patch
from app.panels.evidence.log_table import LogTable
from app.panels.evidence.text_encoding import AUTOMATIC, CHOICES, Detection
from app.panels.inbox.sheet import size_text
from app.theme import Text, theme
from app.widgets import EmptyState, Role, button, check_box, column, copy_text, frame, label, number, row

POLL_MS = 100
"""How often a live file is looked at."""


class Spawn(Protocol):
    """Runs a coroutine as a task that is not forgotten; `app.session.Session.spawn`."""

    def __call__(self, work: Coroutine[Any, Any, Any], name: str) -> asyncio.Task[Any]: ...  # noqa: D102


class LogView(QWidget):
    """See the module. ``name`` says which stream it is ("Standard output")."""

    def __init__(self, spawn: Spawn, name: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setAccessibleName(name)
        self._spawn = spawn
        self._name = name
        self._path: Path | None = None
        self._live = False
        self._source: LogSource | None = None
        self._lock = asyncio.Lock()
        self._patch: Patch | None = None
        self._loading = False
        self._following = True
        self._settling = False
        self._search = Search()
        self._model = LogModel(self)
        self._delegate = LogDelegate(self)
        self._timer = QTimer(self, interval=POLL_MS)
        self._timer.timeout.connect(self._poll)
        self._build()
        look = theme()
        if look is not None:
            look.changed.connect(self._theme_changed)

    # ------------------------------------------------------------------------------------------ outside

    def show_file(self, path: Path | None, *, live: bool) -> None:
        """Show this file; None says that there is none. The same content under another name keeps its place."""
        moved = self._path is not None and path is not None and self._model.rowCount() > 0
        keep = self._top_offset() if moved and not self._following else None
        if path == self._path and live == self._live:
            return
        same_file = path == self._path
        self._path, self._live = path, live
        self._run_timer()
        if same_file:
            self._poll()
            return
        self._stop_search()
        if path is None:
            self._source = None
            self._say_nothing()
            return
        self._reload(keep)

    def forget(self) -> None:
        """Show nothing and begin anew with the next file: another attempt."""
        self._stop_search()
        self._path = None
        self._source = None
        self._following = True
        self._search_field.clear()
        self._say_nothing()

    def set_empty_words(self, what: str, do: str) -> None:
        """What is said in the place of rows when there is no file, or nothing in it."""
        self._empty.say(what, do)

    @property
    def following(self) -> bool:
        """Whether the end is in view and stays there."""
        return self._following

    @property
    def table(self) -> LogTable:
        """The rows, for the keyboard focus."""
        return self._table

    @property
    def detection(self) -> Detection | None:
        """The encoding the rows are read in."""
        return self._patch.detection if self._patch is not None else None

    # -------------------------------------------------------------------------------------------- parts

    def _build(self) -> None:
        outer = column(self)
        outer.addWidget(self._build_bar())
        self._above = self._edge_line("Load earlier output (Page up at the top)", self._earlier)
        self._below = self._edge_line("Go to the end and follow (End)", self.go_to_end)
        outer.addWidget(self._above)
        self._table = LogTable(self._model, self._delegate, self)
        self._table.setAccessibleName(f"{self._name}, rows")
        self._table.wanted_earlier.connect(self._earlier)
        self._table.wanted_end.connect(self.go_to_end)
        self._table.wanted_start.connect(self.go_to_start)
        self._table.wanted_copy.connect(self.copy_selection)
        self._table.verticalScrollBar().valueChanged.connect(self._scrolled)
        self._table.verticalScrollBar().rangeChanged.connect(self._range_changed)
        self._table.setContextMenuPolicy(Qt.ContextMenuPolicy.ActionsContextMenu)
        for words, tip, pressed in (
            ("Copy rows", "Copy the selected rows whole", self.copy_selection),
            ("Go to the start", "Show the first rows of the file", self.go_to_start),
            ("Go to the end", "Show the last rows and follow", self.go_to_end),
        ):
            action = QAction(words, self._table)
            action.setToolTip(tip)
            action.triggered.connect(lambda _=False, do=pressed: do())
            self._table.addAction(action)
        self._empty = EmptyState("No output", "The command has written nothing here.")
        holder = frame("code", self)
        self._stack = QStackedLayout(holder)
        self._stack.setContentsMargins(1, 1, 1, 1)
        self._stack.addWidget(self._empty)
        self._stack.addWidget(self._table)
        outer.addWidget(holder, 1)
        outer.addWidget(self._below)

    def _build_bar(self) -> QWidget:
        bar = QWidget(self)
        line = row(bar, margins=(0, 0, 0, 8), gap=8)
        self._encoding = QComboBox(bar)
        self._encoding.setAccessibleName(f"Encoding of {self._name.lower()}")
        self._encoding.setToolTip("How the bytes are read. The bytes themselves are never changed.")
        self._encoding.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
        self._encoding.setMinimumContentsLength(17)
        for name, words in CHOICES:
            self._encoding.addItem(words, name)
        self._encoding.view().setMinimumWidth(self._encoding.fontMetrics().averageCharWidth() * 36)
        self._encoding.activated.connect(lambda _=0: self._reload(self._top_offset()))
        self._raw = check_box(
            "Raw", "Show escapes and control characters instead of obeying them", parent=bar
        )
        self._raw.toggled.connect(lambda _=False: self._reload(self._top_offset()))
        self._facts = label("", Text.SMALL, muted=True, parent=bar)
        self._search_field = QLineEdit(bar)
        self._search_field.setProperty("role", "search")
        self._search_field.setPlaceholderText("Find")
        self._search_field.setAccessibleName(f"Find in {self._name.lower()}")
        self._search_field.setToolTip(
            "Find in the whole file; Enter next, Shift+Enter previous (Ctrl+Shift+F)"
        )
        self._search_field.setClearButtonEnabled(True)
        self._search_field.setMinimumWidth(120)
        self._search_field.setMaximumWidth(260)
        self._search_field.installEventFilter(self)
        self._search_field.textChanged.connect(self._needle_changed)
        self._found = label("", Text.SMALL, muted=True, parent=bar)
        self._previous = button("▲", "Previous match (Shift+F3)", partial(self._step, -1), role=Role.QUIET)
        self._next = button("▼", "Next match (F3)", partial(self._step, 1), role=Role.QUIET)
        self._previous.setAccessibleName("Previous match")
        self._next.setAccessibleName("Next match")
        self._stop = button("Stop", "Stop searching", self._stop_search, role=Role.QUIET)
        for widget, stretch in (
            (self._encoding, 0),
            (self._raw, 0),
            (self._facts, 1),
            (self._found, 0),
            (self._search_field, 1),
            (self._previous, 0),
            (self._next, 0),
            (self._stop, 0),
        ):
            line.addWidget(widget, stretch)
        self._stop.hide()
        for key, do in (
            ("Ctrl+Shift+F", self._search_field.setFocus),
            ("F3", partial(self._step, 1)),
            ("Shift+F3", partial(self._step, -1)),
        ):
            action = QAction(self)
            action.setShortcut(key)
            action.setShortcutContext(Qt.ShortcutContext.WidgetWithChildrenShortcut)
            action.triggered.connect(lambda _=False, run=do: run())
            self.addAction(action)
        return bar

    def _edge_line(self, tip: str, pressed: Callable[[], None]) -> QPushButton:
        made = button("", tip, pressed, role=Role.QUIET, name=tip, parent=self)
        made.hide()
        return made

    # ------------------------------------------------------------------------------------------ reading

    def _reload(self, keep: int | None) -> None:
        """Begin anew: at the end, or around the byte that stood at the top."""
        if self._path is None:
            return
        source = LogSource(
            self._path, encoding=self._encoding.currentData() or AUTOMATIC, raw=self._raw.isChecked()
        )
        self._source = source
        if keep is None:
            self._following = True
            self._read(source, source.open_end)
        else:
            self._read(source, partial(source.open_around, keep), show=keep)

    def _read(
        self, source: LogSource, action: Callable[[], Patch | None], *, show: int | None = None
    ) -> None:
        self._loading = True
        self._spawn(self._read_in_thread(source, action, show), f"read {self._name.lower()}")

    async def _read_in_thread(
        self, source: LogSource, action: Callable[[], Patch | None], show: int | None
    ) -> None:
        try:
            async with self._lock:
                if source is not self._source:
                    return
                patch = await asyncio.to_thread(action)
                if patch is not None and source is self._source:
                    self._apply(patch, show)
        finally:
            self._loading = False

    def _poll(self) -> None:
        source = self._source
        if source is None or self._loading or self._lock.locked():
            return
        self._read(source, partial(source.poll, following=self._following))

    def _earlier(self) -> None:
        source, patch = self._source, self._patch
        if source is not None and patch is not None and not patch.at_start and not self._loading:
            self._following = False
            self._read(source, source.earlier)

    def _later(self) -> None:
        source, patch = self._source, self._patch
        if source is not None and patch is not None and not patch.at_end and not self._loading:
            self._read(source, source.later)

    def go_to_end(self) -> None:
        """Show the end and follow."""
        source, patch = self._source, self._patch
        if source is None or patch is None:
            return
        self._following = True
        if patch.at_end:
            self._to_bottom()
            self._say_edges()
        else:
            self._read(source, source.open_end)

    def go_to_start(self) -> None:
        """Show the first rows of the file."""
        source, patch = self._source, self._patch
        if source is None or patch is None:
            return
        self._following = False
        if patch.at_start:
            self._table.scrollToTop()
            self._say_edges()
        else:
            self._read(source, source.open_start, show=0)

    def _apply(self, patch: Patch, show: int | None) -> None:
        bar = self._table.verticalScrollBar()
        before = bar.value()
        self._settling = True
        shift = self._model.apply(patch)
        self._patch = patch
        self._fit_width()
        self._table.updateGeometries()
        if show is not None:
            self._following = False
            place = self._model.row_at(show) * self._delegate.row_height
            bar.setValue(place - self._table.viewport().height() // 3 if show else 0)
        elif self._following:
            self._to_bottom()
        elif shift:
            bar.setValue(before + shift * self._delegate.row_height)
        self._settling = False
        self._say(patch)

    # ------------------------------------------------------------------------------------------- saying

    def _say_nothing(self) -> None:
        self._model.clear()
        self._patch = None
        self._facts.setText("")
        self._encoding.setItemText(0, CHOICES[0][1])
        self._above.hide()
        self._below.hide()
        self._stack.setCurrentWidget(self._empty)

    def _say(self, patch: Patch) -> None:
        if patch.missing:
            self.set_empty_words(
                f"{self._name} is missing",
                "The file is not in the data folder any more. Its digest still stands.",
            )
        elif patch.problem:
            self.set_empty_words(f"{self._name} cannot be read", patch.problem)
        else:
            self.set_empty_words(
                "No output yet" if self._live else "No output",
                "The command has written nothing here so far."
                if self._live
                else "The command wrote nothing here.",
            )
        empty = self._model.rowCount() == 0
        self._stack.setCurrentWidget(self._empty if empty else self._table)
        self._facts.setText("missing" if patch.missing else size_text(patch.size))
        self._facts.setToolTip(
            f"{number(patch.size)} bytes. Read as {patch.detection.label}: {patch.detection.why}."
        )
        automatic = f"{patch.detection.label} (detected)" if not patch.detection.chosen else CHOICES[0][1]
        self._encoding.setItemText(0, automatic)
        self._encoding.setToolTip(
            f"Read as {patch.detection.label}: {patch.detection.why}. The bytes themselves are never changed."
        )
        self._say_edges()

    def _say_edges(self) -> None:
        patch = self._patch
        if patch is None:
            return
        self._above.setVisible(not patch.at_start)
        self._above.setText(f"▲ {size_text(patch.begin)} earlier · load")
        self._above.setAccessibleName(f"{size_text(patch.begin)} of earlier output, load")
        behind = patch.size - patch.end
        words = f"▼ {size_text(behind)} more below · go to the end" if behind > 0 else "▼ Go to the end"
        self._below.setVisible(
            not self._following and self._model.rowCount() > 0 and (behind > 0 or self._live)
        )
        self._below.setText(words + (" and follow" if self._live else ""))
        self._below.setAccessibleName(words.lstrip("▼ "))

    # ---------------------------------------------------------------------------------------- scrolling

    def _scrolled(self, value: int) -> None:
        if self._settling:
            return
        bar = self._table.verticalScrollBar()
        patch = self._patch
        at_bottom = value >= bar.maximum()
        self._following = at_bottom and (patch is None or patch.at_end)
        if at_bottom and patch is not None and not patch.at_end:
            self._later()
        elif value <= bar.minimum() and bar.maximum() > bar.minimum():
            self._earlier()
        self._say_edges()

    def _range_changed(self) -> None:
        if self._following:
            self._to_bottom()

    def _to_bottom(self) -> None:
        settling, self._settling = self._settling, True
        bar = self._table.verticalScrollBar()
        bar.setValue(bar.maximum())
        self._settling = settling

    def _top_offset(self) -> int | None:
        if self._model.rowCount() == 0 or self._following:
            return None
        top = max(self._table.rowAt(0), 0)
        return self._model.line(top).offset

    def _fit_width(self) -> None:
        wanted = self._delegate.width_of(self._model.longest)
        self._table.setColumnWidth(0, max(wanted, self._table.viewport().width()))

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Let rows fill the width."""
        super().resizeEvent(event)
        self._fit_width()

    def showEvent(self, event: QShowEvent) -> None:
        """Look at the file while one looks at the view."""
        super().showEvent(event)
        self._run_timer()
        self._fit_width()
        self._poll()

    def hideEvent(self, event: QHideEvent) -> None:
        """Do nothing while nobody looks."""
        super().hideEvent(event)
        self._timer.stop()

    def _run_timer(self) -> None:
        if self._live and self._path is not None and self.isVisible():
            self._timer.start()
        else:
            self._timer.stop()

    def _theme_changed(self) -> None:
        self._delegate.refont()
        self._table.fit_rows()
        self._fit_width()
        self._table.viewport().update()

    # ------------------------------------------------------------------------------------------ copying

    def copy_selection(self) -> None:
        """Copy the selected rows whole; nothing selected copies all loaded rows."""
        chosen = self._table.selectionModel()
        rows = sorted({index.row() for index in chosen.selectedRows()}) or list(range(self._model.rowCount()))
        source, patch = self._source, self._patch
        if rows and source is not None and patch is not None:
            self._spawn(self._copy(source, rows, patch.end), f"copy from {self._name.lower()}")

    async def _copy(self, source: LogSource, rows: list[int], end: int) -> None:
        texts = []
        for first, last in _stretches(rows):
            lines = self._model.lines(first, last)
            until = self._model.line(last + 1).offset if last + 1 < self._model.rowCount() else end
            texts.append(await asyncio.to_thread(source.text, lines, until))
        copy_text("\n".join(texts), self._table)

    # ---------------------------------------------------------------------------------------- searching

    def eventFilter(self, watched: object, event: QEvent) -> bool:
        """Enter and Shift+Enter in the search field go through the matches, Escape leaves it."""
        if (
            watched is self._search_field
            and isinstance(event, QKeyEvent)
            and event.type() == QEvent.Type.KeyPress
        ):
            if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
                back = bool(event.modifiers() & Qt.KeyboardModifier.ShiftModifier)
                self._step(-1 if back else 1)
                return True
            if event.key() == Qt.Key.Key_Escape:
                self._search_field.clear()
                self._table.setFocus()
                return True
        return False

    def _needle_changed(self, text: str) -> None:
        self._delegate.needle = text.casefold()
        self._table.viewport().update()
        if text != self._search.needle:
            self._stop_search()
            self._search = Search()
            self._found.setText("")

    def _step(self, direction: int) -> None:
        needle = self._search_field.text()
        source = self._source
        if not needle or source is None:
            self._search_field.setFocus()
            return
        if self._search.needle != needle or self._search.source is not source:
            self._stop_search()
            self._search = Search(needle, source, direction, self._search_origin(direction))
            self._stop.show()
            self._spawn(self._search_file(self._search), f"search {self._name.lower()}")
            return
        self._search.direction = direction
        self._show_match(self._search, self._search.next(direction))

    def _search_origin(self, direction: int) -> int:
        """Where searching begins: at what is in view."""
        if self._model.rowCount() == 0:
            return 0
        if self._following:
            return 1 << 62
        height = self._table.viewport().height()
        seen = self._table.rowAt(0) if direction > 0 else self._table.rowAt(height - 1)
        return self._model.line(seen if seen >= 0 else self._model.rowCount() - 1).offset

    async def _search_file(self, search: Search) -> None:
        source = search.source
        if source is None:
            return
        try:
            steps = source.search(search.needle, search.stop.is_set)
            while (step := await asyncio.to_thread(next, steps, None)) is not None:
                if search is not self._search:
                    return
                search.take(step)
                self._say_found(search)
                if search.current < 0 and search.reached():
                    self._show_match(search, search.nearest())
        except OSError as error:
            self._found.setText(f"Search failed: {error.strerror or error}")
            return
        finally:
            search.done = True
            if search is self._search:
                self._stop.hide()
        if search.current < 0:
            self._show_match(search, search.nearest())
        self._say_found(search)

    def _show_match(self, search: Search, number: int) -> None:
        source = self._source
        if number < 0 or source is None:
            self._say_found(search)
            return
        search.current = number
        offset = search.offsets[number]
        patch = self._patch
        inside = (
            patch is not None and patch.begin <= offset < max(patch.end, 1) and self._model.rowCount() > 0
        )
        if inside:
            self._following = False
            self._select_row(self._model.row_at(offset))
        else:
            self._spawn(self._open_match(source, offset), f"go to a match in {self._name.lower()}")
        self._say_found(search)

    async def _open_match(self, source: LogSource, offset: int) -> None:
        await self._read_in_thread(source, partial(source.open_around, offset), offset)
        if source is self._source and self._model.rowCount():
            self._select_row(self._model.row_at(offset))

    def _select_row(self, row_number: int) -> None:
        index = self._model.index(row_number, 0)
        flags = QItemSelectionModel.SelectionFlag
        self._table.selectionModel().setCurrentIndex(index, flags.ClearAndSelect | flags.Rows)
        place = row_number * self._delegate.row_height
        bar = self._table.verticalScrollBar()
        self._settling = True
        if (
            not bar.value()
            <= place
            <= bar.value() + self._table.viewport().height() - self._delegate.row_height
        ):
            bar.setValue(place - self._table.viewport().height() // 3)
        self._table.horizontalScrollBar().setValue(0)
        self._settling = False
        self._say_edges()

    def _say_found(self, search: Search) -> None:
        if search is not self._search:
            return
        total = f"{number(len(search.offsets))}{'' if search.whole else '+'}"
        if search.current >= 0:
            words = f"{number(search.current + 1)} of {total}"
        elif search.offsets:
            words = f"{total} rows"
        else:
            words = "not found" if search.whole else "none so far"
        if not search.done and search.size:
            words = f"{words} · {min(search.searched * 100 // search.size, 100)} %"
        elif not search.whole:
            words = f"{words} · stopped"
        self._found.setText(words)

    def _stop_search(self) -> None:
        self._search.stop.set()
        self._stop.hide()


def _stretches(rows: list[int]) -> list[tuple[int, int]]:
    """Row numbers as stretches of neighbours."""
    found: list[tuple[int, int]] = []
    for number_ in rows:
        if found and found[-1][1] == number_ - 1:
            found[-1] = (found[-1][0], number_)
        else:
            found.append((number_, number_))
    return found
