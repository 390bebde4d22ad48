"""What can be set: leases, retries, passes and retention; and the budgets of each workspace."""

from __future__ import annotations

from dataclasses import dataclass, fields

from engine.errors import InvalidValue
from engine.instants import require_batch, require_duration
from engine.wakes.times import DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS

_OPTIONAL = {"time_limit_ms", "clean_up_every_ms"}


@dataclass(frozen=True, slots=True)
class WakeSettings:
    """How the alarm clock is set. Durations are milliseconds.

    ``concurrency`` is how many sinks run at once. A pass lasts at most ``slice_ms`` and handles at most
    ``pass_limit`` wakes; one transaction at most ``batch`` rows. A failed wake is tried again after
    ``backoff_ms``, doubled each time up to ``longest_backoff_ms``, less a random share of up to a half.
    ``time_limit_ms`` (None: none) and ``max_attempts`` hold for kinds that say nothing else. A sink that still
    runs ``stuck_ms`` after it was told to stop is reported. A runner whose clock differs from the store's by
    more than ``clock_apart_ms`` claims nothing. A request key is kept for ``key_window_ms``, and a delivered
    event's id for ``event_retention_ms``. Ended wakes and receipts go after their retention, at most
    ``clean_up_bite`` rows a transaction; with ``clean_up_every_ms=None`` nothing is cleaned up by itself.
    """

    lease_ms: int = 30 * SECOND_MS
    max_attempts: int = 10
    backoff_ms: int = 2 * SECOND_MS
    longest_backoff_ms: int = 15 * MINUTE_MS
    concurrency: int = 16
    batch: int = 100
    expiry_batch: int = 1_000
    pass_limit: int = 10_000
    slice_ms: int = SECOND_MS
    sweep_ms: int = SECOND_MS
    time_limit_ms: int | None = 10 * MINUTE_MS
    stuck_ms: int = 5 * SECOND_MS
    stop_ms: int = 30 * SECOND_MS
    late_ms: int = SECOND_MS
    clock_apart_ms: int = 5 * SECOND_MS
    watch_life_ms: int = 7 * DAY_MS
    key_window_ms: int = DAY_MS
    retention_ms: int = 7 * DAY_MS
    receipt_retention_ms: int = 30 * DAY_MS
    event_retention_ms: int = 7 * DAY_MS
    clean_up_every_ms: int | None = HOUR_MS
    clean_up_bite: int = 1_000
    catch_up_most: int = 100
    catch_up_grace_ms: int = 15 * SECOND_MS

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if value is None and field.name in _OPTIONAL:
                continue
            (require_duration if field.name.endswith("_ms") else require_batch)(value, field.name)


@dataclass(frozen=True, slots=True)
class Budgets:
    """The limits of a workspace. 0 means 0: nothing is allowed, or no distance is demanded.

    ``live`` wakes may be pending or firing; callers may make ``creations_per_hour``. A due time or deadline
    lies at most ``horizon_ms`` ahead; the first occurrence of a series at most ``series_period_ms``. A wake that
    a running sink makes is one deeper than the sink's, up to ``depth``. Occurrences of a series are at least
    ``series_interval_ms`` apart; a sink's wake is due at least ``sink_interval_ms`` after it was made; and of
    both at most ``lane_creations_per_hour`` are made in one lane (or of one kind, where there is no lane).
    """

    live: int = 1_000
    creations_per_hour: int = 240
    horizon_ms: int = 90 * DAY_MS
    depth: int = 5
    series_period_ms: int = 3_000 * DAY_MS
    series_interval_ms: int = SECOND_MS
    sink_interval_ms: int = 0
    lane_creations_per_hour: int = 7_200

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if type(value) is not int or value < 0:
                raise InvalidValue(
                    f"{field.name} {value!r} is not a limit.", do="Give a whole number, 0 or more."
                )


DEFAULT_SETTINGS = WakeSettings()
DEFAULT_BUDGETS = Budgets()
