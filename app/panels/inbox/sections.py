"""The parts that a card is put together from."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from functools import partial

from PySide6.QtCore import QRectF, QSize, Qt, Signal
from PySide6.QtGui import QPainter, QPaintEvent, QResizeEvent
from PySide6.QtWidgets import QBoxLayout, QCheckBox, QFrame, QGridLayout, QSizePolicy, QWidget

from app.panels.inbox.inline_button import InlineButton
from app.panels.inbox.row_text import command_line, meta_words, one_line
from app.panels.inbox.sheet import CommandSheet, Fact
from app.panels.inbox.wrapped_text import WrappedText
from app.theme import Shape, Text, Tone, draw_shape, tokens
from app.widgets import (
    Badge,
    CommandText,
    ElidedLabel,
    KeyValueGrid,
    SectionLabel,
    Times,
    check_box,
    column,
    copy_text,
    label,
    plain_tip,
    row,
    spoken,
)
from engine.scheduling.gates import Gate
from engine.views.values import DifferenceLine, InboxRow

TWO_COLUMNS_FROM = 560
"""From this width on facts stand in two columns."""


class Figure(QWidget):
    """A shape on its own, beside a line of text."""

    def __init__(self, shape: Shape, tone: Tone, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._shape, self._tone = shape, tone
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)

    def sizeHint(self) -> QSize:
        """As high as a line of text."""
        height = self.fontMetrics().height()
        return QSize(height, height)

    def paintEvent(self, event: QPaintEvent) -> None:
        """Paint the shape."""
        side = self.fontMetrics().capHeight() + 1
        box = QRectF(0, 0, side, side)
        box.moveCenter(QRectF(self.rect()).center())
        draw_shape(QPainter(self), box, self._shape, tokens().tone(self._tone)[0])


class Notice(QFrame):
    """A strip that says something once: a shape, words, perhaps a button."""

    def __init__(self, tone: Tone = Tone.WARN, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        outer = row(self, margins=(12, 8, 8, 8), gap=10)
        said = QWidget(self)
        self._line = row(said, gap=10)
        self._figure: Figure | None = None
        self._words = WrappedText(prose=True, parent=said)
        self._line.addWidget(self._words, 1)
        outer.addWidget(said, 1, Qt.AlignmentFlag.AlignVCenter)
        self._outer = outer
        self._tone: Tone | None = None
        self._set_tone(tone)
        self.hide()

    def say(self, text: str, tone: Tone) -> None:
        """Say this; with an empty text the strip goes away."""
        self._set_tone(tone)
        self._words.set_text(text)
        self.setAccessibleName(text)
        self.setVisible(bool(text))

    def text(self) -> str:
        """What it says, "" while it is away."""
        return self._words.text() if not self.isHidden() else ""

    def add(self, widget: QWidget) -> None:
        """Put a button at its end."""
        self._outer.addWidget(widget, 0, Qt.AlignmentFlag.AlignVCenter)

    def _set_tone(self, tone: Tone) -> None:
        if tone is self._tone:
            return
        self._tone = tone
        self.setProperty("surface", f"alert-{tone.value}")
        self.style().unpolish(self)
        self.style().polish(self)
        if self._figure is not None:
            self._line.removeWidget(self._figure)
            self._figure.deleteLater()
        self._figure = Figure(_SHAPES[tone], tone, self)
        self._line.insertWidget(0, self._figure, 0, Qt.AlignmentFlag.AlignTop)


_SHAPES = {
    Tone.NEUTRAL: Shape.DASH,
    Tone.LIVE: Shape.DOT,
    Tone.OK: Shape.CHECK,
    Tone.WARN: Shape.TRIANGLE,
    Tone.BAD: Shape.CROSS,
    Tone.UNKNOWN: Shape.DIAMOND,
}


class TwoColumns(QWidget):
    """Two widgets side by side where there is room, else one under the other."""

    def __init__(self, first: QWidget, second: QWidget, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._box = QBoxLayout(QBoxLayout.Direction.TopToBottom, self)
        self._box.setContentsMargins(0, 0, 0, 0)
        self._box.setSpacing(14)
        for part in (first, second):
            self._box.addWidget(part, 1, Qt.AlignmentFlag.AlignTop)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Choose the direction by the width."""
        wide = event.size().width() >= TWO_COLUMNS_FROM
        self._box.setDirection(QBoxLayout.Direction.LeftToRight if wide else QBoxLayout.Direction.TopToBottom)
        super().resizeEvent(event)


