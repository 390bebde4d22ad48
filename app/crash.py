"""Nothing is swallowed: every fault of the program reaches the log and a dialog that says so.

`Faults` installs the hooks for exceptions of slots, callbacks, tasks and threads, for Qt's own messages, and
for hard crashes (a file that the next start finds and offers). The log rotates in the data folder.
"""

from __future__ import annotations

import asyncio
import faulthandler
import logging
import logging.handlers
import sys
import threading
import time
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, TextIO

from PySide6.QtCore import QMessageLogContext, QObject, QtMsgType, Signal, qInstallMessageHandler

LOG_BYTES = 1_000_000
LOG_FILES = 5
MOST_DIALOGS = 3
"""More different faults than this in one run are only logged: a window full of dialogs helps nobody."""

CRASH_FILE = "crash.txt"
LAST_CRASH_FILE = "crash-last.txt"

logger = logging.getLogger("praxis.console")
_qt_logger = logging.getLogger("praxis.qt")

_QT_LEVELS = {
    QtMsgType.QtDebugMsg: logging.DEBUG,
    QtMsgType.QtInfoMsg: logging.INFO,
    QtMsgType.QtWarningMsg: logging.WARNING,
    QtMsgType.QtCriticalMsg: logging.ERROR,
    QtMsgType.QtFatalMsg: logging.CRITICAL,
}


@dataclass(frozen=True, slots=True)
class Fault:
    """One fault of the program: where it was noticed, the error in one line, and the whole traceback."""

    where: str
    error: str
    text: str


def log_folder(data_folder: Path) -> Path:
    """Where the log files of a data folder are."""
    return data_folder / "logs"


class Faults(QObject):
    """The hooks, from `install` to `uninstall`.

    ``found(Fault)`` comes in the GUI thread, once for each group: faults with the same error and the same
    frames are one group, and only its first is told.
    """

    found = Signal(object)

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self.folder = folder
        self.last_crash = ""
        self._groups: set[tuple[object, ...]] = set()
        self._lock = threading.Lock()
        self._crash_file: TextIO | None = None
        self._handlers: list[logging.Handler] = []
        self._before: tuple[Callable[..., Any], Callable[..., Any]] | None = None
        self._level = logging.NOTSET

    # -------------------------------------------------------------------------------------- install

    def install(self, level: int = logging.INFO) -> None:
        """Install all hooks and open the log. What an earlier run left of a hard crash is in `last_crash`."""
        self.folder.mkdir(parents=True, exist_ok=True)
        self._open_crash_file()
        self._open_log(level)
        self._before = (sys.excepthook, threading.excepthook)
        sys.excepthook = self._excepthook
        threading.excepthook = self._thread_hook
        qInstallMessageHandler(_take_qt_message)

    def install_in_loop(self, loop: asyncio.AbstractEventLoop) -> None:
        """Take the faults of callbacks and forgotten tasks of a loop."""
        loop.set_exception_handler(self._loop_handler)

    def uninstall(self) -> None:
        """Put everything back as it was. A run that gets here did not crash: its crash file goes."""
        qInstallMessageHandler(None)
        if self._before is not None:
            sys.excepthook, threading.excepthook = self._before
            self._before = None
        root = logging.getLogger()
        for handler in self._handlers:
            root.removeHandler(handler)
            handler.close()
        if self._handlers:
            root.setLevel(self._level)
        self._handlers = []
        if self._crash_file is not None:
            faulthandler.disable()
            self._crash_file.close()
            self._crash_file = None
            (self.folder / CRASH_FILE).unlink(missing_ok=True)

    def _open_crash_file(self) -> None:
        path = self.folder / CRASH_FILE
        try:
            left = path.read_text(encoding="utf-8", errors="replace") if path.exists() else ""
            if left.strip():
                path.replace(self.folder / LAST_CRASH_FILE)
                self.last_crash = left
            self._crash_file = path.open("w", encoding="utf-8")
            faulthandler.enable(self._crash_file)
        except OSError as error:
            logger.warning("No crash file can be kept: %s", error)

    def _open_log(self, level: int) -> None:
        form = logging.Formatter(
            "%(asctime)s.%(msecs)03dZ %(levelname)-7s %(name)s: %(message)s", "%Y-%m-%dT%H:%M:%S"
        )
        form.converter = time.gmtime
        root = logging.getLogger()
        self._level = root.level
        root.setLevel(level)
        handlers: list[logging.Handler] = []
        try:
            handlers.append(
                logging.handlers.RotatingFileHandler(
                    self.folder / "console.log",
                    maxBytes=LOG_BYTES,
                    backupCount=LOG_FILES,
                    encoding="utf-8",
                    errors="backslashreplace",
                )
            )
        except OSError as error:
            logger.warning("No log file can be kept: %s", error)
        for handler in handlers:
            handler.setFormatter(form)
            root.addHandler(handler)
        self._handlers = handlers

    # -------------------------------------------------------------------------------------- reports

    def report(self, where: str, error: BaseException) -> None:
        """Log a fault and tell of it unless its group is known. May be called from any thread."""
        text = "".join(traceback.format_exception(error))
        logger.error("%s\n%s", where, text.rstrip())
        frames = tuple(
            (frame.f_code.co_filename, line) for frame, line in traceback.walk_tb(error.__traceback__)
        )
        group = (type(error), frames)
        with self._lock:
            if group in self._groups or len(self._groups) >= MOST_DIALOGS:
                return
            self._groups.add(group)
        line = traceback.format_exception_only(error)[-1].strip()
        self.found.emit(Fault(where, line, text))

    def _excepthook(
        self, kind: type[BaseException], error: BaseException, trace: TracebackType | None
    ) -> None:
        if isinstance(error, KeyboardInterrupt):
            sys.__excepthook__(kind, error, trace)
            return
        self.report("A part of the window failed.", error.with_traceback(trace))

    def _thread_hook(self, told: threading.ExceptHookArgs) -> None:
        if told.exc_value is not None:
            name = told.thread.name if told.thread is not None else "unknown"
            self.report(f"The thread “{name}” failed.", told.exc_value)

    def _loop_handler(self, loop: asyncio.AbstractEventLoop, context: Mapping[str, Any]) -> None:
        error = context.get("exception")
        message = str(context.get("message") or "Something in the event loop failed.")
        if isinstance(error, BaseException):
            self.report(message, error)
        else:
            logger.error("%s %s", message, {key: value for key, value in context.items() if key != "message"})


def _take_qt_message(kind: QtMsgType, context: QMessageLogContext, message: str) -> None:
    _qt_logger.log(_QT_LEVELS.get(kind, logging.WARNING), "%s", message)
