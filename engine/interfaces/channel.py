"""The owner's end of the local channel: other processes of this user ask the engine through it (E-90).

One thread accepts, one more for each peer reads its requests and hops into the engine's loop for each; the
engine itself never leaves its loop. A peer can be slow, broken or hostile: messages, peers and waiting
times are bounded, and nothing that arrives is trusted before it has been checked against the table of
methods.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
import logging
import os
import sys
import threading
import time
from collections.abc import Coroutine, Iterator, Mapping
from dataclasses import dataclass
from multiprocessing.connection import Listener
from pathlib import Path
from typing import Any, TypeVar

from engine.actors import Actor, ActorKind
from engine.engine import Engine
from engine.errors import ChannelError, InvalidValue, PraxisError, Unauthorized
from engine.interfaces import wire
from engine.interfaces.channel_files import ChannelNote, fresh_address, remove_note, write_note
from engine.interfaces.channel_link import (
    ANSWER_LIMIT_BYTES,
    REQUEST_LIMIT_BYTES,
    Link,
    connect,
    welcome,
)
from engine.interfaces.channel_methods import Method, find_method, perform
from engine.interfaces.keys import PERSON_KEY, agent_secret, own_key
from engine.interfaces.rights import RIGHTS

PROTOCOL_VERSION = 2

_log = logging.getLogger(__name__)

_SPEAKING_KINDS = frozenset({ActorKind.PERSON, ActorKind.SCRIPT, ActorKind.AGENT})
_LONGEST_ACTOR_NAME = 100
_REAPING_SECONDS = 0.25

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class ChannelLimits:
    """What peers may use of the owner. Times are in seconds; ``message`` is for one message to pass whole."""

    peers: int = 16
    handshake: float = 5.0
    message: float = 30.0
    idle: float = 600.0
    closing: float = 5.0


@dataclass(frozen=True, slots=True)
class Bearer:
    """Who is at the other end, by the key that was proven: an actor of the person's, or who holds an agent's key."""

    actor: Actor | None
    agent_id: str = ""


@dataclass(frozen=True, slots=True)
class Request:
    """A request that has been checked: only the engine can still refuse it."""

    id: str
    method: Method
    values: Mapping[str, Any]


class _Peer:
    """One connected process: its link, its thread, who it is, and until when what it does now must be over."""

    def __init__(self, link: Link) -> None:
        self.link = link
        self.bearer = Bearer(None)
        self.thread: threading.Thread | None = None
        self.deadline: float | None = None
        self.waiting = True
        """Nothing is being done for the peer, so it may be hung up on."""

    def must_end_in(self, seconds: float | None) -> None:
        self.deadline = None if seconds is None else time.monotonic() + seconds


class Channel:
    """A listening channel; made by `listen`, ended by `close`."""

    def __init__(
        self, engine: Engine, folder: Path, key: bytes, listener: Listener, limits: ChannelLimits
    ) -> None:
        self._engine = engine
        self._folder = folder
        self._key = key
        self._listener = listener
        self.address = str(listener.address)
        """Where this channel listens."""
        self._limits = limits
        self._loop = asyncio.get_running_loop()
        self._lock = threading.Lock()
        self._peers: set[_Peer] = set()
        self._calls: set[asyncio.Task[Any]] = set()
        self._stopping = threading.Event()
        self._accepting = threading.Thread(target=self._accept, name="channel-accept", daemon=True)
        self._reaping: asyncio.Task[None] | None = None

    @classmethod
    async def listen(
        cls, engine: Engine, folder: Path, *, program: str, limits: ChannelLimits | None = None
    ) -> Channel:
        """Listen for this user's other processes and say so in the data folder.

        The caller owns the folder (E-10) and runs ``engine`` in this loop; it must `close` the channel
        before the engine. ``program`` is what the note in the folder calls this process. Raises
        `ChannelError` if there is no private place to listen at.
        """
        limits = limits or ChannelLimits()
        family = "AF_PIPE" if sys.platform == "win32" else "AF_UNIX"
        try:
            key, address = own_key(folder), fresh_address(folder)
            listener = Listener(address, family, backlog=limits.peers)
        except OSError as error:
            raise _cannot_listen(error) from error
        channel = cls(engine, folder, key, listener, limits)
        channel._accepting.start()
        channel._reaping = asyncio.get_running_loop().create_task(channel._reap())
        try:
            write_note(folder, ChannelNote(address, os.getpid(), program))
        except OSError as error:
            await channel.close()
            raise _cannot_listen(error) from error
        return channel

    async def close(self) -> None:
        """Stop listening; calls under way get a few seconds to be answered, then every thread ends."""
        if self._stopping.is_set():
            return
        remove_note(self._folder)
        with self._lock:
            self._stopping.set()
            waiting = [peer for peer in self._peers if peer.waiting]
        for peer in waiting:
            peer.link.abort()
        await self._end_calls()
        await asyncio.to_thread(self._end_threads)
        if self._reaping is not None:
            self._reaping.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._reaping

    async def _end_calls(self) -> None:
        if self._calls:
            await asyncio.wait(self._calls, timeout=self._limits.closing)
        for call in self._calls:
            call.cancel()
        if self._calls:
            await asyncio.wait(self._calls)

    def _end_threads(self) -> None:
        # A blocked accept is not woken by closing its listener; a caller that hangs up at once wakes it.
        with contextlib.suppress(OSError, PraxisError):
            connect(self.address, self._limits.closing).close()
        self._accepting.join(self._limits.closing)
        self._listener.close()
        for force in (False, True):
            with self._lock:
                peers = list(self._peers)
            until = time.monotonic() + self._limits.closing
            for peer in peers:
                if force:
                    peer.link.abort()
                if peer.thread is not None:
                    peer.thread.join(max(0.0, until - time.monotonic()))

    async def _reap(self) -> None:
        """End the connection of every peer that takes longer than it may."""
        while True:
            await asyncio.sleep(_REAPING_SECONDS)
            now = time.monotonic()
            with self._lock:
                late = [peer for peer in self._peers if peer.deadline is not None and peer.deadline < now]
            for peer in late:
                peer.link.abort()

    # ------------------------------------------------------------------------------- in the accepting thread

    def _accept(self) -> None:
        while True:
            try:
                link = Link(self._listener.accept())
            except OSError as error:
                # A caller that hung up while being accepted, or no file handles left: neither is a reason
                # to stop.
                _log.info("the channel could not take a call: %s", error)
                if self._stopping.wait(0.1):
                    return
                continue
            if self._stopping.is_set():
                link.close()
                return
            self._take(link)

    def _take(self, link: Link) -> None:
        peer = _Peer(link)
        peer.must_end_in(self._limits.handshake)
        peer.thread = threading.Thread(target=self._serve, args=(peer,), name="channel-peer", daemon=True)
        with self._lock:
            room = len(self._peers) < self._limits.peers
            if room:
                self._peers.add(peer)
        if not room:
            _log.info("the channel has %d peers and takes no more", self._limits.peers)
            link.close()
            return
        try:
            peer.thread.start()
        except RuntimeError as error:
            _log.info("the channel could not serve a peer: %s", error)
            self._forget(peer)

    def _forget(self, peer: _Peer) -> None:
        with self._lock:
            self._peers.discard(peer)
        peer.link.close()

    # --------------------------------------------------------------------------------- in the peer's thread

    def _serve(self, peer: _Peer) -> None:
        try:
            peer.bearer = read_bearer(welcome(peer.link, self._secret_of, self._limits.handshake))
            while self._next_request(peer):
                pass
        except (OSError, EOFError) as error:
            _log.debug("a peer of the channel went: %s", error)
        except PraxisError as error:
            _log.info("a peer of the channel was turned away: %s", error)
        except Exception:
            _log.exception("serving a peer of the channel failed")
        finally:
            self._forget(peer)

    def _next_request(self, peer: _Peer) -> bool:
        """Serve one request; False when this was the last."""
        with self._lock:
            if self._stopping.is_set():
                return False
            peer.waiting = True
            peer.deadline = None
        if not peer.link.wait(self._limits.idle):
            return False
        with self._lock:
            peer.waiting = False
        peer.must_end_in(self._limits.message)
        data = peer.link.receive(REQUEST_LIMIT_BYTES, self._limits.message)
        peer.must_end_in(None)
        answer, go_on = self._answer(data, peer.bearer)
        peer.must_end_in(self._limits.message)
        peer.link.send(answer)
        return go_on

    def _secret_of(self, key_id: str) -> bytes:
        return self._key if key_id == PERSON_KEY else agent_secret(self._key, key_id)

    def _answer(self, data: bytes, bearer: Bearer) -> tuple[bytes, bool]:
        """Give the answer to one message, and whether its sender may go on after it."""
        try:
            envelope = wire.load(data)
            request_id = read_request_id(envelope)
        except PraxisError as error:
            return _answer_bytes(None, error=error), False
        try:
            method = find_method(envelope.get("method"))
            actor = bearer.actor or self._in_loop(self._holder(bearer.agent_id, method), method)
            request = read_request(request_id, envelope, method, actor)
            result = self._in_loop(self._call(request, actor), method)
            return _answer_bytes(request.id, result=wire.encode(result)), True
        except PraxisError as error:
            return _answer_bytes(request_id, error=error), True
        except Exception:
            _log.exception("a call over the channel failed")
            return _answer_bytes(request_id, error=_internal_error()), True

    def _in_loop(self, work: Coroutine[Any, Any, _T], method: Method) -> _T:
        future = asyncio.run_coroutine_threadsafe(work, self._loop)
        try:
            return future.result(method.seconds)
        except concurrent.futures.CancelledError as error:
            raise _stopping_error() from error
        except TimeoutError as error:
            if future.done() and not future.cancelled():
                raise
            future.cancel()
            raise ChannelError(
                f"The engine did not finish {method.name} in {method.seconds:g} seconds.",
                means="It may have been done all the same.",
                do="Look at the present state before you ask again.",
            ) from error

    async def _call(self, request: Request, actor: Actor) -> Any:
        with self._counted():
            return await perform(self._engine, request.method, actor, request.values)

    async def _holder(self, agent_id: str, method: Method) -> Actor:
        """To whom the key was given; asked for each request, so that a key that was taken back ends at once."""
        with self._counted():
            row = await self._engine.agents.holder(agent_id)
            if row is None:
                raise Unauthorized(
                    "This key is not known here.",
                    means="Nothing was done. The data folder was restored or replaced since it was given.",
                    do="Ask the person for a new one: praxis agent add NAME",
                )
            if row.revoked_at is not None:
                await self._engine.note_refusal(method.name, row.actor)
                raise Unauthorized(
                    f"The key of {row.actor} was taken back.",
                    means="Nothing was done.",
                    do="Ask the person for a new one: praxis agent add NAME",
                )
            return row.actor

    @contextlib.contextmanager
    def _counted(self) -> Iterator[None]:
        """The present task is a call: it is waited for, and ended, when the channel closes."""
        task = asyncio.current_task()
        if task is None or self._stopping.is_set():
            raise _stopping_error()
        self._calls.add(task)
        try:
            yield
        finally:
            self._calls.discard(task)


def read_bearer(told: Mapping[str, object]) -> Bearer:
    """Give who a peer is by what it proved. Only with the person's key it may say as whom it speaks."""
    key_id = str(told["key"])
    if key_id != PERSON_KEY:
        if told.keys() != {"key"}:
            raise ChannelError("The holder of an agent's key tried to say as whom it speaks.")
        return Bearer(None, key_id)
    actor: Actor = wire.decode(Actor, {"kind": told.get("kind"), "name": told.get("name")}, "actor")
    if actor.kind not in _SPEAKING_KINDS:
        raise Unauthorized(
            f"A {actor.kind} does not speak over the channel.", means="Nothing was done.", kind=actor.kind
        )
    if not 0 < len(actor.name) <= _LONGEST_ACTOR_NAME or not actor.name.isprintable():
        raise InvalidValue(
            f"The name of an actor is 1 to {_LONGEST_ACTOR_NAME} visible characters.", field="actor.name"
        )
    return Bearer(actor)


