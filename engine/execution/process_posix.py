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
from dataclasses import dataclass, replace
from errno import EACCES, ENOENT, ENOEXEC, EPERM
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from engine.clock import Clock
from engine.execution import keeper as keeper_program
from engine.execution.launch_guard import LaunchGuard, starts_with_interpreter_line
from engine.execution.process import (
    FLOOD_GRACE_MS,
    POLL_MS,
    Difference,
    EndedBy,
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
from engine.instants import Instant

SHORTEST_POLL_MS = 5
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
    except _Refused as error:
        refused = error
    return ProcessReport(
        asked_at,
        clock.now(),
        active_ms=0,
        slept_ms=0,
        ended_by=EndedBy.NOT_STARTED,
        not_started=refused.why,
        detail=refused.detail,
        drift=refused.drift,
        stopped_by=stop.reason if refused.why is NotStarted.STOPPED_FIRST else None,
    )


class _Refused(Exception):
    """The command provably never ran."""

    def __init__(self, why: NotStarted, detail: str, drift: tuple[Difference, ...] = ()) -> None:
        super().__init__(detail)
        self.why = why
        self.detail = detail
        self.drift = drift


class _KeeperGone(Exception):
    """The keeper ended, broke or does not answer; the text says which."""


@dataclass(frozen=True, slots=True)
class _Moment:
    """All three clocks at one moment, to tell active time from time asleep."""

    now: Instant
    elapsed: int
    awake: int

    @classmethod
    def of(cls, clock: Clock) -> _Moment:
        return cls(clock.now(), clock.elapsed(), clock.awake())


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
            began = _Moment.of(self._clock)
            self._let_go()
        except BaseException:
            for path in (self._launch.stdout, self._launch.stderr)[: len(self._outputs)]:
                Path(path).unlink(missing_ok=True)
            raise
        report = _Watch(
            self._launch, self._stop, self._clock, self._keeper, self._outputs, began, identity
        ).run()
        return replace(report, drift=guard.verify_again())

    def _park(self, guard: LaunchGuard) -> ProcessIdentity:
        """Verify, make the output files, and have the process made up to where it would run its program."""
        launch = self._launch
        drift = guard.verify(self._clock, self._stop)
        if drift:
            raise _drifted(drift)
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
            )
            parked = self._expect("parked")
        except _KeeperGone as error:
            raise _Refused(
                NotStarted.REFUSED_BY_SYSTEM, f"Its keeper could not start it: {error}."
            ) from error
        return ProcessIdentity(parked["pid"], parked["started"], self._clock.boot_id())

    def _create(self, path: str) -> int:
        # Appending, so that a program that opens its own output again cannot overwrite what is there.
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW
        try:
            descriptor = os.open(path, flags, 0o600)
        except OSError as error:
            raise _Refused(NotStarted.OUTPUT_FILE, f"{path} could not be made: {error.strerror}.") from error
        self._stack.callback(os.close, descriptor)
        return descriptor

    def _check_once_more(self, guard: LaunchGuard) -> None:
        drift = guard.touched()
        if drift:
            raise _drifted(drift)
        if self._stop.reason is not None:
            raise _Refused(NotStarted.STOPPED_FIRST, "It was stopped before it was let go.")

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


