"""Tab goes through a window as one reads it: from the top, rows from the left, whatever was built last.

Qt goes by the time at which widgets were made, so that what is rebuilt (a strip, a card) falls to the end.
"""

from __future__ import annotations

from functools import cmp_to_key
from typing import NamedTuple

from PySide6.QtCore import Qt
from PySide6.QtWidgets import (
    QAbstractButton,
    QAbstractItemView,
    QAbstractSpinBox,
    QComboBox,
    QLineEdit,
    QPlainTextEdit,
    QTabBar,
    QTextEdit,
    QWidget,
)

_WHOLE = (
    QAbstractButton,
    QAbstractItemView,
    QAbstractSpinBox,
    QComboBox,
    QLineEdit,
    QPlainTextEdit,
    QTabBar,
    QTextEdit,
)
"""Controls whose inner parts are no stops of their own."""


def stops(window: QWidget) -> list[QWidget]:
    """Everything in the window that Tab stops at now, in the order of reading."""
    return _gathered(window, window.focusWidget(), only_stops=True)


def focus_next(window: QWidget, forward: bool) -> bool:
    """Move the keyboard focus one stop on or back, from the end to the beginning; False if there is no other."""
    current = window.focusWidget()
    order = _gathered(window, current, only_stops=False)
    if not order:
        return False
    if current is None or current not in order:
        target = order[0 if forward else -1]
    else:
        target = order[(order.index(current) + (1 if forward else -1)) % len(order)]
    if target is current or not _is_stop(target):
        return False
    target.setFocus(Qt.FocusReason.TabFocusReason if forward else Qt.FocusReason.BacktabFocusReason)
    return True


def _gathered(widget: QWidget, current: QWidget | None, *, only_stops: bool) -> list[QWidget]:
    """The stops below a widget; and the one that has the focus, whose place counts even when it just vanished."""
    found = [widget] if _is_stop(widget) or (widget is current and not only_stops) else []
    if isinstance(widget, _WHOLE):
        return found
    placed: list[_Placed] = []
    for child in widget.children():
        if not isinstance(child, QWidget) or child.isWindow():
            continue
        if child.isVisible() or (not only_stops and current is not None and _holds(child, current)):
            place = child.geometry()
            placed.append(_Placed(place.top(), place.bottom(), place.left(), place.height(), child))
    if len(placed) > 1:
        placed.sort(key=cmp_to_key(_compare))
    for one in placed:
        found += _gathered(one.widget, current, only_stops=only_stops)
    return found


class _Placed(NamedTuple):
    """A widget with its place, asked for once: comparing asks for it over and over."""

    top: int
    bottom: int
    left: int
    height: int
    widget: QWidget


def _holds(widget: QWidget, other: QWidget) -> bool:
    return widget is other or widget.isAncestorOf(other)


def _is_stop(widget: QWidget) -> bool:
    return (
        widget.isVisible()
        and widget.isEnabled()
        and bool(widget.focusPolicy() & Qt.FocusPolicy.TabFocus)
        and widget.focusProxy() is None
        and not widget.isWindow()
    )


def _compare(a: _Placed, b: _Placed) -> int:
    """Beside each other: the left first. Else: the upper first."""
    shared = min(a.bottom, b.bottom) - max(a.top, b.top)
    if shared * 2 > min(a.height, b.height):
        return a.left - b.left or a.top - b.top
    return a.top - b.top or a.left - b.left
