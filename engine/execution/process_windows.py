"""Running a command on Windows: suspended, put into a job that ends with us, checked, and only then let go.

The guarded files are opened with no sharing but reading before they are checked, and stay open until the
command has ended: until then nobody can change, replace or move them (E-40a). The job ends every process in
it when its handle is closed, also by the end of this program; nothing can leave it (E-54). Not in it is
only what the command has another service start for it.

A process is asked to end by a console break, which reaches what shares the command's hidden console and
process group. This works from a program without a console of its own; from one with a console nobody is
asked, and the job is ended at once.
"""

from __future__ import annotations

import contextlib
import os
import stat
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from engine.clock import Clock
from engine.dispatch.program import is_batch_file
from engine.errors import InvalidValue
from engine.execution import windows_api as api
from engine.execution.process import (
    CONTROL_C_EXIT,
    POLL_MS,
    Difference,
    DifferenceKind,
    EndedHow,
    EndedProcess,
    GoneProcess,
    GuardedFile,
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
from engine.execution.windows_arguments import command_line, environment_block
from engine.workspace.digests import handle_digest
from engine.workspace.folders import is_link

assert sys.platform == "win32" or not TYPE_CHECKING  # type checkers leave out the other half

SHARING_PATIENCE_MS = 1_000
"""How long we wait for a file that another program (a virus scanner) holds for the moment."""

STEP_MS = 10
"""How often the job is looked at while it ends; it gives no signal when it is empty."""

ENDED_BY_US = 0xC000_0001
"""The exit code of processes that we end. It is never reported as theirs."""

CONSOLE_HOST = "conhost.exe"
"""Windows' own helper that serves the hidden console; it comes and goes with the command."""


def run(launch: Launch, stop: Stop, clock: Clock, on_started: OnStarted) -> ProcessReport:
    """Run one command; the contract is that of `engine.execution.process.run`."""
    asked_at = clock.now()
    try:
        _look_first(launch)
        with contextlib.ExitStack() as stack:
            return _Run(launch, stop, clock, on_started, stack).run()
    except StartRefused as refused:
        return refused.report(asked_at, clock, stop)


def start_of(pid: int) -> int | None:
    """Give the creation time of the running process with this pid, None when there is none."""
    found = api.windows().look_at(pid)
    return None if found is None else found.started


class _HeldFiles:
    """The guarded files, held open so that nobody can change them, and the links on the way to them."""

    def __init__(self, stack: contextlib.ExitStack, stop: Stop) -> None:
        self._stack = stack
        self._stop = stop
        self._held: list[tuple[GuardedFile, BinaryIO]] = []

    def hold(self, files: tuple[GuardedFile, ...]) -> tuple[Difference, ...]:
        """Open and read every file, and give what differs from what was approved."""
        differences = []
        for file in dict.fromkeys(files):
            try:
                self._hold_links(file.path)
                handle = self._open(file.path)
                self._held.append((file, handle))
                digest = handle_digest(handle).sha256
            except OSError as error:
                differences.append(_not_readable(file, error))
                continue
            if digest != file.sha256:
                differences.append(Difference(file.path, DifferenceKind.CONTENT, file.sha256, digest))
        return tuple(differences)

    def verify_again(self) -> tuple[Difference, ...]:
        """Give what is no longer the file that is held: a change here went around the file system's own rules."""
        differences = []
        for file, handle in self._held:
            held = os.fstat(handle.fileno())
            try:
                now = Path(file.path).stat()
                handle.seek(0)
                digest = handle_digest(handle).sha256
            except OSError as error:
                differences.append(_not_readable(file, error))
                continue
            if digest != file.sha256:
                differences.append(Difference(file.path, DifferenceKind.CONTENT, file.sha256, digest))
            elif (held.st_dev, held.st_ino) != (now.st_dev, now.st_ino):
                differences.append(Difference(file.path, DifferenceKind.TOUCHED, file.sha256, digest))
        return tuple(differences)

    def _hold_links(self, path: str) -> None:
        place = Path(path)
        for step in (*reversed(place.parents), place):
            if is_link(step.lstat()):
                handle = api.windows().open_file(
                    str(step),
                    api.FILE_READ_ATTRIBUTES | api.SYNCHRONIZE,
                    api.FILE_SHARE_READ,
                    api.OPEN_EXISTING,
                    api.FILE_FLAG_BACKUP_SEMANTICS | api.FILE_FLAG_OPEN_REPARSE_POINT,
                )
                self._stack.callback(api.windows().close, handle)

    def _open(self, path: str) -> BinaryIO:
        waited = 0
        while True:
            try:
                handle = api.windows().open_file(
                    path, api.GENERIC_READ, api.FILE_SHARE_READ, api.OPEN_EXISTING
                )
                break
            except OSError as error:
                if error.winerror != api.ERROR_SHARING_VIOLATION or waited >= SHARING_PATIENCE_MS:
                    raise
                self._stop.wait(POLL_MS)
                waited += POLL_MS
        import msvcrt  # there is none on other systems, where this module can be imported all the same

        descriptor = msvcrt.open_osfhandle(handle, os.O_RDONLY | os.O_BINARY | os.O_NOINHERIT)
        return self._stack.enter_context(os.fdopen(descriptor, "rb", buffering=0))


class _Run:
    """One run: start, watch, report. ``stack`` closes what it opened, the job first of all."""

    def __init__(
        self, launch: Launch, stop: Stop, clock: Clock, on_started: OnStarted, stack: contextlib.ExitStack
    ) -> None:
        self._launch = launch
        self._stop = stop
        self._clock = clock
        self._on_started = on_started
        self._stack = stack
        self._windows = api.windows()
        self._outputs: list[api.Handle] = []
        self._made: list[str] = []
        self._started: api.Started | None = None

    def run(self) -> ProcessReport:
        files = _HeldFiles(self._stack, self._stop)
        try:
            drift = files.hold(self._launch.guarded)
            if drift:
                raise drifted(drift)
            job, started = self._make()
            identity = ProcessIdentity(
                started.pid, self._windows.started_at(started.process), self._clock.boot_id()
            )
            self._on_started(identity)
            if self._stop.reason is not None:
                raise StartRefused(NotStarted.STOPPED_FIRST, "It was stopped before it was let go.")
            watch = Watch(self._launch, self._stop, self._clock, identity)
            self._windows.resume(started.thread)
        except BaseException:
            if self._started is not None:
                with contextlib.suppress(OSError):
                    self._windows.end_process(self._started.process, ENDED_BY_US)
                self._windows.wait(self._started.process, KILL_PATIENCE_MS)
            self._stack.close()
            for path in self._made:
                Path(path).unlink(missing_ok=True)
            raise
        try:
            tree = _JobWatch(watch, self._clock, job, started.process, self._outputs).run()
            report = watch.report(tree, self._written())
        except OSError as error:
            # The job ends all the same when the stack closes it.
            detail = f"Windows did not say how the command ended ({error.strerror})"
            report = watch.lost(detail, TreeReport(), self._written())
        return replace(report, drift=files.verify_again())

    def _written(self) -> int:
        return sum(self._windows.file_size(handle) for handle in self._outputs)

    def _make(self) -> tuple[api.Handle, api.Started]:
        """Make the process, suspended and in its job."""
        launch, windows = self._launch, self._windows
        try:
            line, environment = command_line(launch.argv), environment_block(launch.environment)
        except InvalidValue as error:
            raise StartRefused(NotStarted.REFUSED_BY_SYSTEM, error.what) from error
        stdin = windows.open_file(
            "NUL",
            api.GENERIC_READ,
            api.FILE_SHARE_READ | api.FILE_SHARE_WRITE,
            api.OPEN_EXISTING,
            inherit=True,
        )
        self._stack.callback(windows.close, stdin)
        for path in (launch.stdout, launch.stderr):
            self._outputs.append(self._create(path))
        job = windows.make_job()
        self._stack.callback(windows.close, job)
        try:
            started = windows.start_suspended(
                launch.program, line, environment, launch.cwd, stdin, self._outputs[0], self._outputs[1]
            )
        except OSError as error:
            raise _refused_by_system(launch, error) from error
        self._started = started
        self._stack.callback(windows.close, started.process)
        self._stack.callback(windows.close, started.thread)
        try:
            windows.put_into_job(job, started.process)
        except OSError as error:
            raise StartRefused(
                NotStarted.REFUSED_BY_SYSTEM, f"It could not be put into a job: {error.strerror}."
            ) from error
        return job, started

    def _create(self, path: str) -> api.Handle:
        # Appending only, so that a program that seeks in its own output cannot overwrite what is there.
        access = (
            api.FILE_APPEND_DATA
            | api.FILE_READ_ATTRIBUTES
            | api.FILE_WRITE_ATTRIBUTES
            | api.READ_CONTROL
            | api.SYNCHRONIZE
        )
        try:
            handle = self._windows.open_file(path, access, api.FILE_SHARE_READ, api.CREATE_NEW, inherit=True)
        except OSError as error:
            raise StartRefused(
                NotStarted.OUTPUT_FILE, f"{path} could not be made: {error.strerror}."
            ) from error
        self._made.append(path)
        self._stack.callback(self._windows.close, handle)
        return handle


class _JobWatch:
    """Watches a command that was let go, and ends its job."""

    def __init__(
        self, watch: Watch, clock: Clock, job: api.Handle, process: api.Handle, outputs: list[api.Handle]
    ) -> None:
        self._watch = watch
        self._clock = clock
        self._job = job
        self._process = process
        self._outputs = outputs
        self._windows = api.windows()
        self._names: dict[tuple[int, int], str] = {}
        self._how: dict[tuple[int, int], EndedHow] = {}

    def run(self) -> TreeReport:
        watch = self._watch
        interval, written = SHORTEST_POLL_MS, 0
        grace: int | None = None
        while grace is None:
            self._windows.wait(self._process, interval)
            self._note_end()
            if watch.end is not None:
                self._linger()
                grace = watch.launch.grace_ms
                break
            before, written = written, self._written()
            grace = watch.due(written)
            interval = next_interval(interval, written - before, watch.launch.output_limit_bytes - written)
        self._end(grace)
        return self._tree()

    def _note_end(self) -> None:
        """Note the end of the command's own process once, with whether anything of ours can have caused it."""
        if self._watch.end is not None or not self._windows.wait(self._process, 0):
            return
        how = self._how.get((self._watch.identity.pid, self._watch.identity.started))
        code: int | None = self._windows.exit_code(self._process)
        if how is EndedHow.KILLED and code == ENDED_BY_US:
            code = None
        asked = how is not None
        self._watch.end = ObservedEnd(
            Moment.of(self._clock), code, asked=asked, from_outside=not asked and code == CONTROL_C_EXIT
        )

    def _linger(self) -> None:
        """Let what the command left behind end by itself for a moment."""
        waited = 0
        while waited < LINGER_MS and self._running():
            time.sleep(STEP_MS / 1000)
            waited += STEP_MS

    def _end(self, grace: int) -> None:
        """End what runs in the job: ask, wait for the grace, end the job, wait until nothing is left."""
        waited = 0
        running = self._running()
        if running and self._ask(running):
            while waited < grace and self._running():
                time.sleep(STEP_MS / 1000)
                waited += STEP_MS
                shorter = self._watch.due(self._written())
                grace = grace if shorter is None else min(grace, waited + shorter)
        # What came before this look ended by itself or because it was asked, whatever its exit code.
        self._note_end()
        for one in self._running():
            self._how[one.pid, one.started] = EndedHow.KILLED
        self._windows.end_job(self._job, ENDED_BY_US)
        waited = 0
        while waited < KILL_PATIENCE_MS and self._running():
            time.sleep(STEP_MS / 1000)
            waited += STEP_MS
        self._windows.wait(self._process, SHORTEST_POLL_MS)
        self._note_end()

    def _ask(self, running: list[api.Seen]) -> bool:
        self._note_end()
        asked = [(one.pid, one.started) for one in running]
        for key in asked:
            self._how[key] = EndedHow.ASKED
        if self._windows.ask_to_end([one.pid for one in running], self._watch.identity.pid):
            return True
        for key in asked:
            del self._how[key]
        return False

    def _running(self) -> list[api.Seen]:
        """Give what runs in the job; the console's helper does not count, it goes when the others are gone."""
        found = [self._windows.look_at(pid) for pid in self._windows.job_pids(self._job)]
        running = [one for one in found if one is not None and one.name.lower() != CONSOLE_HOST]
        for one in running:
            self._names.setdefault((one.pid, one.started), one.name)
        return running

    def _written(self) -> int:
        return sum(self._windows.file_size(handle) for handle in self._outputs)

    def _tree(self) -> TreeReport:
        boot = self._watch.identity.boot
        left = {(one.pid, one.started) for one in self._running()}
        main = (self._watch.identity.pid, self._watch.identity.started)
        ended, gone, survived = [], [], []
        for key, name in self._names.items():
            pid, started = key
            if key in left:
                survived.append(Survivor(ProcessIdentity(pid, started, boot), name))
            elif key in self._how:
                ended.append(EndedProcess(pid, name, self._how[key]))
            elif key != main:
                gone.append(GoneProcess(pid, name))
        return TreeReport(tuple(ended), tuple(gone), tuple(survived))


def _look_first(launch: Launch) -> None:
    """Refuse what can be seen without starting anything."""
    program = launch.program
    if is_batch_file(program):
        raise StartRefused(
            NotStarted.BATCH_FILE,
            f"{program} is a batch file, whose arguments cmd.exe would rewrite; name its interpreter instead.",
        )
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
    if not os.path.isdir(launch.cwd):  # noqa: PTH112 - the text is used as it is
        raise StartRefused(NotStarted.FOLDER, f"There is no folder {launch.cwd} to run it in.")


_REASONS = {
    api.ERROR_FILE_NOT_FOUND: NotStarted.NOT_FOUND,
    api.ERROR_PATH_NOT_FOUND: NotStarted.NOT_FOUND,
    api.ERROR_ACCESS_DENIED: NotStarted.NO_PERMISSION,
    api.ERROR_ELEVATION_REQUIRED: NotStarted.NO_PERMISSION,
    api.ERROR_ACCESS_DISABLED_BY_POLICY: NotStarted.NO_PERMISSION,
    api.ERROR_BAD_FORMAT: NotStarted.NOT_EXECUTABLE,
    api.ERROR_BAD_EXE_FORMAT: NotStarted.NOT_EXECUTABLE,
    api.ERROR_EXE_MACHINE_TYPE_MISMATCH: NotStarted.NOT_EXECUTABLE,
    api.ERROR_DIRECTORY: NotStarted.FOLDER,
}


def _refused_by_system(launch: Launch, error: OSError) -> StartRefused:
    why = _REASONS.get(error.winerror or 0, NotStarted.REFUSED_BY_SYSTEM)
    return StartRefused(why, f"{launch.program} could not be started: {error.strerror}.")


def _not_readable(file: GuardedFile, error: OSError) -> Difference:
    if isinstance(error, FileNotFoundError | NotADirectoryError):
        kind = DifferenceKind.MISSING
    elif error.winerror == api.ERROR_SHARING_VIOLATION:
        kind = DifferenceKind.IN_USE
    else:
        kind = DifferenceKind.UNREADABLE
    return Difference(file.path, kind, file.sha256, detail=error.strerror or str(error))
