"""The door for coding agents (E-92): the real MCP client over stdio, against a serving owner process."""

from __future__ import annotations

import asyncio
import gc
import json
import os
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client

from engine.actors import Actor, ActorKind
from engine.errors import PraxisError
from engine.interfaces.channel_files import read_note
from engine.interfaces.channel_methods import METHODS
from engine.interfaces.keys import Credential, read_agent_key
from engine.interfaces.mcp_arguments import SubmitArguments, read_arguments
from engine.interfaces.mcp_tools import AgentDesk
from engine.interfaces.rights import Right
from engine.wakes.tools import ToolAnswer
from tests.interfaces.conftest import Praxis, Ran, approve

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="starts POSIX processes")

COMMAND = ("-m", "engine.interfaces.cli")
SECONDS = 60
SECRET = "hunter2-correct-horse"


@pytest.fixture
def environment(folder: Path) -> dict[str, str]:
    return {
        **os.environ,
        "PRAXIS_DATA": str(folder),
        "PYTHONPATH": str(Path(__file__).parents[2]),
        "CONSOLE_TOKEN": SECRET,
    }


@pytest.fixture
def owner(folder: Path, environment: dict[str, str]) -> Iterator[subprocess.Popen[bytes]]:
    """A `praxis serve` that listens."""
    process = subprocess.Popen(
        [sys.executable, *COMMAND, "serve", "--quiet"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        env=environment,
    )
    deadline = time.monotonic() + SECONDS
    while read_note(folder) is None:
        assert process.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.02)
    yield process
    process.kill()
    process.communicate()


Person = Callable[..., Any]


@pytest.fixture
def person(praxis: Praxis) -> Person:
    """A person's `praxis`, for tests that have a loop of their own.

    It runs in a thread. What windows of earlier tests left is collected before, in the thread that may: Qt dies of it
    elsewhere.
    """
    gc.collect()

    async def run(*arguments: str, **options: Any) -> Ran:
        return await asyncio.to_thread(praxis, *arguments, **options)

    return run


Connect = Callable[..., Any]


@pytest.fixture
def connect(environment: dict[str, str], folder: Path, workspace: Path, person: Person) -> Connect:
    """Start `praxis mcp` as a coding agent does, with a key of its own, and speak to it with the real client."""

    @asynccontextmanager
    async def start(name: str = "codex") -> AsyncIterator[ClientSession]:
        if not (folder / "keys" / f"agent-{name}.key").exists():
            await person("agent", "add", name)
        server = StdioServerParameters(
            command=sys.executable,
            args=[*COMMAND, "mcp", "--data", str(folder), "--name", name],
            env=environment,
            cwd=workspace,
        )
        async with stdio_client(server) as streams, ClientSession(*streams) as session:
            await session.initialize()
            yield session

    return start


async def ask(session: ClientSession, tool: str, /, **arguments: Any) -> Any:
    result = await session.call_tool(tool, arguments)
    assert result.structuredContent == json.loads(result.content[0].text)
    assert result.isError is not result.structuredContent["ok"]
    return result.structuredContent


def assert_ok(answer: Any) -> Any:
    assert answer["ok"], answer
    return answer


PROPOSAL = {
    "title": "Write the answer",
    "argv": [sys.executable, "-c", "open('answer.txt', 'w').write('42'); print('written')"],
    "criteria": "answer.txt says 42",
    "validation_argv": [sys.executable, "-c", "assert open('answer.txt').read() == '42'"],
    "artifacts": ["answer.txt"],
    "time_limit": "1m",
}


