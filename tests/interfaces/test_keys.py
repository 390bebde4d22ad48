"""Keys of agents and scripts on the command line and as files (E-90, E-92)."""

from __future__ import annotations

import asyncio
import json
import stat
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.actors import Actor, ActorKind
from engine.errors import ChannelError, InvalidValue, NotFound, PraxisError
from engine.interfaces.channel import Channel
from engine.interfaces.keys import (
    PERSON_KEY,
    agent_key_path,
    agent_secret,
    own_key,
    read_agent_key,
    remove_agent_key,
    write_agent_key,
)
from tests.e2e.support import manual
from tests.interfaces.conftest import Praxis

posix = pytest.mark.skipif(sys.platform == "win32", reason="rights of POSIX")
CODEX = Actor(ActorKind.AGENT, "codex")
IDENTITY = "01K00000000000000000000000"


def test_e92_a_key_is_given_with_how_to_register_it_listed_and_taken_back(
    praxis: Praxis, folder: Path
) -> None:
    said = praxis("agent", "add", "codex")
    path = folder / "keys" / "agent-codex.key"
    launch = next(json.loads(line) for line in said.out.splitlines() if line.startswith("{"))
    assert launch["mcpServers"]["praxis"]["args"] == ["mcp", "--data", str(folder), "--name", "codex"]
    assert str(path) in said.out
    assert json.loads(path.read_text())["secret"] not in said.out
    assert "no wall" in said.out
    assert praxis("agent", "add", "codex", ok=False).code == 4
    assert praxis("agent", "add", "no/name", ok=False).code == 2
    assert praxis("agent", "add", "other", "--as-agent", "codex", ok=False).code == 5
    assert praxis("agent", "list", "--as-agent", "codex", ok=False).code == 5
    assert praxis("agent", "revoke", "codex", "--reason", "done").code == 0
    assert not path.exists()
    (row,) = praxis("agent", "list", "--json").json
    assert (row["actor"]["name"], row["reason"]) == ("codex", "done")
    assert "done" in praxis("agent", "list").out
    assert praxis("agent", "revoke", "codex", "--reason", "again", ok=False).code == 3
    assert praxis("journal", "export").out.count('"agent.added"') == 1


def test_e92_a_key_may_lie_elsewhere_and_one_that_cannot_be_written_is_taken_back(
    praxis: Praxis, folder: Path, tmp_path: Path
) -> None:
    elsewhere = tmp_path / "ci.key"
    given = praxis("agent", "add", "ci", "--script", "-o", str(elsewhere), "--json").json
    assert (given["file"], given["launch"]) == (str(elsewhere), None)
    assert read_agent_key(elsewhere).actor == Actor(ActorKind.SCRIPT, "ci")
    refused = praxis("agent", "add", "lost", "-o", str(tmp_path / "none" / "deep" / "key"), ok=False)
    assert refused.code == 2
    rows = {row["actor"]["name"]: row["revoked_at"] for row in praxis("agent", "list", "--json").json}
    assert (rows["ci"], rows["lost"] is not None) == (None, True)
    praxis("agent", "revoke", "ci", "--script", "--reason", "done")
    assert elsewhere.exists()