def read_request_id(envelope: wire.Json) -> str:
    """Give the id of a request; raises if this is no request of this version of the protocol."""
    if not isinstance(envelope, dict) or envelope.get("version") != PROTOCOL_VERSION:
        raise ChannelError(
            "The message is not a request of this version of the channel.",
            do="Use the same version of Praxis Console for both sides.",
        )
    request_id = wire.decode(str, envelope.get("id"), "id")
    if len(request_id) > _LONGEST_ACTOR_NAME:
        raise InvalidValue("The id of the request is too long.", field="id")
    return str(request_id)


def read_request(request_id: str, envelope: Mapping[str, wire.Json], method: Method, actor: Actor) -> Request:
    """Check a whole request of an actor against the table of methods; raises what is wrong with it."""
    unknown = envelope.keys() - {"version", "id", "method", "arguments"}
    if unknown:
        raise InvalidValue(f"A request has nothing called {min(unknown)!r}.", field=min(unknown))
    arguments = envelope.get("arguments", {})
    if not isinstance(arguments, dict):
        raise InvalidValue("The arguments of a request are a mapping.", field="arguments")
    # Whoever has no right to the method is told just that, and not what is wrong with the arguments.
    allowed = method.right in RIGHTS[actor.kind]
    return Request(request_id, method, method.decode_arguments(arguments) if allowed else {})


