"""The values of the process port, the same on every platform."""

from __future__ import annotations

import sys

import pytest

from engine.errors import InvalidValue
from engine.execution.process import Launch, Stop, StopReason, guarantee
from tests.execution.conftest import Bench


@pytest.mark.parametrize(
    "fields",
    [
        {"argv": ()},
        {"argv": ("a", "b\0c")},
        *([] if sys.platform == "win32" else [{"argv": ("a", "\ud800")}]),
        {"cwd": "relative"},
        {"environment": {"A=B": "1"}},
        {"environment": {"": "1"}},
        {"environment": {"A": "\0"}},
        {"time_limit_ms": 0},
        {"time_limit_ms": True},
        {"grace_ms": -1},
        {"output_limit_bytes": 0},
        {"output_limit_bytes": 1.5},
        {"guarded": ()},
    ],
)
def test_a_launch_that_no_system_could_start_is_refused(bench: Bench, fields: dict[str, object]) -> None:
    launch = bench.python("pass")
    values = {name: getattr(launch, name) for name in Launch.__slots__}
    with pytest.raises(InvalidValue):
        Launch(**{**values, **fields})


def test_the_first_reason_to_stop_stays() -> None:
    stop = Stop()
    assert not stop.wait(1)
    stop.request(StopReason.PERSON)
    stop.request(StopReason.SHUTDOWN)
    assert stop.wait(1)
    assert stop.reason is StopReason.PERSON


def test_the_guarantee_is_one_sentence_for_a_person() -> None:
    """B-020: where it is best effort, the card says so."""
    assert ("held open" if sys.platform == "win32" else "best effort") in guarantee()
