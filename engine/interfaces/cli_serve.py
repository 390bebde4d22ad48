"""`praxis serve`: own the data folder without a console, run what is approved, and answer other processes."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass
from types import FrameType

from rich.table import Table
from rich.text import Text

from engine.actors import Actor, ActorKind
from engine.engine import Engine
from engine.interfaces.channel import Channel
from engine.interfaces.cli_output import Output, at, shown, table, word
from engine.interfaces.cli_session import Session
from engine.scheduling.gates import Gate
from engine.states import ApprovalState, TaskState, WorkOrderState
from engine.views.values import JournalRow, TaskRow, WorkOrderRow

OPEN_STATES = (
    WorkOrderState.ACTIVE,
    WorkOrderState.AWAITING_ACCEPTANCE,
    WorkOrderState.DECISION_NEEDED,
    WorkOrderState.CANCELLING,
)
_PAGE = 500
_LOOK_SECONDS = 1.0
"""How often time alone is given a chance to change something: a due task, an expiry."""


@dataclass(frozen=True, slots=True)
class Waiting:
    """A work order that is not finished and waits for a person or an instant."""

    name: str
    title: str
    state: WorkOrderState
    why: str


@dataclass(frozen=True, slots=True)
class Served:
    """How a run of `serve` ended: ``reason`` is idle, interrupted or superseded; ``waiting`` what is left."""

    reason: str
    waiting: tuple[Waiting, ...]


async def serve(session: Session, *, until_idle: bool, quiet: bool) -> None:
    """Run until interrupted, until a newer coordinator takes over, or until nothing can run without a person."""
    out = session.out
    async with _owner(session) as (engine, channel):
        out.line(f"Serving {session.folder} in epoch {engine.epoch}, channel {channel.address}.")
        if engine.place_warning:
            out.note(shown(engine.place_warning))
        teller = _Teller(engine, out, quiet=quiet or out.as_json)
        with _stop_signals() as stop, teller.listening():
            reason = await _until_end(engine, teller, stop, until_idle=until_idle)
        await teller.tell()
        served = Served(reason, await waiting_work(engine))
    out.result(served, lambda: _ending(served))


async def waiting_work(engine: Engine) -> tuple[Waiting, ...]:
    """Every unfinished work order with what it waits for, oldest change last."""
    return tuple(
        [Waiting(f"WO-{row.number}", row.title, row.state, row.why) async for row in _open_orders(engine)]
    )


async def is_idle(engine: Engine) -> bool:
    """Whether nothing runs, and nothing could without a person doing something first.

    The look takes several reads. If anything changed meanwhile they do not fit together, and it is not idle.
    """
    before = (await engine.status()).last_sequence
    return not await _can_go_on(engine) and (await engine.status()).last_sequence == before


async def _can_go_on(engine: Engine) -> bool:
    if await engine.running():
        return True
    async for row in _open_orders(engine):
        if row.state is not WorkOrderState.ACTIVE:
            continue
        for task in (await engine.work_order(row.id)).tasks:
            if _goes_on(task, await engine.explain(task.id)):
                return True
    return False


def _goes_on(task: TaskRow, gates: tuple[Gate, ...]) -> bool:
    if task.state in (TaskState.CLAIMED, TaskState.DISPATCHED):
        return True
    closed = {gate.name for gate in gates if not gate.open}
    if task.state is TaskState.READY:
        return not closed or task.approval_state is None
    if task.state is TaskState.WAITING:
        return closed == {"schedule"} and task.approval_state is ApprovalState.APPROVED
    return False


async def _open_orders(engine: Engine) -> AsyncIterator[WorkOrderRow]:
    after: str | None = None
    while page := await engine.work_orders(after=after, limit=_PAGE, states=OPEN_STATES):
        for row in page:
            yield row
        after = page[-1].id


@asynccontextmanager
async def _owner(session: Session) -> AsyncIterator[tuple[Engine, Channel]]:
    engine = await Engine.open(session.folder, program="praxis serve")
    try:
        channel = await Channel.listen(engine, session.folder, program="praxis serve")
        try:
            yield engine, channel
        finally:
            await channel.close()
    finally:
        await engine.close()


async def _until_end(engine: Engine, teller: _Teller, stop: _Stop, *, until_idle: bool) -> str:
    if until_idle:
        await engine.reconcile_once()
    while not stop.asked.is_set():
        await teller.tell()
        if (await engine.status()).superseded:
            return "superseded"
        if until_idle and await is_idle(engine):
            return "idle"
        await _first(stop.asked, teller.news)
    await _wind_down(engine, teller, stop)
    return "interrupted"


async def _wind_down(engine: Engine, teller: _Teller, stop: _Stop) -> None:
    """Let what runs come to its end, unless the person does not want to wait for it."""
    running = await engine.running()
    if not running:
        return
    teller.out.note(
        f"{len(running)} running: waiting for the end. Ctrl+C again stops it now, and its outcome is UNKNOWN."
    )
    finishing = asyncio.create_task(engine.finish())
    insisting = asyncio.create_task(stop.insisted.wait())
    await asyncio.wait((finishing, insisting), return_when=asyncio.FIRST_COMPLETED)
    for task in (finishing, insisting):
        task.cancel()
    for task in (finishing, insisting):
        with suppress(asyncio.CancelledError):
            await task


async def _first(*events: asyncio.Event) -> None:
    tasks = [asyncio.create_task(event.wait()) for event in events]
    try:
        await asyncio.wait(tasks, timeout=_LOOK_SECONDS, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)


class _Stop:
    """What the person asked for with Ctrl+C: once to end, twice to end now."""

    def __init__(self) -> None:
        self.asked = asyncio.Event()
        self.insisted = asyncio.Event()

    def ask(self) -> None:
        (self.insisted if self.asked.is_set() else self.asked).set()


@contextmanager
def _stop_signals() -> Iterator[_Stop]:
    stop, loop = _Stop(), asyncio.get_running_loop()

    def on_signal(_number: int, _frame: FrameType | None) -> None:
        loop.call_soon_threadsafe(stop.ask)

    before = {number: signal.signal(number, on_signal) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


class _Teller:
    """Prints the journal as it grows, so that who watches the terminal sees what happens."""

    def __init__(self, engine: Engine, out: Output, *, quiet: bool) -> None:
        self.out = out
        self.news = asyncio.Event()
        self._engine = engine
        self._quiet = quiet
        self._told: int | None = None
        self._names: dict[str, str] = {}

    @contextmanager
    def listening(self) -> Iterator[None]:
        end = self._engine.subscribe(lambda _changes: self.news.set())
        try:
            yield
        finally:
            end()

    async def tell(self) -> None:
        """Print what is new since this owner began."""
        self.news.clear()
        if self._quiet:
            return
        if self._told is None:
            newest = (await self._engine.status()).last_sequence
            rows = await self._engine.journal(before=newest + 1, limit=_PAGE)
            earlier = [row.sequence for row in rows if row.epoch < self._engine.epoch]
            self._told = max(earlier, default=rows[0].sequence - 1)
        while rows := await self._engine.journal(after=self._told, limit=_PAGE):
            for row in rows:
                self.out.line(await self._line(row))
            self._told = rows[-1].sequence

    async def _line(self, row: JournalRow) -> Text:
        name = await self._name(row.work_order_id)
        return Text(f"{at(row.at)}  {name:<8} {row.kind:<31} {_who(row.actor)}")

    async def _name(self, work_order_id: str | None) -> str:
        if work_order_id is None:
            return ""
        if work_order_id not in self._names:
            row = await self._engine.work_order_row(work_order_id)
            self._names[work_order_id] = f"WO-{row.number}" if row is not None else ""
        return self._names[work_order_id]


def _who(actor: Actor) -> str:
    """An actor in a narrow column."""
    if actor.kind is ActorKind.PERSON or actor.kind.value == actor.name:
        return shown(actor.name)
    return shown(f"{actor.kind} {actor.name}")


def _ending(served: Served) -> Iterator[str | Table]:
    yield {
        "idle": "Nothing runs, and nothing can without a person.",
        "interrupted": "Stopped as asked.",
        "superseded": "Another coordinator has taken over this data folder; this one stopped.",
    }[served.reason]
    if served.waiting:
        yield table(
            ("waits", "state", "title", "why"),
            ([one.name, word(one.state.value), shown(one.title), shown(one.why)] for one in served.waiting),
        )
    else:
        yield "Nothing waits."
