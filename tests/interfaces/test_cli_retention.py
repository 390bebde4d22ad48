"""`praxis retention` over a real folder: settings, preview, a run, and what is refused (E-91, E-84)."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from engine.clock import ManualClock, SystemClock
from engine.retention.settings import DAY_MS
from tests.interfaces.conftest import Praxis
from tests.retention.conftest import Attic


def test_nothing_is_removed_until_a_person_says_what(praxis: Praxis, order_file: Any) -> None:
    praxis("submit", order_file())
    shown = praxis("retention", "settings").out
    assert "are kept for good" in shown
    assert "retention preview --work 90d" in shown
    assert praxis("retention", "settings", "--json").json["settings"]["work_ms"] is None
    tried = praxis("retention", "preview", "--work", "90d", "--journal", "365d", "--json").json
    assert (tried["orders"], tried["settings"]["work_ms"]) == (0, 90 * DAY_MS)
    assert praxis("retention", "settings", "--json").json["settings"]["work_ms"] is None
    praxis("retention", "settings", "--work", "90d", "--grace", "1d", "--daily")
    said = praxis("retention", "settings", "--json").json
    assert said["settings"] == {"work_ms": 90 * DAY_MS, "journal_ms": None, "grace_ms": DAY_MS}
    assert said["by_itself"]
    praxis("retention", "settings", "--work", "keep", "--by-hand")
    said = praxis("retention", "settings", "--json").json
    assert said["settings"]["work_ms"] is None
    assert not said["by_itself"]
    for wrong in (["settings", "--work", "5h"], ["settings", "--grace", "0"], ["preview", "--work", "soon"]):
        assert praxis("retention", *wrong, ok=False).code == 2
    asked = praxis("retention", "run", ok=False)
    assert asked.code == 2
    assert "--yes" in asked.err


async def _old_work(folder: Path, clock: ManualClock) -> None:
    attic = await Attic.open(folder, clock)
    await attic.finished("old")
    await attic.ran("still open")
    await attic.close()


def test_a_run_says_what_went_and_what_stays(praxis: Praxis, folder: Path) -> None:
    asyncio.run(_old_work(folder, ManualClock(SystemClock().now() - 100 * DAY_MS)))
    praxis("retention", "settings", "--work", "90d", "--journal", "90d")
    seen = praxis("retention", "preview").out
    assert "1 work order with 2 attempts" in seen
    done = praxis("retention", "run", "--yes", "--json").json
    assert (done["orders"], done["attempts"]) == (1, 2)
    assert done["rows"] > 20
    assert "signed checkpoints stand for them" in praxis("journal", "verify").out
    gone = praxis("show", "WO-1", ok=False)
    assert gone.code == 3
    assert "Retention has removed it" in gone.err
    assert "There is no work order WO-9" in praxis("show", "WO-9", ok=False).err
    assert praxis("show", "WO-2", "--json").json
    exported = praxis("journal", "export").out
    assert "journal.compacted" in exported
    assert "work_order.removed" in exported
