"""The MCP server over stdio: a coding agent's door to the engine (E-92).

The owner of the data folder does everything; this process only carries messages, and never opens the folder.
Needs the extra ``mcp``.
"""

from __future__ import annotations

import json
import sys
from collections.abc import AsyncIterator
from io import TextIOWrapper
from pathlib import Path
from typing import Any, cast

import anyio
import anyio.to_thread
from mcp import types
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server

from engine.clock import SystemClock
from engine.ids import new_id
from engine.interfaces.keys import Credential
from engine.interfaces.mcp_tools import AgentDesk
from engine.version import VERSION
from engine.wakes.tools import ToolAnswer

LARGEST_MESSAGE = 1 << 20
"""Longer lines from the agent are thrown away."""

INSTRUCTIONS = """\
You ask here for commands to be run on this machine. Each is shown to a person exactly as you wrote it, and runs \
only if the person approves it. You cannot approve, hold, or decide anything yourself. Submit a work order, wait \
for it, then read its evidence. An outcome UNKNOWN is not a failure: nobody knows whether it took effect, so do \
not ask for the same again before a person has decided. What you want to do later, or once something happens, you \
book with schedule_followup, watch or request_approval, and it comes through wait_for_wakes."""

_LOOKING = frozenset(
    {
        "list_work_orders",
        "work_order",
        "wait_for_work_order",
        "inspect_evidence",
        "read_output",
        "list_wakes",
        "wait_for_wakes",
    }
)


async def serve_agent(folder: Path, key: Credential, workspace: Path, session: str) -> None:
    """Serve one agent on stdin and stdout until it hangs up.

    ``key`` says who asks in all that comes in, ``workspace`` is the folder below which it may ask for work, and
    ``session`` names the one to which its follow-ups belong, in this launch and later ones.
    """
    desk = AgentDesk(folder, key, workspace, new_id(SystemClock().now()), session)
    server = make_server(desk)
    async with stdio_server(stdin=cast("Any", _Lines(sys.stdin))) as (incoming, outgoing):
        await server.run(incoming, outgoing, server.create_initialization_options())


def make_server(desk: AgentDesk) -> Server[Any, Any]:
    """Give the server that offers the tools of a desk."""
    server: Server[Any, Any] = Server("praxis", version=VERSION, instructions=INSTRUCTIONS)

    async def list_tools(_request: types.ListToolsRequest) -> types.ServerResult:
        tools = [
            types.Tool(
                name=one.name,
                description=one.description,
                inputSchema=one.input_schema,
                annotations=types.ToolAnnotations(
                    readOnlyHint=one.name in _LOOKING, destructiveHint=False, openWorldHint=False
                ),
            )
            for one in desk.definitions
        ]
        return types.ServerResult(types.ListToolsResult(tools=tools))

    async def call_tool(request: types.CallToolRequest) -> types.ServerResult:
        call_id = str(server.request_context.request_id)
        answer = await desk.call(request.params.name, request.params.arguments or {}, call_id)
        return types.ServerResult(_result(answer))

    server.request_handlers[types.ListToolsRequest] = list_tools
    server.request_handlers[types.CallToolRequest] = call_tool
    return server


def _result(answer: ToolAnswer) -> types.CallToolResult:
    value = {"ok": answer.ok, "reason": answer.reason, "text": answer.text, "data": answer.data}
    return types.CallToolResult(
        content=[types.TextContent(type="text", text=json.dumps(value, ensure_ascii=False))],
        structuredContent=value,
        isError=not answer.ok,
    )


class _Lines:
    """Lines of a stream, none longer than `LARGEST_MESSAGE`; waiting for one does not keep the process alive."""

    def __init__(self, stream: Any) -> None:
        self._stream = TextIOWrapper(stream.buffer, encoding="utf-8", errors="replace")

    async def __aiter__(self) -> AsyncIterator[str]:
        while line := await anyio.to_thread.run_sync(self._next, abandon_on_cancel=True):
            yield line

    def _next(self) -> str:
        """The next line; one that is too long becomes an empty one, which is no message."""
        line = self._stream.readline(LARGEST_MESSAGE)
        if line.endswith("\n") or len(line) < LARGEST_MESSAGE:
            return line
        while line and not line.endswith("\n"):
            line = self._stream.readline(LARGEST_MESSAGE)
        return "\n"