async def test_e92_an_agent_proposes_a_person_approves_the_agent_reads_the_outcome(
    owner: Any, connect: Connect, praxis: Praxis, person: Person, workspace: Path
) -> None:
    async with connect() as session:
        tools = {tool.name: tool for tool in (await session.list_tools()).tools}
        assert set(tools) == {
            "submit_work_order",
            "list_work_orders",
            "work_order",
            "wait_for_work_order",
            "ask_approval_again",
            "cancel_work_order",
            "inspect_evidence",
            "read_output",
            "wait_for_wakes",
            "schedule_followup",
            "watch",
            "request_approval",
            "cancel_wake",
            "list_wakes",
        }
        assert all(tool.description and tool.inputSchema["type"] == "object" for tool in tools.values())
        asked = await ask(session, "submit_work_order", **PROPOSAL)
        assert asked["ok"], asked
        assert (asked["data"]["name"], asked["data"]["state"]) == ("WO-1", "ACTIVE")
        assert not (workspace / "answer.txt").exists()
        told = (await person("show", "WO-1/1", "--json")).json["approval"]
        assert told["asked_by"] == {"kind": "agent", "name": "codex"}

        waiting = asyncio.create_task(
            ask(session, "wait_for_work_order", name="WO-1", after=asked["data"]["sequence"], seconds=60)
        )
        await asyncio.to_thread(approve, praxis, "WO-1", "--with-validation")
        seen = await waiting
        assert assert_ok(seen)["data"]["changed"]
        while (assert_ok(seen))["data"]["state"] == "ACTIVE":
            after = seen["data"]["sequence"]
            seen = await ask(session, "wait_for_work_order", name="WO-1", after=after, seconds=60)
        assert seen["data"]["state"] == "AWAITING_ACCEPTANCE"
        assert [one["outcome"] for one in seen["data"]["validations"]] == ["PASSED"]

        evidence = (await ask(session, "inspect_evidence", name="WO-1/1"))["data"]
        assert (evidence["outcome"], evidence["exit_code"]) == ("SUCCEEDED", 0)
        assert "answer.txt" in evidence["changes"]["added"]
        part = (await ask(session, "read_output", name="WO-1/1", limit=4))["data"]
        assert (part["text"], part["end"], part["size"]) == ("writ", 4, 8)
        kept = await ask(session, "read_output", name="WO-1/1", role="artifact", path="answer.txt")
        assert assert_ok(kept)["data"]["text"] == "42"

        await person("accept", "WO-1", "--reason", "well done")
        seen = await ask(session, "wait_for_work_order", name="1", seconds=60)
        assert (seen["data"]["state"], seen["data"]["decisions"][0]["reason"]) == ("ACCEPTED", "well done")
    assert (await person("journal", "verify", "--json")).json["problem_count"] == 0


async def test_e92_whatever_an_agent_tries_it_decides_nothing_and_that_is_journalled(
    owner: Any, connect: Connect, person: Person
) -> None:
    async with connect() as session:
        await ask(session, "submit_work_order", **PROPOSAL)
        card = (await person("show", "WO-1/1", "--json")).json["approval"]
        tries = [method.name for method in METHODS.values() if method.right is Right.DECIDE]
        for name in tries:
            refused = await ask(
                session, name, approval_id=card["approval_id"], seal=card["seal"], actor={"kind": "person"}
            )
            assert refused["reason"] == "unauthorized", name
            assert "only a person decides" in refused["text"]
        assert (await ask(session, "no_such_tool"))["reason"] == "unknown_tool"
        assert (await ask(session, "status"))["reason"] == "unknown_tool"
        pretended = await ask(
            session, "submit_work_order", **PROPOSAL, actor={"kind": "person", "name": "ada"}
        )
        assert pretended["reason"] == "invalid_value"
        assert (await ask(session, "work_order", name="WO-1"))["data"]["approval"]["state"] == "PENDING"
    rows = [json.loads(line) for line in (await person("journal", "export")).out.splitlines()]
    refused_rows = [row for row in rows if row["kind"] == "rights.refused"]
    assert [row["detail"]["method"] for row in refused_rows] == tries
    assert all(row["actor"] == {"kind": "agent", "name": "codex"} for row in refused_rows)
    await person("approve", "WO-1", "--seal", card["seal"], "--as-agent", "codex", ok=False)
    assert (await person("journal", "export")).out.count("rights.refused") == len(tries) + 1