class _Watch:
    """Watches a command that was let go: its end, its limits, the request to stop it."""

    def __init__(
        self,
        launch: Launch,
        stop: Stop,
        clock: Clock,
        keeper: _Keeper,
        outputs: list[int],
        began: _Moment,
        identity: ProcessIdentity,
    ) -> None:
        self._launch = launch
        self._stop = stop
        self._clock = clock
        self._keeper = keeper
        self._outputs = outputs
        self._began = began
        self._identity = identity
        self._cause: EndedBy | None = None
        self._grace: int | None = None
        self._end: dict[str, Any] | None = None
        self._ended_at: _Moment | None = None

    def run(self) -> ProcessReport:
        try:
            tree = self._until_done()
        except _KeeperGone as error:
            return self._lost(str(error))
        end = self._end
        if end is not None and not end["asked"]:
            # It had ended before anything that we did could reach it, so that is what happened (B-049).
            ended_by = EndedBy.SIGNAL if "signal" in end else EndedBy.EXIT
            if ended_by is EndedBy.EXIT and self._written() > self._launch.output_limit_bytes:
                ended_by = EndedBy.OUTPUT_LIMIT
        else:
            ended_by = self._cause or EndedBy.LOST
        return self._report(ended_by, self._tree(tree), "")

    def _until_done(self) -> dict[str, Any]:
        patience = KEEPER_MARGIN_MS + keeper_program.LINGER_MS + keeper_program.KILL_PATIENCE_MS
        interval, written = SHORTEST_POLL_MS, 0
        while patience > 0:
            message = self._keeper.receive(interval)
            if "done" in message:
                done: dict[str, Any] = message["done"]
                return done
            if "exited" in message:
                self._end = message["exited"]
                self._ended_at = _Moment.of(self._clock)
                patience += self._launch.grace_ms
            before, written = written, self._written()
            self._end_if_due(written)
            if not message and (self._end is not None or self._cause is not None):
                patience -= interval
            interval = next_interval(interval, written - before, self._launch.output_limit_bytes - written)
        raise _KeeperGone("it did not answer")

    def _end_if_due(self, written: int) -> None:
        """Have the tree ended when there is a cause; a flood shortens a grace that already runs."""
        cause: EndedBy | None = None
        grace = self._launch.grace_ms
        if written > self._launch.output_limit_bytes:
            cause, grace = EndedBy.OUTPUT_LIMIT, min(grace, FLOOD_GRACE_MS)
        elif self._end is None and self._stop.reason is not None:
            cause = EndedBy.STOPPED
        elif self._end is None and self._clock.awake() - self._began.awake >= self._launch.time_limit_ms:
            cause = EndedBy.TIME_LIMIT
        if cause is not None and (self._grace is None or grace < self._grace):
            self._cause = self._cause or cause
            self._grace = grace
            self._keeper.tell(do="end", grace_ms=grace)

    def _written(self) -> int:
        return sum(os.fstat(descriptor).st_size for descriptor in self._outputs)

    def _lost(self, why: str) -> ProcessReport:
        """The keeper is gone, and the command died with it: end what is left of the command's session."""
        self._keeper.kill()
        session = self._identity.pid
        killed: dict[tuple[int, int], EndedProcess] = {}
        left: list[keeper_program.Seen] = []
        for _ in range(keeper_program.KILL_PATIENCE_MS // POLL_MS):
            leader = keeper_program.look_at(session)
            if leader is not None and leader.started != self._identity.started:
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
        boot = self._identity.boot
        survived = [Survivor(ProcessIdentity(one.pid, one.started, boot), one.name) for one in left]
        return self._report(
            EndedBy.LOST,
            TreeReport(tuple(killed.values()), survived=tuple(survived)),
            f"The keeper process of the command was lost ({why}), so its end was not observed",
        )

    def _tree(self, done: dict[str, Any]) -> TreeReport:
        boot = self._identity.boot
        return TreeReport(
            tuple(EndedProcess(one["pid"], one["name"], EndedHow(one["how"])) for one in done["ended"]),
            tuple(GoneProcess(one["pid"], one["name"]) for one in done["gone"]),
            tuple(
                Survivor(ProcessIdentity(one["pid"], one["started"], boot), one["name"])
                for one in done["survived"]
            ),
        )

    def _report(self, ended_by: EndedBy, tree: TreeReport, detail: str) -> ProcessReport:
        began, ended = self._began, self._ended_at or _Moment.of(self._clock)
        end = self._end or {}
        active = ended.awake - began.awake
        return ProcessReport(
            began.now,
            ended.now,
            active_ms=active,
            slept_ms=max(0, ended.elapsed - began.elapsed - active),
            ended_by=ended_by,
            identity=self._identity,
            exit_code=end.get("code"),
            signal=end.get("signal"),
            stopped_by=self._stop.reason if ended_by is EndedBy.STOPPED else None,
            detail=detail,
            output_bytes=self._written(),
            tree=tree,
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
                raise _Refused(
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
        self._channel.settimeout((keeper_program.KILL_PATIENCE_MS + KEEPER_MARGIN_MS) / 1000)
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


def next_interval(interval: int, grown: int, left: int) -> int:
    """Choose the next wait in ms: longer while it is quiet, shorter when the output nears its limit.

    ``grown`` bytes came within the last ``interval`` ms, ``left`` may still come.
    """
    if grown <= 0 or left <= 0:
        return min(POLL_MS, 2 * interval)
    half_of_the_way = left * interval // (2 * grown)
    return max(SHORTEST_POLL_MS, min(POLL_MS, 2 * interval, half_of_the_way))


def _look_first(launch: Launch) -> None:
    """Refuse what can be seen without starting anything."""
    program = launch.program
    try:
        mode = os.stat(program).st_mode  # noqa: PTH116 - the text is used as it is
    except (FileNotFoundError, NotADirectoryError) as error:
        raise _Refused(NotStarted.NOT_FOUND, f"There is no file {program}.") from error
    except OSError as error:
        raise _Refused(NotStarted.NO_PERMISSION, f"{program} cannot be reached: {error.strerror}.") from error
    if not stat.S_ISREG(mode):
        raise _Refused(NotStarted.NOT_A_FILE, f"{program} is not a file.")
    if not os.access(program, os.X_OK):
        raise _Refused(NotStarted.NOT_EXECUTABLE, f"{program} is not executable.")
    if not os.path.isdir(launch.cwd):  # noqa: PTH112 - the text is used as it is
        raise _Refused(NotStarted.FOLDER, f"There is no folder {launch.cwd} to run it in.")


def _refused_by_system(launch: Launch, where: str, errno: int) -> _Refused:
    words = os.strerror(errno) if errno else "it ended while it was made"
    if where == "folder":
        return _Refused(NotStarted.FOLDER, f"{launch.cwd} cannot be entered: {words}.")
    why = _REASONS.get(errno, NotStarted.REFUSED_BY_SYSTEM)
    if errno == ENOENT:
        words = "the interpreter it names was not found"
    return _Refused(why, f"{launch.program} could not be started: {words}.")


_REASONS = {
    ENOENT: NotStarted.NOT_FOUND,
    ENOEXEC: NotStarted.NOT_EXECUTABLE,
    EACCES: NotStarted.NO_PERMISSION,
    EPERM: NotStarted.NO_PERMISSION,
}


def _drifted(drift: tuple[Difference, ...]) -> _Refused:
    names = ", ".join(one.path for one in drift)
    return _Refused(NotStarted.DRIFTED, f"Not what was approved: {names}.", drift)


def _bytes_as_text(text: str) -> str:
    return os.fsencode(text).decode("latin-1")
