"""Three processes on one data folder: the console with its window, the command line, a coding agent over MCP (issue 7).

The console is the real program with its own event loop, the agent the client of the package mcp, the command line a
process for each command.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import psutil
import pytest
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client

from engine.interfaces.channel_files import read_note

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="starts and kills POSIX processes")

ROOT = Path(__file__).parents[2]
PRAXIS = (sys.executable, "-m", "engine.interfaces.cli")
SECONDS = 60
SECRET = "hunter2-correct-horse"

USES_IT = (
    "import json, os; t = os.environ['TOKEN']; print('token', t); open('answer.txt', 'w').write('42'); "
    "json.dump({'summary': t}, open(os.environ['PRAXIS_RESULT'], 'w'))"
)
PROPOSAL = f"""
title = "Write the answer"
workspace = "."
[implementation]
argv = [{json.dumps(sys.executable)}, "-c", {json.dumps(USES_IT)}]
environment = {{ TOKEN = {{ secret = "CONSOLE_TOKEN" }} }}
artifacts = ["answer.txt"]
[validation]
criteria = "answer.txt says 42"
argv = [{json.dumps(sys.executable)}, "-c", "assert open('answer.txt').read() == '42'"]
"""


@pytest.fixture
def environment(folder: Path) -> dict[str, str]:
    return {
        **os.environ,
        "PRAXIS_DATA": str(folder),
        "PYTHONPATH": str(ROOT),
        "QT_QPA_PLATFORM": "offscreen",
        "CONSOLE_TOKEN": SECRET,
    }


Cli = Callable[..., Any]


@pytest.fixture
def cli(environment: dict[str, str]) -> Cli:
    """Run a command of the person's in a process of its own; what it prints as JSON."""

    async def run(*arguments: str, code: int = 0) -> Any:
        process = await asyncio.create_subprocess_exec(
            *PRAXIS,
            *arguments,
            "--json",
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environment,
        )
        out, err = await asyncio.wait_for(process.communicate(), SECONDS)
        assert process.returncode == code, err.decode()
        text = out if code == 0 else err
        if arguments[:2] == ("journal", "export"):
            return [json.loads(line) for line in text.splitlines()]
        return json.loads(text)

    return run


