"""Standard output and standard error of one attempt, live and later."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtWidgets import QStackedWidget, QTabBar, QWidget

from app.panels.evidence.log_view import LogView, Spawn
from app.settings import Settings
from app.widgets import column
from engine.durations import size_text
from engine.views.values import EvidenceView

_STREAMS = (("stdout", "Standard output"), ("stderr", "Standard error"))


class OutputView(QWidget):
    """Both streams, one at a time; the one that has something is shown first."""

    def __init__(
        self, spawn: Spawn, parent: QWidget | None = None, *, settings: Settings | None = None
    ) -> None:
        super().__init__(parent)
        self._attempt = ""
        self._touched = False
        lines = column(self, margins=(18, 8, 18, 14), gap=6)
        self._bar = QTabBar(self)
        self._bar.setDrawBase(False)
        self._bar.setExpanding(False)
        self._bar.setAccessibleName("Streams")
        lines.addWidget(self._bar)
        self._stack = QStackedWidget(self)
        self._views = {}
        for stream, name in _STREAMS:
            self._bar.addTab(stream)
            view = LogView(spawn, name, self._stack, settings=settings)
            self._views[stream] = view
            self._stack.addWidget(view)
        lines.addWidget(self._stack, 1)
        self._bar.currentChanged.connect(self._stack.setCurrentIndex)
        self._bar.tabBarClicked.connect(self._on_touched)

    def view(self, stream: str) -> LogView:
        """The log view of ``stdout`` or ``stderr``."""
        return self._views[stream]

    @property
    def stream(self) -> str:
        """The stream that is shown."""
        return _STREAMS[self._bar.currentIndex()][0]

    def show_view(self, view: EvidenceView) -> None:
        """Show the output of this attempt; another one begins anew."""
        another = view.attempt.id != self._attempt
        self._attempt = view.attempt.id
        live = view.evidence is None
        sizes = {blob.role: blob.size for blob in view.blobs}
        if another:
            self._touched = False
        for place, (stream, _) in enumerate(_STREAMS):
            file = view.stdout_file if stream == "stdout" else view.stderr_file
            if another:
                self._views[stream].forget()
            self._views[stream].show_file(Path(file) if file else None, live=live)
            size = sizes.get(stream)
            self._bar.setTabText(place, stream if size is None else f"{stream} · {size_text(size)}")
        if another or (not self._touched and not live):
            quiet = sizes.get("stdout") == 0 and sizes.get("stderr", 0) > 0
            self._bar.setCurrentIndex(1 if quiet else 0)

    def _on_touched(self) -> None:
        self._touched = True
