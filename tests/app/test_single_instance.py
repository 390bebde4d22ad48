"""One console per data folder: a second start raises the first and touches nothing (B-098)."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import textwrap
from pathlib import Path

from PySide6.QtNetwork import QLocalSocket
from pytestqt.qtbot import QtBot

from app.single_instance import InstanceServer, Quitting, instance_name, quit_running, raise_running
from tests.app.conftest import until

SECOND = textwrap.dedent(
    """
    import sys
    from PySide6.QtCore import QCoreApplication
    from app.single_instance import raise_running
    app = QCoreApplication([])
    sys.exit(0 if raise_running(sys.argv[1]) else 7)
    """
)


CONSOLE = textwrap.dedent(
    """
    import sys
    from PySide6.QtCore import QCoreApplication
    from app.single_instance import InstanceServer
    app = QCoreApplication([])
    server = InstanceServer(sys.argv[1])
    server.asked_to_quit.connect(lambda: {answer})
    print("listening", flush=True)
    sys.exit(app.exec())
    """
)


def test_the_name_is_that_of_the_folder_however_it_is_written(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    folder.mkdir()
    link = tmp_path / "link"
    link.symlink_to(folder, target_is_directory=True)
    assert instance_name(folder) == instance_name(folder / ".." / "data") == instance_name(link)
    assert instance_name(folder) != instance_name(tmp_path)
    assert len(instance_name(folder)) < 60, "socket paths are short on some systems"


def test_nobody_answers_where_nobody_listens(qtbot: QtBot, tmp_path: Path) -> None:
    assert not raise_running(instance_name(tmp_path))


async def test_a_second_process_raises_the_first(tmp_path: Path) -> None:
    name = instance_name(tmp_path)
    server = InstanceServer(name)
    asked: list[int] = []
    server.asked.connect(lambda: asked.append(1))
    assert server.listening
    try:
        for _ in range(2):
            second = await asyncio.create_subprocess_exec(sys.executable, "-c", SECOND, name)
            assert await second.wait() == 0
    finally:
        server.close()
    assert asked == [1, 1]


async def console(name: str, answer: str) -> asyncio.subprocess.Process:
    """Another process that listens like a console; ``answer`` is what it does when it is asked to quit."""
    code = CONSOLE.format(answer=answer)
    started = await asyncio.create_subprocess_exec(
        sys.executable, "-c", code, name, stdout=asyncio.subprocess.PIPE
    )
    assert started.stdout is not None
    assert await started.stdout.readline() == b"listening\n"
    return started


async def test_a_console_is_asked_to_quit_and_its_end_is_waited_for(tmp_path: Path) -> None:
    name = instance_name(tmp_path)
    asked = await console(name, "app.quit()")
    assert quit_running(name) is Quitting.DONE
    assert await asked.wait() == 0
    assert quit_running(name) is Quitting.NONE_RUNS


def test_a_console_that_nobody_has_collected_yet_has_quit(tmp_path: Path) -> None:
    """Whoever started it may look later; until then the system lists it."""
    name = instance_name(tmp_path)
    asked = subprocess.Popen(
        [sys.executable, "-c", CONSOLE.format(answer="app.quit()"), name], stdout=subprocess.PIPE
    )
    assert asked.stdout is not None
    assert asked.stdout.readline().strip() == b"listening"
    assert quit_running(name) is Quitting.DONE
    assert asked.returncode is None
    assert asked.wait(10) == 0
    asked.stdout.close()


async def test_a_console_that_does_not_quit_is_not_waited_for_without_end(tmp_path: Path) -> None:
    name = instance_name(tmp_path)
    asked = await console(name, "print('asked', flush=True)")
    assert quit_running(name, patience=0.2) is Quitting.NOT_DONE
    assert asked.stdout is not None
    assert await asked.stdout.readline() == b"asked\n"
    asked.kill()
    await asked.wait()


async def test_a_socket_that_a_dead_console_left_is_taken_over(tmp_path: Path) -> None:
    name = instance_name(tmp_path)
    code = textwrap.dedent(
        """
        import os, sys
        from PySide6.QtCore import QCoreApplication
        from app.single_instance import InstanceServer
        app = QCoreApplication([])
        server = InstanceServer(sys.argv[1])
        assert server.listening
        os._exit(9)
        """
    )
    dead = subprocess.run([sys.executable, "-c", code, name], check=False)
    assert dead.returncode == 9
    assert not raise_running(name)
    server = InstanceServer(name)
    assert server.listening
    server.close()


async def test_whoever_speaks_another_language_gets_no_answer(tmp_path: Path) -> None:
    name = instance_name(tmp_path)
    server = InstanceServer(name)
    asked: list[int] = []
    server.asked.connect(lambda: asked.append(1))
    try:
        for line in (b"\xff\xfe\n", b"[]\n", b'{"protocol": 99, "ask": "show"}\n', b'{"protocol": 1}\n'):
            socket = QLocalSocket()
            socket.connectToServer(name)
            await until(socket.canReadLine)
            assert json.loads(bytes(socket.readLine().data()))["protocol"] == 1
            socket.write(line)
            await until(
                lambda socket=socket: socket.state() == QLocalSocket.LocalSocketState.UnconnectedState
            )
    finally:
        server.close()
    assert asked == []


async def test_a_server_that_is_not_ours_is_not_raised(tmp_path: Path) -> None:
    """Whatever listens on the name and greets otherwise is left alone; the start goes on to the folder's lock."""
    from PySide6.QtNetwork import QLocalServer

    name = instance_name(tmp_path)
    QLocalServer.removeServer(name)
    stranger = QLocalServer()
    assert stranger.listen(name)

    def greet() -> None:
        socket = stranger.nextPendingConnection()
        socket.write(b"hello\n")

    stranger.newConnection.connect(greet)
    second = await asyncio.create_subprocess_exec(sys.executable, "-c", SECOND, name)
    assert await second.wait() == 7
    stranger.close()
