"""Keys that a person gives to agents and scripts, and takes back (E-90)."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from engine.actors import Actor, ActorKind
from engine.backup import restore, take_backup
from engine.clock import ManualClock
from engine.engine import Engine
from engine.errors import InvalidValue, NotFound, Unauthorized, WrongState
from tests.e2e.support import AGENT, PERSON


@pytest.fixture
async def engine(folder: Path, clock: ManualClock) -> AsyncIterator[Engine]:
    engine = await Engine.open(folder, clock=clock, automatic=False)
    yield engine
    await engine.close()


async def test_e90_a_key_is_given_listed_and_taken_back_and_all_of_it_is_journalled(engine: Engine) -> None:
    given = await engine.agents.add("codex-1", PERSON)
    assert (given.actor, given.added_by, given.revoked_at) == (
        Actor(ActorKind.AGENT, "codex-1"),
        PERSON,
        None,
    )
    script = await engine.agents.add("codex-1", PERSON, kind=ActorKind.SCRIPT)
    assert [row.id for row in await engine.agents.listed()] == [script.id, given.id]
    taken = await engine.agents.revoke("Codex-1", PERSON, "it was lost")
    assert (taken.id, taken.reason, taken.revoked_by) == (given.id, "it was lost", PERSON)
    assert await engine.agents.holder(given.id) == taken
    assert (await engine.agents.holder(script.id)).revoked_at is None
    rows = [row for row in await engine.journal() if row.kind.startswith("agent.")]
    assert [row.kind for row in rows] == ["agent.added", "agent.added", "agent.revoked"]
    assert rows[-1].detail == {"kind": "agent", "name": "codex-1", "reason": "it was lost"}
    again = await engine.agents.add("codex-1", PERSON)
    assert again.id != given.id


async def test_e90_only_a_person_gives_and_takes_back(engine: Engine) -> None:
    await engine.agents.add("codex", PERSON)
    with pytest.raises(Unauthorized):
        await engine.agents.add("other", AGENT)
    with pytest.raises(Unauthorized):
        await engine.agents.revoke("codex", AGENT, "r")
    assert [row.revoked_at for row in await engine.agents.listed()] == [None]


async def test_e90_what_cannot_be_given_or_taken_is_said(engine: Engine) -> None:
    await engine.agents.add("codex", PERSON)
    with pytest.raises(WrongState, match="has a key already"):
        await engine.agents.add("CODEX", PERSON)
    with pytest.raises(NotFound, match="No agent other has a key"):
        await engine.agents.revoke("other", PERSON, "r")
    with pytest.raises(InvalidValue, match="give a reason"):
        await engine.agents.revoke("codex", PERSON, " ")
    for name in ("", "a b", "../a", "a\n", ".a", "a.", "ä", "x" * 65, "con/aux"):
        with pytest.raises(InvalidValue, match="name of a key"):
            await engine.agents.add(name, PERSON)
    with pytest.raises(InvalidValue, match="given no key"):
        await engine.agents.add("ada", PERSON, kind=ActorKind.PERSON)
    assert await engine.agents.holder("nobody") is None


async def test_e82_a_restore_takes_back_every_key_that_the_copy_held(
    folder: Path, tmp_path: Path, clock: ManualClock
) -> None:
    """What was revoked after the copy was made must not count again because of it."""
    engine = await Engine.open(folder, clock=clock, automatic=False)
    await engine.agents.add("lost", PERSON)
    copy = take_backup(folder, tmp_path / "backups", now=clock.now())
    await engine.agents.revoke("lost", PERSON, "lost")
    await engine.close()
    clock.advance(1_000)
    restore(folder, copy.path, actor=PERSON, reason="back", clock=clock)
    engine = await Engine.open(folder, clock=clock, automatic=False)
    (row,) = await engine.agents.listed()
    assert (row.actor.name, row.revoked_at is not None) == ("lost", True)
    assert "restored" in row.reason
    assert (await engine.agents.add("lost", PERSON)).revoked_at is None
    rows = [row for row in await engine.journal() if row.kind == "agent.revoked"]
    assert json.dumps(dict(rows[0].detail)).count("restored") == 1
    await engine.close()
