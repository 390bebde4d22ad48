"""The calls into Windows that running a command needs, as typed Python: handles are numbers, errors are OSError.

Only declarations and one-call wrappers stand here; what they are used for is the matter of `process_windows`.
"""

from __future__ import annotations

import ctypes
import functools
import sys
import threading
from collections.abc import Sequence
from ctypes import wintypes
from typing import TYPE_CHECKING, Any, NamedTuple

assert sys.platform == "win32" or not TYPE_CHECKING  # type checkers leave out the other half

Handle = int

ERROR_FILE_NOT_FOUND = 2
ERROR_PATH_NOT_FOUND = 3
ERROR_ACCESS_DENIED = 5
ERROR_BAD_FORMAT = 11
ERROR_SHARING_VIOLATION = 32
ERROR_BAD_EXE_FORMAT = 193
ERROR_EXE_MACHINE_TYPE_MISMATCH = 216
ERROR_MORE_DATA = 234
ERROR_DIRECTORY = 267
ERROR_ELEVATION_REQUIRED = 740
ERROR_ACCESS_DISABLED_BY_POLICY = 1260

GENERIC_READ = 0x8000_0000
FILE_APPEND_DATA = 0x0000_0004
FILE_READ_ATTRIBUTES = 0x0000_0080
FILE_WRITE_ATTRIBUTES = 0x0000_0100
READ_CONTROL = 0x0002_0000
SYNCHRONIZE = 0x0010_0000
FILE_SHARE_READ = 1
FILE_SHARE_WRITE = 2
CREATE_NEW = 1
OPEN_EXISTING = 3
FILE_FLAG_BACKUP_SEMANTICS = 0x0200_0000
FILE_FLAG_OPEN_REPARSE_POINT = 0x0020_0000

_INVALID_HANDLE = ctypes.c_void_p(-1).value
_CREATE_SUSPENDED = 0x0000_0004
_CREATE_NEW_PROCESS_GROUP = 0x0000_0200
_CREATE_UNICODE_ENVIRONMENT = 0x0000_0400
_EXTENDED_STARTUPINFO_PRESENT = 0x0008_0000
_CREATE_NO_WINDOW = 0x0800_0000
_STARTF_USESTDHANDLES = 0x0000_0100
_ATTRIBUTE_HANDLE_LIST = 0x0002_0002
_JOB_EXTENDED_LIMITS = 9
_JOB_PROCESS_IDS = 3
_KILL_ON_JOB_CLOSE = 0x0000_2000
_DIE_ON_UNHANDLED_EXCEPTION = 0x0000_0400
_QUERY_LIMITED_INFORMATION = 0x0000_1000
_WAIT_OBJECT_0 = 0
_WAIT_TIMEOUT = 0x0000_0102
_CTRL_BREAK_EVENT = 1
_LONGEST_PATH = 32_768


class _SecurityAttributes(ctypes.Structure):
    _fields_ = (
        ("length", wintypes.DWORD),
        ("descriptor", wintypes.LPVOID),
        ("inherit", wintypes.BOOL),
    )


class _StartupInfo(ctypes.Structure):
    _fields_ = (
        ("cb", wintypes.DWORD),
        ("reserved", wintypes.LPWSTR),
        ("desktop", wintypes.LPWSTR),
        ("title", wintypes.LPWSTR),
        ("x", wintypes.DWORD),
        ("y", wintypes.DWORD),
        ("x_size", wintypes.DWORD),
        ("y_size", wintypes.DWORD),
        ("x_chars", wintypes.DWORD),
        ("y_chars", wintypes.DWORD),
        ("fill", wintypes.DWORD),
        ("flags", wintypes.DWORD),
        ("show", wintypes.WORD),
        ("reserved_size", wintypes.WORD),
        ("reserved_bytes", wintypes.LPVOID),
        ("stdin", wintypes.HANDLE),
        ("stdout", wintypes.HANDLE),
        ("stderr", wintypes.HANDLE),
    )


class _StartupInfoEx(ctypes.Structure):
    _fields_ = (("info", _StartupInfo), ("attributes", wintypes.LPVOID))


