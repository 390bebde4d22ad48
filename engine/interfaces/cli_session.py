"""What every command of `praxis` shares: the data folder, who asks, the way to the engine, and the way out.

A command works alone on the data folder, or through the local channel if another process owns it (E-10).
"""

from __future__ import annotations

import asyncio
import getpass
import itertools
import logging
import re
import sys
import tempfile
import time
import traceback
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from engine.actors import Actor, ActorKind
from engine.engine import Engine
from engine.errors import ChannelError, FolderInUse, NotFound, PraxisError
from engine.interfaces.channel_client import EngineClient, InProcess, Remote
from engine.interfaces.cli_output import Output
from engine.interfaces.keys import Credential, person_credential

DATABASE_NAME = "praxis.sqlite"
LOG_FOLDER = "logs"
LOG_NAME = "praxis.log"

NOBODY_TO_ASK = ChannelError(
    "Who speaks with a key of its own asks the owner of the data folder, and that cannot be reached.",
    do="Ask the person to start Praxis Console, or praxis serve, on this data folder.",
)
"""An agent or script with a key never opens the data folder itself."""

OWNER_SECONDS = 5.0
"""How long a command waits for the folder to come free, or for its owner to begin to listen."""
_RETRY_SECONDS = 0.1

EXIT_INTERRUPTED = 130

_OPTION = re.compile(r"--[a-z][a-z-]{1,30}", re.ASCII)

EXIT_CODES = (
    (0, "Done."),
    (1, "Something unexpected; the details are in the log."),
    (2, "A wrong argument, value or work order file. Nothing was changed."),
    (3, "No such work order, task, attempt, approval, file or data folder."),
    (4, "Not possible in the state in which the thing is now."),
    (5, "Refused: by rights, a gate, a limit, or because the plan is not what was approved."),
    (6, "The data folder or its database cannot be used, or its journal or a receipt is not sound."),
    (7, "The owner of the data folder could not be reached, or its answer was lost."),
    (EXIT_INTERRUPTED, "Interrupted with Ctrl+C."),
)
"""What each exit code means; errors have theirs from `engine.errors`."""


@dataclass(frozen=True, slots=True)
class Session:
    """One run of one command."""

    command: str
    folder: Path
    actor: Actor
    out: Output
    key: Credential | None = None
    """The key of an agent or script that speaks here; without it this is a process of the person."""

    def credential(self) -> Credential:
        """What this process shows to the owner of the data folder; `ChannelError` if the person's key is not there."""
        return self.key or person_credential(self.folder, self.actor)

    @asynccontextmanager
    async def client(self, *, create: bool = False, reading: bool = False) -> AsyncIterator[EngineClient]:
        """Give the engine, whichever process has it.

        Unless ``create``, `NotFound` is raised for a folder that holds no data, so that a misspelt path does
        not make a new one. Alone, what an earlier owner left behind is judged first (E-51). With ``reading``, for
        commands that only look, nothing is written where nothing was left.
        """
        if self.key is None:
            self.require_data(create=create)
        until = time.monotonic() + OWNER_SECONDS
        while True:
            try:
                async with self._any_client(reading) as client:
                    yield client
                return
            except _OwnerBusy as busy:
                if time.monotonic() > until:
                    raise busy.error from None
            await asyncio.sleep(_RETRY_SECONDS)

    def has_data(self) -> bool:
        """Whether the folder holds data."""
        return (self.folder / DATABASE_NAME).exists()

    def require_data(self, *, create: bool = False) -> None:
        """Raise `NotFound` if the folder holds no data, unless it may be made."""
        if not create and not self.has_data():
            raise NotFound(
                f"There is no data in {self.folder}.",
                means="No work order was ever submitted there, or the path is not the one you mean.",
                do="Submit a work order, or name another folder with --data.",
                folder=str(self.folder),
            )

    @asynccontextmanager
    async def _any_client(self, reading: bool) -> AsyncIterator[EngineClient]:
        if self.key is not None:
            async with self._owners_client(NOBODY_TO_ASK) as client:
                yield client
            return
        try:
            engine = await Engine.open(
                self.folder,
                automatic=False,
                # An agent's try at what it may not is written down, and that takes an epoch.
                reading=reading and self.actor.kind is not ActorKind.AGENT,
                program=f"praxis {self.command}",
            )
        except FolderInUse as in_use:
            async with self._owners_client(in_use) as client:
                yield client
            return
        try:
            if engine.begun:
                await engine.reconcile_once(fire=False)
            yield EngineClient(InProcess(engine, self.actor))
        finally:
            await engine.close()

    @asynccontextmanager
    async def _owners_client(self, why: PraxisError) -> AsyncIterator[EngineClient]:
        """Give the engine of the owner; ``why`` is what speaks against opening the folder here."""
        try:
            remote = await Remote.connect(self.folder, self.credential(), seconds=OWNER_SECONDS)
        except ChannelError as error:
            raise _OwnerBusy(_unreachable(why, error)) from None
        try:
            yield EngineClient(remote)
        finally:
            await remote.close()


class _OwnerBusy(Exception):
    """The owner could not be asked; it may be another command that is about to end, or one that just began."""

    def __init__(self, error: PraxisError) -> None:
        super().__init__(str(error))
        self.error = error


def _unreachable(why: PraxisError, error: ChannelError) -> ChannelError:
    return ChannelError(
        why.what, means=f"{error.what} Nothing was changed.", do=why.do or error.do, **why.facts
    )


class Unexpected(Exception):
    """An error that is not meant for a person; ``place`` is the file that has its details, or ""."""

    def __init__(self, error: Exception, place: str) -> None:
        super().__init__(f"{type(error).__name__}: {error}")
        self.place = place


def whole_path(path: Path) -> Path:
    """Give a path as messages name it: from the root, without ~ and without steps upwards."""
    path = path.expanduser().absolute()
    return path.resolve() if ".." in path.parts else path


def person() -> Actor:
    """The person who runs this command, named as this user of the operating system."""
    try:
        name = getpass.getuser()
    except (OSError, KeyError, ImportError):
        name = "unknown"
    return Actor(ActorKind.PERSON, name)


@contextmanager
def kept_log(folder: Path) -> Iterator[None]:
    """Send warnings and errors to the data folder's log, if there is a data folder; none go to the terminal."""
    handler: logging.Handler = logging.NullHandler()
    if folder.is_dir():
        with suppress(OSError):
            (folder / LOG_FOLDER).mkdir(exist_ok=True)
            handler = logging.FileHandler(folder / LOG_FOLDER / LOG_NAME, encoding="utf-8", delay=True)
    handler.setLevel(logging.WARNING)
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    root = logging.getLogger()
    root.addHandler(handler)
    try:
        yield
    finally:
        root.removeHandler(handler)
        handler.close()


def record_unexpected(folder: Path, command: str, error: BaseException) -> str:
    """Keep the details of an error that is not meant for a person; returns where they are.

    Of the command line only the names of its options are kept: their values can be anything.
    """
    given = itertools.takewhile(lambda one: one != "--", sys.argv[1:])
    options = [found[0] for one in given if (found := _OPTION.match(one))]
    text = "".join(traceback.format_exception(error))
    for place in (folder / LOG_FOLDER, Path(tempfile.gettempdir())):
        try:
            path = place / LOG_NAME
            with path.open("a", encoding="utf-8", errors="backslashreplace") as file:
                file.write(f"praxis {' '.join([command, *options])}\n{text}\n")
        except OSError:
            continue
        return str(path)
    return ""
