"""Budget bars: what is spent, reserved, frozen by UNKNOWN, taken by this dispatch, and left."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from PySide6.QtCore import QRectF, QSize, Qt
from PySide6.QtGui import QBrush, QColor, QPainter, QPaintEvent
from PySide6.QtWidgets import QGridLayout, QLabel, QSizePolicy, QWidget

from app.theme import Text, Tokens, font, tokens
from app.widgets.labels import label
from app.widgets.tips import plain_tip


class Share(StrEnum):
    """The parts of a budget, in the order they stand in the bar."""

    SPENT = "spent"
    RESERVED = "reserved"
    FROZEN = "frozen by UNKNOWN"
    THIS = "this dispatch"


_HATCH = {Share.FROZEN: Qt.BrushStyle.BDiagPattern, Share.THIS: Qt.BrushStyle.FDiagPattern}
"""Frozen and this dispatch are hatched, so that they differ without colour too."""


@dataclass(frozen=True, slots=True)
class Budget:
    """One scope's budget in one measure; all values in the same unit, none negative."""

    name: str
    limit: int
    spent: int = 0
    reserved: int = 0
    frozen: int = 0
    this: int = 0

    @property
    def left(self) -> int:
        """What remains of the limit; negative when it is exceeded."""
        return self.limit - self.spent - self.reserved - self.frozen - self.this

    def share(self, share: Share) -> int:
        """The value of one part."""
        return {
            Share.SPENT: self.spent,
            Share.RESERVED: self.reserved,
            Share.FROZEN: self.frozen,
            Share.THIS: self.this,
        }[share]


def number(value: int) -> str:
    """A whole number with thin spaces between thousands."""
    return f"{value:,}".replace(",", "\u202f")


def _colour(share: Share, colours: Tokens) -> QColor:
    return {
        Share.SPENT: colours.bar_spent,
        Share.RESERVED: colours.bar_reserved,
        Share.FROZEN: colours.bar_frozen,
        Share.THIS: colours.bar_this,
    }[share]


def paint_share(painter: QPainter, rect: QRectF, share: Share, colours: Tokens) -> None:
    """Fill ``rect`` as a part of a bar (or its legend) is filled."""
    painter.fillRect(rect, _colour(share, colours))
    if share in _HATCH:
        line = QColor(colours.surface)
        line.setAlpha(110)
        painter.fillRect(rect, QBrush(line, _HATCH[share]))


def paint_bar(painter: QPainter, whole: QRectF, budget: Budget, colours: Tokens) -> None:
    """Paint the parts from the left; what is over the limit is squeezed in behind a mark."""
    painter.fillRect(whole, colours.bar_back)
    used = budget.limit - budget.left
    scale = whole.width() / max(budget.limit, used, 1)
    left = whole.left()
    for share in Share:
        width = budget.share(share) * scale
        if width:
            paint_share(painter, QRectF(left, whole.top(), max(width, 2.0), whole.height()), share, colours)
            left += width
    if budget.left < 0:
        limit = whole.left() + budget.limit * scale
        painter.fillRect(QRectF(limit - 2.5, whole.top(), 5, whole.height()), colours.surface)
        painter.fillRect(QRectF(limit - 1.5, whole.top(), 3, whole.height()), colours.bad)


class BudgetBar(QWidget):
    """One bar. A budget that would be exceeded has a red end mark at its limit."""

    def __init__(
        self, budget: Budget, parent: QWidget | None = None, *, words: Callable[[int], str] = number
    ) -> None:
        super().__init__(parent)
        self._words = words
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self._budget = budget
        self.set_budget(budget)

    def set_budget(self, budget: Budget) -> None:
        """Show another budget."""
        if budget == self._budget and self.accessibleName():
            return
        self._budget = budget
        parts = (f"{self._words(budget.share(share))} {share}" for share in Share if budget.share(share))
        text = f"{budget.name}: {', '.join(parts) or 'nothing used'}; {left_text(budget, self._words)}"
        self.setAccessibleName(text)
        self.setToolTip(plain_tip(text))
        self.update()

    def sizeHint(self) -> QSize:
        """Thin and as wide as there is room."""
        return QSize(200, 12)

    def minimumSizeHint(self) -> QSize:
        """Thin."""
        return QSize(60, 12)

    def paintEvent(self, event: QPaintEvent) -> None:
        """Paint the bar."""
        paint_bar(QPainter(self), QRectF(self.rect()), self._budget, tokens())


