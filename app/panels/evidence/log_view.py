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

from PySide6.QtCore import QItemSelection, QItemSelectionModel, Qt, QTimer
from PySide6.QtGui import QAction, QHideEvent, QResizeEvent, QShowEvent
from PySide6.QtWidgets import QLineEdit, QPushButton, QStackedLayout, QWidget

from app.panels.evidence.log_bar import LogBar
from app.panels.evidence.log_delegate import LogDelegate
from app.panels.evidence.log_model import LogModel
from app.panels.evidence.log_search import Search
from app.panels.evidence.log_source import LogSource, Patch
from app.panels.evidence.log_table import LogTable
from app.panels.evidence.log_wrap import FEWEST_COLUMNS, RowWrap
from app.panels.evidence.text_encoding import Detection
from app.settings import Settings
from app.theme import theme
from app.widgets import EmptyState, Role, button, column, copy_text, frame
from engine.durations import size_text

POLL_MS = 100
"""How often a live file is looked at."""

RESIZED_MS = 120
"""How long a width must stand before wrapped rows are laid out anew."""


class Spawn(Protocol):
    """Runs a coroutine as a task that is not forgotten; `app.session.Session.spawn`."""

    def __call__(self, work: Coroutine[Any, Any, Any], name: str) -> asyncio.Task[Any]: ...  # noqa: D102


