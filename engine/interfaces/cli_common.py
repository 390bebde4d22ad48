"""Turning a coroutine into a command of `praxis`, with the options that every command has.

They may stand before the command or after it: ``praxis --json list`` is ``praxis list --json``.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, TypeVar

import typer

from engine.actors import Actor, ActorKind
from engine.engine import Engine
from engine.errors import InvalidValue, PraxisError
from engine.interfaces.cli_output import Output
from engine.interfaces.cli_session import Session, Unexpected, kept_log, person, record_unexpected, whole_path
from engine.interfaces.keys import read_agent_key

LONGEST_ACTOR_NAME = 100

DataOption = Annotated[
    Path | None,
    typer.Option(
        "--data",
        metavar="FOLDER",
        envvar="PRAXIS_DATA",
        show_envvar=False,
        help="The data folder; without it this user's own, or PRAXIS_DATA.",
    ),
]
LaterDataOption = Annotated[
    Path | None,
    typer.Option(
        "--data", metavar="FOLDER", help="The data folder; without it this user's own, or PRAXIS_DATA."
    ),
]
"""After the command the variable is not read again: there it would win over ``--data`` before the command."""
JsonOption = Annotated[
    bool,
    typer.Option("--json", help="Print one JSON document; errors as JSON on stderr.", show_default=False),
]
ScriptOption = Annotated[
    str | None,
    typer.Option(
        "--as-script", metavar="NAME", help="Speak as a script of this name: it may look and ask, not decide."
    ),
]
AgentOption = Annotated[
    str | None,
    typer.Option(
        "--as-agent", metavar="NAME", help="Speak as an agent of this name: it may look and ask, not decide."
    ),
]

KeyFileOption = Annotated[
    Path | None,
    typer.Option(
        "--key-file",
        metavar="FILE",
        help="Speak as the agent or script whose key this is; only through the owner of the data folder.",
    ),
]

ReasonOption = Annotated[str, typer.Option("--reason", help="Why; it is kept for good.")]
NeededReason = Annotated[str, typer.Option("--reason", help="Why; it is kept for good.", show_default=False)]
ForceOption = Annotated[bool, typer.Option("--force", help="Replace the file if it is there.")]
KeyOption = Annotated[
    str | None,
    typer.Option("--key", help="A key of your own: the same command with the same key is carried out once."),
]

_Command = TypeVar("_Command", bound=Callable[..., Awaitable[None]])


@dataclass(frozen=True, slots=True)
class Common:
    """The options that every command has, as given at one of the two places."""

    data: Path | None = None
    as_json: bool = False
    as_script: str | None = None
    as_agent: str | None = None
    key_file: Path | None = None

    def under(self, later: Common) -> Common:
        """These, where ``later`` (given after the command) says nothing."""
        return Common(
            self.data if later.data is None else later.data,
            later.as_json or self.as_json,
            self.as_script if later.as_script is None else later.as_script,
            self.as_agent if later.as_agent is None else later.as_agent,
            self.key_file if later.key_file is None else later.key_file,
        )

    def session(self, command: str) -> Session:
        """Make what a command runs with; `InvalidValue` if the options do not fit together."""
        folder = whole_path(self.data or Engine.default_folder())
        out = Output(as_json=self.as_json)
        if self.key_file is None:
            return Session(command, folder, self._actor(), out)
        if self.as_script is not None or self.as_agent is not None:
            raise InvalidValue("A key says itself as whom one speaks.", do="Leave the other name out.")
        key = read_agent_key(self.key_file.expanduser())
        return Session(command, folder, key.actor, out, key)

    def _actor(self) -> Actor:
        if self.as_script is not None and self.as_agent is not None:
            raise InvalidValue("One speaks as a script or as an agent, not both.", do="Leave one out.")
        name, kind = (
            (self.as_script, ActorKind.SCRIPT)
            if self.as_script is not None
            else (self.as_agent, ActorKind.AGENT)
        )
        if name is None:
            return person()
        require_actor_name(name, kind)
        return Actor(kind, name)


def require_actor_name(name: str, kind: ActorKind) -> None:
    """Raise `InvalidValue` unless this can be an actor's name."""
    if not 0 < len(name) <= LONGEST_ACTOR_NAME or not name.isprintable():
        whose = "an agent" if kind is ActorKind.AGENT else f"a {kind}"
        raise InvalidValue(
            f"The name of {whose} is 1 to {LONGEST_ACTOR_NAME} visible characters.", do="Give another name."
        )


def require_new_file(path: Path | None, *, force: bool) -> None:
    """Raise `InvalidValue` if a file is there already, unless it may be replaced."""
    if path is not None and not force and path.is_file():
        raise InvalidValue(
            f"The file {path} is there already.",
            means="Nothing was written.",
            do="Name another file, or replace it with --force.",
            file=str(path),
        )


def command(app: typer.Typer, name: str) -> Callable[[_Command], _Command]:
    """Make ``async def f(session, …)`` the command ``name``: its docstring is the help, its rest the options."""

    def register(function: _Command) -> _Command:
        own = [
            one.replace(kind=inspect.Parameter.KEYWORD_ONLY)
            for one in list(inspect.signature(function, eval_str=True).parameters.values())[1:]
        ]

        def run(ctx: typer.Context, **values: Any) -> None:
            given = Common(*(values.pop(option) for option in _COMMON))
            before = ctx.find_object(Common) or Common()
            session = before.under(given).session(name)
            try:
                with kept_log(session.folder):
                    asyncio.run(_awaited(function(session, **values)))
            except (PraxisError, BrokenPipeError, typer.Abort, typer.Exit):
                raise
            except KeyboardInterrupt as error:
                raise typer.Abort from error
            except Exception as error:
                raise Unexpected(error, record_unexpected(session.folder, name, error)) from error

        parameters = [_parameter("ctx", typer.Context), *own, *_common_parameters()]
        run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        run.__annotations__ = {one.name: one.annotation for one in parameters}
        run.__doc__ = function.__doc__
        app.command(name)(run)
        return function

    return register


async def _awaited(work: Awaitable[None]) -> None:
    await work


_COMMON = ("data", "json", "as_script", "as_agent", "key_file")


def _common_parameters() -> list[inspect.Parameter]:
    kinds = (LaterDataOption, JsonOption, ScriptOption, AgentOption, KeyFileOption)
    return [
        _parameter(name, kind, False if name == "json" else None)
        for name, kind in zip(_COMMON, kinds, strict=True)
    ]


def _parameter(name: str, annotation: Any, default: Any = inspect.Parameter.empty) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)
