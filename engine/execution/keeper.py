"""The keeper: a small process between the console and one command, which ends the command's tree (Linux).

Why a process of its own: the kernel hands orphans to the nearest *subreaper*, and a subreaper gets the
orphans of everything it ever started. Inside the console that would mix the descendants of one command with
those of another and with children that are none of ours. The keeper has exactly one command below it, so

- whatever is below the keeper belongs to the command, also a daemon that forked twice and left the session;
- the tree has ended exactly when the keeper has no child left, which the kernel says without a race (ECHILD);
- the command dies with the keeper (parent-death signal, tied to the keeper's only thread), and the keeper
  ends the whole tree when the console is gone (end of file on its channel), even after SIGKILL of the
  console.

It is started as ``python -I -S -B keeper.py CHANNEL``, imports nothing of the engine and little of the
library. A frozen program has no such file; its entry point calls `main` when it is started with
`KEEPER_SWITCH` (see `process_posix.keeper_command`).

The channel is a Unix stream socket with one JSON object a line. To the keeper: ``start`` (after the
descriptors of the program, stdout and stderr), ``go``, ``end``. From it: ``parked``, ``running``,
``refused``, ``exited``, ``done``, ``broken``. Texts of the command travel as Latin-1 of their bytes, so
that no locale can change them.
"""

from __future__ import annotations

import ctypes
import json
import os
import select
import signal
import socket
import sys
import time
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

assert sys.platform != "win32" or not TYPE_CHECKING  # type checkers leave out the other half

KEEPER_SWITCH = "--praxis-keeper"

LOOK_AGAIN_MS = 25

_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36


class Seen(NamedTuple):
    """A process as ``/proc/PID/stat`` shows it; ``started`` is in clock ticks since boot."""

    pid: int
    parent: int
    session: int
    started: int
    name: str
    over: bool


def look_at(pid: int) -> Seen | None:
    """Read one process, None when there is none. ``over``: it has ended and only waits to be collected."""
    try:
        with open(f"/proc/{pid}/stat", "rb", buffering=0) as file:  # noqa: PTH123 - pathlib loads too slowly
            text = file.read(4096)
    except (FileNotFoundError, ProcessLookupError):
        return None
    head, _, tail = text.rpartition(b") ")
    fields = tail.split()
    name = head.partition(b" (")[2].decode("utf-8", "replace")
    over = fields[0] in (b"Z", b"X") and int(fields[17]) <= 1  # a first thread may end before the others
    return Seen(pid, int(fields[1]), int(fields[3]), int(fields[19]), name, over)


def all_processes() -> list[Seen]:
    """Read every process that can be seen."""
    found = (look_at(int(name)) for name in os.listdir("/proc") if name.isdigit())  # noqa: PTH208 - as above
    return [one for one in found if one is not None]


def descendants(root: int) -> list[Seen]:
    """Give all living processes below ``root``, parents before children."""
    below: dict[int, list[Seen]] = {}
    for one in all_processes():
        below.setdefault(one.parent, []).append(one)
    found: list[Seen] = []
    pids = [root]
    for pid in pids:
        for one in below.get(pid, ()):
            pids.append(one.pid)
            if not one.over:
                found.append(one)
    return found


def send_signal(pid: int, started: int, number: signal.Signals) -> bool:
    """Signal exactly the process with this pid and start; False when it is gone or may not be signalled.

    The handle is taken before the start is compared, so a pid that is used again in between is never hit.
    """
    try:
        handle = os.pidfd_open(pid)
    except OSError:
        return False
    try:
        found = look_at(pid)
        if found is None or found.started != started:
            return False
        signal.pidfd_send_signal(handle, number)
    except (PermissionError, ProcessLookupError):
        return False
    finally:
        os.close(handle)
    return True


