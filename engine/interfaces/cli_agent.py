"""`praxis agent`: the keys of agents and scripts (E-90); `praxis mcp`: the door for coding agents (E-92)."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from engine.actors import Actor, ActorKind
from engine.clock import SystemClock
from engine.control.agents import AgentRow
from engine.engine import Engine
from engine.errors import InvalidValue, NotFound
from engine.interfaces.channel_client import EngineClient
from engine.interfaces.cli_common import NeededReason, command, require_actor_name
from engine.interfaces.cli_output import age, at, shown, shown_lines, table
from engine.interfaces.cli_session import Session, whole_path
from engine.interfaces.keys import (
    Credential,
    agent_key_path,
    agent_secret,
    own_key,
    person_credential,
    read_agent_key,
    remove_agent_key,
    write_agent_key,
)

agent_app = typer.Typer(
    help="Keys of agents and scripts: give them, list them, take them back. What agents ask: answer it.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

KeyName = Annotated[
    str, typer.Argument(metavar="NAME", help="Letters, digits, dots, dashes and underscores.")
]
OfScript = Annotated[
    bool,
    typer.Option("--script", help="A script, which may look at everything and ask, instead of an agent."),
]


def add_agent_commands(app: typer.Typer) -> None:
    """Add the commands of this module."""
    command(agent_app, "add")(add)
    command(agent_app, "list")(list_keys)
    command(agent_app, "revoke")(revoke)
    command(agent_app, "questions")(questions)
    command(agent_app, "answer")(answer)
    command(agent_app, "tell")(tell)
    app.add_typer(agent_app, name="agent")
    command(app, "mcp")(mcp)


async def add(
    session: Session,
    name: KeyName,
    script: OfScript = False,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            metavar="FILE",
            help="Where to keep the key; without it in the data folder, where praxis mcp finds it.",
        ),
    ] = None,
) -> None:
    """Give an agent a key of its own and say how to register it. What it asks for is recorded under its name."""
    kind = ActorKind.SCRIPT if script else ActorKind.AGENT
    async with session.client(create=True) as client:
        row = await client.agents.add(name, kind=kind)
        path = whole_path(out) if out is not None else agent_key_path(session.folder, row.actor)
        try:
            write_agent_key(path, row.id, row.actor, agent_secret(_person_key(session, client), row.id))
        except BaseException:
            await client.agents.revoke(name, "Its key file could not be written.", kind=kind)
            raise
    launch = _launch(session.folder, row.actor, path if out is not None else None)
    session.out.result({"key": row, "file": str(path), "launch": launch}, lambda: _given(row, path, launch))


async def list_keys(session: Session) -> None:
    """Every key that was ever given, the newest first, and whether it still counts."""
    async with session.client(reading=True) as client:
        rows = await client.agents.listed()
    session.out.result(
        rows, lambda: [_table(rows)] if rows else ["No agent or script has a key: praxis agent add NAME"]
    )


async def revoke(session: Session, name: KeyName, reason: NeededReason, script: OfScript = False) -> None:
    """Take a key back: nothing that its holder says is heard from then on. Its work orders stay."""
    kind = ActorKind.SCRIPT if script else ActorKind.AGENT
    async with session.client() as client:
        row = await client.agents.revoke(name, reason, kind=kind)
    remove_agent_key(agent_key_path(session.folder, row.actor), row.id)
    session.out.result(row, lambda: [f"The key of {shown(str(row.actor))} counts no more."])


async def questions(session: Session) -> None:
    """What agents ask you, oldest first."""
    async with session.client(reading=True) as client:
        rows = await client.followups.questions()
    now = SystemClock().now()
    session.out.result(
        rows,
        lambda: (
            [
                table(
                    ("id", "agent", "asked", "answer until", "question"),
                    (
                        [
                            one.id,
                            shown(one.asked_by.name),
                            f"{age(one.asked_at, now)} ago",
                            at(one.expires_at),
                            shown_lines(one.question),
                        ]
                        for one in rows
                    ),
                )
            ]
            if rows
            else ["No agent asks anything."]
        ),
    )


async def answer(
    session: Session,
    question: Annotated[
        str, typer.Argument(metavar="ID", help="The question, as praxis agent questions lists it.")
    ],
    text: Annotated[str, typer.Argument(metavar="ANSWER", help="What the agent is told, word for word.")],
) -> None:
    """Answer an agent's question, once. It is no approval of a work order: those are decided by their seal."""
    async with session.client() as client:
        await client.followups.answer(question, text)
    session.out.result({"answered": question}, lambda: ["The agent is told your answer."])