def _answer_bytes(
    request_id: str | None, *, result: wire.Json = None, error: PraxisError | None = None
) -> bytes:
    body = {"result": result} if error is None else {"error": wire.encode_error(error)}
    answer = wire.dump({"version": PROTOCOL_VERSION, "id": request_id, **body})
    if len(answer) <= ANSWER_LIMIT_BYTES:
        return answer
    too_long = ChannelError(
        f"The answer has {len(answer)} bytes; the channel gives at most {ANSWER_LIMIT_BYTES}.",
        means="If it was a command, it was carried out.",
        do="Ask for fewer rows at once.",
    )
    return _answer_bytes(request_id, error=too_long)


def _cannot_listen(error: OSError) -> ChannelError:
    return ChannelError(
        f"The local channel cannot listen: {error.strerror or error}.",
        means="The engine works, but praxis and agents cannot reach it.",
        do="Look whether the data folder and the folder for temporary files can be written to.",
    )


def _stopping_error() -> ChannelError:
    return ChannelError(
        "The owner of the data folder is stopping.",
        means="It may not have done what you asked.",
        do="Ask again in a moment and look at the state first.",
    )


def _internal_error() -> ChannelError:
    return ChannelError(
        "The owner of the data folder met an unexpected error.",
        means="It may or may not have done what you asked.",
        do="Look at the present state, and at the owner's log in the folder logs.",
    )
