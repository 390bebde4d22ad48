"""The local channel between the owner of a data folder and other processes (E-90), with an engine of straw."""

from __future__ import annotations

import asyncio
import os
import socket
import stat
import struct
import sys
import threading
from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.actors import Actor, ActorKind
from engine.control.agents import AgentRow
from engine.control.holds import WHOLE_ENGINE, Node
from engine.errors import ChannelError, GateClosed, InvalidValue, NotFound, Refused, Unauthorized
from engine.interfaces import wire
from engine.interfaces.channel import Channel, ChannelLimits
from engine.interfaces.channel_client import EngineClient, Remote
from engine.interfaces.channel_files import (
    NOTE_NAME,
    ChannelNote,
    fresh_address,
    read_note,
    write_note,
)
from engine.interfaces.channel_link import REQUEST_LIMIT_BYTES, Link, connect, introduce
from engine.interfaces.channel_methods import METHODS
from engine.interfaces.keys import PERSON_KEY, Credential, agent_secret, own_key, person_credential
from engine.interfaces.rights import RIGHTS, Right
from engine.scheduling.gates import Gate
from engine.states import HoldKind, NodeKind
from engine.views.values import HoldRow
from engine.work_order import WorkOrderSpec

unix = pytest.mark.skipif(sys.platform == "win32", reason="speaks to the Unix socket directly")

SHORT = ChannelLimits(peers=3, handshake=0.5, message=0.5, idle=30.0, closing=2.0)
PERSON = Actor(ActorKind.PERSON, "ada")
HELLO = {"key": PERSON_KEY, "kind": "person", "name": "ada"}
AGENT_ID = "01K0000000000000000000AGNT"


class StrawEngine:
    """Answers a few calls and remembers them."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, Any]] = []
        self.refused: list[tuple[str, Actor]] = []
        self.keys: dict[str, AgentRow] = {}
        self.agents = self
        self.entered = asyncio.Event()
        self.release = asyncio.Event()

    async def explain(self, task_id: str) -> tuple[Gate, ...]:
        self.calls.append(("explain", task_id))
        if task_id == "closed":
            raise GateClosed("The gate is closed.", means="m", do="d", gate="clock")
        if task_id == "broken":
            raise RuntimeError("bug")
        if task_id == "slow":
            self.entered.set()
            await self.release.wait()
        if task_id == "huge":
            return (Gate("x" * (33 << 20), True, ""),)
        return (Gate("clock", True, task_id),)

    async def hold(self, node: Node, actor: Actor, *, reason: str, key: str | None = None) -> HoldRow:
        self.calls.append(("hold", (node, actor, reason, key)))
        return HoldRow("H", node.kind, node.id, "engine", HoldKind.HOLD, reason, actor, 0)

    async def submit(self, spec: WorkOrderSpec, actor: Actor, **values: Any) -> None:
        self.calls.append(("submit", spec))
        raise GateClosed("Not now.")

    async def holder(self, agent_id: str) -> AgentRow | None:
        return self.keys.get(agent_id)

    async def asked_by(self, kind: str, name: str) -> Actor | None:
        return None if name == "others" else Actor(ActorKind.AGENT, "codex")

    async def note_refusal(self, method: str, actor: Actor) -> None:
        self.refused.append((method, actor))

    async def approve(self, approval_id: str, actor: Actor, **values: Any) -> None:
        self.calls.append(("approve", approval_id))


@pytest.fixture
async def engine() -> StrawEngine:
    return StrawEngine()


@pytest.fixture
async def channel(engine: StrawEngine, folder: Path) -> AsyncIterator[Channel]:
    channel = await Channel.listen(engine, folder, program="test", limits=SHORT)
    yield channel
    engine.release.set()
    await channel.close()


@pytest.fixture
async def client(channel: Channel, folder: Path) -> AsyncIterator[EngineClient]:
    remote = await reach(folder)
    yield EngineClient(remote)
    await remote.close()


async def reach(folder: Path, actor: Actor = PERSON, **options: Any) -> Remote:
    """Connect as a process of the person that speaks as ``actor``."""
    return await Remote.connect(folder, person_credential(folder, actor), **options)


async def still_answers(folder: Path) -> None:
    """The owner serves others, whatever one peer did to it; a peer being thrown out may take a moment."""
    for _ in range(100):
        try:
            remote = await reach(folder)
        except ChannelError:
            await asyncio.sleep(0.05)
            continue
        assert await EngineClient(remote).explain("T") == (Gate("clock", True, "T"),)
        await remote.close()
        return
    raise AssertionError("the owner does not answer any more")


def plain(channel: Channel) -> socket.socket:
    """A socket that knows nothing of the protocol."""
    peer = socket.socket(socket.AF_UNIX)
    peer.settimeout(10)
    peer.connect(channel.address)
    return peer


async def introduced(channel: Channel, folder: Path, **hello: Any) -> Link:
    """A peer with the person's key that then says what it likes."""

    def make() -> Link:
        link = connect(channel.address, 5)
        try:
            introduce(link, own_key(folder), {**HELLO, **hello}, 5)
        except BaseException:
            link.close()
            raise
        return link

    return await asyncio.to_thread(make)


