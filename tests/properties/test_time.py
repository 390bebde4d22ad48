"""Whatever the clocks do: nothing fires early, nothing twice, no lease is shortened or revived (E-22 to E-25, E-32).

Hypothesis chooses steps of the clock (milliseconds to a year, both ways), passes, renewals, distrust and restarts; the
test keeps its own account of what may have happened.
"""

from __future__ import annotations

import asyncio
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

from hypothesis import example, given, settings
from hypothesis import strategies as st

from engine.clock import ManualClock
from engine.control.holds import WHOLE_ENGINE, place_hold
from engine.errors import PraxisError
from engine.scheduling.claims import recover_abandoned_claims, renew_claim
from engine.scheduling.tasks import drain_due_wakeups
from engine.states import HoldKind
from engine.storage import Tx
from tests.ledger import LEASE, PERSON, Ledger
from tests.scheduling.bulk import live_claims, waiting_tasks

SECOND, HOUR, YEAR = 1_000, 3_600_000, 365 * 86_400_000
DUE = (0, 1, SECOND, LEASE, LEASE + 1, HOUR, YEAR)
LEASES = (1, LEASE - 1, LEASE, HOUR)

steps = st.sampled_from((1, 5 * SECOND, LEASE - 1, LEASE, HOUR, YEAR))
operations = st.lists(
    st.one_of(
        st.tuples(st.just("pass"), steps),
        st.tuples(st.just("step"), st.one_of(steps, steps.map(lambda size: -size))),
        st.tuples(st.just("fire"), st.integers(1, 3)),
        st.tuples(st.just("recover"), st.integers(1, 3)),
        st.tuples(st.just("renew"), st.integers(0, len(LEASES) - 1)),
        st.tuples(st.just("distrust"), st.just(0)),
        st.tuples(st.just("trust"), st.just(0)),
        st.tuples(st.just("restart"), st.just(0)),
    ),
    max_size=25,
)


@dataclass
class Account:
    """What the test knows: when each task is due, what fired, and the furthest end each lease ever had."""

    due: dict[str, int] = field(default_factory=dict)
    fired: set[str] = field(default_factory=set)
    leases: dict[str, int] = field(default_factory=dict)
    ended: set[str] = field(default_factory=set)
    distrusted: bool = False


@settings(max_examples=25)
@given(operations)
@example(
    [("pass", YEAR), ("fire", 3), ("step", -YEAR), ("fire", 3), ("step", YEAR), ("fire", 3), ("fire", 3)]
)
@example(
    [
        ("step", YEAR),
        ("distrust", 0),
        ("recover", 3),
        ("fire", 3),
        ("step", -YEAR),
        ("trust", 0),
        ("renew", 2),
    ]
)
@example([("pass", LEASE), ("renew", 2), ("recover", 3), ("step", -LEASE), ("renew", 2), ("recover", 3)])
def test_no_clock_makes_anything_early_double_or_alive_again(done: list[tuple[str, int]]) -> None:
    asyncio.run(_play(done))


async def _play(done: list[tuple[str, int]]) -> None:
    with tempfile.TemporaryDirectory() as name:
        clock = ManualClock()
        ledger = await Ledger.open(Path(name), clock)
        try:
            await waiting_tasks(ledger, [clock.now() + late for late in DUE])
            await live_claims(ledger, [clock.now() + lease for lease in LEASES])
            account = Account(
                due={f"waiting-{number:06d}": clock.now() + late for number, late in enumerate(DUE)},
                leases={f"claim-{number:06d}": clock.now() + lease for number, lease in enumerate(LEASES)},
            )
            for what, size in done:
                ledger = await _do(ledger, clock, account, what, size, Path(name))
                await _check(ledger, account)
        finally:
            await ledger.close()


async def _do(
    ledger: Ledger, clock: ManualClock, account: Account, what: str, size: int, folder: Path
) -> Ledger:
    match what:
        case "pass":
            clock.advance(size)
        case "step":
            clock.step_wall(size)
        case "fire":
            fired = await ledger.write(drain_due_wakeups, ledger.epoch, size)
            assert not (account.distrusted and fired)
            assert all(account.due[task] <= clock.now() for task in fired), "fired early"
            assert not account.fired & set(fired), "fired twice"
            waited = sorted(set(account.due) - account.fired, key=lambda task: (account.due[task], task))
            could = [task for task in waited if account.due[task] <= clock.now()]
            assert list(fired) == ([] if account.distrusted else could[:size]), "not the earliest, or not all"
            account.fired |= set(fired)
        case "recover":
            epoch = ledger.epoch
            for claim in await ledger.write(recover_abandoned_claims, epoch, size):
                made = (await ledger.one("SELECT epoch FROM claim WHERE id = ?", claim))["epoch"]
                over = account.leases[claim] <= clock.now() and not account.distrusted
                assert over or made < epoch, "expired early"
                assert claim not in account.ended, "recovered twice"
                account.ended.add(claim)
        case "renew":
            await _renew(ledger, clock, account, f"claim-{size:06d}")
        case "distrust" if not account.distrusted:
            await ledger.write(place_hold, WHOLE_ENGINE, HoldKind.CLOCK, "it jumped", PERSON)
            account.distrusted = True
        case "trust" if account.distrusted:
            await ledger.write(_lift)
            account.distrusted = False
        case "restart":
            await ledger.close()
            ledger = await Ledger.open(folder, clock)
    return ledger


async def _renew(ledger: Ledger, clock: ManualClock, account: Account, claim: str) -> None:
    row = await ledger.one("SELECT * FROM claim WHERE id = ?", claim)
    may = (
        row["state"] == "LIVE"
        and row["epoch"] == ledger.epoch
        and row["claimed_at"] <= clock.now() < row["lease_until"]
        and not account.distrusted
    )
    try:
        until = await ledger.write(renew_claim, claim, "w", ledger.epoch, LEASE)
    except PraxisError:
        assert not may, "refused although it is live"
        return
    assert may, "revived"
    assert until == max(account.leases[claim], clock.now() + LEASE), "shortened"
    account.leases[claim] = until


async def _check(ledger: Ledger, account: Account) -> None:
    tasks = {row["id"]: row for row in await ledger.all("SELECT * FROM task WHERE id LIKE 'waiting-%'")}
    assert {task for task, row in tasks.items() if row["state"] == "READY"} == account.fired
    assert all(row["due_at"] == account.due[task] for task, row in tasks.items()), "a stored deadline moved"
    for claim in await ledger.all("SELECT * FROM claim"):
        assert claim["lease_until"] == account.leases[claim["id"]], "a lease moved by itself"
        assert (claim["state"] != "LIVE") == (claim["id"] in account.ended)
    ready = await ledger.one(
        "SELECT count(*) AS n FROM journal WHERE kind = 'task.ready' AND subject_id LIKE 'waiting-%'"
    )
    assert ready["n"] == len(account.fired)


def _lift(tx: Tx, *, now: int) -> None:
    tx.run(
        "UPDATE hold SET released_at = ?, released_by = 'ada' WHERE kind = 'CLOCK' AND released_at IS NULL",
        (now,),
    )
