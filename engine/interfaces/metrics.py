"""The engine's figures in Prometheus' text format.

Names end in their unit: durations are seconds, sizes bytes, costs whole budget units. Labels with text that
people wrote, such as the name of a scope or a lane, are escaped.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from engine.views.figures import Figures, ScopeFigures
from engine.views.wake_figures import Spread, WakeFigures

_Sample = tuple[Mapping[str, str], int | float]


def prometheus_text(figures: Figures) -> str:
    """Give all figures as one exposition, in a fixed order; it ends with a new line."""
    return "".join(f"{line}\n" for line in _lines(figures))


def _lines(figures: Figures) -> Iterator[str]:
    counted = figures.counted
    yield from _family(
        "praxis_info", "gauge", "The version that answers.", [({"version": figures.version}, 1)]
    )
    for name, what, numbers in (
        ("praxis_work_orders", "Work orders by state.", counted.work_orders),
        ("praxis_tasks", "Tasks by state.", counted.tasks),
        ("praxis_attempts", "Attempts by state; UNKNOWN is no failure.", counted.attempts),
        ("praxis_approvals", "Requests for approval by state.", counted.approvals),
    ):
        yield from _family(name, "gauge", what, (({"state": state}, n) for state, n in numbers.items()))
    yield from _family(
        "praxis_holds",
        "gauge",
        "Active holds by kind.",
        (({"kind": kind}, n) for kind, n in counted.holds.items()),
    )
    yield from _family(
        "praxis_oldest_request_seconds",
        "gauge",
        "How long the oldest pending request for approval waits.",
        [({}, counted.oldest_request_ms / 1000)],
    )
    yield from _family(
        "praxis_writer_waiting",
        "gauge",
        "Changes that wait for the writer.",
        [
            ({"class": "control"}, figures.waiting_control),
            ({"class": "background"}, figures.waiting_background),
        ],
    )
    yield from _family(
        "praxis_commit_seconds",
        "summary",
        "Recent groups of changes, from begin to commit.",
        [
            ({"quantile": "0.5"}, figures.latency_p50_ms / 1000),
            ({"quantile": "0.95"}, figures.latency_p95_ms / 1000),
        ],
    )
    for name, kind, what, value in (
        ("praxis_commits_total", "counter", "Commits since the owner opened the folder.", figures.commits),
        ("praxis_journal_rows_total", "counter", "Rows ever written to the journal.", counted.last_sequence),
        ("praxis_epoch", "gauge", "The coordinator's epoch.", figures.epoch),
        ("praxis_write_ahead_log_bytes", "gauge", "Size of the write-ahead log.", figures.log_bytes),
        ("praxis_clock_trusted", "gauge", "1 while wall time is trusted.", int(figures.clock_trusted)),
        ("praxis_superseded", "gauge", "1 once another took over the folder.", int(figures.superseded)),
        (
            "praxis_recovery_failing",
            "gauge",
            "1 while a pass over what waits fails.",
            int(figures.recovery_failing),
        ),
    ):
        yield from _family(name, kind, what, [({}, value)])
    yield from _wakes(figures.wakes)
    yield from _budgets(counted.scopes)


def _wakes(wakes: WakeFigures) -> Iterator[str]:
    yield from _family(
        "praxis_wakes_events_total",
        "counter",
        "What happened to wakes, by kind.",
        (
            ({"kind": kind, "event": event}, number)
            for kind, events in wakes.events.items()
            for event, number in events.items()
        ),
    )
    yield from _histogram("praxis_wakes_lateness_seconds", "From the due time to the start.", wakes.lateness)
    yield from _histogram("praxis_wakes_run_seconds", "From the start of a sink to its end.", wakes.running)
    for name, what, value in (
        ("praxis_wakes_live", "Wakes that are pending or firing.", wakes.live),
        ("praxis_wakes_dead", "Wakes that are given up unless a person releases them.", wakes.dead),
        (
            "praxis_wakes_oldest_overdue_seconds",
            "How long the oldest due wake waits.",
            wakes.oldest_overdue_ms / 1000,
        ),
    ):
        yield from _family(name, "gauge", what, [({}, value)])
    yield from _family(
        "praxis_wakes_set_aside",
        "gauge",
        "Wakes that wait for a sink or for a person.",
        (({"reason": reason}, number) for reason, number in wakes.set_aside.items()),
    )
    yield from _family(
        "praxis_wakes_lane_depth",
        "gauge",
        "Wakes that wait or fire in a lane.",
        (({"workspace": one.workspace, "lane": one.lane}, one.depth) for one in wakes.lanes),
    )


def _budgets(scopes: tuple[ScopeFigures, ...]) -> Iterator[str]:
    for part, what in (
        ("limit", "The most that may be used"),
        ("reserved", "Set aside for what was authorised"),
        ("frozen", "Held by attempts that are UNKNOWN"),
        ("spent", "Used, as settled"),
    ):
        yield from _family(
            f"praxis_budget_cost_{part}_units",
            "gauge",
            f"{what}: cost.",
            ((_labels_of(scope), getattr(scope, f"cost_{part}")) for scope in scopes),
        )
        yield from _family(
            f"praxis_budget_active_{part}_seconds",
            "gauge",
            f"{what}: active time.",
            ((_labels_of(scope), getattr(scope, f"active_ms_{part}") / 1000) for scope in scopes),
        )


def _labels_of(scope: ScopeFigures) -> dict[str, str]:
    return {"scope": scope.name, "kind": scope.kind, "partition": scope.partition.value}


def _family(name: str, kind: str, what: str, samples: Iterable[_Sample]) -> Iterator[str]:
    yield f"# HELP {name} {what}"
    yield f"# TYPE {name} {kind}"
    for labels, value in samples:
        text = ",".join(f'{label}="{_escaped(given)}"' for label, given in labels.items())
        yield f"{name}{{{text}}} {value}" if text else f"{name} {value}"


def _histogram(name: str, what: str, spreads: Mapping[str, Spread]) -> Iterator[str]:
    yield f"# HELP {name} {what}"
    yield f"# TYPE {name} histogram"
    for kind, spread in spreads.items():
        label = f'kind="{_escaped(kind)}"'
        for bound, number in zip(spread.bounds_ms, spread.within, strict=True):
            yield f'{name}_bucket{{{label},le="{bound / 1000}"}} {number}'
        yield f'{name}_bucket{{{label},le="+Inf"}} {spread.count}'
        yield f"{name}_sum{{{label}}} {spread.total_ms / 1000}"
        yield f"{name}_count{{{label}}} {spread.count}"


def _escaped(text: str) -> str:
    plain = text.encode("utf-8", "backslashreplace").decode()
    return plain.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
