"""Hot statements use their index, whatever the backlog (E-17); statistics of a large table do not change that."""

from __future__ import annotations

from typing import Any

import pytest

from engine.storage import Tx
from engine.wakes.values import NewWake, Origin, Trigger
from tests.conformance.world import ADA, HOUR, World


class Watching:
    """A transaction that keeps the statements it was given."""

    def __init__(self, tx: Tx) -> None:
        self._tx = tx
        self.statements: list[tuple[str, Any]] = []

    def all(self, sql: str, parameters: Any = ()) -> Any:
        self.statements.append((sql, parameters))
        return self._tx.all(sql, parameters)

    def one(self, sql: str, parameters: Any = ()) -> Any:
        self.statements.append((sql, parameters))
        return self._tx.one(sql, parameters)

    def run(self, sql: str, parameters: Any = ()) -> Any:
        self.statements.append((sql, parameters))
        return self._tx.run(sql, parameters)


def plans(tx: Tx, work: Any) -> str:
    """The query plans of everything that ``work`` does, without its effects."""
    watching = Watching(tx)
    work(watching)
    lines = []
    for sql, parameters in watching.statements:
        lines += [row["detail"] for row in tx.all(f"EXPLAIN QUERY PLAN {sql}", parameters)]
    return "\n".join(lines)


@pytest.mark.parametrize("analysed", [False, True])
async def test_e17_hot_statements_search_their_index(world: World, analysed: bool) -> None:
    store = world.store

    def fill(tx: Tx, *, now: int) -> None:
        for number in range(300):
            store.wakes.insert(
                tx,
                NewWake(
                    id=f"w{number}",
                    workspace="w",
                    session=None,
                    trigger=Trigger.AT,
                    kind="k",
                    lane=f"lane {number % 30}" if number % 3 else None,
                    intent="null",
                    due_at=now + number,
                    expires_at=now + HOUR,
                    depth=0,
                    origin=Origin.CALLER,
                    created_by=ADA,
                    created_at=now,
                    idempotency_key=f"key {number}",
                ),
            )

    await store.write(fill)
    if analysed:
        await store.write(lambda tx, *, now: tx.run("ANALYZE"))
    queue, wakes = store.queue, store.wakes

    def look(tx: Tx, *, now: int) -> dict[str, str]:
        found: dict[str, str] = {}

        def plan(name: str, work: Any) -> None:
            found[name] = plans(tx, work)

        plan("claim", lambda tx: queue.claim(tx, {"k"}, "r", now + HOUR, 5, by_time=True, now=now + 9))
        plan("answered", lambda tx: queue.claim(tx, {"k"}, "r", now + HOUR, 5, by_time=False, now=now))
        wake = wakes.get(tx, "w1")
        assert wake is not None
        plan("finish", lambda tx: queue.finish(tx, "w1", wake.claim, now))
        plan("renew", lambda tx: queue.renew(tx, "w2", 1, now))
        plan("cancel", lambda tx: queue.cancel(tx, "w200", now))
        plan("lapsed", lambda tx: queue.lapsed(tx, None, ("w1",), 5, now))
        plan("expire", lambda tx: queue.expire(tx, 5, now))
        plan("event", lambda tx: queue.accept_event(tx, "w", "k", "null", 1, now, judge=True))
        plan("readmit", lambda tx: queue.readmit(tx, {"k"}, 5))
        plan("next", lambda tx: queue.next_obligation(tx, ("w1",), claims=True))
        plan("key", lambda tx: wakes.by_key(tx, "w", "key 7", now))
        plan("live", lambda tx: wakes.count_live(tx, "w", 1_000))
        plan("alike", lambda tx: wakes.pending_alike(tx, "w", "L", "k", Trigger.AT))
        plan("callers", lambda tx: wakes.count_by_callers(tx, "w", now - HOUR, 240))
        plan("lane", lambda tx: wakes.count_by_system(tx, "w", "L", "k", now - HOUR, 240))
        plan("kind", lambda tx: wakes.count_by_system(tx, "w", None, "k", now - HOUR, 240))
        plan("clean", lambda tx: wakes.delete_ended(tx, now, now, now, 5))
        plan("page", lambda tx: wakes.list(tx, "w", None, (), (now, 3), 10))
        plan("token", lambda tx: wakes.by_token(tx, "digest"))
        plan("series", lambda tx: store.series.live_occurrence(tx, "series"))
        plan("seen", lambda tx: store.events.last_seen(tx, "w", "k", "s"))
        plan("retained", lambda tx: store.events.retained(tx, "w", "k", 0, now))
        return found

    found = await store.write(look)
    for name, text in found.items():
        assert "SCAN wake\n" not in f"{text}\n", f"{name}:\n{text}"
        assert not any(line.startswith("SCAN wake_event") for line in text.splitlines()), f"{name}:\n{text}"
    for name, index in {
        "claim": "wake_armed (armed_at>? AND armed_at<?)",
        "answered": "wake_answered",
        "lapsed": "wake_lease",
        "expire": "wake_expiry",
        "event": "wake_watch (workspace=? AND event_key=?)",
        "live": "COVERING INDEX wake_live (workspace=? AND state=?)",
        "alike": "wake_live (workspace=? AND state=? AND lane=?)",
        "callers": "wake_made_by_callers (workspace=? AND created_at>?)",
        "lane": "wake_made_in_lane (workspace=? AND lane=? AND created_at>?)",
        "kind": "wake_made_of_kind (workspace=? AND kind=? AND created_at>?)",
        "clean": "wake_ended (ended_at<?)",
        "page": "wake_list (workspace=?",
        "key": "wake_key (workspace=? AND idempotency_key=?)",
        "cancel": "wake_queue (workspace=? AND lane=?",
        "finish": "wake_head (workspace=? AND lane=?)",
        "series": "wake_of_series (series=?)",
        "seen": "wake_seen (workspace=? AND event_key=?",
        "retained": "wake_event_retained (workspace=? AND event_key=? AND position>?)",
    }.items():
        assert index in found[name], f"{name}:\n{found[name]}"
    assert "TEMP B-TREE" not in found["claim"], found["claim"]