def ends(peer: socket.socket) -> bool:
    """Whether the owner hangs up; what it still says is thrown away."""
    with suppress(ConnectionError):
        while peer.recv(65536):
            pass
    return True


async def exchange(link: Link, message: bytes) -> Any:
    def talk() -> bytes:
        link.send(message)
        return link.receive(1 << 20, 10)

    return wire.load(await asyncio.to_thread(talk))


# --------------------------------------------------------------------------------------------------- good calls


async def test_a_call_reaches_the_engine_and_its_result_comes_back(
    client: EngineClient, engine: StrawEngine
) -> None:
    row = await client.hold(Node(NodeKind.TASK, "T"), reason="wait", key="k")
    assert (row.node_kind, row.reason, row.actor) == (NodeKind.TASK, "wait", PERSON)
    assert engine.calls == [("hold", (Node(NodeKind.TASK, "T"), PERSON, "wait", "k"))]


async def test_the_engines_errors_are_raised_as_their_own_class(client: EngineClient) -> None:
    with pytest.raises(GateClosed) as caught:
        await client.explain("closed")
    assert caught.value.facts == {"gate": "clock"}
    assert await client.explain("T")


async def test_a_work_order_travels_as_the_text_of_its_file(
    client: EngineClient, engine: StrawEngine, work_order: Any
) -> None:
    with pytest.raises(GateClosed):
        await client.submit(work_order(title="Größe “1”"))
    assert engine.calls == [("submit", work_order(title="Größe “1”"))]


@pytest.mark.parametrize(
    "text",
    ["", "title = 1", 'title = "t"', "\ud800", "x" * (2 << 20)],
    ids=["empty", "wrong", "part", "surrogate", "long"],
)
async def test_a_work_order_is_checked_like_a_file(
    channel: Channel, folder: Path, engine: StrawEngine, text: str
) -> None:
    link = await introduced(channel, folder)
    answer = await exchange(link, message(method="submit", arguments={"spec": text}))
    assert answer["error"]["code"] == "invalid_work_order"
    assert engine.calls == []
    link.close()


async def test_many_clients_at_once(channel: Channel, folder: Path) -> None:
    async def ask(number: int) -> str:
        remote = await reach(folder)
        try:
            return (await EngineClient(remote).explain(str(number)))[0].why
        finally:
            await remote.close()

    for start in range(0, 30, SHORT.peers):
        batch = range(start, start + SHORT.peers)
        assert await asyncio.gather(*map(ask, batch)) == [str(number) for number in batch]
        await still_answers(folder)


async def test_calls_of_one_client_take_turns(client: EngineClient) -> None:
    rows = await asyncio.gather(*(client.explain(str(number)) for number in range(20)))
    assert [row[0].why for row in rows] == [str(number) for number in range(20)]


async def test_a_bug_in_the_owner_is_said_plainly_and_logged_there(
    client: EngineClient, expected_log: Any
) -> None:
    with (
        expected_log("a call over the channel failed"),
        pytest.raises(ChannelError, match="unexpected error"),
    ):
        await client.explain("broken")
    assert await client.explain("T")


async def test_an_answer_that_is_too_long_is_refused_with_advice(client: EngineClient) -> None:
    with pytest.raises(ChannelError, match="fewer rows"):
        await client.explain("huge")
    assert await client.explain("T")


