"""What is fuzzed: each target takes any bytes and may only return, or refuse with one of the program's own errors."""

from __future__ import annotations

import json
import tempfile
import tomllib
from collections.abc import Collection, Iterator
from contextlib import suppress
from importlib.resources import files
from pathlib import Path
from typing import Any

from engine.actors import Actor, ActorKind
from engine.errors import PraxisError
from engine.interfaces import wire
from engine.interfaces.channel import read_bearer, read_request, read_request_id
from engine.interfaces.channel_link import _read_hello
from engine.interfaces.channel_methods import METHODS, find_method
from engine.interfaces.keys import _parse_key
from engine.interfaces.mcp_arguments import (
    AttemptArguments,
    ListArguments,
    OutputArguments,
    SubmitArguments,
    WaitArguments,
    WakesArguments,
    read_arguments,
)
from engine.interfaces.receipts import check_receipt, make_receipt
from engine.interfaces.work_order_file import parse_work_order
from engine.views.receipt import ReceiptEntry

_WORDS = sorted(
    {name for method in METHODS.values() for name in method.parameters}
    | {name for form in (SubmitArguments, OutputArguments, WakesArguments) for name in form.model_fields}
    | {
        "version",
        "id",
        "method",
        "arguments",
        "key",
        "kind",
        "name",
        "person",
        "agent",
        "ENGINE",
        "TASK",
        "secret",
    }
    | set(METHODS)
)


class Built:
    """A JSON value made of any bytes, with the words that the program knows, so that what is behind JSON is reached."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def byte(self) -> int:
        self._at += 1
        return self._data[self._at - 1] if self._at <= len(self._data) else 0

    def text(self) -> str:
        end = self._at + self.byte() % 24
        part = self._data[self._at : end]
        self._at = end
        return part.decode("utf-8", "surrogateescape")

    def value(self, depth: int = 0) -> Any:
        match self.byte() % (10 if depth < 6 else 7):
            case 0:
                return None
            case 1:
                return self.byte() % 2 == 0
            case 2:
                return self.byte() - 128
            case 3:
                return int.from_bytes(bytes(self.byte() for _ in range(9)), signed=True)
            case 4:
                return self.byte() / 7
            case 5:
                return self.text()
            case 6:
                return _WORDS[(self.byte() * 256 + self.byte()) % len(_WORDS)]
            case 7:
                return [self.value(depth + 1) for _ in range(self.byte() % 6)]
        keys = (_WORDS[(self.byte() * 256 + self.byte()) % len(_WORDS)] for _ in range(self.byte() % 8))
        return {key: self.value(depth + 1) for key in keys}

    def arguments(self, names: Collection[str]) -> dict[str, Any]:
        """A mapping in which each of these names stands or does not."""
        return {name: self.value(1) for name in names if self.byte() % 3}


PERSON = Actor(ActorKind.PERSON, "ada")
FOLDER = Path(tempfile.gettempdir())
_FORMS = (SubmitArguments, ListArguments, OutputArguments, AttemptArguments, WaitArguments, WakesArguments)


def fuzz_request(data: bytes) -> None:
    """A message of a peer whose key was proven, as bytes and as JSON that is nearly right."""
    built = Built(data)
    nearly = {"version": 2, "id": "1", "method": built.value(), "arguments": built.value()}
    for message in (data, json.dumps({**nearly, **built.arguments(["version", "id", "actor"])}).encode()):
        _read_message(message)


def _read_message(data: bytes) -> None:
    with suppress(PraxisError):
        envelope = wire.load(data)
        request_id = read_request_id(envelope)
        read_request(request_id, envelope, find_method(envelope.get("method")), PERSON)


def fuzz_arguments(data: bytes) -> None:
    """The arguments of a method, each of any kind."""
    built = Built(data)
    method = METHODS[sorted(METHODS)[built.byte() % len(METHODS)]]
    with suppress(PraxisError):
        method.decode_arguments(built.arguments(sorted(method.parameters)))


def fuzz_answer(data: bytes) -> None:
    """An answer that a false owner gives."""
    built = Built(data)
    method = METHODS[sorted(METHODS)[built.byte() % len(METHODS)]]
    value = built.value()
    wire.decode_error(value)
    with suppress(PraxisError):
        wire.decode(method.result, value, method.name)


def fuzz_hello(data: bytes) -> None:
    """What a peer says of itself before it has proven anything."""
    for hello in (data, json.dumps(Built(data).arguments(["key", "kind", "name", "more"])).encode()):
        with suppress(PraxisError):
            read_bearer(_read_hello(hello))


def fuzz_key(data: bytes) -> None:
    """A key file."""
    _parse_key(data)


def fuzz_toml(data: bytes) -> None:
    """A work order as TOML."""
    with suppress(PraxisError):
        parse_work_order(data, folder=FOLDER)


def fuzz_json(data: bytes) -> None:
    """A work order as JSON."""
    with suppress(PraxisError):
        parse_work_order(data, form="json", folder=FOLDER)


def fuzz_mcp(data: bytes) -> None:
    """The arguments of an agent's tools."""
    built = Built(data)
    form = _FORMS[built.byte() % len(_FORMS)]
    with suppress(PraxisError):
        read = read_arguments(form, "tool", built.arguments(sorted(form.model_fields)))
        if isinstance(read, SubmitArguments):
            read.spec(FOLDER)


def fuzz_receipt(data: bytes) -> None:
    """A receipt from anywhere."""
    with suppress(PraxisError):
        check_receipt(data)


def seeds(target: str) -> Iterator[bytes]:
    """Good input to begin with."""
    examples = Path(str(files("resources"))) / "examples"
    if target == "toml":
        yield from (path.read_bytes() for path in sorted(examples.rglob("*.toml")))
    elif target == "json":
        for path in sorted(examples.rglob("*.toml")):
            with suppress(ValueError, TypeError):
                yield json.dumps(tomllib.loads(path.read_text(encoding="utf-8"))).encode()
    elif target == "receipt":
        yield make_receipt(
            [ReceiptEntry("work_order", {"number": 1, "id": "01K", "title": "t", "state": "ACTIVE"})]
        )
    elif target == "key":
        yield b'{"praxis_key": 1, "kind": "agent", "name": "a", "id": "01K00000000000000000000000", "secret": "00"}'
    else:
        yield bytes(range(256))
