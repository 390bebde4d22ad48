"""Running one command under control: the port, its values, and what an observed end means (E-52..E-54).

`run` is plain synchronous code for a worker thread of its own. It knows no database and no loop. How a
process is started, watched and ended is the matter of `process_posix` and `process_windows`; both keep the
same order: the sealed files are verified, the process is made but its program is not yet let go,
``on_started`` is called, and only then does the program run.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum

from engine.clock import Clock
from engine.errors import InvalidValue
from engine.instants import Instant, require_duration
from engine.states import Outcome

POLL_MS = 50
"""How often a running command is looked at: a stop, a limit or an end is noticed within this."""

FLOOD_GRACE_MS = 200
"""How long a command that passed its output limit has after it was asked to end; it may go on writing."""

NAMES_IN_A_SENTENCE = 3

CONTROL_C_EXIT = 0xC000013A
"""The exit code of a Windows process that a console event ended."""


@dataclass(frozen=True, slots=True)
class GuardedFile:
    """A file that must be what was approved: its absolute path and the SHA-256 of its content, in hex."""

    path: str
    sha256: str


@dataclass(frozen=True, slots=True)
class Launch:
    """One command exactly as it is to be started.

    ``program`` is the absolute path of the file that is started; ``argv`` is passed byte for byte,
    ``argv[0]`` as approved. ``environment`` is complete: nothing is inherited. ``stdout`` and ``stderr``
    are files that do not exist yet. ``guarded`` holds the program and the declared inputs (E-40a).
    ``time_limit_ms`` bounds active time, ``output_limit_bytes`` both outputs together, and ``grace_ms`` is
    the time between asking a process to end and killing it.

    Raises `InvalidValue` for what no system could start: an empty argv, a NUL, a relative path.
    """

    program: str
    argv: tuple[str, ...]
    cwd: str
    environment: Mapping[str, str]
    stdout: str
    stderr: str
    time_limit_ms: int
    output_limit_bytes: int
    guarded: tuple[GuardedFile, ...]
    grace_ms: int = 5_000

    def __post_init__(self) -> None:
        require_duration(self.time_limit_ms, "time limit")
        require_duration(self.grace_ms, "grace")
        if type(self.output_limit_bytes) is not int or self.output_limit_bytes <= 0:
            raise InvalidValue(
                f"output limit {self.output_limit_bytes!r} is not a positive whole number of bytes."
            )
        if not self.argv:
            raise InvalidValue("A command needs at least one argument: its own name.")
        for path in (self.program, self.cwd, self.stdout, self.stderr, *(file.path for file in self.guarded)):
            if not os.path.isabs(path):  # noqa: PTH117 - these are texts that are passed on as they are
                raise InvalidValue(f"{path!r} is not an absolute path.", do="Resolve it before the start.")
        if all(file.path != self.program for file in self.guarded):
            raise InvalidValue(f"The program {self.program!r} is not among the guarded files.")
        for name, value in self.environment.items():
            if not name or "=" in name:
                raise InvalidValue(f"{name!r} is not a name of an environment variable.")
            _require_passable(name, "An environment name")
            _require_passable(value, f"The environment value of {name}")
        for place, argument in enumerate(self.argv):
            _require_passable(argument, f"Argument {place}")


@dataclass(frozen=True, slots=True)
class ProcessIdentity:
    """Which process it is: never the pid alone, since pids are used again (E-54).

    ``started`` is the system's own count for the start of the process (clock ticks since boot on Linux,
    100 ns intervals on Windows); it is compared for equality only. ``boot`` is `Clock.boot_id`.
    """

    pid: int
    started: int
    boot: str


class StopReason(StrEnum):
    """Why a running command is to be stopped."""

    PERSON = "person"
    SHUTDOWN = "shutdown"


class Stop:
    """A request to stop one command. Any thread may make it at any time; the first reason stays."""

    def __init__(self) -> None:
        self._requested = threading.Event()
        self._lock = threading.Lock()
        self._reason: StopReason | None = None

    def request(self, reason: StopReason) -> None:
        """Ask for the stop and return at once; the running command notices within `POLL_MS`."""
        with self._lock:
            if self._reason is None:
                self._reason = reason
        self._requested.set()

    @property
    def reason(self) -> StopReason | None:
        """Why it was requested, None while it was not."""
        return self._reason

    def wait(self, milliseconds: int) -> bool:
        """Wait until it is requested, at most so long; say whether it is."""
        return self._requested.wait(milliseconds / 1000)


class EndedBy(StrEnum):
    """What ended a command."""

    EXIT = "exit"
    SIGNAL = "signal"
    TIME_LIMIT = "time_limit"
    STOPPED = "stopped"
    OUTPUT_LIMIT = "output_limit"
    NOT_STARTED = "not_started"
    LOST = "lost"


class NotStarted(StrEnum):
    """Why a command provably never ran."""

    NOT_FOUND = "not_found"
    NOT_A_FILE = "not_a_file"
    NOT_EXECUTABLE = "not_executable"
    NO_PERMISSION = "no_permission"
    BATCH_FILE = "batch_file"
    DRIFTED = "drifted"
    FOLDER = "folder"
    OUTPUT_FILE = "output_file"
    STOPPED_FIRST = "stopped_first"
    REFUSED_BY_SYSTEM = "refused_by_system"


class EndedHow(StrEnum):
    """How a process of the tree was ended by us."""

    ASKED = "asked"
    KILLED = "killed"


@dataclass(frozen=True, slots=True)
class EndedProcess:
    """A process that we ended: because it was asked, or because it was killed."""

    pid: int
    name: str
    how: EndedHow


@dataclass(frozen=True, slots=True)
class GoneProcess:
    """A process of the tree that had ended by itself before we did anything to it."""

    pid: int
    name: str


@dataclass(frozen=True, slots=True)
class Survivor:
    """A process of the tree that could not be ended. While it lives, its workspace lane stays locked."""

    identity: ProcessIdentity
    name: str


@dataclass(frozen=True, slots=True)
class TreeReport:
    """What became of the processes of a command when it ended or was ended."""

    ended: tuple[EndedProcess, ...] = ()
    already_gone: tuple[GoneProcess, ...] = ()
    survived: tuple[Survivor, ...] = ()


class DifferenceKind(StrEnum):
    """In what a guarded file differs from what was approved."""

    CONTENT = "content"
    MISSING = "missing"
    UNREADABLE = "unreadable"
    IN_USE = "in_use"
    TOUCHED = "touched"


@dataclass(frozen=True, slots=True)
class Difference:
    """One guarded file that is not, or did not stay, what was approved.

    ``now`` is the digest found, ``""`` where none could be taken. TOUCHED: the content is the approved one
    again, but the file, or a folder on the way to it, was written to, replaced or moved in between.
    """

    path: str
    kind: DifferenceKind
    approved: str
    now: str = ""
    detail: str = ""


@dataclass(frozen=True, slots=True)
class ProcessReport:
    """What was observed of one command, from before its start to the end of its last process.

    ``active_ms`` is the time from the moment its program was let go until its end was observed, while the
    machine was awake; ``slept_ms`` is the time the machine slept in between (B-083). ``exit_code`` or
    ``signal`` is kept whatever ended it, when it was observed. ``drift`` with NOT_STARTED was found at the
    start, otherwise after it. ``detail`` is a sentence of what the system said, or ``""``.
    """

    started_at: Instant
    finished_at: Instant
    active_ms: int
    slept_ms: int
    ended_by: EndedBy
    identity: ProcessIdentity | None = None
    exit_code: int | None = None
    signal: int | None = None
    stopped_by: StopReason | None = None
    not_started: NotStarted | None = None
    detail: str = ""
    output_bytes: int = 0
    tree: TreeReport = TreeReport()
    drift: tuple[Difference, ...] = ()


OnStarted = Callable[[ProcessIdentity], None]
"""Called in the worker thread when the process exists and its program is about to be let go.