async def test_e92_an_agent_learns_nothing_of_what_others_asked_for(
    owner: Any, connect: Connect, person: Person, order_file: Any
) -> None:
    await person("submit", order_file(), "--as-agent", "other")
    await person("submit", order_file(), "--as-script", "codex")
    async with connect() as session:
        await ask(session, "submit_work_order", **PROPOSAL)
        listed = (await ask(session, "list_work_orders"))["data"]["work_orders"]
        assert [one["name"] for one in listed] == ["WO-3"]
        for tool, more in (
            ("work_order", {}),
            ("wait_for_work_order", {"seconds": 1}),
            ("ask_approval_again", {}),
            ("cancel_work_order", {"reason": "r"}),
            ("inspect_evidence", {}),
            ("read_output", {}),
        ):
            said = {
                json.dumps(await ask(session, tool, name=name, **more)).replace(name, "it")
                for name in ("WO-1", "WO-2", "WO-99")
            }
            assert len(said) == 1
            assert "not_found" in said.pop()


async def test_e92_an_agent_takes_back_its_own_and_asks_again_after_a_no(
    owner: Any, connect: Connect, person: Person
) -> None:
    async with connect() as session:
        await ask(session, "submit_work_order", **PROPOSAL)
        await ask(session, "submit_work_order", **PROPOSAL)
        done = await ask(session, "cancel_work_order", name="WO-1", reason="not needed")
        assert (done["ok"], done["data"]["state"]) == (True, "CANCELLED")
        assert (await ask(session, "ask_approval_again", name="WO-2"))["reason"] == "wrong_state"
        await person("withdraw", "WO-2")
        assert (await ask(session, "work_order", name="WO-2"))["data"]["approval"]["state"] == "WITHDRAWN"
        again = await ask(session, "ask_approval_again", name="WO-2")
        assert (again["ok"], again["data"]["approval"]["state"]) == (True, "PENDING"), again


async def test_e92_no_secret_leaves_through_the_door(
    owner: Any, connect: Connect, praxis: Praxis, workspace: Path
) -> None:
    code = (
        "import json, os; t = os.environ['TOKEN']; print('token', t); open('a.txt', 'w').write(t * 2); "
        "json.dump({'summary': t}, open(os.environ['PRAXIS_RESULT'], 'w'))"
    )
    toml = f"""
title = "Use a token"
workspace = "."
[implementation]
argv = [{json.dumps(sys.executable)}, "-c", {json.dumps(code)}]
environment = {{ TOKEN = {{ secret = "CONSOLE_TOKEN" }} }}
artifacts = ["a.txt"]
[validation]
criteria = "a person looks"
by = "person"
"""
    async with connect() as session:
        asked = await ask(session, "submit_work_order", toml=toml)
        assert asked["ok"], asked
        await asyncio.to_thread(approve, praxis, "WO-1")
        seen = asked
        while (
            not seen["data"]["tasks"][0]["attempts"]
            or seen["data"]["tasks"][0]["attempts"][0]["outcome"] is None
        ):
            seen = await ask(
                session, "wait_for_work_order", name="WO-1", after=seen["data"]["sequence"], seconds=60
            )
        answers = [
            asked,
            seen,
            await ask(session, "inspect_evidence", name="WO-1"),
            await ask(session, "read_output", name="WO-1"),
            await ask(session, "read_output", name="WO-1", offset=9, limit=5),
            await ask(session, "read_output", name="WO-1", role="result"),
            await ask(session, "read_output", name="WO-1", role="artifact", path="a.txt"),
        ]
        assert assert_ok(answers[3])["data"]["text"] == f"token {'*' * len(SECRET)}\n"
        assert answers[4]["data"]["text"] == "*****"
        assert answers[6]["data"]["masked"] == 2
        assert SECRET not in json.dumps(answers)