async def test_a_request_that_is_too_long_is_not_sent(client: EngineClient, engine: StrawEngine) -> None:
    with pytest.raises(ChannelError, match="Nothing was sent"):
        await client.explain("x" * REQUEST_LIMIT_BYTES)
    assert engine.calls == []
    assert await client.explain("T")


# --------------------------------------------------------------------------------------------------------- rights


DECISIONS = [method for method in METHODS.values() if method.right is Right.DECIDE]


async def test_e90_an_agent_may_look_and_ask_but_never_decide(
    channel: Channel, folder: Path, engine: StrawEngine, agent: Actor
) -> None:
    remote = await reach(folder, agent)
    client = EngineClient(remote)
    assert await client.explain("T")
    engine.calls.clear()
    with pytest.raises(Unauthorized, match="may not approve"):
        await client.approvals.approve("A", seal="0" * 64)
    with pytest.raises(Unauthorized, match="may not hold"):
        await client.hold(WHOLE_ENGINE, reason="because")
    with pytest.raises(Unauthorized, match="may not reconcile"):
        await client.require("unknowns.reconcile")
    assert engine.calls == []
    assert engine.refused == [
        ("approvals.approve", agent),
        ("hold", agent),
        ("unknowns.reconcile", agent),
    ]
    await remote.close()


def test_e90_what_decides_is_marked_so_in_the_table() -> None:
    assert {method.name for method in DECISIONS} == {
        "approvals.approve",
        "approvals.reject",
        "approvals.withdraw",
        "pause",
        "hold",
        "resume",
        "cancel",
        "stop_attempt",
        "accept",
        "reject_work",
        "allow_correction",
        "validate_again",
        "validate_by_person",
        "unknowns.reconcile",
        "replan",
        "backups.back_up",
        "backups.rehearse",
        "scheduled_backups.set",
        "acknowledge_restore",
        "budgets.set_limits",
        "budgets.add_project",
        "budgets.remove_project",
        "grants.give",
        "grants.revoke",
        "grants.listed",
        "grants.grant",
        "decide_missed",
        "wakes.cancel",
        "wakes.release",
        "wakes.drop",
        "schedules.add",
        "schedules.pause",
        "schedules.resume",
        "schedules.change",
        "schedules.cancel",
        "retention.set",
        "retention.set_by_itself",
        "retention.run",
        "agents.add",
        "agents.revoke",
        "agents.listed",
        "followups.answer",
    }
    assert RIGHTS[ActorKind.AGENT] == {Right.LOOK, Right.ASK}
    assert RIGHTS[ActorKind.SCRIPT] == {Right.LOOK, Right.ASK}
    assert not RIGHTS[ActorKind.ENGINE]
    assert not RIGHTS[ActorKind.WORKER]


@pytest.mark.parametrize(
    "hello",
    [
        *({"kind": kind} for kind in ("engine", "worker", "root", "", None, ["person"])),
        *({"name": name} for name in ("", "a\u202eb", "a\nb", "x" * 101, None, 5)),
        {"more": "x"},
        {"key": None},
        {"key": ["person.key"]},
        {"name": "x" * 2000},
    ],
    ids=str,
)
async def test_e90_nobody_speaks_as_the_engine_or_without_a_name(
    channel: Channel, folder: Path, engine: StrawEngine, hello: dict[str, Any]
) -> None:
    with pytest.raises((OSError, EOFError, Refused)):  # noqa: PT012
        link = await introduced(channel, folder, **hello)
        try:
            await exchange(link, message())
        finally:
            link.close()
    assert engine.calls == []
    await still_answers(folder)


# ----------------------------------------------------------------------------------------------------- own keys


@pytest.fixture
def key(folder: Path, engine: StrawEngine, agent: Actor) -> Credential:
    """A key that was given to an agent."""
    engine.keys[AGENT_ID] = AgentRow(AGENT_ID, agent, 0, PERSON, None, None, "")
    return Credential(AGENT_ID, agent_secret(own_key(folder), AGENT_ID), agent)


