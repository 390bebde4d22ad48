"""Running a command on Linux: through a keeper process that owns the command's tree (see `keeper`).

The worker thread verifies the sealed files while the keeper starts, hands over the opened program and
output files, waits until the command is parked right before its program, calls ``on_started``, looks at the
files once more and lets it go. From then on it waits for the keeper with a real wait and looks at the
limits in between. All times of the report come from the injected clock; how long the keeper is waited for
is counted in waits, so that a manual clock cannot hang it.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import socket
import stat
import subprocess
import sys
from dataclasses import replace
from errno import EACCES, ENOENT, ENOEXEC, EPERM
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from engine.clock import Clock
from engine.execution import keeper as keeper_program
from engine.execution.launch_guard import LaunchGuard, starts_with_interpreter_line
from engine.execution.process import (
    POLL_MS,
    EndedHow,
    EndedProcess,
    GoneProcess,
    Launch,
    NotStarted,
    OnStarted,
    ProcessIdentity,
    ProcessReport,
    Stop,
    Survivor,
    TreeReport,
)
from engine.execution.watching import (
    KILL_PATIENCE_MS,
    LINGER_MS,
    SHORTEST_POLL_MS,
    Moment,
    ObservedEnd,
    StartRefused,
    Watch,
    drifted,
    next_interval,
)

assert sys.platform != "win32" or not TYPE_CHECKING  # type checkers leave out the other half

KEEPER_PATIENCE_MS = 30_000
"""How long the keeper may take to park a command; a loaded machine takes long to start a Python."""

KEEPER_MARGIN_MS = 5_000
"""How much longer than grace and kill patience the keeper may take to end a tree."""


def keeper_command() -> list[str]:
    """Give the command line that starts a keeper; the channel's descriptor is appended to it.

    A frozen program contains no ``keeper.py`` to run. There its own executable is started with
    `KEEPER_SWITCH`, and its entry point must, before anything else, call ``engine.execution.keeper.main``
    with what follows the switch.
    """
    if getattr(sys, "frozen", False):
        return [sys.executable, keeper_program.KEEPER_SWITCH]
    return [sys.executable, "-I", "-S", "-B", keeper_program.__file__]


def run(launch: Launch, stop: Stop, clock: Clock, on_started: OnStarted) -> ProcessReport:
    """Run one command; the contract is that of `engine.execution.process.run`."""
    asked_at = clock.now()
    try:
        _look_first(launch)
        with contextlib.ExitStack() as stack:
            return _Run(launch, stop, clock, on_started, stack).run()
    except StartRefused as refused:
        return refused.report(asked_at, clock, stop)


class _KeeperGone(Exception):
    """The keeper ended, broke or does not answer; the text says which."""


class _Run:
    """One run: start, watch, report. ``stack`` closes what it opened, the keeper first of all."""

    def __init__(
        self, launch: Launch, stop: Stop, clock: Clock, on_started: OnStarted, stack: contextlib.ExitStack
    ) -> None:
        self._launch = launch
        self._stop = stop
        self._clock = clock
        self._on_started = on_started
        self._stack = stack
        self._outputs: list[int] = []

    def run(self) -> ProcessReport:
        guard = self._stack.enter_context(LaunchGuard(self._launch.guarded))
        self._keeper = self._stack.enter_context(_Keeper())
        try:
            identity = self._park(guard)
            self._on_started(identity)
            self._check_once_more(guard)
            watch = Watch(self._launch, self._stop, self._clock, identity)
            self._let_go()
        except BaseException:
            for path in (self._launch.stdout, self._launch.stderr)[: len(self._outputs)]:
                Path(path).unlink(missing_ok=True)
            raise
        report = _KeptWatch(watch, self._clock, self._keeper, self._outputs).run()
        return replace(report, drift=guard.verify_again())

    def _park(self, guard: LaunchGuard) -> ProcessIdentity:
        """Verify, make the output files, and have the process made up to where it would run its program."""
        launch = self._launch
        drift = guard.verify(self._clock, self._stop)
        if drift:
            raise drifted(drift)
        for path in (launch.stdout, launch.stderr):
            self._outputs.append(self._create(path))
        program = guard.descriptor(launch.program)
        try:
            self._keeper.hand_over(program, *self._outputs)
            self._keeper.tell(
                program=_bytes_as_text(launch.program),
                by_path=starts_with_interpreter_line(program),
                argv=[_bytes_as_text(argument) for argument in launch.argv],
                cwd=_bytes_as_text(launch.cwd),
                environment={
                    _bytes_as_text(name): _bytes_as_text(value) for name, value in launch.environment.items()
                },
                grace_ms=launch.grace_ms,
                linger_ms=LINGER_MS,
                patience_ms=KILL_PATIENCE_MS,
            )
            parked = self._expect("parked")
        except _KeeperGone as error:
            raise StartRefused(
                NotStarted.REFUSED_BY_SYSTEM, f"Its keeper could not start it: {error}."
            ) from error
        return ProcessIdentity(parked["pid"], parked["started"], self._clock.boot_id())

    def _create(self, path: str) -> int:
        # Appending, so that a program that opens its own output again cannot overwrite what is there.
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW
        try:
            descriptor = os.open(path, flags, 0o600)
        except OSError as error:
            raise StartRefused(
                NotStarted.OUTPUT_FILE, f"{path} could not be made: {error.strerror}."
            ) from error
        self._stack.callback(os.close, descriptor)
        return descriptor

    def _check_once_more(self, guard: LaunchGuard) -> None:
        drift = guard.touched()
        if drift:
            raise drifted(drift)
        if self._stop.reason is not None:
            raise StartRefused(NotStarted.STOPPED_FIRST, "It was stopped before it was let go.")

    def _let_go(self) -> None:
        """Let the program run. A keeper lost from here on proves nothing; that is left to the watch."""
        with contextlib.suppress(_KeeperGone):
            self._keeper.tell(do="go")
            self._expect("running")

    def _expect(self, kind: str) -> Any:
        for _ in range(KEEPER_PATIENCE_MS // POLL_MS):
            message = self._keeper.receive(POLL_MS)
            if kind in message:
                return message[kind]
            if "refused" in message:
                raise _refused_by_system(self._launch, **message["refused"])
        raise _KeeperGone("it did not answer")


class _KeptWatch:
    """Watches a command that was let go, through its keeper."""

    def __init__(self, watch: Watch, clock: Clock, keeper: _Keeper, outputs: list[int]) -> None:
        self._watch = watch
        self._clock = clock
        self._keeper = keeper
        self._outputs = outputs

    def run(self) -> ProcessReport:
        try:
            done = self._until_done()
        except _KeeperGone as error:
            return self._lost(str(error))
        return self._watch.report(_tree(done, self._watch.identity.boot), self._written())

    def _until_done(self) -> dict[str, Any]:
        watch = self._watch
        patience = KEEPER_MARGIN_MS + LINGER_MS + KILL_PATIENCE_MS
        interval, written = SHORTEST_POLL_MS, 0
        while patience > 0:
            message = self._keeper.receive(interval)
            if "done" in message:
                done: dict[str, Any] = message["done"]
                return done
            if "exited" in message:
                watch.end = _observed(message["exited"], Moment.of(self._clock))
                patience += watch.launch.grace_ms
            before, written = written, self._written()
            grace = watch.due(written)
            if grace is not None:
                # A keeper that has just said its last word hears no more; that word is still to be read.
                with contextlib.suppress(_KeeperGone):
                    self._keeper.tell(do="end", grace_ms=grace)
                patience += grace
            if not message and (watch.end is not None or watch.cause is not None):
                patience -= interval
            interval = next_interval(interval, written - before, watch.launch.output_limit_bytes - written)
        raise _KeeperGone("it did not answer")

    def _written(self) -> int:
        return sum(os.fstat(descriptor).st_size for descriptor in self._outputs)

    def _lost(self, why: str) -> ProcessReport:
        """The keeper is gone, and the command died with it: end what is left of the command's session."""
        self._keeper.kill()
        session = self._watch.identity.pid
        killed: dict[tuple[int, int], EndedProcess] = {}
        left: list[keeper_program.Seen] = []
        for _ in range(KILL_PATIENCE_MS // POLL_MS):
            leader = keeper_program.look_at(session)
            if leader is not None and leader.started != self._watch.identity.started:
                left = []  # the number is used again, so nothing of our session was left
                break
            left = [one for one in keeper_program.all_processes() if one.session == session and not one.over]
            for one in left:
                if keeper_program.send_signal(one.pid, one.started, signal.SIGKILL):
                    killed[one.pid, one.started] = EndedProcess(one.pid, one.name, EndedHow.KILLED)
            if not left:
                break
            select.select([], [], [], POLL_MS / 1000)
        for one in left:
            killed.pop((one.pid, one.started), None)
        boot = self._watch.identity.boot
        survived = [Survivor(ProcessIdentity(one.pid, one.started, boot), one.name) for one in left]
        return self._watch.lost(
            f"The keeper process of the command was lost ({why}), so its end was not observed",
            TreeReport(tuple(killed.values()), survived=tuple(survived)),
            self._written(),
        )


class _Keeper:
    """The keeper process and the channel to it. Leaving the context ends it and everything below it."""

    def __enter__(self) -> Self:
        self._channel, theirs = socket.socketpair()
        with theirs:
            try:
                self._process = subprocess.Popen(
                    [*keeper_command(), str(theirs.fileno())],
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                    pass_fds=[theirs.fileno()],
                    start_new_session=True,
                    cwd="/",
                )
            except OSError as error:
                self._channel.close()
                raise StartRefused(
                    NotStarted.REFUSED_BY_SYSTEM, f"No keeper could be started: {error}."
                ) from error
        self._channel.settimeout(KEEPER_PATIENCE_MS / 1000)
        self._received = b""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the channel, at which the keeper ends its tree at once, and wait; kill it if it hangs."""
        with contextlib.suppress(OSError):
            self._channel.shutdown(socket.SHUT_WR)
        self._channel.settimeout((KILL_PATIENCE_MS + KEEPER_MARGIN_MS) / 1000)
        try:
            while self._channel.recv(1 << 16):
                pass
        except OSError:
            self._process.kill()
        self._channel.close()
        self._process.wait()

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()

    def hand_over(self, *descriptors: int) -> None:
        try:
            socket.send_fds(self._channel, [b"\0"], descriptors)
        except OSError as error:
            raise _KeeperGone(error.strerror or str(error)) from error

    def tell(self, **message: object) -> None:
        try:
            self._channel.sendall(json.dumps(message).encode("ascii") + b"\n")
        except OSError as error:
            raise _KeeperGone(error.strerror or str(error)) from error

    def receive(self, milliseconds: int) -> dict[str, Any]:
        """Wait at most so long for a message; ``{}`` when none came."""
        if b"\n" not in self._received:
            if not select.select([self._channel], [], [], milliseconds / 1000)[0]:
                return {}
            try:
                data = self._channel.recv(1 << 16)
            except OSError as error:
                raise _KeeperGone(error.strerror or str(error)) from error
            if not data:
                raise _KeeperGone("it ended")
            self._received += data
            if b"\n" not in self._received:
                return {}
        line, _, self._received = self._received.partition(b"\n")
        message: dict[str, Any] = json.loads(line)
        if "broken" in message:
            raise _KeeperGone(message["broken"].strip().rpartition("\n")[2])
        return message


def _observed(exited: dict[str, Any], at: Moment) -> ObservedEnd:
    number = exited.get("signal")
    return ObservedEnd(at, exited.get("code"), number, exited["asked"], from_outside=number is not None)


def _tree(done: dict[str, Any], boot: str) -> TreeReport:
    return TreeReport(
        tuple(EndedProcess(one["pid"], one["name"], EndedHow(one["how"])) for one in done["ended"]),
        tuple(GoneProcess(one["pid"], one["name"]) for one in done["gone"]),
        tuple(
            Survivor(ProcessIdentity(one["pid"], one["started"], boot), one["name"])
            for one in done["survived"]
        ),
    )


def _look_first(launch: Launch) -> None:
    """Refuse what can be seen without starting anything."""
    program = launch.program
    try:
        mode = os.stat(program).st_mode  # noqa: PTH116 - the text is used as it is
    except (FileNotFoundError, NotADirectoryError) as error:
        raise StartRefused(NotStarted.NOT_FOUND, f"There is no file {program}.") from error
    except OSError as error:
        raise StartRefused(
            NotStarted.NO_PERMISSION, f"{program} cannot be reached: {error.strerror}."
        ) from error
    if not stat.S_ISREG(mode):
        raise StartRefused(NotStarted.NOT_A_FILE, f"{program} is not a file.")
    if not os.access(program, os.X_OK):
        raise StartRefused(NotStarted.NOT_EXECUTABLE, f"{program} is not executable.")
    if not os.path.isdir(launch.cwd):  # noqa: PTH112 - the text is used as it is
        raise StartRefused(NotStarted.FOLDER, f"There is no folder {launch.cwd} to run it in.")


def _refused_by_system(launch: Launch, where: str, errno: int) -> StartRefused:
    words = os.strerror(errno) if errno else "it ended while it was made"
    if where == "folder":
        return StartRefused(NotStarted.FOLDER, f"{launch.cwd} cannot be entered: {words}.")
    why = _REASONS.get(errno, NotStarted.REFUSED_BY_SYSTEM)
    if errno == ENOENT:
        words = "the interpreter it names was not found"
    return StartRefused(why, f"{launch.program} could not be started: {words}.")


_REASONS = {
    ENOENT: NotStarted.NOT_FOUND,
    ENOEXEC: NotStarted.NOT_EXECUTABLE,
    EACCES: NotStarted.NO_PERMISSION,
    EPERM: NotStarted.NO_PERMISSION,
}


def _bytes_as_text(text: str) -> str:
    return os.fsencode(text).decode("latin-1")
