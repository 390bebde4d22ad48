"""The event loop on Qt: order, exactness of timers, nothing left over, exceptions, threads."""

from __future__ import annotations

import asyncio
import contextvars
import gc
import sys
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

import pytest
from PySide6.QtCore import QObject, QTimer
from PySide6.QtWidgets import QApplication

from app.event_loop import SLICE_SECONDS, EventLoop, run


@pytest.fixture
def loop(qapp: QApplication) -> Iterator[EventLoop]:
    made = EventLoop(qapp)
    yield made
    made.close()


def test_runs_a_coroutine_and_returns_its_result(qapp: QApplication) -> None:
    async def main() -> int:
        await asyncio.sleep(0)
        return 7

    assert run(main, qapp) == 7


def test_run_works_again_after_run(qapp: QApplication) -> None:
    async def main() -> EventLoop:
        loop = asyncio.get_running_loop()
        assert isinstance(loop, EventLoop)
        return loop

    first, second = run(main, qapp), run(main, qapp)
    assert first is not second
    assert first.is_closed()


def test_callbacks_run_in_the_order_they_were_scheduled(loop: EventLoop) -> None:
    seen: list[int] = []
    for number in range(1000):
        loop.call_soon(seen.append, number)
    loop.call_soon(loop.stop)
    loop.run_forever()
    assert seen == list(range(1000))


def test_what_a_callback_schedules_runs_in_the_next_turn(loop: EventLoop) -> None:
    seen: list[str] = []
    loop.call_soon(lambda: (seen.append("a"), loop.call_soon(seen.append, "c"), loop.call_soon(loop.stop)))
    loop.call_soon(seen.append, "b")
    loop.run_forever()
    assert seen == ["a", "b", "c"]


def test_callbacks_scheduled_before_running_wait_for_it(loop: EventLoop, qapp: QApplication) -> None:
    seen: list[int] = []
    loop.call_soon(seen.append, 1)
    qapp.sendPostedEvents()
    assert seen == []
    loop.call_soon(loop.stop)
    loop.run_forever()
    assert seen == [1]


def test_a_burst_of_30_000_callbacks_is_not_a_burst_of_qt_timers(loop: EventLoop) -> None:
    """qasync alone does 30,000/s; the bound here leaves room for a busy machine."""
    count = 30_000
    seen = 0

    def tick() -> None:
        nonlocal seen
        seen += 1

    started = time.perf_counter()
    for _ in range(count):
        loop.call_soon(tick)
    loop.call_soon(loop.stop)
    loop.run_forever()
    rate = count / (time.perf_counter() - started)
    assert seen == count
    assert rate > 60_000, f"{rate:,.0f}/s"


def test_a_long_queue_lets_qt_have_its_turn(loop: EventLoop) -> None:
    """A Qt timer of 1 ms fires while a queue of half a second is being drained."""
    turns: list[float] = []
    owner = QObject()
    timer = QTimer(owner, interval=1)
    timer.timeout.connect(lambda: turns.append(time.perf_counter()))
    timer.start()
    for _ in range(250):
        loop.call_soon(time.sleep, 0.002)
    loop.call_soon(loop.stop)
    loop.run_forever()
    timer.stop()
    assert len(turns) > 10
    longest = max(later - earlier for earlier, later in pairwise(turns))
    assert longest < SLICE_SECONDS + 0.25, "half of what the whole queue takes, on a busy machine"


def test_no_timer_is_early(loop: EventLoop) -> None:
    delays = [0.0, 0.001, 0.003, 0.0101, 0.02, 0.0333, 0.05, 0.1, 0.25]
    late: list[float] = []

    def due(when: float) -> None:
        late.append(loop.time() - when)
        if len(late) == len(delays):
            loop.stop()

    for delay in delays:
        when = loop.time() + delay
        loop.call_at(when, due, when)
    loop.run_forever()
    assert min(late) >= 0


def test_timers_fire_by_deadline_and_equal_ones_in_order(loop: EventLoop) -> None:
    seen: list[str] = []
    when = loop.time() + 0.02
    loop.call_at(when + 0.01, seen.append, "later")
    for name in "abc":
        loop.call_at(when, seen.append, name)
    loop.call_at(when - 0.01, seen.append, "sooner")
    loop.call_at(when + 0.02, loop.stop)
    loop.run_forever()
    assert seen == ["sooner", "a", "b", "c", "later"]


def test_an_earlier_timer_made_later_is_not_late(loop: EventLoop) -> None:
    loop.call_later(3600, lambda: None)
    started = loop.time()
    loop.call_later(0.01, loop.stop)
    loop.run_forever()
    assert loop.time() - started < 5


def test_a_cancelled_timer_does_not_fire(loop: EventLoop) -> None:
    seen: list[int] = []
    loop.call_later(0.005, seen.append, 1).cancel()
    loop.call_later(0.02, loop.stop)
    loop.run_forever()
    assert seen == []


async def test_cancelled_timers_are_not_kept() -> None:
    loop = asyncio.get_running_loop()
    assert isinstance(loop, EventLoop)
    before = len(loop._deadlines)
    for _ in range(5000):
        async with asyncio.timeout(3600):
            await asyncio.sleep(0)
    assert len(loop._deadlines) - before < 200