async def test_e90_with_a_key_commands_go_through_the_owner_as_its_holder_and_nothing_else(
    praxis: Praxis, folder: Path, order_file: Any
) -> None:
    async def run(*arguments: str, ok: bool = True) -> Any:
        return await asyncio.to_thread(praxis, *arguments, ok=ok)

    agent = (await run("agent", "add", "codex", "--json")).json["file"]
    script = (await run("agent", "add", "ci", "--script", "--json")).json["file"]
    alone = await run("list", "--key-file", agent, "--json", ok=False)
    assert (alone.code, json.loads(alone.err)["code"]) == (7, "channel")
    assert (await run("list", "--key-file", agent, "--as-script", "x", ok=False)).code == 2
    engine = await manual(folder)
    channel = await Channel.listen(engine, folder, program="test")
    try:
        for key, name in ((agent, "codex"), (script, "ci")):
            row = (await run("--key-file", key, "submit", order_file(), "--json")).json[0]
            assert row["requested_by"]["name"] == name
        assert [row["number"] for row in (await run("list", "--key-file", agent, "--json")).json] == [1]
        assert len((await run("list", "--key-file", script, "--json")).json) == 2
        assert (await run("show", "WO-1", "--key-file", agent)).code == 0
        assert (await run("show", "WO-2", "--key-file", agent, ok=False)).code == 3
        assert (await run("inbox", "--key-file", agent, ok=False)).code == 5
        for key in (agent, script):
            tried = await run("approve", "WO-1", "--seal", "0" * 64, "--key-file", key, ok=False)
            assert tried.code == 5, tried.err
        await run("agent", "revoke", "codex", "--reason", "enough")
        assert (await run("list", "--key-file", agent, ok=False)).code == 3
        rows = [json.loads(line) for line in (await run("journal", "export")).out.splitlines()]
        assert sum(row["kind"] == "rights.refused" for row in rows) >= 2
    finally:
        await channel.close()
        await engine.close()


# --------------------------------------------------------------------------------------------------------- files


@posix
def test_e90_key_files_are_for_this_user_alone(folder: Path) -> None:
    path = agent_key_path(folder, CODEX)
    write_agent_key(path, IDENTITY, CODEX, b"s" * 32)
    write_agent_key(path, IDENTITY, CODEX, b"t" * 32)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert list(path.parent.iterdir()) == [path]
    assert (read_agent_key(path).secret, read_agent_key(path).actor) == (b"t" * 32, CODEX)
    path.chmod(0o640)
    with pytest.raises(ChannelError, match="read by other users"):
        read_agent_key(path)
    with pytest.raises(NotFound, match="praxis agent add"):
        read_agent_key(folder / "none")


def test_e90_an_agents_secret_follows_from_the_persons_key_and_no_other(folder: Path) -> None:
    key = own_key(folder)
    assert agent_secret(key, IDENTITY) == agent_secret(key, IDENTITY)
    assert agent_secret(key, IDENTITY) != agent_secret(key, IDENTITY[:-1] + "1")
    assert agent_secret(key, PERSON_KEY) != key
    (folder / PERSON_KEY).unlink()
    assert agent_secret(own_key(folder), IDENTITY) != agent_secret(key, IDENTITY)


def test_a_newer_key_in_the_place_of_one_taken_back_stays(folder: Path) -> None:
    path = agent_key_path(folder, CODEX)
    write_agent_key(path, IDENTITY, CODEX, b"s" * 32)
    assert not remove_agent_key(path, IDENTITY[:-1] + "1")
    assert path.exists()
    assert remove_agent_key(path, IDENTITY)
    assert not remove_agent_key(path, IDENTITY)


GOOD = {"praxis_key": 1, "kind": "agent", "name": "codex", "id": IDENTITY, "secret": "00" * 32}


@given(
    st.binary(max_size=200)
    | st.dictionaries(
        st.sampled_from(sorted(GOOD)), st.none() | st.integers() | st.text(max_size=70) | st.lists(st.text())
    ).map(lambda odd: json.dumps({**GOOD, **odd}).encode())
)
def test_any_bytes_are_a_key_or_a_clear_refusal(
    tmp_path_factory: pytest.TempPathFactory, data: bytes
) -> None:
    path = tmp_path_factory.getbasetemp() / "odd.key"
    path.unlink(missing_ok=True)
    path.touch(mode=0o600)
    path.write_bytes(data)
    try:
        found = read_agent_key(path)
    except InvalidValue:
        return
    assert found.actor.kind in (ActorKind.AGENT, ActorKind.SCRIPT)


def test_the_secret_is_not_in_what_is_printed_of_a_credential(folder: Path) -> None:
    write_agent_key(folder / "k", IDENTITY, CODEX, b"s" * 32)
    assert "sss" not in repr(read_agent_key(folder / "k"))
    with pytest.raises(PraxisError):
        write_agent_key(folder / "none" / "deep" / "k", IDENTITY, CODEX, b"s" * 32)
