"""One console per data folder: a second start raises the first and ends before it touches any data (B-098).

The folder itself is protected by the lock that the engine takes. This is only the way to say "show yourself":
a local socket whose name is made of the user and the folder. Both sides speak lines of JSON. By the same way an
installer asks a running console to quit before it replaces or removes the program.
"""

from __future__ import annotations

import getpass
import hashlib
import json
import os
import sys
import time
from enum import Enum, auto
from pathlib import Path
from typing import Any

import psutil
from PySide6.QtCore import QObject, Signal
from PySide6.QtNetwork import QLocalServer, QLocalSocket

PROTOCOL = 1
QUIT_PATIENCE_SECONDS = 20.0
"""How long a console may take to quit; what runs is asked about first, so it may well not quit at all."""

_WAIT_MS = 2000


class Quitting(Enum):
    """What became of the wish that a running console quits."""

    NONE_RUNS = auto()
    DONE = auto()
    NOT_DONE = auto()


def instance_name(folder: Path) -> str:
    """The name of the socket for this user and data folder; the same for every way to write the folder."""
    place = os.path.normcase(folder.resolve())
    digest = hashlib.sha256(f"{getpass.getuser()}\0{place}".encode()).hexdigest()
    return f"praxis-console-{digest[:24]}"


def raise_running(name: str) -> bool:
    """Ask the console that listens on ``name`` to show itself; False if there is none that answers.

    It blocks for two seconds at most and needs no running event loop.
    """
    return _ask(name, "show") is not None


def quit_running(name: str, patience: float = QUIT_PATIENCE_SECONDS) -> Quitting:
    """Ask the console that listens on ``name`` to quit, as its person would, and wait until its process has ended.

    It blocks for ``patience`` seconds and needs no running event loop.
    """
    console = _ask(name, "quit")
    if console is None:
        return Quitting.NONE_RUNS
    give_up = time.monotonic() + patience
    while _is_running(console):
        if time.monotonic() > give_up:
            return Quitting.NOT_DONE
        time.sleep(0.05)
    return Quitting.DONE


def _is_running(pid: int) -> bool:
    """Whether a process runs; one that has ended counts as ended even if its parent has not looked yet."""
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def _ask(name: str, what: str) -> int | None:
    """Ask the console that listens on ``name``; its process id once it has said that it will, else None."""
    socket = QLocalSocket()
    socket.connectToServer(name)
    if not socket.waitForConnected(_WAIT_MS):
        return None
    greeting = _read_line(socket)
    pid = greeting.get("pid")
    if greeting.get("protocol") != PROTOCOL or not isinstance(pid, int):
        return None
    _let_it_come_to_front(pid)
    socket.write(json.dumps({"protocol": PROTOCOL, "ask": what}).encode() + b"\n")
    socket.waitForBytesWritten(_WAIT_MS)
    answered = _read_line(socket).get("done") is True
    socket.disconnectFromServer()
    return pid if answered else None


class InstanceServer(QObject):
    """Listens for second starts: ``asked`` when one wants this console to show itself, ``asked_to_quit`` to quit.

    Make it only after the engine has taken the folder's lock: then a socket left by a dead console is known to
    be nobody's, and is removed.
    """

    asked = Signal()
    asked_to_quit = Signal()

    def __init__(self, name: str, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._server = QLocalServer(self)
        self._server.setSocketOptions(QLocalServer.SocketOption.UserAccessOption)
        self._server.newConnection.connect(self._connected)
        QLocalServer.removeServer(name)
        self.listening = self._server.listen(name)
        self.error = "" if self.listening else self._server.errorString()

    def close(self) -> None:
        """Listen no more."""
        self._server.close()

    def _connected(self) -> None:
        while (socket := self._server.nextPendingConnection()) is not None:
            socket.disconnected.connect(socket.deleteLater)
            socket.readyRead.connect(self._readable)
            socket.write(json.dumps({"protocol": PROTOCOL, "pid": os.getpid()}).encode() + b"\n")

    def _readable(self) -> None:
        socket = self.sender()
        if not isinstance(socket, QLocalSocket) or not socket.canReadLine():
            return
        asked = _parse(bytes(socket.readLine(4096).data()))
        wish = {"show": self.asked, "quit": self.asked_to_quit}.get(str(asked.get("ask")))
        if asked.get("protocol") == PROTOCOL and wish is not None:
            socket.write(json.dumps({"done": True}).encode() + b"\n")
            socket.flush()
            wish.emit()
        else:
            socket.disconnectFromServer()


def _read_line(socket: QLocalSocket) -> dict[str, Any]:
    while not socket.canReadLine():
        if not socket.waitForReadyRead(_WAIT_MS):
            return {}
    return _parse(bytes(socket.readLine(4096).data()))


def _parse(line: bytes) -> dict[str, Any]:
    try:
        value = json.loads(line)
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


def _let_it_come_to_front(pid: int) -> None:
    """On Windows only the process in front may let another one come to the front."""
    if sys.platform == "win32":
        import ctypes

        ctypes.windll.user32.AllowSetForegroundWindow(pid)
