"""A clock that goes wrong by a script, and a watched clock that notices."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine.clock import ManualClock
from engine.clock_watch import AnomalyKind, WatchedClock
from engine.errors import InvalidValue
from engine.fault_clock import Fault, FaultClock, FaultKind, read_clock_script

SCRIPT = """
# an hour of trouble
10s  step +2h     # ahead
40s  step -2h
60s  suspend 8h
90s  elapsed -5s
"""


def test_a_script_is_read(tmp_path: Path) -> None:
    file = tmp_path / "faults.txt"
    file.write_text(SCRIPT, encoding="utf-8")
    assert read_clock_script(file) == (
        Fault(10_000, FaultKind.STEP, 7_200_000),
        Fault(40_000, FaultKind.STEP, -7_200_000),
        Fault(60_000, FaultKind.SUSPEND, 28_800_000),
        Fault(90_000, FaultKind.ELAPSED, -5_000),
    )


@pytest.mark.parametrize(
    "line", ["10s", "10s jump 2h", "x step 2h", "10s step 0s", "10s suspend -8h", "10s step"]
)
def test_a_wrong_line_is_named(tmp_path: Path, line: str) -> None:
    file = tmp_path / "faults.txt"
    file.write_text(f"10s step +1h\n{line}\n", encoding="utf-8")
    with pytest.raises(InvalidValue, match=r"faults\.txt, line 2"):
        read_clock_script(file)


def test_a_missing_file_is_said(tmp_path: Path) -> None:
    with pytest.raises(InvalidValue, match="cannot be read"):
        read_clock_script(tmp_path / "none")


def test_every_fault_is_noticed_and_nothing_before_its_time(tmp_path: Path) -> None:
    file = tmp_path / "faults.txt"
    file.write_text(SCRIPT, encoding="utf-8")
    base = ManualClock()
    clock = FaultClock(read_clock_script(file), base)
    watched = WatchedClock(clock)
    found = []
    for _ in range(120):
        base.advance(1_000)
        watched.look()
        found += [(anomaly.kind, anomaly.size_ms) for anomaly in watched.take_found()]
        watched.trust(watched.last.now)
    assert found == [
        (AnomalyKind.WALL_FORWARD, 7_200_000),
        (AnomalyKind.WALL_BACK, 7_200_000),
        (AnomalyKind.SUSPEND, 28_800_000),
        (AnomalyKind.ELAPSED_BACK, 4_000),
    ]
    assert clock.now() - base.now() == 28_800_000
    assert clock.boot_id() == base.boot_id()