The caller commits RUNNING in it. If it raises, the program is never let go and the error passes through
`run`.
"""


def run(launch: Launch, stop: Stop, clock: Clock, on_started: OnStarted) -> ProcessReport:
    """Run one command to the end of its whole process tree and report what was observed.

    Blocks its thread. What prevents a start is reported as NOT_STARTED, not raised; only an error of
    ``on_started`` passes through, and then the program did not run. Whatever happens, no process of the
    command outlives this call or this program, except those that the report names as survivors.
    """
    if sys.platform == "win32":
        from engine.execution import process_windows

        return process_windows.run(launch, stop, clock, on_started)
    from engine.execution import process_posix

    return process_posix.run(launch, stop, clock, on_started)


def still_running(identity: ProcessIdentity, clock: Clock) -> bool:
    """Say whether exactly this process still runs: same boot, same pid, same start."""
    if identity.boot != clock.boot_id():
        return False
    if sys.platform == "win32":
        from engine.execution import process_windows

        return process_windows.start_of(identity.pid) == identity.started
    from engine.execution import keeper

    found = keeper.look_at(identity.pid)
    return found is not None and found.started == identity.started and not found.over


def guarantee() -> str:
    """Say in one sentence how far this platform can hold what was approved against change (E-40a)."""
    if sys.platform == "win32":
        return (
            "The program and the declared inputs are held open against any change, from the check at the "
            "start until the command has ended."
        )
    return (
        "The program is started from the very file that was checked. That a declared input is swapped before "
        "the command reads it cannot be prevented here; it is noticed, and the run then counts as unknown "
        "(best effort: a folder that is moved away and back is not noticed)."
    )


def outcome_of(report: ProcessReport) -> tuple[Outcome, str, str]:
    """Give the outcome of an observed end, a stable reason code, and a sentence for a person (E-54)."""
    outcome, code, sentence = _judge(report)
    if report.drift and report.ended_by not in (EndedBy.NOT_STARTED, EndedBy.EXIT):
        sentence += f" {_list([one.path for one in report.drift])} changed while it ran."
    if report.tree.survived:
        names = _list([f"{one.name} ({one.identity.pid})" for one in report.tree.survived])
        sentence += f" Still running: {names}."
    return outcome, code, sentence


def _judge(report: ProcessReport) -> tuple[Outcome, str, str]:
    match report.ended_by:
        case EndedBy.NOT_STARTED:
            why = report.not_started or NotStarted.REFUSED_BY_SYSTEM
            return (
                Outcome.FAILED,
                f"not_started_{why}",
                f"The command was never started. {report.detail}".strip(),
            )
        case EndedBy.LOST:
            return _unknown(report, "worker_lost", report.detail or "How the command ended was not observed")
        case EndedBy.TIME_LIMIT:
            return _unknown(
                report, "time_limit", f"The command reached its time limit after {_seconds(report.active_ms)}"
            )
        case EndedBy.OUTPUT_LIMIT:
            return _unknown(
                report,
                "output_limit",
                f"The command passed its output limit with {report.output_bytes:,} bytes",
            )
        case EndedBy.STOPPED if report.stopped_by is StopReason.SHUTDOWN:
            return _unknown(
                report, "stopped_by_shutdown", "The command was stopped because the engine was closed"
            )
        case EndedBy.STOPPED:
            return _unknown(report, "cancelled_by_user", "The command was stopped by a person")
        case EndedBy.SIGNAL:
            return _unknown(
                report, "killed", f"The command was ended from outside{_signal_text(report.signal)}"
            )
        case EndedBy.EXIT:
            return _judge_exit(report)


def _judge_exit(report: ProcessReport) -> tuple[Outcome, str, str]:
    if report.drift:
        names = _list([one.path for one in report.drift])
        return _unknown(report, "changed_while_running", f"{names} changed while the command ran")
    outcome, code = (
        (Outcome.SUCCEEDED, "exit_zero") if report.exit_code == 0 else (Outcome.FAILED, "exit_nonzero")
    )
    return outcome, code, f"The command ended with exit code {report.exit_code}."


def _unknown(report: ProcessReport, code: str, what: str) -> tuple[Outcome, str, str]:
    end = "" if report.exit_code is None else f" It ended with exit code {report.exit_code}."
    return Outcome.UNKNOWN, code, f"{what}; what it did is not known.{end}"


def _signal_text(number: int | None) -> str:
    if number is None:
        return ""
    try:
        return f" by {signal.Signals(number).name}"
    except ValueError:
        return f" by signal {number}"


def _seconds(milliseconds: int) -> str:
    return f"{milliseconds / 1000:.1f} s"


def _list(names: list[str]) -> str:
    shown = ", ".join(names[:NAMES_IN_A_SENTENCE])
    more = len(names) - NAMES_IN_A_SENTENCE
    return f"{shown} and {more} more" if more > 0 else shown


def _require_passable(text: str, what: str) -> None:
    if "\0" in text:
        raise InvalidValue(f"{what} holds a NUL character, which no system can pass to a program.")
    if sys.platform == "win32":
        return
    try:
        os.fsencode(text)
    except UnicodeEncodeError as error:
        raise InvalidValue(f"{what} {text!r} cannot be passed to a program: {error.reason}.") from error
