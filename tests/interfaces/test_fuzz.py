"""Whatever comes over the wire or out of a file: no crash, no hang, nothing done (E-90).

The targets of `tests.fuzz` run here on what hypothesis finds; ``python -m tests.fuzz`` takes them further. The channel
is tried with whole conversations: any frames, cut anywhere, too long, half closed, instead of the handshake and after.
"""

from __future__ import annotations

import asyncio
import os
import socket
import struct
import sys
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.interfaces import wire
from engine.interfaces.channel import Channel, ChannelLimits
from engine.interfaces.channel_link import Link, connect, introduce
from engine.interfaces.keys import PERSON_KEY, own_key
from tests.fuzz import targets
from tests.interfaces.test_channel import StrawEngine

unix = pytest.mark.skipif(sys.platform == "win32", reason="speaks to the Unix socket directly")

LIMITS = ChannelLimits(peers=4, handshake=0.3, message=0.3, idle=5.0, closing=2.0)
TARGETS = [name for name in vars(targets) if name.startswith("fuzz_")]
CLOSE, SHUT = "close", "half close"

FRAME = st.one_of(
    st.binary(max_size=80),
    st.binary(max_size=40).map(lambda data: struct.pack("!i", len(data)) + data),
    st.integers(-3, 2**31 - 1).map(lambda size: struct.pack("!i", size)),
    st.tuples(
        st.sampled_from(["explain", "hold", "approvals.approve", "agents.add", 5]), st.text(max_size=8)
    ).map(
        lambda made: _framed(
            wire.dump({"version": 2, "id": "1", "method": made[0], "arguments": {"task_id": made[1]}})
        )
    ),
)
TALK = st.lists(st.one_of(FRAME, st.just(SHUT)), max_size=6)


def _framed(data: bytes) -> bytes:
    return struct.pack("!i", len(data)) + data


@pytest.mark.parametrize("target", TARGETS)
def test_any_bytes_are_read_or_refused(target: str) -> None:
    function = getattr(targets, target)

    @settings(max_examples=40)
    @given(st.binary(max_size=400))
    def run(data: bytes) -> None:
        function(data)

    run()
    for seed in targets.seeds(target.removeprefix("fuzz_")):
        function(seed)
        function(seed[: len(seed) // 2])


@pytest.fixture(scope="module")
def owner(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Channel, Path, StrawEngine]]:
    """A channel in a loop and thread of its own."""
    folder = tmp_path_factory.mktemp("data")
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()

    async def listen() -> tuple[Channel, StrawEngine]:
        engine = StrawEngine()
        return await Channel.listen(engine, folder, program="test", limits=LIMITS), engine  # type: ignore[arg-type]

    channel, engine = asyncio.run_coroutine_threadsafe(listen(), loop).result(10)
    yield channel, folder, engine
    asyncio.run_coroutine_threadsafe(channel.close(), loop).result(10)
    asyncio.run_coroutine_threadsafe(loop.shutdown_default_executor(), loop).result(10)
    loop.call_soon_threadsafe(loop.stop)
    thread.join()
    loop.close()


def _say(peer: Any, talk: list[Any]) -> None:
    """Say it all without waiting for answers, then read until the owner hangs up or falls silent."""
    with suppress(OSError):
        for part in talk:
            if part is SHUT:
                peer.shutdown(socket.SHUT_WR)
            else:
                peer.sendall(part)
        while peer.recv(65_536):
            pass


def _still_answers(folder: Path, address: str) -> None:
    for _ in range(200):
        with suppress(OSError, EOFError):
            link = _introduced(folder, address)
            try:
                link.send(
                    wire.dump({"version": 2, "id": "1", "method": "explain", "arguments": {"task_id": "T"}})
                )
                assert b"result" in link.receive(1 << 20, 5)
                return
            finally:
                link.close()
        threading.Event().wait(0.01)
    raise AssertionError("the owner does not answer any more")


def _introduced(folder: Path, address: str) -> Link:
    link = connect(address, 5)
    try:
        introduce(link, own_key(folder), {"key": PERSON_KEY, "kind": "agent", "name": "codex"}, 5)
    except BaseException:
        link.close()
        raise
    return link


@unix
@settings(max_examples=25)
@given(talk=TALK)
def test_any_talk_instead_of_the_handshake_ends_and_does_nothing(
    owner: tuple[Channel, Path, StrawEngine], talk: list[Any]
) -> None:
    channel, folder, engine = owner
    engine.calls.clear()
    with socket.socket(socket.AF_UNIX) as peer:
        peer.settimeout(0.05)
        peer.connect(channel.address)
        _say(peer, talk)
    assert engine.calls == []
    _still_answers(folder, channel.address)


@unix
@settings(max_examples=25)
@given(talk=TALK)
def test_any_talk_of_an_agent_with_a_key_decides_nothing(
    owner: tuple[Channel, Path, StrawEngine], talk: list[Any]
) -> None:
    """As an agent: what is well-formed may look; nothing else reaches the engine, whatever surrounds it."""
    channel, folder, engine = owner
    engine.calls.clear()
    with suppress(OSError, EOFError):
        link = _introduced(folder, channel.address)
        try:
            with socket.socket(fileno=os.dup(link._connection.fileno())) as peer:
                peer.settimeout(0.05)
                _say(peer, talk)
        finally:
            link.close()
    assert {name for name, _ in engine.calls} <= {"explain"}
    _still_answers(folder, channel.address)