async def test_e92_what_an_agent_books_for_later_comes_and_a_person_answers(
    owner: Any, connect: Connect, person: Person
) -> None:
    """wakes.md §9 over MCP: follow-up, event of its own work, question; seen, answered and cancelled by the person."""
    async with connect() as session:
        await ask(session, "submit_work_order", **PROPOSAL)
        booked = [
            assert_ok(await ask(session, "schedule_followup", message="look again", when="+1s"))["data"],
            assert_ok(await ask(session, "watch", event="WO-1:ended", message="tell the others"))["data"],
            assert_ok(await ask(session, "request_approval", question="Merge it?", expires_in="1h"))["data"],
            assert_ok(await ask(session, "schedule_followup", message="never", when="+1h"))["data"],
        ]
        assert "token" not in json.dumps(booked)
        listed = assert_ok(await ask(session, "list_wakes"))["data"]["wakes"]
        assert len({one["id"] for one in listed} & {one["id"] for one in booked}) >= 3
        for pretended in ("workspace", "session", "actor", "depth"):
            refused = await ask(session, "schedule_followup", message="m", when="+1h", **{pretended: "other"})
            assert (refused["ok"], refused["reason"]) == (False, "invalid_value")

        (asked,) = (await person("agent", "questions", "--json")).json
        assert (asked["question"], asked["asked_by"]["name"]) == ("Merge it?", "codex")
        await person("agent", "answer", asked["id"], "no, not yet", "--as-agent", "codex", ok=False)
        await person("agent", "answer", asked["id"], "no, not yet")
        assert (await person("agent", "answer", asked["id"], "yes", ok=False)).code == 4
        assert "No agent asks" in (await person("agent", "questions")).out
        await person("cancel", "WO-1", "--reason", "not needed")
        assert assert_ok(await ask(session, "cancel_wake", id=booked[3]["id"]))["ok"]

    seen: dict[str, Any] = {}
    async with connect() as session:  # another launch of the same agent
        after = 0
        while len(seen) < 3:
            came = assert_ok(await ask(session, "wait_for_wakes", after=after, seconds=60))["data"]
            after = came["after"]
            seen |= {one["message"]: one for one in came["wakes"]}
        assert seen["Merge it?"]["result"] == "no, not yet"
        assert (seen["Merge it?"]["answered"], seen["Merge it?"]["expired"]) == (True, False)
        assert seen["tell the others"]["result"]["state"] == "CANCELLED"
        assert seen["look again"]["trigger"] == "at"
        assert assert_ok(await ask(session, "list_wakes"))["data"]["wakes"] == []
        assert assert_ok(await ask(session, "wait_for_wakes", after=after, seconds=0))["data"]["wakes"] == []
    async with connect("other") as session:
        assert assert_ok(await ask(session, "list_wakes"))["data"]["wakes"] == []
        assert assert_ok(await ask(session, "wait_for_wakes", seconds=0))["data"]["wakes"] == []
        said = {
            (await ask(session, "cancel_wake", id=wake))["text"].replace(wake, "it")
            for wake in (booked[0]["id"], booked[3]["id"], "01K0000000000000000000NONE")
        }
        assert len(said) == 1, "of others it learns nothing"


async def test_e92_without_an_owner_it_says_so_and_goes_on_once_there_is_one(
    connect: Connect, folder: Path, request: pytest.FixtureRequest
) -> None:
    async with connect() as session:
        before = (folder / "praxis.sqlite").read_bytes()
        for _ in range(2):
            answer = await ask(session, "list_work_orders")
            assert answer["reason"] == "channel"
            assert "Nobody has the data folder open" in answer["text"]
        assert (folder / "praxis.sqlite").read_bytes() == before
        request.getfixturevalue("owner")
        assert (await ask(session, "list_work_orders"))["ok"]


async def test_e92_a_killed_agent_changes_nothing(
    owner: subprocess.Popen[bytes], person: Person, environment: dict[str, str], workspace: Path
) -> None:
    """An agent's process that sends nonsense and too much, then is killed, leaves the owner as it was."""
    await person("agent", "add", "codex")
    process = subprocess.Popen(
        [sys.executable, *COMMAND, "mcp", "--name", "codex"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=environment,
        cwd=workspace,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(b"\xff nonsense\n" + b"x" * (3 << 20) + b"\n")
    hello = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "initialize",
        "params": {
            "protocolVersion": "2025-06-18",
            "capabilities": {},
            "clientInfo": {"name": "t", "version": "1"},
        },
    }
    process.stdin.write(json.dumps(hello).encode() + b"\n")
    process.stdin.flush()
    while b'"id":1' not in (line := process.stdout.readline()):
        assert line
    process.kill()
    process.communicate()
    assert owner.poll() is None
    assert (await person("list", "--json")).json == []
    assert (await person("journal", "verify", "--json")).json["problem_count"] == 0


# ------------------------------------------------------------------------------------------------ without processes


@pytest.fixture
def desk(folder: Path, workspace: Path, praxis: Praxis) -> AgentDesk:
    given = praxis("agent", "add", "codex", "--json").json
    return AgentDesk(folder, read_agent_key(Path(given["file"])), workspace, "S")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({}, "title and argv and criteria are missing"),
        ({"title": "t", "argv": [], "criteria": "c"}, "argv"),
        ({"title": "t", "argv": "ls", "criteria": "c"}, "argv"),
        ({"title": "t", "argv": ["ls"], "criteria": "c", "shell": True}, "shell"),
        ({"title": "t", "argv": ["ls"], "criteria": "c", "toml": "x"}, "toml alone"),
        ({"toml": "title = 1"}, "title"),
        ({"toml": "x" * ((256 << 10) + 1)}, "toml"),
        ({"title": "t", "argv": ["ls"], "criteria": "c", "time_limit": "soon"}, "time_limit"),
        ({"title": "t", "argv": ["ls"], "criteria": "c", "max_cost": -1}, "max_cost"),
        ({"title": "t", "argv": ["ls"], "criteria": "c", "folder": "../.."}, "folder"),
    ],
)
def test_e92_wrong_arguments_are_named(workspace: Path, arguments: dict[str, Any], said: str) -> None:
    with pytest.raises(PraxisError, match=said):
        read_arguments(SubmitArguments, "submit_work_order", arguments).spec(workspace)  # type: ignore[attr-defined]


