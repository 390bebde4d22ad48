"""Whatever happens in whatever order, a standing grant approves no more than it says (E-42a)."""

from __future__ import annotations

import asyncio
import json
import tempfile
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from engine.actors import Actor, ActorKind
from engine.canonical import canonical_json
from engine.clock import ManualClock
from engine.dispatch import grants
from engine.dispatch.approvals import Sealed, withdraw
from engine.dispatch.plan import Plan, PlanWorkspace, seal_of
from engine.dispatch.work_orders import create_work_order
from engine.errors import PraxisError
from engine.storage import Rx, Tx
from engine.workspace.repository import StateKind, WorkspaceState
from tests.dispatch.test_grant_terms import plan
from tests.ledger import AGENT, PERSON, Ledger, spec

HOUR = 3_600_000
LANES = ("/a", "/b")
OTHER = Actor(ActorKind.AGENT, "codex-2")

ACTS = st.lists(
    st.one_of(
        st.tuples(
            st.just("submit"),
            st.sampled_from(LANES),
            st.sampled_from([AGENT, AGENT, OTHER]),
            st.sampled_from(["alpha", "beta", "-x"]),
            st.integers(0, 1),
            st.integers(0, 3),
        ),
        st.tuples(
            st.just("give"),
            st.integers(0, 5),
            st.integers(1, 4),
            st.integers(1, 3),
            st.booleans(),
            st.booleans(),
        ),
        st.tuples(st.just("revoke"), st.integers(0, 5)),
        st.tuples(st.just("pass"), st.sampled_from([1, HOUR - 1, HOUR, 2 * HOUR])),
        st.tuples(st.just("expire")),
        st.tuples(st.just("withdraw"), st.integers(0, 5)),
        st.tuples(st.just("run")),
        st.tuples(st.just("void")),
    ),
    max_size=25,
)


def asked(lane: str, word: str, state: int, drift: int) -> Plan:
    """A plan of the one command: another word, another state of the workspace, seldom another program."""
    made = plan(
        "tool",
        "convert",
        word,
        workspace=PlanWorkspace(lane, "1:2"),
        state=WorkspaceState(StateKind.GIT, "d" * 40, "main", state, 0, str(state) * 64),
    )
    return made if drift < 3 else replace(made, program=replace(made.program, sha256="9" * 64))