def test_timer_handles_are_real_ones(loop: EventLoop) -> None:
    when = loop.time() + 10
    handle = loop.call_at(when, lambda: None)
    assert isinstance(handle, asyncio.TimerHandle)
    assert handle.when() == when
    handle.cancel()


def test_a_thread_wakes_a_sleeping_loop(loop: EventLoop) -> None:
    made: list[object] = []

    def call() -> None:
        made.append(loop.call_soon_threadsafe(loop.stop))

    thread = threading.Timer(0.05, call)
    thread.start()
    loop.run_forever()
    thread.join()
    assert isinstance(made[0], asyncio.Handle)


def test_calls_of_many_threads_all_arrive_in_each_threads_order(loop: EventLoop) -> None:
    each, threads = 2000, 4
    seen: dict[int, list[int]] = {number: [] for number in range(threads)}
    done = threading.Barrier(threads)

    def send(number: int) -> None:
        for value in range(each):
            loop.call_soon_threadsafe(seen[number].append, value)
        if done.wait() == 0:
            loop.call_soon_threadsafe(loop.call_later, 0.0, loop.stop)

    workers = [threading.Thread(target=send, args=(number,)) for number in range(threads)]
    for worker in workers:
        worker.start()
    loop.run_forever()
    for worker in workers:
        worker.join()
    assert all(values == list(range(each)) for values in seen.values())


def test_a_closed_loop_says_so_to_threads(qapp: QApplication) -> None:
    loop = EventLoop(qapp)
    loop.close()
    loop.close()
    for call in (loop.call_soon, loop.call_soon_threadsafe):
        with pytest.raises(RuntimeError, match="closed"):
            call(lambda: None)
    with pytest.raises(RuntimeError, match="closed"):
        loop.call_later(1, lambda: None)


def test_callbacks_run_in_their_context(loop: EventLoop) -> None:
    name = contextvars.ContextVar("name", default="outside")
    seen: list[str] = []
    context = contextvars.copy_context()
    context.run(name.set, "given")
    loop.call_soon(lambda: seen.append(name.get()), context=context)
    loop.call_soon_threadsafe(lambda: seen.append(name.get()), context=context)
    loop.call_later(0.001, lambda: seen.append(name.get()), context=context)
    token = name.set("at scheduling")
    loop.call_soon(lambda: seen.append(name.get()))
    name.reset(token)
    loop.call_later(0.02, loop.stop)
    loop.run_forever()
    assert seen == ["given", "given", "at scheduling", "given"]


def test_an_exception_of_a_callback_goes_to_the_handler_and_the_loop_goes_on(loop: EventLoop) -> None:
    told: list[dict[str, Any]] = []
    loop.set_exception_handler(lambda _, context: told.append(context))

    def fail() -> None:
        raise ValueError("on purpose")

    seen: list[int] = []
    loop.call_soon(fail)
    loop.call_soon(seen.append, 1)
    loop.call_later(0.001, fail)
    loop.call_later(0.02, loop.stop)
    loop.run_forever()
    assert seen == [1]
    assert [str(context["exception"]) for context in told] == ["on purpose", "on purpose"]


@pytest.mark.parametrize("kind", [SystemExit, KeyboardInterrupt])
def test_an_exit_raised_in_a_callback_leaves_the_loop(loop: EventLoop, kind: type[BaseException]) -> None:
    def leave() -> None:
        raise kind

    loop.call_soon(leave)
    with pytest.raises(kind):
        loop.run_forever()


def test_slow_callbacks_are_named_in_debug_mode(loop: EventLoop, expected_log: Callable[..., Any]) -> None:
    loop.set_debug(True)
    loop.slow_callback_duration = 0.01
    loop.call_soon(time.sleep, 0.02)
    loop.call_later(0.03, loop.stop)
    with expected_log("Executing .* took"):
        loop.run_forever()


async def test_executor_threads_are_made_when_needed() -> None:
    loop = asyncio.get_running_loop()
    before = threading.active_count()
    assert await loop.run_in_executor(None, threading.current_thread) is not threading.current_thread()
    assert await asyncio.to_thread(lambda: 3) == 3
    assert threading.active_count() <= before + 2


async def test_processes_work() -> None:
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", "print('hello')", stdout=asyncio.subprocess.PIPE
    )
    out, _ = await process.communicate()
    assert out.strip() == b"hello"
    assert process.returncode == 0


async def test_sockets_work() -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(await reader.readline())
        await writer.drain()
        writer.close()
        await writer.wait_closed()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(b"hello\n")
    assert await reader.readline() == b"hello\n"
    writer.close()
    await writer.wait_closed()
    server.close()
    await server.wait_closed()


def test_left_over_tasks_are_cancelled_by_run(qapp: QApplication) -> None:
    ended: list[str] = []

    async def wait_for_ever() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.append("ended")

    async def main() -> None:
        keep.append(asyncio.create_task(wait_for_ever()))
        await asyncio.sleep(0)

    keep: list[asyncio.Task[None]] = []
    run(main, qapp)
    assert ended == ["ended"]
    assert keep[0].cancelled()


def test_a_closed_loop_is_freed(qapp: QApplication) -> None:
    async def main() -> weakref.ref[asyncio.AbstractEventLoop]:
        await asyncio.sleep(0.001)
        return weakref.ref(asyncio.get_running_loop())

    freed = run(main, qapp)
    gc.collect()
    assert freed() is None