async def tell(
    session: Session,
    name: Annotated[str, typer.Argument(metavar="AGENT", help="The agent that watches.")],
    key: Annotated[str, typer.Argument(metavar="EVENT", help="The key of the event that has come.")],
    payload: Annotated[str, typer.Option("--payload", help="What the agent is told beside the key.")] = "",
    delivery: Annotated[
        str | None, typer.Option("--delivery", metavar="ID", help="The same delivery again tells nothing.")
    ] = None,
) -> None:
    """Tell an agent that an event it watches has come, such as the end of a build."""
    async with session.client() as client:
        told = await client.followups.tell_event(name, key, payload=payload, delivery_id=delivery)
    repeated = " It had been told already." if told.repeat else ""
    session.out.result(told, lambda: [f"The agent is told of {shown(key)}.{repeated}"])


async def mcp(
    session: Session,
    name: Annotated[
        str | None,
        typer.Option(
            "--name", metavar="NAME", help="The agent, as praxis agent add called it; or give --key-file."
        ),
    ] = None,
    workspace: Annotated[
        Path,
        typer.Option(
            "--workspace", metavar="FOLDER", help="Where it may ask for work; the present folder without it."
        ),
    ] = Path(),
    follow_ups_of: Annotated[
        str,
        typer.Option(
            "--session",
            metavar="NAME",
            help="Whose follow-ups it gets, if one agent works at several things.",
        ),
    ] = "main",
) -> None:
    """Serve a coding agent over MCP on stdin and stdout. It may ask and look, never decide.

    Register this command with the agent; do not run it by hand. The console or praxis serve must have the data
    folder: without, each call says so.
    """
    folder = workspace.absolute()
    if not folder.is_dir():
        raise NotFound(f"There is no folder {workspace}.", do="Name the folder that the agent works in.")
    key = _agents_key(session, name)
    try:
        from engine.interfaces.mcp_server import serve_agent
    except ImportError as error:
        raise InvalidValue(
            "The package mcp is not installed.",
            do='Install it: python -m pip install "praxis-console[mcp]"',
        ) from error
    await serve_agent(session.folder, key, folder, follow_ups_of)


def _agents_key(session: Session, name: str | None) -> Credential:
    if session.key is not None:
        if session.key.actor.kind is not ActorKind.AGENT or name not in (None, session.key.actor.name):
            raise InvalidValue(
                f"The key is that of {session.key.actor}.", do="Give the key of the agent that is meant."
            )
        return session.key
    if name is None:
        raise InvalidValue(
            "Who is served has to be known.",
            do="Give --name NAME or --key-file FILE; a key is made by: praxis agent add NAME",
        )
    if session.actor.kind is not ActorKind.PERSON:
        raise InvalidValue(
            "praxis mcp speaks for the agent that --name names.", do="Leave the other name out."
        )
    require_actor_name(name, ActorKind.AGENT)
    try:
        return read_agent_key(agent_key_path(session.folder, Actor(ActorKind.AGENT, name)))
    except NotFound as error:
        raise NotFound(
            f"The agent {name} has no key in {session.folder}.",
            means="An agent speaks with a key of its own, which a person gives it.",
            do=f"If it lies elsewhere, name it with --key-file. Give it one: praxis agent add {name}",
        ) from error


def _person_key(session: Session, client: EngineClient) -> bytes:
    """The key from which those of agents follow. Alone, this process owns the folder and may make it."""
    if client.alone:
        return own_key(session.folder)
    return person_credential(session.folder, session.actor).secret


def _launch(folder: Path, actor: Actor, file: Path | None) -> dict[str, Any] | None:
    """How the agent is registered with a client of MCP; None for a script."""
    if actor.kind is not ActorKind.AGENT:
        return None
    data = [] if folder == Engine.default_folder() else ["--data", str(folder)]
    who = ["--name", actor.name] if file is None else ["--key-file", str(file)]
    return {"mcpServers": {"praxis": {"command": "praxis", "args": ["mcp", *data, *who]}}}


def _given(row: AgentRow, path: Path, launch: dict[str, Any] | None) -> Iterator[str]:
    yield f"The {row.actor.kind} {row.actor.name} has a key of its own: {shown(str(path))}"
    if launch is None:
        yield f"It speaks with --key-file, such as: praxis list --key-file {shown(str(path))}"
    else:
        yield "Register it with the agent, in its configuration of MCP servers:"
        yield json.dumps(launch, ensure_ascii=False)
    yield (
        "The key lets it ask and look as itself, never decide. It is no wall against a program that can read this "
        "user's other files: the person's key lies among them."
    )


def _table(rows: tuple[AgentRow, ...]) -> Table:
    return table(
        ("kind", "name", "given", "by", "taken back", "why"),
        (
            [
                row.actor.kind.value,
                shown(row.actor.name),
                at(row.added_at),
                shown(row.added_by.name),
                at(row.revoked_at),
                shown(row.reason),
            ]
            for row in rows
        ),
    )
