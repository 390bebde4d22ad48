"""The injected clock (E-02, E-30): wall time, and elapsed time that goes on counting in suspend.

Nothing else in the engine reads the time. Tests use `ManualClock` and never sleep to pass time.
"""

from __future__ import annotations

import asyncio
import ctypes
import functools
import heapq
import sys
import time
from itertools import count
from pathlib import Path
from typing import Protocol

import psutil

from engine.instants import Instant

LONGEST_SLEEP_MS = 1000
"""No sleep is longer than this without looking at both clocks again (E-31)."""


class Clock(Protocol):
    """What the engine asks of a clock."""

    def now(self) -> Instant:
        """Wall time as an instant."""

    def elapsed(self) -> int:
        """Milliseconds since an arbitrary start of this boot; counts suspend, ignores clock changes."""

    def awake(self) -> int:
        """Milliseconds since an arbitrary start of this boot in which the machine did not sleep (B-083).

        While the machine is awake it goes as `elapsed` does; the difference between both is time slept.
        """

    def boot_id(self) -> str:
        """An identity of this boot of the machine; `elapsed` readings compare only within one."""

    async def sleep(self, milliseconds: int) -> None:
        """Wait for ``milliseconds`` of elapsed time, or at most `LONGEST_SLEEP_MS`."""


class SystemClock:
    """The machine's clocks: CLOCK_BOOTTIME on Linux; on Windows the monotonic clock counts suspend too."""

    def now(self) -> Instant:
        """Wall time as an instant."""
        return time.time_ns() // 1_000_000

    def elapsed(self) -> int:
        """Milliseconds since boot, suspend included."""
        if sys.platform == "linux":
            return time.clock_gettime_ns(time.CLOCK_BOOTTIME) // 1_000_000
        return time.monotonic_ns() // 1_000_000

    def awake(self) -> int:
        """Milliseconds since boot without suspend: CLOCK_MONOTONIC on Linux, unbiased time on Windows."""
        if sys.platform == "win32":
            ticks = ctypes.c_ulonglong()
            ctypes.windll.kernel32.QueryUnbiasedInterruptTime(ctypes.byref(ticks))
            return ticks.value // 10_000
        return time.monotonic_ns() // 1_000_000

    def boot_id(self) -> str:
        """The kernel's boot id on Linux, the system's own count of boots on Windows; never a wall time."""
        return _boot_id()

    async def sleep(self, milliseconds: int) -> None:
        """Wait in the running loop, never longer than `LONGEST_SLEEP_MS`."""
        await asyncio.sleep(min(milliseconds, LONGEST_SLEEP_MS) / 1000)


@functools.cache
def _boot_id() -> str:
    """Read once: no process outlives the boot it was started in, and every look at the clock asks for it."""
    if sys.platform == "linux":
        return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    if sys.platform == "win32":
        return _windows_boot_count()
    return str(psutil.boot_time())


def _windows_boot_count() -> str:
    """Windows counts its boots in the registry; where it does not (Wine), no two boots can be told apart."""
    if sys.platform != "win32":
        raise NotImplementedError
    import winreg

    place = r"SYSTEM\CurrentControlSet\Control\Session Manager\Memory Management\PrefetchParameters"
    try:
        with winreg.OpenKey(winreg.HKEY_LOCAL_MACHINE, place) as key:
            return f"boot-{winreg.QueryValueEx(key, 'BootId')[0]}"
    except OSError:
        return "boot-unknown"


class ManualClock:
    """A clock that moves only when told: wall and elapsed time together or apart, for tests."""

    def __init__(self, now: Instant = 1_788_998_400_000, boot: str = "boot-1") -> None:
        self._now = now
        self._elapsed = 1_000_000
        self._slept = 0
        self._boot = boot
        self._order = count()
        self._sleepers: list[tuple[int, int, asyncio.Future[None]]] = []

    def now(self) -> Instant:
        """Wall time as set."""
        return self._now

    def elapsed(self) -> int:
        """Elapsed time as set."""
        return self._elapsed

    def awake(self) -> int:
        """Elapsed time as set, less what `suspend` passed."""
        return self._elapsed - self._slept

    def boot_id(self) -> str:
        """The boot identity as set."""
        return self._boot

    def advance(self, milliseconds: int) -> None:
        """Let both clocks pass by ``milliseconds`` and wake who waited for it."""
        self._now += milliseconds
        self._elapsed += milliseconds
        while self._sleepers and self._sleepers[0][0] <= self._elapsed:
            _, _, future = heapq.heappop(self._sleepers)
            if not future.done():
                future.set_result(None)

    def suspend(self, milliseconds: int) -> None:
        """Let the machine sleep: both clocks pass, `awake` does not."""
        self._slept += milliseconds
        self.advance(milliseconds)

    def step_wall(self, milliseconds: int) -> None:
        """Move the wall clock alone, as a person or a time server would."""
        self._now += milliseconds

    def reboot(self, boot: str) -> None:
        """Start a new boot: elapsed time begins again."""
        self._boot = boot
        self._elapsed = 0
        self._slept = 0

    async def sleep(self, milliseconds: int) -> None:
        """Wait until `advance` has passed that much elapsed time."""
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        wake_at = self._elapsed + min(milliseconds, LONGEST_SLEEP_MS)
        heapq.heappush(self._sleepers, (wake_at, next(self._order), future))
        await future