class BudgetWaterfall(QWidget):
    """Bars for all ancestor scopes from the root down, with what would remain, and a legend.

    ``shares`` are the parts that the legend names, none leaves it out; ``words`` writes a value.
    """

    def __init__(
        self,
        budgets: Sequence[Budget] = (),
        parent: QWidget | None = None,
        *,
        shares: Sequence[Share] = tuple(Share),
        words: Callable[[int], str] = number,
    ) -> None:
        super().__init__(parent)
        self._words = words
        self._shares = tuple(shares)
        self._grid = QGridLayout(self)
        self._grid.setContentsMargins(0, 0, 0, 0)
        self._grid.setHorizontalSpacing(12)
        self._grid.setVerticalSpacing(6)
        self._grid.setColumnStretch(1, 1)
        self.setAccessibleName("Budget if approved")
        self._names: tuple[tuple[str, bool], ...] = ()
        self._lines: list[tuple[BudgetBar, QLabel]] = []
        self.set_budgets(budgets)

    def set_budgets(self, budgets: Sequence[Budget], *, refused_by: str = "") -> None:
        """Show other budgets; the scope named ``refused_by`` is marked as the one that says no.

        As long as the scopes and their marks are the same, only bars and numbers change.
        """
        names = tuple((budget.name, budget.name == refused_by) for budget in budgets)
        if names == self._names:
            for (bar, rest), budget in zip(self._lines, budgets, strict=True):
                bar.set_budget(budget)
                rest.setText(self._rest(budget, refused=budget.name == refused_by))
            return
        self._names = names
        self._lines = []
        while (item := self._grid.takeAt(0)) is not None:
            if (widget := item.widget()) is not None:
                widget.hide()
                widget.deleteLater()
        for line, budget in enumerate(budgets):
            refused = budget.name == refused_by
            name = label(budget.name, Text.STRONG if refused else Text.BODY, parent=self)
            rest = label(self._rest(budget, refused=refused), muted=not refused, parent=self)
            if refused:
                rest.setProperty("role", "danger")
            bar = BudgetBar(budget, self, words=self._words)
            self._lines.append((bar, rest))
            self._grid.addWidget(name, line, 0)
            self._grid.addWidget(bar, line, 1)
            self._grid.addWidget(rest, line, 2, Qt.AlignmentFlag.AlignRight)
        if budgets and self._shares:
            self._grid.addWidget(Legend(self._shares, self), len(budgets), 0, 1, 3)

    def _rest(self, budget: Budget, *, refused: bool) -> str:
        left = left_text(budget, self._words)
        return f"refuses: {left}" if refused else left


class Legend(QWidget):
    """What the fillings of the bars mean."""

    def __init__(self, shares: Sequence[Share], parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._shares = tuple(shares)
        self.setFont(font(Text.SMALL))
        self.setAccessibleName("Legend: " + ", ".join(self._shares))

    def sizeHint(self) -> QSize:
        """One line."""
        metrics = self.fontMetrics()
        width = sum(metrics.horizontalAdvance(share) + 30 for share in self._shares)
        return QSize(width, metrics.height() + 2)

    def paintEvent(self, event: QPaintEvent) -> None:
        """Paint a sample and a word for each part."""
        colours = tokens()
        painter = QPainter(self)
        painter.setPen(colours.muted)
        metrics = self.fontMetrics()
        left = 0.0
        for share in self._shares:
            paint_share(painter, QRectF(left, self.height() / 2 - 5, 10, 10), share, colours)
            place = QRectF(left + 15, 0, metrics.horizontalAdvance(share) + 2, self.height())
            painter.drawText(place, int(Qt.AlignmentFlag.AlignVCenter), share)
            left += place.width() + 28


def left_text(budget: Budget, words: Callable[[int], str] = number) -> str:
    """What remains in words: "560 of 1 000 left", "12 over 60"; ``words`` writes a value."""
    if budget.left < 0:
        return f"{words(-budget.left)} over {words(budget.limit)}"
    return f"{words(budget.left)} of {words(budget.limit)} left"