class _ProcessInformation(ctypes.Structure):
    _fields_ = (
        ("process", wintypes.HANDLE),
        ("thread", wintypes.HANDLE),
        ("pid", wintypes.DWORD),
        ("tid", wintypes.DWORD),
    )


class _JobBasicLimits(ctypes.Structure):
    _fields_ = (
        ("process_time", wintypes.LARGE_INTEGER),
        ("job_time", wintypes.LARGE_INTEGER),
        ("flags", wintypes.DWORD),
        ("least_working_set", ctypes.c_size_t),
        ("greatest_working_set", ctypes.c_size_t),
        ("active_processes", wintypes.DWORD),
        ("affinity", ctypes.c_size_t),
        ("priority", wintypes.DWORD),
        ("scheduling", wintypes.DWORD),
    )


class _JobExtendedLimits(ctypes.Structure):
    _fields_ = (
        ("basic", _JobBasicLimits),
        ("io_counters", ctypes.c_ulonglong * 6),
        ("process_memory", ctypes.c_size_t),
        ("job_memory", ctypes.c_size_t),
        ("peak_process_memory", ctypes.c_size_t),
        ("peak_job_memory", ctypes.c_size_t),
    )


class Started(NamedTuple):
    """A process that was made and does not run yet: handles of it and of its first thread, and its pid."""

    process: Handle
    thread: Handle
    pid: int


class Seen(NamedTuple):
    """A process as it is seen: ``started`` is its creation time in 100 ns intervals, ``name`` its file's name."""

    pid: int
    started: int
    name: str


@functools.cache
def windows() -> Windows:
    """Give the calls, loaded once."""
    return Windows()