def main(arguments: list[str]) -> int:
    """Run as the keeper: ``arguments`` holds the descriptor of the channel."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    channel = socket.socket(fileno=int(arguments[0]))
    channel.set_inheritable(False)
    keeper = _Keeper(channel)
    try:
        keeper.run()
    except _ConsoleGone:
        keeper.end_at_once()
    except Exception:
        import traceback  # only here, since the start of every command waits for our imports

        keeper.end_at_once()
        keeper.tell(broken=traceback.format_exc())
    return 0


class _ConsoleGone(Exception):
    pass


class _Keeper:
    def __init__(self, channel: socket.socket) -> None:
        self._channel = channel
        self._received = b""
        self._prctl = ctypes.CDLL(None, use_errno=True).prctl
        self._main = 0
        self._main_name = ""
        self._main_over = False
        self._linger_ms = 0
        self._patience_ms = 0
        self._seen: dict[tuple[int, int], str] = {}
        self._signalled: dict[tuple[int, int], str] = {}
        self._wake, write = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        signal.set_wakeup_fd(write, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda _number, _frame: None)

    def run(self) -> None:
        if self._prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0:
            raise OSError(ctypes.get_errno(), "cannot become a subreaper")
        program, stdout, stderr = self._take_descriptors()
        job = self._next_message()
        self._linger_ms, self._patience_ms = job["linger_ms"], job["patience_ms"]
        report, go = self._fork(job, program, stdout, stderr)
        for descriptor in (program, stdout, stderr):
            os.close(descriptor)
        if not self._start(report, go):
            self._reap_all()
            self.tell(done=self._tree())
            return
        grace = self._watch(job["grace_ms"])
        self._end(grace)
        self.tell(done=self._tree())

    def tell(self, **message: object) -> None:
        try:
            self._channel.sendall(json.dumps(message).encode("ascii") + b"\n")
        except OSError as error:
            raise _ConsoleGone from error

    def end_at_once(self) -> None:
        self._end(0)

    # --- starting ------------------------------------------------------------------------------------------

    def _take_descriptors(self) -> tuple[int, int, int]:
        data, descriptors, _, _ = socket.recv_fds(self._channel, 1, 3)
        if not data:
            raise _ConsoleGone
        for descriptor in descriptors:
            os.set_inheritable(descriptor, False)
        program, stdout, stderr = descriptors
        return program, stdout, stderr

    def _fork(self, job: dict[str, Any], program: int, stdout: int, stderr: int) -> tuple[int, int]:
        report, report_end = os.pipe2(os.O_CLOEXEC)
        go_end, go = os.pipe2(os.O_CLOEXEC)
        keeper = os.getpid()
        child = os.fork()
        if child == 0:
            os.close(report)
            os.close(go)
            self._become(job, keeper, program, stdout, stderr, report_end, go_end)
        os.close(report_end)
        os.close(go_end)
        self._main = child
        self._main_name = os.path.basename(job["program"])  # noqa: PTH119 - quick, and only for show
        return report, go

    def _start(self, report: int, go: int) -> bool:
        """Tell that the child is parked, let it go when told to, and tell whether its program runs."""
        found = look_at(self._main)
        answer = os.read(report, 4096)
        if answer == b"parked" and found is not None:
            self.tell(parked={"pid": found.pid, "started": found.started})
            if self._next_message()["do"] != "go":
                os.close(go)  # the child ends without having run anything
                return False
            try:
                os.write(go, b"g")
            except BrokenPipeError:
                answer = b""
            else:
                answer = os.read(report, 4096)
                if not answer:
                    self.tell(running=True)
                    return True
            os.close(go)
        where, number = (answer or b"prepare 0").decode("ascii").split()
        self.tell(refused={"where": where, "errno": int(number)})
        return False

    def _become(
        self, job: dict[str, Any], keeper: int, program: int, stdout: int, stderr: int, report: int, go: int
    ) -> NoReturn:
        """Turn the forked child into the command. Reports what goes wrong as ``where errno``."""
        where = "prepare"
        try:
            os.setsid()
            self._prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
            if os.getppid() != keeper:
                os._exit(127)
            signal.set_wakeup_fd(-1)
            for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:
                signal.signal(number, signal.SIG_DFL)
            signal.pthread_sigmask(signal.SIG_SETMASK, ())
            for descriptor, target in ((stdout, 1), (stderr, 2)):
                os.dup2(descriptor, target)
            where = "folder"
            os.chdir(job["cwd"].encode("latin-1"))
            where = "exec"
            argv = [text.encode("latin-1") for text in job["argv"]]
            environment = {
                name.encode("latin-1"): value.encode("latin-1") for name, value in job["environment"].items()
            }
            path = job["program"].encode("latin-1")
            os.write(report, b"parked")
            if os.read(go, 1) != b"g":
                os._exit(127)
            if job["by_path"]:
                os.execve(path, argv, environment)
            try:
                os.execve(program, argv, environment)
            except FileNotFoundError:
                # A format that the system runs by an interpreter of its own, which needs the path.
                os.execve(path, argv, environment)
        except OSError as error:
            os.write(report, f"{where} {error.errno or 0}".encode("ascii"))
        finally:
            os._exit(127)

    # --- watching ------------------------------------------------------------------------------------------

    def _watch(self, grace_ms: int) -> int:
        """Wait until the command ends or is to be ended; give the grace for what is left of its tree."""
        while True:
            self._reap()
            if self._main_over:
                return self._linger(grace_ms)
            message = self._wait(None)
            if message is not None:
                # Without this look an end that came first could be taken for one that we caused (B-049).
                self._reap()
                return int(message["grace_ms"])

    def _linger(self, grace_ms: int) -> int:
        """Let what the command left behind end by itself for a moment; give the grace for the rest."""
        deadline = time.monotonic() + self._linger_ms / 1000
        while self._has_children() and time.monotonic() < deadline:
            self._note(descendants(os.getpid()))
            message = self._wait(LOOK_AGAIN_MS)
            if message is not None:
                return int(message["grace_ms"])
        return grace_ms

    def _wait(self, milliseconds: int | None) -> dict[str, Any] | None:
        """Wait for a child's end, a message or the time; give the message if one came."""
        if b"\n" not in self._received:
            timeout = None if milliseconds is None else milliseconds / 1000
            waited_for: list[Any] = [self._channel, self._wake]
            ready, _, _ = select.select(waited_for, [], [], timeout)
            self._drain(ready)
            if self._channel not in ready:
                return None
        return self._next_message()

    def _drain(self, ready: list[Any]) -> None:
        if self._wake in ready:
            os.read(self._wake, 4096)

    def _next_message(self) -> dict[str, Any]:
        while b"\n" not in self._received:
            try:
                data = self._channel.recv(1 << 16)
            except OSError as error:
                raise _ConsoleGone from error
            if not data:
                raise _ConsoleGone
            self._received += data
        line, _, self._received = self._received.partition(b"\n")
        message: dict[str, Any] = json.loads(line)
        return message

    def _has_children(self) -> bool:
        """Say whether anything is left below us. Orphans come to us, so no child means no descendant."""
        self._reap()
        try:
            os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        except ChildProcessError:
            return False
        return True

    def _reap(self) -> None:
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            if pid == self._main and not self._main_over:
                self._main_over = True
                code = os.waitstatus_to_exitcode(status)
                asked = any(key[0] == pid for key in self._signalled)
                end = {"code": code} if code >= 0 else {"signal": -code}
                self.tell(exited={**end, "asked": asked})

    def _reap_all(self) -> None:
        self._main_over = True
        while self._has_children():
            os.waitpid(-1, 0)

    # --- ending --------------------------------------------------------------------------------------------

    def _end(self, grace_ms: int) -> None:
        """End everything below us: ask, wait for the grace, kill, until nothing is left or patience ends."""
        deadline = time.monotonic() + grace_ms / 1000
        while grace_ms and self._has_children() and time.monotonic() < deadline:
            self._signal(signal.SIGTERM, "asked")
            message = self._wait(LOOK_AGAIN_MS)
            if message is not None:
                deadline = min(deadline, time.monotonic() + message["grace_ms"] / 1000)
        deadline = time.monotonic() + self._patience_ms / 1000
        while self._children_at_any_cost() and time.monotonic() < deadline:
            if not self._signal(signal.SIGKILL, "killed"):
                self._drain(select.select([self._wake], [], [], LOOK_AGAIN_MS / 1000)[0])

    def _children_at_any_cost(self) -> bool:
        try:
            return self._has_children()
        except _ConsoleGone:  # nobody listens any more; the tree is to end all the same
            return True

    def _signal(self, number: signal.Signals, how: str) -> int:
        """Signal what has not had this signal yet; give the number of processes that were."""
        count = 0
        living = descendants(os.getpid())
        self._note(living)
        for one in living:
            key = (one.pid, one.started)
            if self._signalled.get(key) != how and send_signal(*key, number):
                self._signalled[key] = how
                count += 1
                if number is signal.SIGTERM:
                    send_signal(*key, signal.SIGCONT)  # a stopped process cannot hear that it was asked
        return count

    def _note(self, living: Iterable[Seen]) -> None:
        for one in living:
            # A process takes the name of the program that it becomes, so the last one seen counts.
            self._seen[one.pid, one.started] = self._main_name if one.pid == self._main else one.name

    def _tree(self) -> dict[str, list[dict[str, object]]]:
        living = {(one.pid, one.started) for one in descendants(os.getpid())}
        tree: dict[str, list[dict[str, object]]] = {"ended": [], "gone": [], "survived": []}
        for (pid, started), name in self._seen.items():
            process = {"pid": pid, "started": started, "name": name}
            if (pid, started) in living:
                tree["survived"].append(process)
            elif how := self._signalled.get((pid, started)):
                tree["ended"].append({**process, "how": how})
            else:
                tree["gone"].append(process)
        return tree


if __name__ == "__main__":
    os._exit(main(sys.argv[1:]))  # nothing to tidy up, and the console waits for our end
