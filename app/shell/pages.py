"""What a page is, and which pages there are."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QWidget

from app.session import Selection, Session
from app.theme import Tone

if TYPE_CHECKING:
    from engine.views.values import EngineStatus


_place: ContextVar[QWidget | None] = ContextVar("where the next page is made", default=None)


@contextmanager
def pages_made_in(place: QWidget) -> Iterator[None]:
    """Make pages as children of ``place`` from their first moment.

    A page that is moved there when all of it is built takes half as long again: Qt styles every widget anew.
    """
    token = _place.set(place)
    try:
        yield
    finally:
        _place.reset(token)


class PageView(QWidget):
    """The base of every page's widget: what the shell may ask of it. By default it does nothing.

    ``acts_on(Selection or None)`` comes when the page has another selection; `act_on` sends it.
    """

    acts_on = Signal(object)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent or _place.get())
        self.selection: Selection | None = None

    def act_on(self, selection: Selection | None) -> None:
        """Say what the command bar acts on while this page is in front; None is the whole engine."""
        self.selection = selection
        self.acts_on.emit(selection)

    def show_subject(self, subject_id: str) -> None:
        """Bring the thing with this id into view, if it belongs to this page."""

    def search(self, text: str) -> None:
        """Show only what matches ``text``; ``""`` shows all."""

    def focus_first(self) -> None:
        """Put the keyboard focus where work on this page begins."""
        self.setFocus()


@dataclass(frozen=True, slots=True)
class Page:
    """One entry of the rail.

    ``make`` builds the widget when the page is first shown. ``count`` reads the number beside the word from the
    engine's status (0 shows nothing); ``tone`` is the number's tone, and ``waits`` fills it, for what waits for
    a person. ``search_hint`` is what the search field says on this page; without it there is nothing to search.
    ``keys`` are the page's own keys and what they do, for Help > Keyboard.
    """

    key: str
    title: str
    make: Callable[[Session], PageView]
    count: Callable[[EngineStatus], int] | None = None
    tone: Tone = Tone.NEUTRAL
    waits: bool = False
    search_hint: str = ""
    keys: tuple[tuple[str, str], ...] = ()
