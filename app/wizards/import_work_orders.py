"""Importing work orders from files: every problem by file, line and field; nothing is submitted unless all is right."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QDragEnterEvent, QDropEvent
from PySide6.QtWidgets import QDialog, QFileDialog, QFrame, QScrollArea, QStackedWidget, QWidget
from shiboken6 import isValid

from app.panels.inbox.inline_button import InlineButton
from app.panels.prose import prose
from app.panels.words import order_name
from app.session import Session
from app.theme import Shape, Text, Tone
from app.widgets import (
    Badge,
    ElidedLabel,
    EmptyState,
    Role,
    button,
    column,
    confirm,
    focus_next,
    frame,
    label,
    opened,
    row,
    rule,
    set_role,
    spoken,
)
from app.wizards.fields import fit_dialog
from engine.errors import PraxisError
from engine.ids import new_id
from engine.interfaces.work_order_file import Problem, read_work_order
from engine.views.values import WorkOrderRow
from engine.work_order import WorkOrderSpec

SUFFIXES = (".toml", ".json")
MOST_FILES = 200
_FILTER = "Work orders (*.toml *.json)"


@dataclass(slots=True)
class Entry:
    """One file: what it holds or what is wrong with it. ``key`` makes submitting it again harmless."""

    path: Path
    key: str
    spec: WorkOrderSpec | None = None
    problems: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    reading: bool = True
    submitted: WorkOrderRow | None = field(default=None)

    @property
    def right(self) -> bool:
        """Whether it was read and everything it needs was found."""
        return self.spec is not None and not self.reading and not self.problems


async def import_work_orders(window: QWidget, session: Session) -> None:
    """Open the dialog and, if work orders were submitted, show the first of them."""
    dialog = ImportDialog(window, session)
    if await opened(dialog) and dialog.submitted:
        session.open_page("work_orders", dialog.submitted[0].id)


class ImportDialog(QDialog):
    """See the module. ``submitted`` are the new work orders after it was accepted."""

    def __init__(self, parent: QWidget | None, session: Session) -> None:
        super().__init__(parent)
        self._session = session
        self._entries: list[Entry] = []
        self._busy = False
        self.setWindowTitle("Import work orders")
        self.setAccessibleName("Import work orders")
        self.setAcceptDrops(True)
        self.setMinimumSize(520, 360)
        outer = column(self)
        outer.addWidget(self._build_head())
        outer.addWidget(rule(self))
        self._stack = QStackedWidget(self)
        self._none = EmptyState(
            "No files yet",
            "Choose TOML or JSON files, or drop them here. They are read and checked; nothing is submitted by that.",
            "Choose files…",
            self._choose,
            key="Ctrl+O",
        )
        self._scroll = QScrollArea(self)
        self._scroll.setWidgetResizable(True)
        self._scroll.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self._scroll.setAccessibleName("Files")
        body = QWidget()
        self._lines = column(body, margins=(18, 14, 18, 14), gap=8)
        self._lines.addStretch(1)
        self._scroll.setWidget(body)
        self._stack.addWidget(self._none)
        self._stack.addWidget(self._scroll)
        outer.addWidget(self._stack, 1)
        outer.addWidget(self._build_foot())
        self._blocks: dict[Path, FileBlock] = {}
        self._refresh()
        if self._none.button is not None:
            self._none.button.setFocus()
        fit_dialog(self, QSize(760, 560))

    def focusNextPrevChild(self, next: bool) -> bool:
        """Tab goes as one reads."""
        return focus_next(self, next)

    @property
    def submitted(self) -> tuple[WorkOrderRow, ...]:
        """The work orders made from the files."""
        return tuple(entry.submitted for entry in self._entries if entry.submitted is not None)

    @property
    def entries(self) -> tuple[Entry, ...]:
        """The files as they stand."""
        return tuple(self._entries)

    # -------------------------------------------------------------------------------------------- building

    def _build_head(self) -> QWidget:
        head = frame("window", self)
        lines = column(head, margins=(18, 14, 18, 10), gap=4)
        lines.addWidget(label("Import work orders", Text.TITLE, parent=head))
        words = "Nothing is submitted unless every file is right and you confirm it. Nothing runs without approval."
        lines.addWidget(label(words, muted=True, wrap=True, parent=head))
        return head

    def _build_foot(self) -> QWidget:
        foot = frame("surface", self)
        lines = column(foot)
        lines.addWidget(rule(foot))
        self._said = label("", wrap=True, selectable=True, parent=foot)
        self._said.setContentsMargins(18, 8, 18, 0)
        lines.addWidget(self._said)
        line = row(margins=(18, 10, 18, 12), gap=8)
        self._add = button("Choose files…", "Choose TOML or JSON files", self._choose, key="Ctrl+O")
        self._again = button(
            "Read again", "Read all files again, after you have mended them", self._read_all, key="F5"
        )
        self._back = button(
            "Go back", "Close this and submit nothing", self.reject, key="Esc", shortcut=False
        )
        self._submit = button("Submit", "Save all of them", self._submit_pressed, role=Role.PRIMARY)
        line.addWidget(self._add)
        line.addWidget(self._again)
        line.addStretch(1)
        line.addWidget(self._back)
        line.addWidget(self._submit)
        lines.addLayout(line)
        return foot

    # ----------------------------------------------------------------------------------------------- files

    def add_files(self, paths: Iterable[Path]) -> None:
        """Read these files too; folders stand for the work order files in them."""
        known = {entry.path for entry in self._entries}
        fresh = [path for path in _files(paths) if path not in known]
        if not known and fresh:
            self._back.setFocus()
        room = MOST_FILES - len(self._entries)
        for path in fresh[:room]:
            entry = Entry(path, new_id(self._session.engine.clock.now()))
            self._entries.append(entry)
            self._read(entry)
        self._refresh()
        if len(fresh) > room:
            self._say(f"At most {MOST_FILES} files are imported at once; {len(fresh) - room} were left out.")

    def _remove(self, entry: Entry) -> None:
        if not self._busy:
            self._entries.remove(entry)
            self._refresh()

    def _read_all(self) -> None:
        for entry in self._entries:
            if entry.submitted is None:
                self._read(entry)
        self._refresh()

    def _read(self, entry: Entry) -> None:
        entry.reading = True
        self._session.spawn(self._read_now(entry), f"read {entry.path.name}")

    async def _read_now(self, entry: Entry) -> None:
        entry.spec, entry.problems, entry.warnings = None, (), ()
        try:
            entry.spec = await asyncio.to_thread(read_work_order, entry.path)
            check = await self._session.engine.check(entry.spec)
            entry.warnings = check.warnings
        except PraxisError as error:
            entry.problems = problem_lines(error)
        entry.reading = False
        if isValid(self):
            self._refresh()

    def _choose(self) -> None:
        self._session.spawn(self._ask_files(), "choose work order files")

    async def _ask_files(self) -> None:
        folder = self._entries[-1].path.parent if self._entries else Path.home()
        dialog = QFileDialog(self, "Choose work orders", str(folder), _FILTER)
        dialog.setFileMode(QFileDialog.FileMode.ExistingFiles)
        if await opened(dialog):
            self.add_files(Path(name) for name in dialog.selectedFiles())

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        """Take files and folders of this machine."""
        if any(url.isLocalFile() for url in event.mimeData().urls()):
            event.acceptProposedAction()

    def dropEvent(self, event: QDropEvent) -> None:
        """Read what was dropped."""
        self.add_files(Path(url.toLocalFile()) for url in event.mimeData().urls() if url.isLocalFile())
        event.acceptProposedAction()

    # ------------------------------------------------------------------------------------------- showing

    def _refresh(self) -> None:
        wanted = {entry.path: entry for entry in self._entries}
        for path in [path for path in self._blocks if path not in wanted]:
            gone = self._blocks.pop(path)
            self._lines.removeWidget(gone)
            gone.hide()
            gone.deleteLater()
        for place, entry in enumerate(self._entries):
            block = self._blocks.get(entry.path)
            if block is None:
                block = FileBlock(entry.path, partial(self._remove, entry))
                self._blocks[entry.path] = block
                self._lines.insertWidget(place, block)
            block.show_entry(entry)
        self._stack.setCurrentWidget(self._scroll if self._entries else self._none)
        self._add.setVisible(bool(self._entries))
        self._again.setVisible(bool(self._entries))
        self._show_readiness()

    def _show_readiness(self) -> None:
        waiting = [entry for entry in self._entries if entry.submitted is None]
        reading = any(entry.reading for entry in waiting)
        wrong = sum(1 for entry in waiting if not entry.reading and not entry.right)
        count = len(waiting)
        self._submit.setText(f"Submit {count} {_orders(count)}…" if count else "Submit")
        self._submit.setAccessibleName(self._submit.text().rstrip("…"))
        self._submit.setEnabled(count > 0 and not reading and not wrong and not self._busy)
        if not count:
            self._say("")
        elif reading:
            self._say("Reading and checking…", "muted")
        elif wrong:
            files = "1 file is" if wrong == 1 else f"{wrong} files are"
            self._say(
                f"{files} not right. Mend it and read again, or remove it; nothing is submitted before."
            )
        else:
            self._say(f"{_all_words(count)} right. Nothing has been submitted yet.", "ok")

    def _say(self, text: str, role: str = "danger") -> None:
        set_role(self._said, role)
        self._said.setText(text)
        self._said.setVisible(bool(text))

    # ---------------------------------------------------------------------------------------- submitting

    def _submit_pressed(self) -> None:
        if not self._busy:
            self._busy = True
            self._session.spawn(self._submit_all(), "import work orders")

    async def _submit_all(self) -> None:
        try:
            await self._ask_and_submit()
        finally:
            self._busy = False
            if isValid(self):
                self._show_readiness()

    async def _ask_and_submit(self) -> None:
        waiting = [entry for entry in self._entries if entry.right and entry.submitted is None]
        titles = [f"{entry.spec.title} ({entry.path.name})" for entry in waiting if entry.spec is not None]
        count = len(waiting)
        sure = await confirm(
            self,
            f"Submit {count} {_orders(count)}?",
            "Each command is sealed and waits in the inbox for its approval. Nothing runs before that.",
            action=f"Submit {count} {_orders(count)}",
            details=titles,
        )
        if not sure:
            return
        for entry in waiting:
            assert entry.spec is not None
            try:
                entry.submitted = await self._session.engine.submit(
                    entry.spec, self._session.actor, key=entry.key
                )
            except PraxisError as error:
                entry.problems = problem_lines(error)
                if isValid(self):
                    self._refresh()
                return
        if isValid(self):
            self.accept()


class FileBlock(QFrame):
    """One file: its name, whether it is right, and each problem with line and field."""

    def __init__(self, path: Path, remove: Callable[[], None], parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setProperty("surface", "raised")
        lines = column(self, margins=(14, 10, 14, 10), gap=4)
        head = row(gap=8)
        head.addWidget(label(spoken(path.name), Text.STRONG, parent=self))
        self._badge = Badge(parent=self)
        head.addWidget(self._badge)
        head.addStretch(1)
        self._remove = InlineButton(
            "Remove", f"Leave {path.name} out", remove, name=f"Remove {path.name}", parent=self
        )
        head.addWidget(self._remove)
        lines.addLayout(head)
        where = ElidedLabel(
            str(path.parent), Text.SMALL, mode=Qt.TextElideMode.ElideMiddle, muted=True, parent=self
        )
        lines.addWidget(where)
        self._what = prose("", name="What it holds", parent=self)
        lines.addWidget(self._what)
        self._problems = prose("", tone=Tone.BAD, name="Problems", parent=self)
        lines.addWidget(self._problems)
        self._warnings = prose("", tone=Tone.WARN, name="Worth a look", parent=self)
        lines.addWidget(self._warnings)
        self._name = path.name

    def show_entry(self, entry: Entry) -> None:
        """Show how the file stands."""
        word, tone, shape = _state(entry)
        self._badge.show_word(word, tone, shape)
        self.setAccessibleName(f"{self._name}: {word}. {' '.join(entry.problems)}")
        spec = entry.spec
        command = " ".join(spoken(item) for item in spec.implementation.argv) if spec is not None else ""
        shown = f"{spec.title}\n{command}" if spec is not None else ""
        for part, text, part_tone in (
            (self._what, shown, None),
            (self._problems, "\n".join(entry.problems), Tone.BAD),
            (self._warnings, "\n".join(entry.warnings), Tone.WARN),
        ):
            part.set_text(text, tone=part_tone)
            part.setVisible(bool(text))
        self._remove.setVisible(entry.submitted is None)


def problem_lines(error: PraxisError) -> tuple[str, ...]:
    """The problems of a file as lines: with line and field where there are such, else the whole error."""
    problems = error.facts.get("problems")
    if isinstance(problems, tuple) and problems and all(isinstance(item, Problem) for item in problems):
        return tuple(_problem_line(item) for item in problems)
    return (" ".join(part for part in (error.what, error.means, error.do) if part),)


def _problem_line(problem: Problem) -> str:
    if not problem.field:
        return f"{problem.message.removesuffix('.')}."
    return f"Line {problem.line} · {problem.field} {problem.message.removesuffix('.')}."


def _state(entry: Entry) -> tuple[str, Tone, Shape | None]:
    if entry.submitted is not None:
        return f"submitted as {order_name(entry.submitted.number)}", Tone.OK, Shape.CHECK
    if entry.reading:
        return "reading", Tone.NEUTRAL, Shape.CLOCK
    if entry.problems:
        count = len(entry.problems)
        return f"{count} {'problem' if count == 1 else 'problems'}", Tone.BAD, Shape.CROSS
    return "right", Tone.OK, Shape.DOT


def _files(paths: Iterable[Path]) -> list[Path]:
    found: list[Path] = []
    for path in paths:
        if path.is_dir():
            found += sorted(item for item in path.iterdir() if item.suffix.lower() in SUFFIXES)
        else:
            found.append(path)
    return list(dict.fromkeys(found))


def _orders(count: int) -> str:
    return "work order" if count == 1 else "work orders"


def _all_words(count: int) -> str:
    return "The file is" if count == 1 else f"All {count} files are"