async def test_e92_work_is_asked_for_only_below_the_agents_own_folder(
    owner: Any, desk: AgentDesk, workspace: Path, tmp_path: Path
) -> None:
    (workspace / "link").symlink_to(tmp_path, target_is_directory=True)
    for number, outside in enumerate(("..", str(tmp_path), "link", f"{workspace}-else")):
        answer = await desk.call("submit_work_order", {**PROPOSAL, "workspace": outside}, str(number))
        assert (answer.ok, "does not lie below" in answer.text) == (False, True), outside
    (workspace / "inside").mkdir()
    assert (await desk.call("submit_work_order", {**PROPOSAL, "workspace": "inside"}, "in")).ok


async def test_e92_a_repeated_call_submits_nothing_twice(owner: Any, desk: AgentDesk) -> None:
    first, again = [await desk.call("submit_work_order", PROPOSAL, "7") for _ in range(2)]
    assert first.data["name"] == again.data["name"] == "WO-1"
    assert (await desk.call("submit_work_order", PROPOSAL, "8")).data["name"] == "WO-2"


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=30),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=10), inner, max_size=3),
    max_leaves=8,
)
NOBODY = Credential("", b"", Actor(ActorKind.AGENT, "a"))
TOOLS = [one.name for one in AgentDesk(Path(), NOBODY, Path(), "S").definitions]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    name=st.sampled_from(TOOLS) | st.text(max_size=20),
    arguments=st.dictionaries(
        st.sampled_from(["name", "toml", "argv", "title", "criteria", "limit", "after", "seconds"])
        | st.text(max_size=5),
        JSON,
        max_size=5,
    ),
)
async def test_e92_no_argument_makes_a_call_raise(
    desk: AgentDesk, name: str, arguments: dict[str, Any]
) -> None:
    answer = await desk.call(name, arguments, "1")
    assert isinstance(answer, ToolAnswer)
    assert not answer.ok
    assert len(answer.text) < 2_000


def test_e92_the_command_checks_what_it_is_launched_with(praxis: Praxis, tmp_path: Path) -> None:
    assert praxis("mcp", "--name", "", ok=False).code == 2
    assert praxis("mcp", ok=False).code == 2
    assert praxis("mcp", "--name", "codex", "--as-script", "x", ok=False).code == 2
    none = praxis("mcp", "--name", "codex", ok=False)
    assert (none.code, "praxis agent add codex" in none.err) == (3, True)
    assert praxis("mcp", "--name", "codex", "--workspace", str(tmp_path / "none"), ok=False).code == 3


def test_e92_without_the_package_it_says_what_to_install(
    praxis: Praxis, monkeypatch: pytest.MonkeyPatch
) -> None:
    praxis("agent", "add", "codex")
    monkeypatch.setitem(sys.modules, "engine.interfaces.mcp_server", None)
    ran = praxis("mcp", "--name", "codex", ok=False)
    assert (ran.code, "praxis-console[mcp]" in ran.err) == (2, True)
