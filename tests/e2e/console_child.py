"""The console as a process of its own, with a person before it: real window, real event loop, mouse and keys.

``python -m tests.e2e.console_child FOLDER`` starts the program as ``praxis-console --data FOLDER`` does and obeys lines
of JSON on stdin, each answered by one on stdout: ``{"approve": TITLE}``, ``{"texts": true}``, ``{"quit": true}``.
"""

from __future__ import annotations

import json
import sys
import threading
from collections import deque
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from PySide6.QtCore import QObject, Qt, QTimer
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QSystemTrayIcon, QWidget

from app.main import make_application, start
from app.options import Options
from app.panels.inbox.page import InboxView
from app.panels.inbox.sheet import Act
from app.shell.window import MainWindow

TICK_MS = 20
TOASTS: list[str] = []


class Person(QObject):
    """Does one thing after the other, a little at each tick, as a person who looks before pressing would."""

    def __init__(self, app: QApplication) -> None:
        super().__init__(app)
        self._asked: deque[dict[str, Any]] = deque()
        self._doing: Iterator[Any] | None = None
        threading.Thread(target=self._listen, daemon=True).start()
        self._timer = QTimer(self, interval=TICK_MS)
        self._timer.timeout.connect(self._tick)
        self._timer.start()

    def _listen(self) -> None:
        for line in sys.stdin:
            self._asked.append(json.loads(line))

    def _tick(self) -> None:
        if self._doing is None:
            if not self._asked or self._window() is None:
                return
            ((what, about),) = self._asked.popleft().items()
            self._doing = getattr(self, f"_{what}")(about)
        try:
            next(self._doing)
        except StopIteration as done:
            self._doing = None
            print(json.dumps(done.value), flush=True)

    def _window(self) -> MainWindow | None:
        found = [one for one in QApplication.topLevelWidgets() if isinstance(one, MainWindow)]
        return found[0] if found and found[0].isVisible() else None

    def _approve(self, title: str) -> Iterator[None]:
        """Go to the inbox, choose the request, look at all of its card, and press Approve with the mouse."""
        window = self._window()
        assert window is not None
        window.go_to_page("inbox")
        window.activateWindow()
        while True:
            yield
            views = window.findChildren(InboxView)
            card = views[0]._card if views else None
            if card is None or card.card is None or card.card.title != title or not card.isVisible():
                continue
            if card.readiness().unseen:
                card._show_unseen()
                continue
            pressed = card.button(Act.APPROVE)
            if card.readiness().ready and pressed is not None and pressed.isEnabled():
                approval, texts = card.card.approval_id, self._all_texts(window)
                QTest.mouseClick(pressed, Qt.MouseButton.LeftButton)
                while card.card is not None and card.card.approval_id == approval and card.isVisible():
                    yield
                return {"approved": approval, "texts": texts}

    def _texts(self, _: bool) -> Iterator[None]:
        """What every widget of the window says now, and every message that the tray was given."""
        yield
        window = self._window()
        assert window is not None
        return {"texts": self._all_texts(window), "toasts": TOASTS}

    def _all_texts(self, window: MainWindow) -> list[str]:
        told = ("text", "toolTip", "accessibleName", "toPlainText", "argv")
        return [
            str(getattr(one, name)())
            for one in window.findChildren(QWidget)
            for name in told
            if callable(getattr(one, name, None))
        ]

    def _quit(self, _: bool) -> Iterator[None]:
        yield
        window = self._window()
        assert window is not None
        window.end_at_once()
        return {"quit": True}


def main() -> None:
    def toast(_icon: QSystemTrayIcon, title: str, text: str, *_: object) -> None:
        TOASTS.append(f"{title}: {text}")

    QSystemTrayIcon.showMessage = toast  # type: ignore[assignment, method-assign]
    app = make_application()
    person = Person(app)
    code = start(Options(data=Path(sys.argv[1])), lambda text: print(json.dumps({"told": text}), flush=True))
    del person
    sys.exit(code)


if __name__ == "__main__":
    main()