class Console:
    """The console's process, and the person before it."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process

    async def do(self, **what: Any) -> Any:
        """Have the person do one thing in the window, and give what came of it."""

        def ask() -> Any:
            assert self.process.stdin is not None
            assert self.process.stdout is not None
            self.process.stdin.write(json.dumps(what) + "\n")
            self.process.stdin.flush()
            return json.loads(self.process.stdout.readline())

        return await asyncio.wait_for(asyncio.to_thread(ask), SECONDS)


@pytest.fixture
def console(folder: Path, environment: dict[str, str]) -> Iterator[Callable[[], Console]]:
    """Open the console on the data folder; it is closed at the end, in good order."""
    started: list[subprocess.Popen[str]] = []

    def start() -> Console:
        process = subprocess.Popen(
            [sys.executable, "-m", "tests.e2e.console_child", str(folder)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=environment,
            cwd=ROOT,
            text=True,
        )
        started.append(process)
        deadline = time.monotonic() + SECONDS
        while read_note(folder) is None:
            assert process.poll() is None
            assert time.monotonic() < deadline
            time.sleep(0.02)
        return Console(process)

    yield start
    for process in started:
        if process.poll() is None:
            process.terminate()
        try:
            process.communicate(timeout=SECONDS)
        finally:
            process.kill()


@asynccontextmanager
async def agent(environment: dict[str, str], workspace: Path, name: str) -> AsyncIterator[ClientSession]:
    """A coding agent: it starts `praxis mcp` as its configuration says."""
    server = StdioServerParameters(
        command=sys.executable, args=[*PRAXIS[1:], "mcp", "--name", name], env=environment, cwd=workspace
    )
    async with stdio_client(server) as streams, ClientSession(*streams) as session:
        await session.initialize()
        yield session


async def ask(session: ClientSession, tool: str, **arguments: Any) -> Any:
    return (await session.call_tool(tool, arguments)).structuredContent


async def ok(session: ClientSession, tool: str, **arguments: Any) -> Any:
    answer = await ask(session, tool, **arguments)
    assert answer["ok"], answer
    return answer["data"]


async def wait_for(session: ClientSession, reached: Callable[[Any], bool]) -> Any:
    """What the agent does: wait for the next change until it is there."""
    seen = await ok(session, "work_order", name="WO-1")
    while not reached(seen):
        seen = await ok(session, "wait_for_work_order", name="WO-1", after=seen["sequence"], seconds=60)
    return seen


async def test_an_agent_proposes_the_person_approves_in_the_window_the_agent_reads_the_outcome(
    folder: Path, workspace: Path, environment: dict[str, str], cli: Cli, console: Callable[[], Console]
) -> None:
    await cli("agent", "add", "codex")
    window = await asyncio.to_thread(console)
    async with agent(environment, workspace, "codex") as codex:
        asked = await ok(codex, "submit_work_order", toml=PROPOSAL)
        assert (asked["name"], asked["state"]) == ("WO-1", "ACTIVE")
        assert not (workspace / "answer.txt").exists()

        card = (await cli("show", "WO-1/1"))["approval"]
        tries = {
            "approvals.approve": {"approval_id": card["approval_id"], "seal": card["seal"]},
            "hold": {"node": {"kind": "ENGINE", "id": "engine"}, "reason": "r"},
            "unknowns.reconcile": {"attempt_id": "x", "finding": "did-not", "reason": "r"},
            "agents.add": {"name": "me"},
        }
        for tool, arguments in tries.items():
            refused = await ask(codex, tool, **arguments, actor={"kind": "person", "name": "ada"})
            assert (refused["ok"], refused["reason"]) == (False, "unauthorized"), tool
        assert (await ok(codex, "work_order", name="WO-1"))["approval"]["state"] == "PENDING"

        await kill_in_the_middle_of("wait_for_work_order", environment, workspace, name="WO-1", seconds=60)
        assert (await ok(codex, "work_order", name="WO-1"))["sequence"] == asked["sequence"]

        for _ in range(2):  # the step, then its validation
            approved = await window.do(approve="Write the answer")
            await wait_for(
                codex, lambda seen: seen["approval"]["state"] != "PENDING" or len(seen["tasks"]) > 1
            )
        seen = await wait_for(codex, lambda seen: seen["state"] == "AWAITING_ACCEPTANCE")
        assert seen["validations"][0]["outcome"] == "PASSED"
        output = await ok(codex, "read_output", name="WO-1/1")
        assert output["text"] == f"token {'*' * len(SECRET)}\n"
        assert (await ok(codex, "inspect_evidence", name="WO-1/1"))["exit_code"] == 0

        rows = await cli("journal", "export")
        refusals = [row for row in rows if row["kind"] == "rights.refused"]
        assert [row["detail"]["method"] for row in refusals] == list(tries)
        assert {row["actor"]["name"] for row in refusals} == {"codex"}
        decided = [row for row in rows if row["kind"] == "approval.approved"]
        assert [row["actor"]["kind"] for row in decided] == ["person", "person"]
        assert decided[-1]["subject_id"] == approved["approved"]
        await cli("accept", "WO-1")
        assert (await wait_for(codex, lambda seen: seen["state"] == "ACCEPTED"))["name"] == "WO-1"

        await kill_in_the_middle_of("submit_work_order", environment, workspace, toml=PROPOSAL)
        # A request that was whole when its sender died is carried out whole; of any other nothing is left.
        rows = (await ok(codex, "list_work_orders"))["work_orders"]
        assert [(row["name"], row["state"]) for row in rows] in (
            [("WO-1", "ACCEPTED")],
            [("WO-2", "ACTIVE"), ("WO-1", "ACCEPTED")],
        )

        await cli("agent", "revoke", "codex", "--reason", "done")
        assert (await ask(codex, "work_order", name="WO-1"))["reason"] == "unauthorized"

    said = await window.do(texts=True)
    assert any("Write the answer" in text for text in approved["texts"])
    assert SECRET not in json.dumps([said, approved])
    log = (folder / "logs" / "console.log").read_text(encoding="utf-8")
    assert (SECRET in log, "Traceback" in log) == (False, False)
    assert (await cli("journal", "verify"))["problem_count"] == 0
    await window.do(quit=True)
    assert await asyncio.to_thread(window.process.wait, SECONDS) == 0


async def kill_in_the_middle_of(
    tool: str, environment: dict[str, str], workspace: Path, **arguments: Any
) -> None:
    """Start an agent's process with the same key, have it call a tool, and kill it while it speaks to the owner."""
    peer = await raw_agent(environment, workspace)
    server = psutil.Process(peer.process.pid)
    sockets = len(server.net_connections("unix"))
    await peer.call(tool, **arguments)
    async with asyncio.timeout(SECONDS):
        while len(server.net_connections("unix")) == sockets:
            await asyncio.sleep(0.002)
    peer.process.send_signal(signal.SIGKILL)
    await peer.process.communicate()


class RawAgent:
    """An agent's process that speaks MCP by hand, so that it can be killed at any point."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process

    async def say(self, **message: Any) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
        await self.process.stdin.drain()

    async def call(self, tool: str, **arguments: Any) -> None:
        await self.say(id=tool, method="tools/call", params={"name": tool, "arguments": arguments})

    async def answer(self) -> Any:
        assert self.process.stdout is not None
        return json.loads(await asyncio.wait_for(self.process.stdout.readline(), SECONDS))


async def raw_agent(environment: dict[str, str], workspace: Path) -> RawAgent:
    peer = RawAgent(
        await asyncio.create_subprocess_exec(
            *PRAXIS,
            "mcp",
            "--name",
            "codex",
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=environment,
            cwd=workspace,
        )
    )
    client = {"name": "by hand", "version": "1"}
    hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client}
    await peer.say(id=1, method="initialize", params=hello)
    await peer.answer()
    await peer.say(method="notifications/initialized")
    return peer
