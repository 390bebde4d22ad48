"""Who a process is on the local channel: the person's key, and the keys that agents and scripts have of their own.

``person.key`` in the data folder is what makes a process a person's: the console and ``praxis`` use it. The key of
an agent is derived from it and from the identity under which the key was given (E-90). It can be told from any
other key but leads back to none, so what an agent is launched with lets it speak as that agent and as nobody else.

What files can do ends at the user: a process of the same user that can read ``person.key`` can act as the person.
An agent that is not trusted belongs into a sandbox that hides the data folder, with its key file passed in.
"""

from __future__ import annotations

import hmac
import json
import os
import re
import secrets
import stat
import sys
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from engine.actors import Actor, ActorKind
from engine.control.agents import KEYED_KINDS
from engine.errors import ChannelError, InvalidValue, NotFound
from engine.files import replace_file

PERSON_KEY = "person.key"
"""The file of the person's key. In a message it names that key instead of an agent's identity."""
KEYS_FOLDER = "keys"
"""Where the keys of agents lie, below the data folder, unless the person puts them elsewhere."""
SECRET_BYTES = 32

_FORMER_KEY = "channel.key"
_FORM_VERSION = 1
_LARGEST_KEY_FILE = 4096
_IDENTITY = re.compile(r"[0-9A-HJKMNP-TV-Z]{26}", re.ASCII)
_DERIVED = b"praxis agent key 1 "


@dataclass(frozen=True, slots=True)
class Credential:
    """What a process shows on the channel: which key it has, the key itself, and as whom it speaks.

    ``key_id`` is `PERSON_KEY` or the identity of an agent's key. Only who has the person's key chooses as whom.
    """

    key_id: str
    secret: bytes = field(repr=False)
    actor: Actor


def own_key(folder: Path) -> bytes:
    """Give the person's key to the owner of the data folder, made if there is none, or if others could have read it.

    With a new one every agent's key ends as well. On POSIX the file is 0600 from its first moment. On Windows it
    has the access list of the data folder, which in the user's own profile names the user, the system and
    administrators. A ``channel.key`` of earlier versions, which agents used too, is removed: it counts no more.
    """
    with suppress(OSError):
        (folder / _FORMER_KEY).unlink(missing_ok=True)
    path = folder / PERSON_KEY
    key = _read_secret(path)
    if key is not None:
        return key
    key = secrets.token_bytes(SECRET_BYTES)
    path.unlink(missing_ok=True)
    _write_private(path, key)
    return key


def person_credential(folder: Path, actor: Actor) -> Credential:
    """What a process of the person shows, speaking as ``actor``; `ChannelError` if it has not the person's key."""
    key = _read_secret(folder / PERSON_KEY)
    if key is None:
        raise ChannelError(
            f"The person's key, {folder / PERSON_KEY}, cannot be used.",
            means="It is missing, not readable by this user, or readable by others.",
            do="Run this as the user who runs the console, or restart the console: it makes a new key.",
        )
    return Credential(PERSON_KEY, key, actor)


def agent_secret(person_key: bytes, agent_id: str) -> bytes:
    """The secret of the key that was given under this identity; any text has one, given or not."""
    return hmac.digest(person_key, _DERIVED + agent_id.encode("utf-8", "surrogatepass"), "sha256")


def agent_key_path(folder: Path, actor: Actor) -> Path:
    """Where the key of an agent or script lies, unless the person put it elsewhere."""
    return folder / KEYS_FOLDER / f"{actor.kind}-{actor.name}.key"


def write_agent_key(path: Path, agent_id: str, actor: Actor, secret: bytes) -> None:
    """Write a key file that this user alone can read, in place of one that is there; `InvalidValue` if that fails."""
    value = {
        "praxis_key": _FORM_VERSION,
        "kind": actor.kind.value,
        "name": actor.name,
        "id": agent_id,
        "secret": secret.hex(),
    }
    try:
        path.parent.mkdir(mode=0o700, exist_ok=True)
        temporary = path.with_name(f"{path.name}.{os.getpid()}.new")
        temporary.unlink(missing_ok=True)
        _write_private(temporary, json.dumps(value).encode("ascii") + b"\n")
        replace_file(temporary, path)
    except OSError as error:
        raise InvalidValue(
            f"The key file {path} cannot be written: {error.strerror or error}.",
            means="The key was given, but nobody has it.",
            do='Name another file, after you have taken it back: praxis agent revoke NAME --reason "why"',
            file=str(path),
        ) from error


def remove_agent_key(path: Path, agent_id: str) -> bool:
    """Remove the file of a key that was taken back, if it is still that key; False if it lies elsewhere."""
    try:
        if read_agent_key(path).key_id != agent_id:
            return False
        path.unlink()
    except (OSError, ChannelError, NotFound, InvalidValue):
        return False
    return True


def read_agent_key(path: Path) -> Credential:
    """Read a key file: with which key, and as whom, its holder speaks.

    `NotFound` if there is none, `ChannelError` if others could have read it, `InvalidValue` if it is no key.
    """
    try:
        with path.open("rb") as file:
            if _open_to_others(file.fileno()):
                raise ChannelError(
                    f"The key file {path} can be read by other users.",
                    means="It is not used.",
                    do='Give a new one, after you have taken it back: praxis agent revoke NAME --reason "why"',
                )
            data = file.read(_LARGEST_KEY_FILE + 1)
    except FileNotFoundError as error:
        raise NotFound(
            f"There is no key {path}.",
            means="An agent or script speaks with a key of its own, which a person gives it.",
            do="Give one: praxis agent add NAME",
            file=str(path),
        ) from error
    except OSError as error:
        raise ChannelError(
            f"The key file {path} cannot be read: {error.strerror or error}.",
            do="Run this as the user whose file it is.",
        ) from error
    credential = _parse_key(data)
    if credential is None:
        raise InvalidValue(
            f"{path} is no key of this version of Praxis Console.",
            do="Name a file that praxis agent add wrote.",
            file=str(path),
        )
    return credential


def _parse_key(data: bytes) -> Credential | None:
    try:
        value = json.loads(data)
        if not isinstance(value, dict) or value.get("praxis_key") != _FORM_VERSION:
            return None
        kind, name, key_id = ActorKind(value["kind"]), value["name"], value["id"]
        secret = bytes.fromhex(value["secret"])
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
    good = (
        kind in KEYED_KINDS
        and isinstance(name, str)
        and 0 < len(name) <= 64
        and name.isprintable()
        and isinstance(key_id, str)
        and _IDENTITY.fullmatch(key_id)
        and len(secret) == SECRET_BYTES
    )
    return Credential(key_id, secret, Actor(kind, name)) if good else None


def _read_secret(path: Path) -> bytes | None:
    try:
        with path.open("rb") as file:
            if _open_to_others(file.fileno()):
                return None
            key = file.read(SECRET_BYTES + 1)
    except OSError:
        return None
    return key if len(key) == SECRET_BYTES else None


def _open_to_others(descriptor: int) -> bool:
    return sys.platform != "win32" and bool(stat.S_IMODE(os.fstat(descriptor).st_mode) & 0o077)


def _write_private(path: Path, content: bytes) -> None:
    flags = os.O_CREAT | os.O_EXCL | os.O_WRONLY | getattr(os, "O_BINARY", 0)
    with os.fdopen(os.open(path, flags, 0o600), "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