class Facts(QWidget):
    """A head and a table of facts under it."""

    def __init__(self, head: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        lines = column(self, gap=6)
        lines.addWidget(SectionLabel(head, self))
        self._rows = FactRows(KeyValueGrid(head, self))
        lines.addWidget(self._rows.grid)

    def set_facts(self, facts: Sequence[Fact]) -> None:
        """Show these; with none of them the whole part goes away."""
        self._rows.show(facts)
        self.setVisible(bool(facts))


class FactRows:
    """Facts in a table that is built once for as long as they have the same names: then only values change."""

    def __init__(self, grid: KeyValueGrid) -> None:
        self.grid = grid
        self._facts: tuple[Fact, ...] = ()
        self._values: list[WrappedText] = []

    def show(self, facts: Sequence[Fact]) -> bool:
        """Show these; whether the table was built anew."""
        before, self._facts = self._facts, tuple(facts)
        if self._values and [_form(fact) for fact in before] == [_form(fact) for fact in facts]:
            for old, fact, value in zip(before, facts, self._values, strict=True):
                if old != fact:
                    value.set_text(fact.value, tone=fact.tone)
                    value.setToolTip(plain_tip(fact.tip) if fact.tip else "")
            return False
        self.grid.clear()
        self._values = add_facts(self.grid, facts)
        return True


def _form(fact: Fact) -> tuple[str, bool]:
    """What of a fact its row is built for."""
    return fact.name, fact.code


def add_facts(grid: KeyValueGrid, facts: Sequence[Fact]) -> list[WrappedText]:
    """Add facts to a table, their values wrapped with hidden characters written out; gives the values."""
    values = []
    for fact in facts:
        value = WrappedText(
            fact.value,
            Text.CODE if fact.code else Text.BODY,
            tone=fact.tone,
            name=fact.name,
            on_line_of_label=True,
            parent=grid,
        )
        grid.add(fact.name, value, tip=fact.tip)
        values.append(value)
    return values


class CommandSection(QWidget):
    """One command in full: program, argv to its end, where it runs, with what, within which limits."""

    def __init__(self, head: str, name: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        lines = column(self, gap=6)
        top = row(gap=10)
        top.addWidget(SectionLabel(head, self), 0, Qt.AlignmentFlag.AlignTop)
        self._program = WrappedText("", Text.CODE, name="Program", parent=self)
        top.addWidget(self._program, 1)
        lines.addLayout(top)
        self._digest = WrappedText("", Text.SMALL, muted=True, name="Program file", parent=self)
        lines.addWidget(self._digest)
        self._shell = Notice(Tone.WARN, self)
        lines.addWidget(self._shell)
        self.command = CommandText((), name.capitalize(), self)
        lines.addWidget(self.command)
        end = row(gap=8)
        self._end = label("", Text.SMALL, muted=True, parent=self)
        end.addWidget(self._end, 1)
        self._copy = InlineButton(
            "Copy",
            f"Copy the {name} as a JSON list of its elements",
            self._copy_command,
            name=f"Copy the {name}",
            parent=self,
        )
        end.addWidget(self._copy)
        lines.addLayout(end)
        lines.addSpacing(6)
        self.where = Facts("Where", self)
        self.environment = EnvironmentPart(self)
        self.limits = Facts("Limits", self)
        self.inputs = Facts("Inputs, sealed", self)
        first, second = QWidget(self), QWidget(self)
        for side, parts in ((first, (self.where, self.environment)), (second, (self.limits, self.inputs))):
            stacked = column(side, gap=12)
            for part in parts:
                stacked.addWidget(part)
            stacked.addStretch(1)
        lines.addWidget(TwoColumns(first, second, self))

    def show_sheet(self, sheet: CommandSheet, extra_limits: Sequence[Fact] = ()) -> None:
        """Show another command."""
        self._program.set_text(sheet.program)
        self._program.setToolTip(plain_tip(sheet.program_tip))
        self._digest.set_text(sheet.program_note)
        self._digest.setToolTip(plain_tip(sheet.program_tip))
        self._shell.say(sheet.shell, Tone.WARN)
        self.command.set_elements(sheet.elements)
        length = sum(len(element.text) for element in sheet.elements)
        count = len(sheet.elements)
        self._end.setText(
            f"End of argv · {count:,} {'element' if count == 1 else 'elements'} · {length:,} characters"
        )
        self.where.set_facts(sheet.where)
        self.limits.set_facts((*sheet.limits, *extra_limits))
        self.environment.show_facts(sheet.environment, sheet.base)
        self.inputs.set_facts(sheet.inputs)

    def end_is_visible(self) -> bool:
        """Whether the end of argv is on the screen, after the layout has taken the present command in."""
        settled = self.command.height() >= self.command.minimumSizeHint().height()
        return settled and self.command.end_is_visible()

    def _copy_command(self) -> None:
        copy_text(json.dumps(self.command.argv(), ensure_ascii=True), self._copy)


class EnvironmentPart(QWidget):
    """The environment as a difference to the base; the base opens on demand."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        lines = column(self, gap=6)
        lines.addWidget(SectionLabel("Environment", self))
        self._own = KeyValueGrid("Environment set by the command", self)
        lines.addWidget(self._own)
        self._base = KeyValueGrid("Usual environment", self)
        self._base.hide()
        lines.addWidget(self._base)
        self._open = InlineButton(
            "",
            "Show or hide the variables taken from the console, and those set for every child",
            self._toggle,
        )
        self._facts: tuple[Sequence[Fact], Sequence[Fact]] = ((), ())

    def show_facts(self, own: Sequence[Fact], base: Sequence[Fact]) -> None:
        """Show what the command sets; ``base`` is what every child gets."""
        if self._facts == (tuple(own), tuple(base)):
            if not self._base.isHidden():
                self._toggle()
            return
        self._facts = (tuple(own), tuple(base))
        self._base.hide()
        self._fill()

    def _toggle(self) -> None:
        self._base.setVisible(self._base.isHidden())
        self._fill()

    def _fill(self) -> None:
        own, base = self._facts
        self._open.setParent(None)
        self._own.clear()
        self._base.clear()
        add_facts(self._own, own)
        if base:
            count = f"{len(base)} {'variable' if len(base) == 1 else 'variables'}"
            word = "Show" if self._base.isHidden() else "Hide"
            self._open.setText(word)
            self._open.setAccessibleName(f"{word} the {count} that every child gets")
            value = QWidget(self._own)
            line = row(value, gap=6)
            line.addWidget(label(f"{count}, as recorded", muted=True, parent=value))
            line.addWidget(self._open)
            line.addStretch(1)
            self._own.add("usual", value)
        if not self._base.isHidden():
            add_facts(self._base, base)


class Differences(QWidget):
    """What changed, side by side."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        lines = column(self, gap=6)
        self._head = SectionLabel("Changed", self)
        lines.addWidget(self._head)
        self._frame = QFrame(self)
        self._frame.setProperty("surface", "code")
        self._grid = QGridLayout(self._frame)
        self._grid.setContentsMargins(12, 8, 12, 8)
        self._grid.setHorizontalSpacing(14)
        self._grid.setVerticalSpacing(6)
        self._grid.setColumnStretch(1, 1)
        self._grid.setColumnStretch(2, 1)
        lines.addWidget(self._frame)
        self.hide()

    def show_lines(self, differences: Sequence[DifferenceLine], before: str) -> None:
        """Show these differences; ``before`` heads the older side. Without any the part goes away."""
        _empty(self._grid)
        count = len(differences)
        changed = f"{count} {'thing' if count == 1 else 'things'} changed"
        # An approval that did not hold is refused, and nothing of it ran.
        approved = before.startswith("approved")
        self._head.setText(f"{changed} since it was approved; nothing ran" if approved else changed)
        for at, head in enumerate((before, "now"), start=1):
            self._grid.addWidget(label(head, Text.SMALL_STRONG, muted=True, parent=self._frame), 0, at)
        for line, difference in enumerate(differences, start=1):
            name = label(difference.field, muted=True, wrap=True, parent=self._frame)
            name.setMaximumWidth(170)
            self._grid.addWidget(name, line, 0, Qt.AlignmentFlag.AlignTop)
            for at, (side, value) in enumerate(((before, difference.approved), ("now", difference.now)), 1):
                shown = WrappedText(value, Text.CODE, name=f"{difference.field}, {side}", parent=self._frame)
                if side == "now":
                    shown.set_text(value, tone=Tone.BAD)
                self._grid.addWidget(shown, line, at, Qt.AlignmentFlag.AlignTop)
        self.setVisible(bool(differences))


class Gates(QWidget):
    """The gates of the task: the closed ones with why, the open ones in one line, or all of them (E-23)."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        lines = column(self, gap=6)
        self._head = SectionLabel("Gates", self)
        lines.addWidget(self._head)
        self._grid = QGridLayout()
        self._grid.setContentsMargins(0, 0, 0, 0)
        self._grid.setHorizontalSpacing(8)
        self._grid.setVerticalSpacing(3)
        self._grid.setColumnStretch(2, 1)
        lines.addLayout(self._grid)
        self._gates: tuple[Gate, ...] = ()
        self._all = False
        self._lines = 0
        self._more = InlineButton("", "Say why each open gate is open", self._toggle, parent=self)

    def show_gates(self, gates: Sequence[Gate], summary: str) -> None:
        """Show these gates."""
        if tuple(gates) != self._gates:
            self._gates = tuple(gates)
            self._head.setText(f"Gates · {summary}")
            self._fill()
        self.setVisible(bool(gates))

    def _toggle(self) -> None:
        self._all = not self._all
        self._fill()

    def _fill(self) -> None:
        self._grid.removeWidget(self._more)
        _empty(self._grid)
        self._lines = 0
        for gate in self._gates:
            if not gate.open:
                self._add(gate.name, gate.why, Shape.RING, Tone.WARN)
        opened = [gate for gate in self._gates if gate.open]
        if self._all:
            for gate in opened:
                self._add(gate.name, gate.why, Shape.DOT, Tone.OK)
        elif opened:
            self._add("open", ", ".join(gate.name for gate in opened), Shape.DOT, Tone.OK)
        self._more.setText("Less" if self._all else "Why")
        self._more.setAccessibleName("Show only closed gates" if self._all else "Show why each gate is open")
        self._more.setVisible(bool(opened))
        self._grid.addWidget(self._more, self._lines - 1, 3, Qt.AlignmentFlag.AlignBottom)

    def _add(self, name: str, why: str, shape: Shape, tone: Tone) -> None:
        line = self._lines
        self._lines += 1
        closed = tone is Tone.WARN
        self._grid.addWidget(Figure(shape, tone, self), line, 0, Qt.AlignmentFlag.AlignTop)
        head = label(name, Text.STRONG if closed else Text.BODY, muted=not closed, parent=self)
        self._grid.addWidget(head, line, 1, Qt.AlignmentFlag.AlignTop)
        said = WrappedText(why, muted=not closed, name=f"{name}, closed" if closed else name, parent=self)
        self._grid.addWidget(said, line, 2)


class Quote(QWidget):
    """Words of the requester, set apart from what the engine knows: nobody has checked them."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        lines = column(self, margins=(14, 2, 0, 2), gap=2)
        self._who = label("", Text.SMALL, muted=True, parent=self)
        self._words = WrappedText("", prose=True, muted=True, parent=self)
        lines.addWidget(self._who)
        lines.addWidget(self._words)

    def show_words(self, words: str, who: str) -> None:
        """Show what was said; "" makes the part go away."""
        self._who.setText(f"Said by {who}, checked by nobody")
        self._words.set_text(words.strip())
        self.setVisible(bool(words.strip()))

    def paintEvent(self, event: QPaintEvent) -> None:
        """Paint the bar of a quotation."""
        QPainter(self).fillRect(QRectF(0, 0, 3, self.height()), tokens().border)


class Alike(QWidget):
    """The requests of one seal: each with its command, each can be left out (B-010).

    ``ticked_changed`` comes when the choice changes; ``looked_at`` asks for the card of one of them.
    """

    ticked_changed = Signal()
    looked_at = Signal(str)

    def __init__(self, times: Times, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._times = times
        lines = column(self, gap=6)
        top = row(gap=10)
        self._head = SectionLabel("Alike", self)
        top.addWidget(self._head)
        self.tick_all = InlineButton(
            "Tick all", "Approve all of these together", partial(self._tick, True), parent=self
        )
        self.tick_none = InlineButton("none", "Tick none of these", partial(self._tick, False), parent=self)
        self.tick_none.setAccessibleName("Tick none")
        top.addWidget(self.tick_all)
        top.addWidget(self.tick_none)
        top.addStretch(1)
        lines.addLayout(top)
        lines.addWidget(
            label(
                "The same seal: command, program, inputs, workspace state and limits are equal to the last byte. "
                "All that are ticked are approved together, or none.",
                Text.SMALL,
                muted=True,
                wrap=True,
                parent=self,
            )
        )
        self._grid = QGridLayout()
        self._grid.setContentsMargins(0, 0, 0, 0)
        self._grid.setHorizontalSpacing(10)
        self._grid.setVerticalSpacing(4)
        self._grid.setColumnStretch(1, 1)
        lines.addLayout(self._grid)
        self._boxes: dict[str, QCheckBox] = {}
        self._seal = ""
        self._known: set[str] = set()
        self._shown: tuple[InboxRow, ...] = ()
        self._current = ""
        self.hide()

    def show_rows(self, rows: Sequence[InboxRow], current: str, filters: Callable[[QWidget], None]) -> None:
        """Show these requests of one seal; one alone needs no list.

        All are ticked at first. What joins them while the same seal is shown is not: nobody has seen it yet.
        """
        seal = rows[0].seal if rows else ""
        here = {member.approval_id for member in rows}
        off = {key for key, box in self._boxes.items() if not box.isChecked()}
        if seal == self._seal:
            off |= here - self._known
        else:
            off.clear()
        self._seal, self._known = seal, here
        shown = tuple(rows) if len(rows) > 1 else ()
        if shown == self._shown and current == self._current:
            return
        self._shown, self._current = shown, current
        self._boxes.clear()
        _empty(self._grid)
        self._head.setText(f"{len(shown)} alike")
        for line, member in enumerate(shown):
            words = meta_words(member, self._times)
            box = check_box(
                f"WO-{member.number}",
                plain_tip(f"Approve “{one_line(member.title)}” together with the others"),
                on=member.approval_id not in off,
                parent=self,
            )
            box.setAccessibleName(f"Approve {words}: {' '.join(spoken(part) for part in member.argv)}")
            box.toggled.connect(self.ticked_changed)
            filters(box)
            self._boxes[member.approval_id] = box
            self._grid.addWidget(box, 2 * line, 0)
            self._grid.addWidget(ElidedLabel(words, Text.SMALL, muted=True, parent=self), 2 * line, 1)
            if member.approval_id == current:
                mark = Badge("this card", Tone.LIVE, parent=self)
                self._grid.addWidget(mark, 2 * line, 2, Qt.AlignmentFlag.AlignRight)
            else:
                look = InlineButton(
                    "Look",
                    f"Show the card of WO-{member.number}",
                    partial(self.looked_at.emit, member.approval_id),
                    name=f"Look at WO-{member.number}",
                    parent=self,
                )
                self._grid.addWidget(look, 2 * line, 2, Qt.AlignmentFlag.AlignRight)
            text = "".join(piece.text for piece in command_line(member.argv))
            command = ElidedLabel(text, Text.CODE_SMALL, mode=Qt.TextElideMode.ElideMiddle, parent=self)
            self._grid.addWidget(command, 2 * line + 1, 1, 1, 2)
        self.setVisible(bool(shown))
        self.ticked_changed.emit()

    def _tick(self, on: bool) -> None:
        for box in self._boxes.values():
            box.setChecked(on)

    def end_is_visible(self) -> bool:
        """Whether the last of them is on the screen."""
        bottom = self.rect().adjusted(0, self.height() - 4, 0, 0)
        return not self.visibleRegion().intersected(bottom).isEmpty()

    def ticked(self) -> tuple[str, ...]:
        """The ids that are ticked, oldest first; nothing if there is no list."""
        return tuple(key for key, box in self._boxes.items() if box.isChecked())


def _empty(grid: QGridLayout) -> None:
    while (item := grid.takeAt(0)) is not None:
        if (widget := item.widget()) is not None:
            widget.hide()
            widget.deleteLater()
