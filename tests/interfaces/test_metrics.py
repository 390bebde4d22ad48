"""The engine's figures in Prometheus' text format."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from engine.actors import Actor
from engine.clock import ManualClock
from engine.engine import Engine
from engine.interfaces import wire
from engine.interfaces.metrics import prometheus_text
from engine.states import AttemptState, Partition, WorkOrderState
from engine.views.figures import Counted, Figures, ScopeFigures
from engine.wakes import Wake, external
from tests.interfaces.conftest import Praxis, approve

SAMPLE = re.compile(
    r"(?P<name>[a-zA-Z_:][a-zA-Z0-9_:]*)"
    r"(?:\{(?P<labels>[a-zA-Z_]\w*=\"(?:[^\"\\\n]|\\[\\\"n])*\"(?:,[a-zA-Z_]\w*=\"(?:[^\"\\\n]|\\[\\\"n])*\")*)\})?"
    r" (?P<value>[-+]?[0-9.]+(?:e[-+]?[0-9]+)?)"
)


def samples(text: str) -> dict[str, float]:
    """Read an exposition strictly: each family with its help and type before its samples, and only once."""
    assert text.endswith("\n")
    found: dict[str, float] = {}
    families: list[str] = []
    kind = ""
    for line in text.splitlines():
        if line.startswith("# HELP "):
            families.append(line.split()[2])
            continue
        if line.startswith("# TYPE "):
            assert line.split()[2] == families[-1]
            assert line.split()[3] in ("gauge", "counter", "summary", "histogram")
            kind = line.split()[3]
            continue
        match = SAMPLE.fullmatch(line)
        assert match, line
        parts = ("_bucket", "_sum", "_count") if kind == "histogram" else ("",)
        assert match["name"] in {families[-1] + part for part in parts}
        key = line.rsplit(" ", 1)[0]
        assert key not in found
        found[key] = float(match["value"])
    assert len(families) == len(set(families))
    return found


def test_what_happened_shows_in_the_figures(praxis: Praxis, order_file: Any, tmp_path: Path) -> None:
    praxis("submit", order_file("print('done')", title="One"))
    praxis("submit", order_file("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", title="Two"))
    praxis("submit", order_file(title="Three"))
    for name in ("WO-1", "WO-2"):
        approve(praxis, name, "--with-validation")
    praxis("serve", "--until-idle", "--quiet")
    praxis("pause", "engine")
    found = samples(praxis("metrics").out)
    assert found['praxis_work_orders{state="AWAITING_ACCEPTANCE"}'] == 1
    assert found['praxis_approvals{state="PENDING"}'] == 1
    assert found['praxis_holds{kind="PAUSE"}'] == 1
    assert sum(found[f'praxis_attempts{{state="{state}"}}'] for state in AttemptState) == 3
    root = 'scope="everything",kind="ROOT",partition="EXECUTION"'
    held = found[f"praxis_budget_cost_frozen_units{{{root}}}"]
    assert held == 30 * found['praxis_attempts{state="UNKNOWN"}']
    assert found["praxis_oldest_request_seconds"] >= 0
    assert found["praxis_journal_rows_total"] > 10
    assert found["praxis_clock_trusted"] == 1

    file = tmp_path / "praxis.prom"
    praxis("metrics", "--out", str(file))
    assert samples(file.read_text()).keys() == found.keys()
    document = praxis("metrics", "--json").json
    assert document["counted"]["work_orders"]["AWAITING_ACCEPTANCE"] == 1
    assert document["at"].endswith("Z")
    assert praxis("metrics", "--out", str(tmp_path / "none" / "x"), ok=False).code == 2


def test_every_state_is_there_before_anything_happened(praxis: Praxis, order_file: Any) -> None:
    praxis("submit", order_file())
    found = samples(praxis("metrics").out)
    for state in WorkOrderState:
        assert f'praxis_work_orders{{state="{state}"}}' in found
    assert found['praxis_attempts{state="UNKNOWN"}'] == 0


@pytest.mark.parametrize("name", ['a "quoted" one', "back\\slash", "new\nline", "Größe", "\udc80"])
def test_the_name_of_a_scope_cannot_break_the_format(name: str) -> None:
    scope = ScopeFigures(name, "PROJECT", Partition.EXECUTION, 10, 1, 2, 3, 4000, 5, 6, 7)
    counted = Counted({}, {}, {}, {}, {}, 0, (scope,), 1)
    text = prometheus_text(Figures(0, "1", 1, counted, 0, 0, 0.5, 1e-7, 1, 0, True, False, False))
    found = samples(text)
    assert sum(key.startswith("praxis_budget_cost_limit_units{") for key in found) == 1


async def test_the_alarm_clock_shows_in_the_figures(
    folder: Path, clock: ManualClock, actor: Actor, caplog: pytest.LogCaptureFixture
) -> None:
    """Fired, late, dead and set aside by kind; lengths as a histogram whose last bucket is all of them."""
    engine = await Engine.open(folder, clock=clock, automatic=False)
    try:

        async def ring(wake: Wake) -> None:
            if wake.intent == "fail":
                raise OSError("no bell")

        engine.wakes.register("bell", external(ring, max_attempts=1))
        for kind, lane, intent in (
            ("bell", None, "ring"),
            ("bell", None, "fail"),
            ("gong", 'a "lane"', None),
        ):
            await engine.wakes.schedule(
                workspace="w", actor=actor, kind=kind, lane=lane, intent=intent, in_="1s"
            )
        clock.advance(61_000)
        with caplog.at_level("WARNING"):
            await engine.reconcile_once()
        figures = await engine.figures()
    finally:
        await engine.close()
    assert wire.decode(Figures, json.loads(json.dumps(wire.encode(figures))), "figures") == figures
    found = samples(prometheus_text(figures))
    assert found['praxis_wakes_events_total{kind="bell",event="fired"}'] == 1
    assert found['praxis_wakes_events_total{kind="bell",event="late"}'] == 2
    assert found["praxis_wakes_dead"] == 1
    assert found['praxis_wakes_set_aside{reason="no_sink"}'] == 1
    assert found['praxis_wakes_lane_depth{workspace="w",lane="a \\"lane\\""}'] == 1
    lateness = "praxis_wakes_lateness_seconds"
    assert found[f'{lateness}_bucket{{kind="bell",le="30.0"}}'] == 0
    assert found[f'{lateness}_bucket{{kind="bell",le="60.0"}}'] == 2
    assert (
        found[f'{lateness}_bucket{{kind="bell",le="+Inf"}}'] == found[f'{lateness}_count{{kind="bell"}}'] == 2
    )
    assert found[f'{lateness}_sum{{kind="bell"}}'] == 120