async def test_e90_who_has_an_agents_key_speaks_as_that_agent_and_as_nobody_else(
    channel: Channel, folder: Path, engine: StrawEngine, key: Credential, agent: Actor
) -> None:
    remote = await Remote.connect(folder, key)
    client = EngineClient(remote)
    assert await client.explain("T")
    with pytest.raises(Unauthorized, match="may not approve"):
        await client.approvals.approve("A", seal="0" * 64)
    assert engine.refused == [("approvals.approve", agent)]
    await remote.close()

    def pretend(hello: dict[str, str], secret: bytes) -> None:
        link = connect(channel.address, 5)
        try:
            introduce(link, secret, hello, 5)
            link.send(message(method="hold"))
            link.receive(1 << 20, 5)
        finally:
            link.close()

    other = "01K0000000000000000000XXXX"
    engine.keys[other] = AgentRow(other, Actor(ActorKind.AGENT, "other"), 0, PERSON, None, None, "")
    for hello in (
        HELLO,
        {**HELLO, "kind": "agent"},
        {"key": AGENT_ID, "kind": "person", "name": "ada"},
        {"key": AGENT_ID, "name": "ada"},
        {"key": other},
    ):
        with pytest.raises((OSError, EOFError, Refused)):
            await asyncio.to_thread(pretend, hello, key.secret)
    assert [name for name, _ in engine.calls] == ["explain"]
    await still_answers(folder)


async def test_e90_a_message_cannot_say_who_sends_it(
    channel: Channel, folder: Path, engine: StrawEngine, key: Credential
) -> None:
    def talk() -> Any:
        link = connect(channel.address, 5)
        try:
            introduce(link, key.secret, {"key": AGENT_ID}, 5)
            link.send(message(method="hold", arguments={}, actor={"kind": "person", "name": "ada"}))
            return wire.load(link.receive(1 << 20, 5))
        finally:
            link.close()

    answer = await asyncio.to_thread(talk)
    assert "nothing called 'actor'" in answer["error"]["what"]
    assert engine.calls == []


async def test_e90_a_key_that_was_taken_back_ends_at_once_and_its_tries_are_journalled(
    channel: Channel, folder: Path, engine: StrawEngine, key: Credential, agent: Actor
) -> None:
    remote = await Remote.connect(folder, key)
    client = EngineClient(remote)
    assert await client.explain("T")
    engine.keys[AGENT_ID] = replace(engine.keys[AGENT_ID], revoked_at=1, revoked_by=PERSON, reason="r")
    with pytest.raises(Unauthorized, match="was taken back"):
        await client.explain("T")
    assert engine.refused == [("explain", agent)]
    del engine.keys[AGENT_ID]
    with pytest.raises(Unauthorized, match="not known here"):
        await client.explain("T")
    assert len(engine.calls) == 1
    await remote.close()


async def test_e92_an_agent_is_answered_about_its_own_work_only(
    channel: Channel, folder: Path, engine: StrawEngine, key: Credential
) -> None:
    remote = await Remote.connect(folder, key)
    client = EngineClient(remote)
    with pytest.raises(NotFound, match="You asked for no task others"):
        await client.explain("others")
    for look in (
        client.status,
        client.approvals.inbox,
        client.attempts,
        client.verify_journal,
        client.figures,
    ):
        with pytest.raises(Unauthorized, match="looks only at its own"):
            await look()
    with pytest.raises(Unauthorized, match="looks only at its own"):
        await client.journal()
    with pytest.raises(Unauthorized, match="looks only at its own"):
        await client.work_orders(requested_by=PERSON)
    assert engine.calls == []
    await remote.close()


def message(**changes: Any) -> bytes:
    envelope = {
        "version": 2,
        "id": "1",
        "method": "explain",
        "arguments": {"task_id": "T"},
    }
    return wire.dump({**envelope, **changes})


@pytest.mark.parametrize(
    "changes",
    [
        {"method": "close"},
        {"method": "__class__"},
        {"method": "folder"},
        {"method": None},
        {"method": {"a": 1}},
        {"arguments": {}},
        {"arguments": {"task_id": 5}},
        {"arguments": {"task_id": "T", "self": 1}},
        {"arguments": {"task_id": "T", "actor": {"kind": "person", "name": "eve"}}},
        {"arguments": ["T"]},
        {"actor": None},
        {"actor": {"kind": "person", "name": "ada"}},
        {"more": 1},
        {"method": "journal", "arguments": {"limit": 1001}},
        {"method": "journal", "arguments": {"limit": True}},
    ],
    ids=str,
)
async def test_a_wrong_request_is_answered_and_harms_nothing(
    channel: Channel, folder: Path, engine: StrawEngine, changes: dict[str, Any]
) -> None:
    link = await introduced(channel, folder)
    answer = await exchange(link, message(**changes))
    assert answer["id"] == "1"
    assert answer["error"]["what"]
    assert engine.calls == []
    assert (await exchange(link, message()))["result"]
    link.close()


