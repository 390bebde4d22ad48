"""What of the work may go, and what never does (E-84)."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from engine.control import decisions
from engine.control.cancel import cancel
from engine.control.decisions import Finding
from engine.control.holds import Node, place_hold, resume
from engine.control.proofs import keep_proofs
from engine.errors import ClockDistrusted, InvalidValue, Unauthorized, WrongState
from engine.execution.record import lock_lane
from engine.retention import RetentionSettings
from engine.retention.belongings import BELONGINGS, references
from engine.retention.settings import DAY_MS
from engine.retention.work import Kept
from engine.states import HoldKind, NodeKind, Outcome
from engine.storage import Rx, Tx
from engine.views.receipt import receipt
from engine.work_order import BudgetLimits
from tests.ledger import AGENT, PERSON, SEEN, sealed, spec
from tests.retention.conftest import SETTINGS, Attic, assert_sums, assert_whole


async def spent(attic: Attic) -> dict[tuple[str, str], tuple[int, int]]:
    """What the scopes say is spent."""
    rows = await attic.ledger.all(
        """SELECT scope.kind, scope.name, partition, spent_cost, spent_ms FROM scope_partition
           JOIN scope ON scope.id = scope_id WHERE scope.kind <> 'WORK_ORDER'"""
    )
    return {(row["name"], row["partition"]): (row["spent_cost"], row["spent_ms"]) for row in rows}


async def test_e84_nothing_goes_until_a_person_says_what(attic: Attic) -> None:
    """Evidence is what the product is for; what is removed does not come back."""
    old = await attic.finished("old")
    attic.age(4_000)
    done = await attic.retention.run(PERSON)
    assert not done.did_anything
    assert await attic.orders() == {old}


async def test_e84_old_work_goes_whole_and_its_use_stays_counted(attic: Attic) -> None:
    old = [await attic.finished(f"old-{number}") for number in range(12)]
    attic.age(31)
    young = await attic.finished("young")
    before = await spent(attic)
    done = await attic.run()
    assert done.orders == len(old)
    assert done.attempts == 2 * len(old)
    assert await attic.orders() == {young}
    assert await spent(attic) == before
    assert before["payments", "EXECUTION"] == (26 * 12, 26 * 1_200)
    await assert_sums(attic)
    for table in (
        "task",
        "attempt",
        "approval",
        "claim",
        "evidence",
        "validation",
        "decision",
        "exposure",
        "scope",
    ):
        count = (await attic.ledger.one(f"SELECT count(*) AS n FROM {table}"))["n"]
        assert (
            count
            == (await attic.ledger.one(f"SELECT count(*) AS n FROM {table} WHERE {_of(table)}", young))["n"]
        )
    told = await attic.ledger.all("SELECT * FROM journal WHERE kind = 'work_order.removed' ORDER BY sequence")
    assert {row["subject_id"] for row in told} == set(old)
    assert json.loads(told[0]["detail"])["number"] == 1
    assert (await attic.verify()).sound


def _of(table: str) -> str:
    """The rows of a table that belong to one work order, or to none."""
    order = "(SELECT id FROM work_order WHERE id = ?)"
    return {
        "task": f"work_order_id = {order}",
        "claim": f"task_id IN (SELECT id FROM task WHERE work_order_id = {order})",
        "evidence": f"attempt_id IN (SELECT id FROM attempt WHERE work_order_id = {order})",
        "exposure": f"attempt_id IN (SELECT id FROM attempt WHERE work_order_id = {order})",
        "scope": f"kind <> 'WORK_ORDER' OR id = (SELECT scope_id FROM work_order WHERE id = {order})",
    }.get(table, f"work_order_id = {order}")


async def unknown(attic: Attic) -> str:
    order = await attic.ran("unknown", outcome=Outcome.UNKNOWN)
    await attic.ledger.write(cancel, Node(NodeKind.WORK_ORDER, order), PERSON, "no more of it")
    return order


async def held(attic: Attic) -> str:
    order = await attic.finished("held")
    await attic.ledger.write(place_hold, Node(NodeKind.WORK_ORDER, order), HoldKind.HOLD, "look", PERSON)
    return order


async def task_held(attic: Attic) -> str:
    order = await attic.finished("task held")
    task = (await attic.ledger.task_of(order))["id"]
    await attic.ledger.write(place_hold, Node(NodeKind.TASK, task), HoldKind.HOLD, "look", PERSON)
    return order


async def overrun(attic: Attic) -> str:
    """Its scope is held since it used more than it was given; nobody has answered that yet."""
    order = await attic.ledger.submit("/over", limits=BudgetLimits(300, 600_000, 10, 60_000))
    await attic.ledger.run(order, reported_cost=50)
    await attic.ledger.write(cancel, Node(NodeKind.WORK_ORDER, order), PERSON, "too dear")
    return order


async def locked(attic: Attic) -> str:
    order = await attic.finished("locked")

    def lock(tx: Tx, *, now: int) -> None:
        attempt = tx.one("SELECT * FROM attempt WHERE work_order_id = ? AND purpose = 'IMPLEMENT'", (order,))
        assert attempt is not None
        lock_lane(tx, attempt, "[]", PERSON, now)

    await attic.ledger.write(lock)
    return order


async def replanned(attic: Attic) -> str:
    """Its replacement is still open and tells where it comes from."""
    order = await attic.ran("replanned")
    await attic.ledger.write(decisions.replan, order, spec("/new"), "/new", sealed(), PERSON, "better", None)
    return order


async def referred(attic: Attic) -> str:
    """Another part of the program has a table of its own that refers to it."""
    order = await attic.finished("referred")

    def refer(tx: Tx, *, now: int) -> None:
        tx.run("CREATE TABLE bookmark (id TEXT PRIMARY KEY, approval TEXT REFERENCES approval(id)) STRICT")
        tx.run("INSERT INTO bookmark SELECT 'b', id FROM approval WHERE work_order_id = ? LIMIT 1", (order,))

    await attic.ledger.write(refer)
    return order


async def granted(attic: Attic) -> str:
    """A standing grant that is in force was made from its card."""
    order = await attic.finished("granted")

    def give(tx: Tx, *, now: int) -> None:
        tx.run(
            """INSERT INTO standing_grant(id, state, made_from, number, title, lane, project, requested_by_kind,
                 requested_by, seal, template, template_digest, free, any_state, given_by_kind, given_by, given_at,
                 ends_at, max_uses)
               SELECT 'g', 'LIVE', id, 1, 't', 'l', 'p', 'agent', 'a', seal, '{}', :digest, '[]', 0, 'person', 'ada',
                 :now, :now + 1, 5 FROM approval WHERE work_order_id = :order LIMIT 1""",
            {"digest": "d" * 64, "now": now, "order": order},
        )

    await attic.ledger.write(give)
    return order


KEPT: dict[Kept, Callable[[Attic], Awaitable[str]]] = {
    Kept.UNKNOWN: unknown,
    Kept.HELD: held,
    Kept.LOCKED: locked,
    Kept.REPLANNED: replanned,
    Kept.REFERRED: referred,
}


@pytest.mark.parametrize("why", KEPT)
async def test_e84_what_is_not_over_stays_however_old(attic: Attic, why: Kept) -> None:
    order = await KEPT[why](attic)
    gone = await attic.finished("gone")
    attic.age(4_000)
    seen = await attic.retention.preview(SETTINGS)
    assert [(one.why, one.count) for one in seen.kept] == [(why, 1)]
    assert seen.kept[0].words
    assert seen.orders == 1
    before = await attic.ledger.all("SELECT * FROM task WHERE work_order_id = ?", order)
    assert (await attic.run()).orders == 1
    assert order in await attic.orders()
    assert gone not in await attic.orders()
    assert await attic.ledger.all("SELECT * FROM task WHERE work_order_id = ?", order) == before
    rows = await attic.ledger.all("SELECT sequence FROM journal WHERE work_order_id = ?", order)
    assert rows
    entries = await attic.ledger.read(receipt, order)
    assert len([one for one in entries if one.kind == "journal"]) == len(rows)
    assert all(one.facts["previous"] for one in entries if one.kind == "journal")
    await assert_sums(attic)
    assert (await attic.verify()).sound


async def test_e84_what_a_live_grant_was_made_from_stays(attic: Attic) -> None:
    order = await granted(attic)
    attic.age(400)
    assert [one.why for one in (await attic.retention.preview(SETTINGS)).kept] == [Kept.REFERRED]
    await attic.run()
    assert await attic.orders() == {order}


@pytest.mark.parametrize("make", [task_held, overrun])
async def test_e84_every_hold_keeps(attic: Attic, make: Callable[[Attic], Awaitable[str]]) -> None:
    order = await make(attic)
    attic.age(400)
    assert [one.why for one in (await attic.retention.preview(SETTINGS)).kept] == [Kept.HELD]
    await attic.run()
    assert await attic.orders() == {order}
    for row in await attic.ledger.all("SELECT * FROM hold WHERE released_at IS NULL"):
        node = Node(NodeKind(row["node_kind"]), row["node_id"])
        await attic.ledger.write(resume, node, PERSON, "looked")
    assert (await attic.run()).orders == 1
    assert await attic.ledger.all("SELECT * FROM hold") == []


async def test_e84_a_decided_unknown_may_go(attic: Attic) -> None:
    """A person has said what became of it; from then on it is like any other."""
    order = await unknown(attic)
    attempt = await attic.ledger.one("SELECT id FROM attempt WHERE work_order_id = ?", order)
    await attic.ledger.write(
        decisions.reconcile,
        attempt["id"],
        Finding.DID_NOT,
        PERSON,
        "the log shows it",
        None,
        None,
        keep_proofs(SEEN, attic.blobs),
    )
    attic.age(400)
    assert (await attic.run()).orders == 1
    await assert_sums(attic)


async def test_e84_replanned_work_goes_together_or_not_at_all(attic: Attic) -> None:
    """The story of each names the other."""
    first = await replanned(attic)
    second = (await attic.ledger.one("SELECT id FROM work_order WHERE id <> ?", first))["id"]
    await attic.ledger.run(second)
    attic.age(40)
    await attic.ledger.write(
        decisions.replan, second, spec("/third"), "/third", sealed(), PERSON, "again", None
    )
    third = (await attic.ledger.one("SELECT id FROM work_order WHERE id NOT IN (?, ?)", first, second))["id"]
    await attic.ledger.write(cancel, Node(NodeKind.WORK_ORDER, third), PERSON, "enough")
    assert (await attic.run()).orders == 0
    attic.age(31)
    assert (await attic.run()).orders == 3
    assert await attic.orders() == set()


async def test_e84_open_work_never_goes(attic: Attic) -> None:
    waiting = await attic.ledger.submit("/waiting")
    running = await attic.ran("running")
    attic.age(4_000)
    assert (await attic.run()).orders == 0
    assert await attic.orders() == {waiting, running}


async def test_e32_by_a_distrusted_clock_nothing_is_old(attic: Attic) -> None:
    await attic.finished("old")
    attic.age(400)
    await attic.retention.set(SETTINGS, PERSON)
    await attic.ledger.write(place_hold, Node(NodeKind.ENGINE, "engine"), HoldKind.CLOCK, "jumped", PERSON)
    with pytest.raises(ClockDistrusted):
        await attic.retention.run(PERSON)
    assert len(await attic.orders()) == 1


async def test_e82_after_a_restore_a_person_looks_first(attic: Attic) -> None:
    await attic.finished("old")
    attic.age(400)
    await attic.ledger.write(
        place_hold, Node(NodeKind.ENGINE, "engine"), HoldKind.RESTORE, "restored", PERSON
    )
    with pytest.raises(WrongState, match="nobody has looked"):
        await attic.run()


async def test_only_a_person_removes(attic: Attic) -> None:
    for call in (
        attic.retention.run(AGENT),
        attic.retention.set(SETTINGS, AGENT),
        attic.retention.set_by_itself(True, AGENT),
    ):
        with pytest.raises(Unauthorized):
            await call


@pytest.mark.parametrize(
    "wrong", [{"work_ms": DAY_MS - 1}, {"journal_ms": 0}, {"grace_ms": 60_000}, {"work_ms": True}]
)
def test_too_short_an_age_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(InvalidValue):
        RetentionSettings(**wrong)


async def test_settings_are_kept_and_journalled(attic: Attic) -> None:
    await attic.retention.set(SETTINGS, PERSON)
    assert await attic.retention.settings() == SETTINGS
    row = await attic.ledger.one("SELECT * FROM journal WHERE kind = 'retention.set'")
    assert json.loads(row["detail"])["after"]["work_ms"] == SETTINGS.work_ms


async def test_e17_a_removal_looks_along_indexes(attic: Attic) -> None:
    """What a batch asks and removes costs the same however much there is."""

    def plans(rx: Rx) -> list[tuple[str, str]]:
        found = []
        sqls = [one.sql("'a', 'b'") for one in references(rx)]
        sqls += [f"DELETE FROM {one.table} WHERE {one.where.format(orders=repr('a'))}" for one in BELONGINGS]
        for sql in sqls:
            found += [(sql, row["detail"]) for row in rx.all(f"EXPLAIN QUERY PLAN {sql}")]
        return found

    scans = [(sql, step) for sql, step in await attic.ledger.storage.read(plans) if step.startswith("SCAN")]
    assert [one for one in scans if one[1] not in ("SCAN child", "SCAN lane_lock")] == []
    assert {sql for sql, step in scans if step == "SCAN child"} <= {
        one for one, _ in scans if " lane_lock AS child" in one
    }


async def test_e84_a_failure_in_the_middle_of_a_batch_removes_nothing_of_it(attic: Attic) -> None:
    """An SQL failure injected by a trigger, as §12 asks for."""
    for number in range(5):
        await attic.finished(f"old-{number}")
    attic.age(400)
    before = await spent(attic)

    def refuse(tx: Tx, *, now: int) -> None:
        tx.run("CREATE TRIGGER refuse BEFORE DELETE ON claim BEGIN SELECT RAISE(ABORT, 'refused'); END")

    await attic.ledger.write(refuse)
    with pytest.raises(sqlite3.IntegrityError, match="refused"):
        await attic.run()
    assert len(await attic.orders()) == 5
    assert await attic.ledger.all("SELECT * FROM retired_exposure") == []
    await assert_whole(attic)
    await attic.ledger.write(lambda tx, now: tx.run("DROP TRIGGER refuse"))
    assert (await attic.run()).orders == 5
    assert await spent(attic) == before
    await assert_whole(attic)