class World:
    """A ledger, what was done to it, and what must hold after every act."""

    def __init__(self, ledger: Ledger, clock: ManualClock) -> None:
        self.ledger = ledger
        self.clock = clock
        self.ended: dict[str, tuple[str, int]] = {}

    async def do(self, act: tuple[Any, ...]) -> None:
        name, *rest = act
        with suppress(PraxisError):  # a refusal is an answer; what must hold is looked at afterwards
            await getattr(self, name if name != "pass" else "pass_time")(*rest)

    async def submit(self, lane: str, actor: Actor, word: str, state: int, drift: int) -> None:
        made = asked(lane, word, state, drift)
        sealed = Sealed(canonical_json(made.to_json()).decode(), seal_of(made))
        await self.ledger.write(create_work_order, spec(lane), lane, sealed, actor, None)

    async def give(self, place: int, uses: int, hours: int, free: bool, any_state: bool) -> None:
        rows = await self.ledger.all("SELECT * FROM approval ORDER BY id")
        if rows:
            row = rows[place % len(rows)]
            ends_at = self.clock.now() + hours * HOUR

            def make(tx: Tx, *, now: int) -> str:
                return grants.give(
                    tx,
                    row["id"],
                    row["seal"],
                    PERSON,
                    ends_at,
                    uses,
                    (2,) if free else (),
                    any_state,
                    now=now,
                )

            await self.ledger.write(make)

    async def revoke(self, place: int) -> None:
        rows = await self.ledger.all("SELECT id FROM standing_grant ORDER BY id")
        if rows:
            await self.ledger.write(grants.revoke, rows[place % len(rows)]["id"], PERSON, "enough")

    async def pass_time(self, ms: int) -> None:
        self.clock.advance(ms)

    async def expire(self) -> None:
        await self.ledger.write(grants.expire_grants, self.ledger.epoch, 100)

    async def withdraw(self, place: int) -> None:
        rows = await self.ledger.all(
            "SELECT work_order_id FROM approval WHERE state = 'APPROVED' ORDER BY id"
        )
        if rows:
            row = await self.ledger.approval_of(rows[place % len(rows)]["work_order_id"])
            await self.ledger.write(withdraw, row["id"], PERSON, "wait")

    async def run(self) -> None:
        for claim in await self.ledger.claim():
            task = await self.ledger.one("SELECT * FROM task WHERE id = ?", claim.task_id)
            approval = await self.ledger.one("SELECT * FROM approval WHERE id = ?", task["approval_id"])
            admission = await self.ledger.admit(claim, approval["seal"])
            grant = await self.ledger.read(grants.grant_of, approval["id"])
            if grant is not None:
                assert self.clock.now() < grant["ends_at"], "nothing starts by a grant at or after its end"
                assert grant["state"] in ("LIVE", "USED_UP"), "nothing starts by a grant that has ended"
            await self.ledger.start(admission)

    async def void(self) -> None:
        def everything(tx: Tx, *, now: int) -> None:
            grants.void_all(tx, "the clock was distrusted", now)

        await self.ledger.write(everything)

    async def look(self) -> None:
        def wrong(rx: Rx) -> list[str]:
            found = []
            for grant in rx.all("SELECT * FROM standing_grant"):
                uses = rx.all("SELECT * FROM grant_use WHERE grant_id = ? ORDER BY ordinal", (grant["id"],))
                if [use["ordinal"] for use in uses] != list(range(1, grant["uses"] + 1)):
                    found.append("the count is not the number of uses")
                if grant["uses"] > grant["max_uses"]:
                    found.append("more uses than were granted")
                template = json.loads(grant["template"])
                for use in uses:
                    row = rx.one(
                        """SELECT approval.*, work_order.requested_by, work_order.workspace FROM approval
                           JOIN work_order ON work_order.id = approval.work_order_id WHERE approval.id = ?""",
                        (use["approval_id"],),
                    )
                    assert row is not None
                    covered = json.loads(row["plan"])
                    if row["expires_at"] > grant["ends_at"] or use["used_at"] >= grant["ends_at"]:
                        found.append("an approval that outlives its grant")
                    if row["requested_by"] != grant["requested_by"] or row["workspace"] != grant["lane"]:
                        found.append("another requester or workspace")
                    for key, value in template.items():
                        if key == "argv":
                            free = json.loads(grant["free"])
                            pairs = enumerate(zip(value, covered["argv"], strict=True))
                            if any(a != b and (at not in free or b == "-x") for at, (a, b) in pairs):
                                found.append("another argument")
                        elif value != covered[key] and not (key == "state" and grant["any_state"]):
                            found.append(f"another {key}")
                    if grant["state"] in ("REVOKED", "VOID") and row["state"] == "APPROVED":
                        found.append("an approval in force of a grant that has ended")
            return found

        assert await self.ledger.read(wrong) == []
        for grant in await self.ledger.all(
            "SELECT id, state, uses FROM standing_grant WHERE state <> 'LIVE'"
        ):
            known = self.ended.setdefault(grant["id"], (grant["state"], grant["uses"]))
            assert grant["uses"] == known[1], "an ended grant is used no more"
            assert known[0] in (grant["state"], "USED_UP"), "an ended grant never lives again"


@given(ACTS)
@settings(max_examples=20 if settings().max_examples < 200 else settings().max_examples)
def test_e42a_a_grant_approves_no_more_than_it_says(acts: list[tuple[Any, ...]]) -> None:
    async def play() -> None:
        clock = ManualClock()
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:
            ledger = await Ledger.open(Path(name) / "data", clock)
            try:
                world = World(ledger, clock)
                await world.do(("submit", "/a", AGENT, "alpha", 0, 0))
                await world.do(("give", 0, 3, 1, True, True))
                for act in acts:
                    await world.do(act)
                    await world.look()
            finally:
                await ledger.close()

    asyncio.run(play())