class LogView(QWidget):
    """See the module. ``name`` says which stream it is ("Standard output"); ``settings`` remember the wrapping."""

    def __init__(
        self, spawn: Spawn, name: str, parent: QWidget | None = None, *, settings: Settings | None = None
    ) -> None:
        super().__init__(parent)
        self.setAccessibleName(name)
        self._spawn = spawn
        self._name = name
        self._settings = settings
        self._path: Path | None = None
        self._live = False
        self._source: LogSource | None = None
        self._lock = asyncio.Lock()
        self._patch: Patch | None = None
        self._loading = False
        self._following = True
        self._settling = False
        self._search = Search()
        self._wrap = RowWrap()
        self._columns = 0
        self._model = LogModel(self)
        self._delegate = LogDelegate(self)
        self._timer = QTimer(self, interval=POLL_MS)
        self._timer.timeout.connect(self._poll)
        self._resized = QTimer(self, interval=RESIZED_MS, singleShot=True)
        self._resized.timeout.connect(self._lay_out)
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
        self._bar.search_field.clear()
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
    def search_field(self) -> QLineEdit:
        """What is looked for."""
        return self._bar.search_field

    @property
    def detection(self) -> Detection | None:
        """The encoding the rows are read in."""
        return self._patch.detection if self._patch is not None else None

    # -------------------------------------------------------------------------------------------- parts

    def _build(self) -> None:
        outer = column(self)
        self._bar = self._build_bar()
        outer.addWidget(self._bar)
        self._above = self._edge_line("Load earlier output (Page up at the top)", self._earlier)
        self._below = self._edge_line("Go to the end and follow (End)", self.go_to_end)
        outer.addWidget(self._above)
        holder = frame("code", self)
        self._table = LogTable(self._model, self._delegate, holder)
        self._table.setAccessibleName(f"{self._name}, rows")
        self._table.resized.connect(self._resized.start)
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
        self._empty = EmptyState("No output", "The command has written nothing here.", parent=holder)
        self._stack = QStackedLayout(holder)
        self._stack.setContentsMargins(1, 4, 1, 1)
        self._stack.addWidget(self._empty)
        self._stack.addWidget(self._table)
        outer.addWidget(holder, 1)
        outer.addWidget(self._below)

    def _build_bar(self) -> LogBar:
        bar = LogBar(self._name, self)
        if self._settings is not None:
            bar.set_wraps(self._settings.wrap_output)
        bar.encoding_chosen.connect(lambda: self._reload(self._top_offset()))
        bar.raw_toggled.connect(lambda: self._reload(self._top_offset()))
        bar.wrap_toggled.connect(self._wrap_chosen)
        bar.needle_changed.connect(self._needle_changed)
        bar.step.connect(self._step)
        bar.stop.connect(self._stop_search)
        bar.left.connect(lambda: self._table.setFocus())
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
        source = LogSource(self._path, encoding=self._bar.encoding, raw=self._bar.raw)
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
                patch = await asyncio.to_thread(self._rows, action)
                if patch is not None and source is self._source:
                    self._apply(patch, show)
        finally:
            self._loading = False

    def _rows(self, action: Callable[[], Patch | None]) -> Patch | None:
        patch = action()
        return self._wrap.rows(patch) if patch is not None else None

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
        self._bar.say_nothing()
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
        self._bar.say_facts(patch.size, patch.detection, missing=patch.missing)
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
        width = self._table.viewport().width()
        if not self._columns:
            width = max(self._delegate.width_of(self._model.longest), width)
        self._table.setColumnWidth(0, width)

    # --------------------------------------------------------------------------------------- wrapping

    def _wrap_chosen(self, on: bool) -> None:
        if self._settings is not None:
            self._settings.wrap_output = on
        self._lay_out()

    def _lay_out(self) -> None:
        """Lay the loaded lines out in the width that the view has now, the top line staying at the top."""
        columns = max(self._delegate.columns_in(self._rows_width()), FEWEST_COLUMNS) if self._bar.wraps else 0
        if columns != self._columns:
            self._columns = columns
            self._spawn(self._lay_out_in_thread(columns), f"lay out {self._name.lower()}")

    def _rows_width(self) -> int:
        """The width of the rows; while there are none, the one that they will have."""
        if self._table.isVisible():
            return self._table.viewport().width()
        return self.width() - self._table.verticalScrollBar().sizeHint().width() - 2

    async def _lay_out_in_thread(self, columns: int) -> None:
        async with self._lock:
            last = self._patch
            if columns != self._columns:
                return
            if last is None:
                self._wrap.begin(columns)
                return
            patch = await asyncio.to_thread(self._wrap.relaid, columns, last)
            if last is self._patch:
                top, chosen = self._top_offset(), self._chosen_offsets()
                self._apply(patch, None)
                if top is not None:
                    self._settling = True
                    self._table.verticalScrollBar().setValue(
                        self._model.row_at(top) * self._delegate.row_height
                    )
                    self._settling = False
                self._choose(chosen)

    def _chosen_offsets(self) -> list[int]:
        return [self._model.line(index.row()).offset for index in self._table.selectionModel().selectedRows()]

    def _choose(self, offsets: list[int]) -> None:
        rows: set[int] = set()
        for offset in offsets:
            rows.update(self._model.rows_of(self._model.row_at(offset)))
        chosen = QItemSelection()
        for first, last in _stretches(sorted(rows)):
            chosen.select(self._model.index(first, 0), self._model.index(last, 0))
        flags = QItemSelectionModel.SelectionFlag
        self._table.selectionModel().select(chosen, flags.ClearAndSelect | flags.Rows)

    # ------------------------------------------------------------------------------------------- looking

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Let rows fill the width."""
        super().resizeEvent(event)
        self._fit_width()

    def showEvent(self, event: QShowEvent) -> None:
        """Look at the file while one looks at the view."""
        super().showEvent(event)
        self._run_timer()
        if self._settings is not None:
            self._bar.set_wraps(self._settings.wrap_output)
        self._fit_width()
        self._lay_out()
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
        self._lay_out()
        self._table.viewport().update()

    # ------------------------------------------------------------------------------------------ copying

    def copy_selection(self) -> None:
        """Copy the selected rows whole; nothing selected copies all loaded rows."""
        chosen = self._table.selectionModel()
        rows = sorted(
            {row for index in chosen.selectedRows() for row in self._model.rows_of(index.row())}
        ) or list(range(self._model.rowCount()))
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

    def _needle_changed(self, text: str) -> None:
        self._delegate.needle = text.casefold()
        self._table.viewport().update()
        if text != self._search.needle:
            self._stop_search()
            self._search = Search()
            self._bar.say_search_failed("")

    def _step(self, direction: int) -> None:
        needle = self._bar.search_field.text()
        source = self._source
        if not needle or source is None:
            self._bar.search_field.setFocus()
            return
        if self._search.needle != needle or self._search.source is not source:
            self._stop_search()
            self._search = Search(needle, source, direction, self._search_origin(direction))
            self._bar.set_searching(True)
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
            self._bar.say_search_failed(f"Search failed: {error.strerror or error}")
            return
        finally:
            search.done = True
            if search is self._search:
                self._bar.set_searching(False)
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
            self._select_row(self._model.row_with(self._search.needle, self._model.row_at(offset)))
        else:
            self._spawn(self._open_match(source, offset), f"go to a match in {self._name.lower()}")
        self._say_found(search)

    async def _open_match(self, source: LogSource, offset: int) -> None:
        await self._read_in_thread(source, partial(source.open_around, offset), offset)
        if source is self._source and self._model.rowCount():
            self._select_row(self._model.row_with(self._search.needle, self._model.row_at(offset)))

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
        if search is self._search:
            self._bar.say_found(search)

    def _stop_search(self) -> None:
        self._search.stop.set()
        self._bar.set_searching(False)


def _stretches(rows: list[int]) -> list[tuple[int, int]]:
    """Row numbers as stretches of neighbours."""
    found: list[tuple[int, int]] = []
    for number_ in rows:
        if found and found[-1][1] == number_ - 1:
            found[-1] = (found[-1][0], number_)
        else:
            found.append((number_, number_))
    return found