@pytest.mark.parametrize(
    "data",
    [b"", b"{}", b"[]", b"null", b"\xff", b"{", message(version=1), message(id=5), message(id="x" * 101)],
    ids=repr,
)
async def test_what_is_no_request_is_answered_once_and_hung_up_on(
    channel: Channel, folder: Path, data: bytes
) -> None:
    link = await introduced(channel, folder)
    assert (await exchange(link, data))["error"]["what"]
    with pytest.raises((OSError, EOFError)):
        await exchange(link, message())
    link.close()
    await still_answers(folder)


@given(st.binary(max_size=300) | st.dictionaries(st.text(max_size=9), st.text(max_size=9)).map(wire.dump))
async def test_any_message_is_answered_or_hung_up_on(fuzzed: tuple[Channel, Path], data: bytes) -> None:
    channel, folder = fuzzed
    link = await introduced(channel, folder)
    assert "error" in await exchange(link, data)
    link.close()


@pytest.fixture(scope="module")
def fuzzed(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A channel in a loop and thread of its own, since hypothesis runs each example in the test's loop."""
    folder = tmp_path_factory.mktemp("data")
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()

    async def listen() -> Channel:
        return await Channel.listen(StrawEngine(), folder, program="test")

    channel = asyncio.run_coroutine_threadsafe(listen(), loop).result(10)
    yield channel, folder
    asyncio.run_coroutine_threadsafe(channel.close(), loop).result(10)
    asyncio.run_coroutine_threadsafe(loop.shutdown_default_executor(), loop).result(10)
    loop.call_soon_threadsafe(loop.stop)
    thread.join()
    loop.close()


# ------------------------------------------------------------------------------------ slow, broken, hostile peers


@unix
@pytest.mark.parametrize("data", [b"", b"\x00", b"GET / HTTP/1.1\r\n\r\n", os.urandom(5000)], ids=len)
async def test_garbage_instead_of_the_handshake_is_hung_up_on(
    channel: Channel, folder: Path, data: bytes
) -> None:
    peer = plain(channel)
    peer.sendall(data)
    peer.shutdown(socket.SHUT_WR)
    assert await asyncio.to_thread(ends, peer)
    peer.close()
    await still_answers(folder)


@unix
async def test_silent_peers_are_hung_up_on_and_do_not_keep_others_out(channel: Channel, folder: Path) -> None:
    peers = [plain(channel) for _ in range(SHORT.peers)]
    ended = await asyncio.gather(*(asyncio.to_thread(ends, peer) for peer in peers))
    assert all(ended)
    for peer in peers:
        peer.close()
    await still_answers(folder)


@unix
async def test_a_half_message_is_hung_up_on(channel: Channel, folder: Path, engine: StrawEngine) -> None:
    link = await introduced(channel, folder)
    os.write(link._connection.fileno(), struct.pack("!i", 100) + b'{"version":1')
    assert await asyncio.to_thread(link.wait, 10)
    with pytest.raises((OSError, EOFError)):
        link.receive(100, 10)
    link.close()
    assert engine.calls == []
    await still_answers(folder)


@unix
@pytest.mark.parametrize("size", [REQUEST_LIMIT_BYTES + 1, 2**31 - 1, -1, -2])
async def test_a_message_with_an_absurd_length_is_hung_up_on(
    channel: Channel, folder: Path, size: int
) -> None:
    link = await introduced(channel, folder)
    os.write(link._connection.fileno(), struct.pack("!i", size) + struct.pack("!Q", 2**62))

    def rest() -> None:
        while True:
            link.receive(1 << 20, 10)

    with pytest.raises((OSError, EOFError)):
        await asyncio.to_thread(rest)
    link.close()
    await still_answers(folder)


@unix
async def test_a_peer_that_does_not_read_its_answer_is_hung_up_on(
    channel: Channel, folder: Path, engine: StrawEngine
) -> None:
    link = await introduced(channel, folder)
    long_name = "x" * (2 << 20)
    await asyncio.to_thread(link.send, message(arguments={"task_id": long_name}))
    while channel._peers:
        await asyncio.sleep(0.05)
    link.close()
    await still_answers(folder)


async def test_a_peer_with_the_wrong_key_is_turned_away(
    channel: Channel, folder: Path, engine: StrawEngine
) -> None:
    wrong = Credential(PERSON_KEY, b"w" * 32, PERSON)
    with pytest.raises(Refused, match="does not take this key"):
        await Remote.connect(folder, wrong)
    with pytest.raises(Refused, match="does not take this key"):
        await Remote.connect(folder, Credential(AGENT_ID, b"w" * 32, PERSON))
    assert engine.calls == []
    await still_answers(folder)


@unix
async def test_an_impostor_without_the_key_learns_nothing(folder: Path) -> None:
    key = own_key(folder)
    address = fresh_address(folder)
    said: list[bytes] = []

    def impostor(listening: socket.socket) -> None:
        peer, _ = listening.accept()
        with peer:
            greeting = b"praxis-channel-2 " + b"n" * 32
            peer.sendall(struct.pack("!i", len(greeting)) + greeting)
            said.append(peer.recv(4096))
            peer.sendall(struct.pack("!i", 32) + b"p" * 32)
            said.append(peer.recv(4096))

    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(address)
        listening.listen()
        write_note(folder, ChannelNote(address, 1, "impostor"))
        other = threading.Thread(target=impostor, args=(listening,))
        other.start()
        with pytest.raises(ChannelError, match="not the owner"):
            await reach(folder)
        other.join()
    assert key not in said[0]
    assert said[1] == b""


async def test_a_peer_that_goes_during_a_call_leaves_the_call_whole(
    channel: Channel, folder: Path, engine: StrawEngine
) -> None:
    link = await introduced(channel, folder)
    await asyncio.to_thread(link.send, message(arguments={"task_id": "slow"}))
    await engine.entered.wait()
    link.close()
    engine.release.set()
    await still_answers(folder)


async def test_more_peers_than_allowed_are_turned_away_and_let_in_later(
    channel: Channel, folder: Path
) -> None:
    links = [await introduced(channel, folder) for _ in range(SHORT.peers)]
    with pytest.raises(ChannelError, match="does not answer"):
        await reach(folder)
    for link in links:
        link.close()
    await still_answers(folder)


# ----------------------------------------------------------------------------------------------------- time-outs


@unix
async def test_an_owner_that_hangs_is_named(folder: Path) -> None:
    own_key(folder)
    address = fresh_address(folder)
    with socket.socket(socket.AF_UNIX) as deaf:
        deaf.bind(address)
        deaf.listen()
        write_note(folder, ChannelNote(address, 4711, "praxis serve"))
        with pytest.raises(ChannelError, match=r"praxis serve \(process 4711\)"):
            await reach(folder, seconds=0.2)


@unix
async def test_an_owner_that_takes_no_calls_at_all_is_named(folder: Path) -> None:
    own_key(folder)
    address = fresh_address(folder)
    with socket.socket(socket.AF_UNIX) as deaf, socket.socket(socket.AF_UNIX) as first:
        deaf.bind(address)
        deaf.listen(0)
        first.connect(address)
        write_note(folder, ChannelNote(address, 4711, "praxis serve"))
        with pytest.raises(ChannelError, match="process 4711"):
            await reach(folder, seconds=0.2)


async def test_a_lost_answer_to_a_command_says_that_it_may_have_been_done(
    channel: Channel, folder: Path, engine: StrawEngine
) -> None:
    """B-032: a lost answer is never called a failure, and the command is never sent again by itself."""
    remote = await reach(folder)

    async def vanish(node: Node, actor: Actor, **values: Any) -> HoldRow:
        engine.calls.append(("hold", node))
        for peer in tuple(channel._peers):
            peer.link.abort()
        return HoldRow("H", node.kind, node.id, "", HoldKind.HOLD, "", actor, 0)

    engine.hold = vanish  # type: ignore[method-assign]
    client = EngineClient(remote)
    with pytest.raises(ChannelError, match="may have been done all the same"):
        await client.hold(WHOLE_ENGINE, reason="r")
    assert len(engine.calls) == 1
    with pytest.raises(ChannelError, match="does not answer"):
        await client.explain("T")
    await remote.close()


async def test_a_cancelled_call_ends_at_once(client: EngineClient, engine: StrawEngine) -> None:
    call = asyncio.create_task(client.explain("slow"))
    await engine.entered.wait()
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    engine.release.set()


# --------------------------------------------------------------------------------------------- start, stop, files


async def test_closing_answers_what_is_under_way_and_leaves_nothing(
    engine: StrawEngine, folder: Path, channel: Channel
) -> None:
    remote = await reach(folder)
    call = asyncio.create_task(EngineClient(remote).explain("slow"))
    await engine.entered.wait()
    idle = await introduced(channel, folder)
    closing = asyncio.create_task(channel.close())
    await asyncio.sleep(0)
    engine.release.set()
    await closing
    assert (await call)[0].why == "slow"
    assert not (folder / NOTE_NAME).exists()
    assert not Path(channel.address).exists()
    assert not channel._accepting.is_alive()
    assert not channel._peers
    await remote.close()
    idle.close()
    await channel.close()


async def test_closing_ends_a_call_that_does_not_end(engine: StrawEngine, folder: Path) -> None:
    limits = ChannelLimits(closing=0.2)
    channel = await Channel.listen(engine, folder, program="test", limits=limits)
    remote = await reach(folder)
    call = asyncio.create_task(EngineClient(remote).explain("slow"))
    await engine.entered.wait()
    await channel.close()
    with pytest.raises(ChannelError, match="stopping"):
        await call
    await remote.close()


@unix
async def test_what_a_killed_owner_left_is_replaced(engine: StrawEngine, folder: Path) -> None:
    address = fresh_address(folder)
    with socket.socket(socket.AF_UNIX) as killed:
        killed.bind(address)
    write_note(folder, ChannelNote(address, 1, "killed"))
    assert Path(address).exists()
    with pytest.raises(ChannelError):
        await reach(folder)
    channel = await Channel.listen(engine, folder, program="next")
    await still_answers(folder)
    await channel.close()


@unix
def test_the_key_is_for_this_user_alone(folder: Path) -> None:
    key = own_key(folder)
    path = folder / PERSON_KEY
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert own_key(folder) == key
    path.chmod(0o644)
    assert own_key(folder) != key
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


@unix
def test_e90_the_key_that_every_kind_of_actor_used_is_gone_after_an_upgrade(folder: Path) -> None:
    (folder / "channel.key").write_bytes(b"k" * 32)
    assert own_key(folder) != b"k" * 32
    assert not (folder / "channel.key").exists()


def test_a_key_that_was_cut_short_is_made_anew(folder: Path) -> None:
    own_key(folder)
    (folder / PERSON_KEY).write_bytes(b"short")
    assert len(own_key(folder)) == 32


@unix
def test_the_socket_lies_in_a_private_place_whatever_the_folders_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    deep = tmp_path / ("d" * 100) / ("e" * 100)
    deep.mkdir(parents=True)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(deep))
    monkeypatch.setenv("TMPDIR", str(deep))
    address = fresh_address(deep)
    assert len(os.fsencode(address)) <= 100
    place = Path(address).parent
    assert stat.S_IMODE(place.stat().st_mode) == 0o700


@unix
def test_a_place_that_others_could_enter_is_not_used(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    open_place = tmp_path / "praxis-console"
    open_place.mkdir(mode=0o755)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    assert Path(fresh_address(folder)).parent != open_place
    open_place.rmdir()
    open_place.symlink_to(folder)
    assert Path(fresh_address(folder)).parent != open_place


@pytest.mark.parametrize(
    "text",
    ["", "{", "[]", "null", '{"address":1,"pid":1,"program":""}', '{"address":"a"}', "[" * 9000, "\x00"],
    ids=range(8),
)
def test_a_note_that_is_none_is_ignored(folder: Path, text: str) -> None:
    (folder / NOTE_NAME).write_text(text)
    assert read_note(folder) is None


async def test_without_an_owner_there_is_nothing_to_connect_to(folder: Path) -> None:
    with pytest.raises(ChannelError):
        await reach(folder)


def test_wrong_arguments_name_the_one_that_is_wrong() -> None:
    with pytest.raises(InvalidValue) as caught:
        METHODS["approvals.approve"].decode_arguments({"approval_id": "A"})
    assert caught.value.facts["field"] == "seal"
