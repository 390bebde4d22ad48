"""`praxis mcp`: the door for coding agents (E-92)."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from engine.actors import Actor, ActorKind
from engine.errors import InvalidValue, NotFound
from engine.interfaces.cli_common import command, require_actor_name
from engine.interfaces.cli_session import Session


def add_agent_commands(app: typer.Typer) -> None:
    """Add the commands of this module."""
    command(app, "mcp")(mcp)


async def mcp(
    session: Session,
    name: Annotated[
        str, typer.Option("--name", metavar="NAME", help="What this agent is called in all records.")
    ],
    workspace: Annotated[
        Path,
        typer.Option(
            "--workspace", metavar="FOLDER", help="Where it may ask for work; the present folder without it."
        ),
    ] = Path(),
) -> None:
    """Serve a coding agent over MCP on stdin and stdout. It may ask and look, never decide.

    Register this command with the agent; do not run it by hand. The console or praxis serve must have the data
    folder: without, each call says so.
    """
    if session.actor.kind is not ActorKind.PERSON:
        raise InvalidValue(
            "praxis mcp speaks for the agent that --name names.", do="Leave the other name out."
        )
    require_actor_name(name, ActorKind.AGENT)
    folder = workspace.absolute()
    if not folder.is_dir():
        raise NotFound(f"There is no folder {workspace}.", do="Name the folder that the agent works in.")
    try:
        from engine.interfaces.mcp_server import serve_agent
    except ImportError as error:
        raise InvalidValue(
            "The package mcp is not installed.",
            do='Install it: python -m pip install "praxis-console[mcp]"',
        ) from error
    await serve_agent(session.folder, Actor(ActorKind.AGENT, name), folder)