class Windows:
    """The calls. Each raises OSError with Windows' own words, unless it says otherwise."""

    def __init__(self) -> None:
        self._kernel = ctypes.WinDLL("kernel32", use_last_error=True)
        self._console = threading.Lock()
        handle, dword, pointer, text = wintypes.HANDLE, wintypes.DWORD, wintypes.LPVOID, wintypes.LPCWSTR
        yes = wintypes.BOOL
        self._declare("CreateFileW", handle, text, dword, dword, pointer, dword, dword, handle)
        self._declare("CloseHandle", yes, handle)
        self._declare("GetFileSizeEx", yes, handle, ctypes.POINTER(wintypes.LARGE_INTEGER))
        self._declare("CreateJobObjectW", handle, pointer, text)
        self._declare("SetInformationJobObject", yes, handle, ctypes.c_int, pointer, dword)
        self._declare("QueryInformationJobObject", yes, handle, ctypes.c_int, pointer, dword, pointer)
        self._declare("AssignProcessToJobObject", yes, handle, handle)
        self._declare("TerminateJobObject", yes, handle, wintypes.UINT)
        self._declare("TerminateProcess", yes, handle, wintypes.UINT)
        self._declare("ResumeThread", dword, handle)
        self._declare("WaitForSingleObject", dword, handle, dword)
        self._declare("GetExitCodeProcess", yes, handle, ctypes.POINTER(dword))
        self._declare("OpenProcess", handle, dword, yes, dword)
        times = ctypes.POINTER(wintypes.FILETIME)
        self._declare("GetProcessTimes", yes, handle, times, times, times, times)
        self._declare(
            "QueryFullProcessImageNameW", yes, handle, dword, wintypes.LPWSTR, ctypes.POINTER(dword)
        )
        size = ctypes.POINTER(ctypes.c_size_t)
        self._declare("InitializeProcThreadAttributeList", yes, pointer, dword, dword, size)
        self._declare(
            "UpdateProcThreadAttribute",
            yes,
            pointer,
            dword,
            ctypes.c_size_t,
            pointer,
            ctypes.c_size_t,
            pointer,
            size,
        )
        self._declare("DeleteProcThreadAttributeList", None, pointer)
        self._declare(
            "CreateProcessW",
            yes,
            text,
            wintypes.LPWSTR,
            pointer,
            pointer,
            yes,
            dword,
            pointer,
            text,
            pointer,
            pointer,
        )
        self._declare("AttachConsole", yes, dword)
        self._declare("FreeConsole", yes)
        self._declare("GenerateConsoleCtrlEvent", yes, dword, dword)

    def open_file(
        self, path: str, access: int, share: int, disposition: int, flags: int = 0, *, inherit: bool = False
    ) -> Handle:
        """Open or make a file; ``inherit`` lets a child have the handle if it is given it by name."""
        security = _SecurityAttributes(ctypes.sizeof(_SecurityAttributes), None, inherit)
        handle = self._kernel.CreateFileW(
            path, access, share, ctypes.byref(security), disposition, flags, None
        )
        if handle in (None, _INVALID_HANDLE):
            raise _last_error()
        return int(handle)

    def close(self, handle: Handle) -> None:
        """Close a handle."""
        self._kernel.CloseHandle(handle)

    def file_size(self, handle: Handle) -> int:
        """Give the size of an open file in bytes."""
        size = wintypes.LARGE_INTEGER()
        self._check(self._kernel.GetFileSizeEx(handle, ctypes.byref(size)))
        return int(size.value)

    def make_job(self) -> Handle:
        """Make a job that ends all its processes when its last handle is closed; nothing can break away."""
        job = self._kernel.CreateJobObjectW(None, None)
        self._check(job)
        limits = _JobExtendedLimits()
        # Without the second flag a crash could stand there with a dialog that nobody sees.
        limits.basic.flags = _KILL_ON_JOB_CLOSE | _DIE_ON_UNHANDLED_EXCEPTION
        size = ctypes.sizeof(limits)
        if not self._kernel.SetInformationJobObject(job, _JOB_EXTENDED_LIMITS, ctypes.byref(limits), size):
            error = _last_error()
            self.close(job)
            raise error
        return int(job)

    def put_into_job(self, job: Handle, process: Handle) -> None:
        """Put a process into a job."""
        self._check(self._kernel.AssignProcessToJobObject(job, process))

    def job_pids(self, job: Handle) -> list[int]:
        """Give the pids of the processes that run in a job."""
        room = 64
        while True:
            listed = (ctypes.c_size_t * (room + 1))()
            size = ctypes.sizeof(listed)
            if self._kernel.QueryInformationJobObject(
                job, _JOB_PROCESS_IDS, ctypes.byref(listed), size, None
            ):
                # Two 32-bit numbers stand first: how many there are, and how many are listed.
                return [int(pid) for pid in listed[1 : 1 + (listed[0] >> 32)]]
            error = _last_error()
            if error.winerror != ERROR_MORE_DATA:
                raise error
            room *= 4

    def end_job(self, job: Handle, code: int) -> None:
        """End all processes of a job at once."""
        self._check(self._kernel.TerminateJobObject(job, code))

    def start_suspended(
        self,
        program: str,
        line: str,
        environment: str,
        folder: str,
        stdin: Handle,
        stdout: Handle,
        stderr: Handle,
    ) -> Started:
        """Make a process that waits before its first instruction and inherits exactly these three handles."""
        handles = (wintypes.HANDLE * 3)(stdin, stdout, stderr)
        attributes = self._handle_list(handles)
        try:
            startup = _StartupInfoEx()
            startup.info.cb = ctypes.sizeof(startup)
            startup.info.flags = _STARTF_USESTDHANDLES
            startup.info.stdin, startup.info.stdout, startup.info.stderr = stdin, stdout, stderr
            startup.attributes = ctypes.cast(attributes, wintypes.LPVOID)
            made = _ProcessInformation()
            self._check(
                self._kernel.CreateProcessW(
                    program,
                    ctypes.create_unicode_buffer(line),
                    None,
                    None,
                    True,
                    _CREATE_SUSPENDED
                    | _CREATE_NEW_PROCESS_GROUP
                    | _CREATE_UNICODE_ENVIRONMENT
                    | _EXTENDED_STARTUPINFO_PRESENT
                    | _CREATE_NO_WINDOW,
                    ctypes.create_unicode_buffer(environment),
                    folder,
                    ctypes.byref(startup),
                    ctypes.byref(made),
                )
            )
        finally:
            self._kernel.DeleteProcThreadAttributeList(attributes)
        return Started(int(made.process), int(made.thread), int(made.pid))

    def resume(self, thread: Handle) -> None:
        """Let a suspended thread run."""
        if self._kernel.ResumeThread(thread) == 0xFFFF_FFFF:
            raise _last_error()

    def end_process(self, process: Handle, code: int) -> None:
        """End one process at once."""
        self._check(self._kernel.TerminateProcess(process, code))

    def wait(self, handle: Handle, milliseconds: int) -> bool:
        """Wait until a process has ended, at most so long; say whether it has."""
        found = self._kernel.WaitForSingleObject(handle, milliseconds)
        if found not in (_WAIT_OBJECT_0, _WAIT_TIMEOUT):
            raise _last_error()
        return bool(found == _WAIT_OBJECT_0)

    def exit_code(self, process: Handle) -> int:
        """Give the exit code of a process that has ended, from 0 to 2**32 - 1."""
        code = wintypes.DWORD()
        self._check(self._kernel.GetExitCodeProcess(process, ctypes.byref(code)))
        return int(code.value)

    def started_at(self, process: Handle) -> int:
        """Give the creation time of a process in 100 ns intervals."""
        created, ended, in_kernel, in_user = (wintypes.FILETIME() for _ in range(4))
        self._check(
            self._kernel.GetProcessTimes(
                process,
                ctypes.byref(created),
                ctypes.byref(ended),
                ctypes.byref(in_kernel),
                ctypes.byref(in_user),
            )
        )
        return (int(created.dwHighDateTime) << 32) | int(created.dwLowDateTime)

    def look_at(self, pid: int) -> Seen | None:
        """Look at a running process; None when there is none with this pid or it cannot be looked at."""
        process = self._kernel.OpenProcess(_QUERY_LIMITED_INFORMATION | SYNCHRONIZE, False, pid)
        if not process:
            return None
        try:
            if self.wait(process, 0):
                return None
            return Seen(pid, self.started_at(process), self._name(process))
        except OSError:
            return None
        finally:
            self.close(process)

    def ask_to_end(self, pids: Sequence[int], group: int) -> bool:
        """Send a console break to a process group through the console of one of ``pids``; say whether it went.

        A program without a console of its own (the graphical one) joins theirs for the moment. One that has a
        console cannot leave it without losing its own output, so it asks nobody.
        """
        with self._console:
            for pid in pids:
                if self._kernel.AttachConsole(pid):
                    try:
                        return bool(self._kernel.GenerateConsoleCtrlEvent(_CTRL_BREAK_EVENT, group))
                    finally:
                        self._kernel.FreeConsole()
        return False

    def _handle_list(self, handles: Any) -> Any:
        size = ctypes.c_size_t()
        self._kernel.InitializeProcThreadAttributeList(None, 1, 0, ctypes.byref(size))
        attributes = ctypes.create_string_buffer(size.value)
        self._check(self._kernel.InitializeProcThreadAttributeList(attributes, 1, 0, ctypes.byref(size)))
        self._check(
            self._kernel.UpdateProcThreadAttribute(
                attributes, 0, _ATTRIBUTE_HANDLE_LIST, handles, ctypes.sizeof(handles), None, None
            )
        )
        return attributes

    def _name(self, process: Handle) -> str:
        buffer = ctypes.create_unicode_buffer(_LONGEST_PATH)
        length = wintypes.DWORD(_LONGEST_PATH)
        self._check(self._kernel.QueryFullProcessImageNameW(process, 0, buffer, ctypes.byref(length)))
        return buffer.value.rpartition("\\")[2]

    def _declare(self, name: str, result: Any, *arguments: Any) -> None:
        function = getattr(self._kernel, name)
        function.restype = result
        function.argtypes = arguments

    def _check(self, worked: object) -> None:
        if not worked:
            raise _last_error()


def _last_error() -> OSError:
    return ctypes.WinError(ctypes.get_last_error())
