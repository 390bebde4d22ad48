"""One connection of the local channel: bounded messages, a handshake, and an end that can be forced (E-90).

Both sides use `multiprocessing.connection` for its framing on Unix sockets and Windows pipes, bytes only:
nothing is ever unpickled. The handshake is our own because the one of `Listener.accept` runs inside accept,
where one silent peer would block everybody, and because its digest differs between Python versions. Each
side proves with HMAC-SHA-256 that it has the key; neither sends it. What the client says of itself, which key it
has and as whom it speaks, is part of what it proves: nothing that it sends later can change it.
"""

from __future__ import annotations

import contextlib
import hmac
import json
import os
import secrets
import socket
import sys
from collections.abc import Callable, Mapping
from multiprocessing.connection import Client, Connection
from typing import TYPE_CHECKING

from engine.errors import ChannelError, Refused

if TYPE_CHECKING and sys.platform == "win32":
    from multiprocessing.connection import PipeConnection

    AnyConnection = Connection | PipeConnection
else:
    AnyConnection = Connection

REQUEST_LIMIT_BYTES = 4 << 20
"""The largest request: a work order is some kilobytes."""
ANSWER_LIMIT_BYTES = 32 << 20
"""The largest answer; a longer one is refused with advice to ask for fewer rows."""

_GREETING = b"praxis-channel-2 "
_NONCE_BYTES = 32
_PROOF_BYTES = 32
_LONGEST_HELLO = 1024
_HELLO_FIELDS = {"key", "kind", "name"}


class Link:
    """A connection whose blocking calls another thread can end with `abort`."""

    def __init__(self, connection: AnyConnection) -> None:
        self._connection = connection
        # A second handle on the same socket: shutting it down wakes a thread that is blocked in read or
        # write, and unlike the number of a file that another thread has closed, it can never mean another
        # file.
        self._control = None if sys.platform == "win32" else socket.socket(fileno=os.dup(connection.fileno()))

    def send(self, data: bytes) -> None:
        """Send one message; blocks until the peer has taken it, raises OSError if it never will."""
        self._connection.send_bytes(data)

    def wait(self, seconds: float) -> bool:
        """Wait until a message begins to arrive or the peer has gone; False if neither happens in time."""
        return self._connection.poll(seconds)

    def receive(self, limit: int, seconds: float) -> bytes:
        """Wait for a message of at most ``limit`` bytes; OSError or EOFError if there is none in time.

        ``seconds`` is until it begins to arrive; a peer that never finishes is ended by `abort`.
        """
        if not self.wait(seconds):
            raise TimeoutError("the peer said nothing in time")
        return self._connection.recv_bytes(limit)

    def abort(self) -> None:
        """End the connection at once, from any thread; who is blocked in it gets an OSError or EOFError."""
        if self._control is None:
            self._connection.close()
            return
        with contextlib.suppress(OSError):
            self._control.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """Give the handles back. Only the thread that sends and receives may call this."""
        if self._control is not None:
            self._control.close()
        with contextlib.suppress(OSError):
            self._connection.close()


def connect(address: str, seconds: float) -> Link:
    """Connect to the owner's address; OSError if nobody listens there or takes the call in ``seconds``."""
    if sys.platform == "win32":
        return Link(Client(address, "AF_PIPE"))
    # Not Client(): it would wait without end for an owner that is stopped and takes no more calls.
    with socket.socket(socket.AF_UNIX) as plain:
        plain.settimeout(seconds)
        plain.connect(address)
        plain.settimeout(None)
        return Link(Connection(plain.detach()))


def welcome(link: Link, find_secret: Callable[[str], bytes], seconds: float) -> dict[str, object]:
    """The owner's side of the handshake: give what the peer says of itself, once it has proven its key.

    ``find_secret`` gives the secret of a key by its identity. What the peer says is covered by its proof, so it
    holds for the whole connection; `ChannelError` if the proof is not one of that key.
    """
    own = secrets.token_bytes(_NONCE_BYTES)
    link.send(_GREETING + own)
    answer = link.receive(_NONCE_BYTES + _PROOF_BYTES + _LONGEST_HELLO, seconds)
    theirs, proof = answer[:_NONCE_BYTES], answer[_NONCE_BYTES : _NONCE_BYTES + _PROOF_BYTES]
    hello = answer[_NONCE_BYTES + _PROOF_BYTES :]
    told = _read_hello(hello)
    secret = find_secret(str(told["key"]))
    if not hmac.compare_digest(proof, _proof(secret, b"client", own, theirs, hello)):
        raise ChannelError("A process without the key tried to use the channel.")
    link.send(_proof(secret, b"owner", own, theirs, hello))
    return told


def introduce(link: Link, secret: bytes, hello: Mapping[str, str], seconds: float) -> None:
    """The client's side of the handshake: prove the key that ``hello`` names, and be bound to what it says.

    `Refused` if the owner does not take the key, `ChannelError` if the other end is not the owner of it.
    """
    greeting = link.receive(len(_GREETING) + _NONCE_BYTES, seconds)
    if not greeting.startswith(_GREETING) or len(greeting) != len(_GREETING) + _NONCE_BYTES:
        raise ChannelError(
            "The owner of the data folder speaks another version of the channel.",
            do="Use the same version of Praxis Console for both.",
        )
    theirs, own = greeting[len(_GREETING) :], secrets.token_bytes(_NONCE_BYTES)
    said = json.dumps(dict(hello)).encode("ascii")
    link.send(own + _proof(secret, b"client", theirs, own, said) + said)
    try:
        proof = link.receive(_PROOF_BYTES, seconds)
    except TimeoutError:
        raise
    except (OSError, EOFError) as error:
        raise Refused(
            "The owner of the data folder does not take this key.",
            means="Nothing was asked of it. The key is of another data folder, or of an earlier time.",
            do="Restart the console; for an agent, give a new key: praxis agent add NAME",
        ) from error
    if not hmac.compare_digest(proof, _proof(secret, b"owner", theirs, own, said)):
        raise ChannelError(
            "What answers on the channel is not the owner of the data folder.",
            means="Nothing was asked of it.",
            do="Stop that process, then start the console or praxis serve again.",
        )


def _read_hello(data: bytes) -> dict[str, object]:
    try:
        told = json.loads(data)
    except (ValueError, RecursionError):
        told = None
    if not isinstance(told, dict) or not isinstance(told.get("key"), str) or told.keys() - _HELLO_FIELDS:
        raise ChannelError("A process that does not say who it is tried to use the channel.")
    return told


def _proof(secret: bytes, role: bytes, owner_nonce: bytes, client_nonce: bytes, hello: bytes) -> bytes:
    return hmac.digest(secret, _GREETING + role + b" " + owner_nonce + client_nonce + hello, "sha256")
