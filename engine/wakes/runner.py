"""The runner: claims what is due, drives sinks side by side, and takes care of what they do.

Each sink is driven for itself: its error, its time limit and its lease are its own. A runner claims only what
it can start at once, so that no wake waits under a running lease (S-14).
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

from engine.clock import LONGEST_SLEEP_MS, Clock
from engine.errors import PraxisError, StorageClosed
from engine.instants import Instant
from engine.wakes.errors import CalledOff, LostClaim, TimeLimitReached
from engine.wakes.firing import Firing, Round, Wanted, lost
from engine.wakes.metrics import Metrics
from engine.wakes.notices import Listener, Notice, NoticeKind
from engine.wakes.running import running
from engine.wakes.settings import WakeSettings
from engine.wakes.sinks import Sink
from engine.wakes.steps import error_text
from engine.wakes.store import Transaction, WakeStore
from engine.wakes.values import Series, Wake, WakeState
from engine.wakes.waiting import first_of, sleep, to_the_end

ENDING_SECONDS = 2.0
"""How long a sink that was cancelled may take to end before a stop goes on without it."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class PassReport:
    """What a pass did, by kind of progress. Sinks that still ran at its end are counted by no pass.

    ``passed_over`` occurrences were skipped or put into the docket. With ``more``, another pass would go on at
    once. ``by_time`` is False while the clock is distrusted.
    """

    claimed: int = 0
    fired: int = 0
    expired: int = 0
    failed: int = 0
    dead: int = 0
    lapsed: int = 0
    lost: int = 0
    set_aside: int = 0
    passed_over: int = 0
    running: int = 0
    by_time: bool = True
    more: bool = False


class _Counts:
    """The running counts of a pass."""

    def __init__(self) -> None:
        self.claimed = self.fired = self.expired = self.failed = self.dead = 0
        self.lapsed = self.lost = self.set_aside = self.passed_over = 0

    def report(self, *, running: int, by_time: bool, more: bool) -> PassReport:
        return PassReport(**vars(self), running=running, by_time=by_time, more=more)


@dataclass(slots=True, eq=False)
class _Run:
    """One sink under way. ``renewed_at`` is elapsed time; ``began_at`` is time awake, which a limit means (B-083)."""

    wake: Wake
    sink: Sink
    counts: _Counts
    began_at: int
    renewed_at: int
    limit_ms: int | None
    task: asyncio.Task[None] | None = None
    body: asyncio.Task[object] | None = None
    out_of_time: bool = False
    lost: bool = False
    reported_stuck: bool = False


class Runner:
    """Drives the sinks of one alarm clock. It belongs to the running loop."""

    def __init__(
        self,
        store: WakeStore,
        firing: Firing,
        clock: Clock,
        settings: WakeSettings,
        holder: str,
        metrics: Metrics,
        notify: Listener,
        jitter: Callable[[], float],
        changed: Callable[[], None],
    ) -> None:
        self._store = store
        self._firing = firing
        self._clock = clock
        self._settings = settings
        self._holder = holder
        self._metrics = metrics
        self._notify = notify
        self._jitter = jitter
        self._changed = changed
        self._runs: dict[str, _Run] = {}
        self._claiming = asyncio.Lock()
        self._nudged = asyncio.Event()
        self._keeper: asyncio.Task[None] | None = None
        self._started = asyncio.Event()
        self._stopping = False
        self._by_time = True
        # None: not known yet, so the first round claims nothing but compares the clocks.
        self._apart: bool | None = None
        self.sinks: dict[str, Sink] = {}

    @property
    def running(self) -> tuple[str, ...]:
        """The ids of the wakes whose sinks run here."""
        return tuple(self._runs)

    def nudge(self) -> None:
        """Have a pass that waits look again."""
        self._nudged.set()

    async def run_pass(self, limit: int) -> PassReport:
        """Claim and drive what is due, lanes until they are empty, for at most a time slice."""
        counts = _Counts()
        mine: set[asyncio.Task[None]] = set()
        time_is_up = asyncio.ensure_future(sleep(self._clock, self._settings.slice_ms))
        more = False
        try:
            while not self._stopping and not time_is_up.done():
                self._nudged.clear()
                comparing = self._apart is None
                done, started = await self._round(limit - counts.claimed, counts)
                mine = {task for task in (*mine, *started) if not task.done()}
                more = done.full and self._free() > 0
                if counts.claimed >= limit:
                    await self._end_of(mine, time_is_up)
                    break
                if comparing or (self._free() > 0 and (done.full or (done.progress and not started))):
                    continue
                if not mine:
                    break
                await first_of(self._nudged.wait(), tasks=[time_is_up, *mine])
        finally:
            time_is_up.cancel()
            await asyncio.gather(time_is_up, return_exceptions=True)
        return counts.report(running=len(self._runs), by_time=self._by_time, more=more)

    async def _end_of(self, mine: set[asyncio.Task[None]], time_is_up: asyncio.Future[None]) -> None:
        """Wait for what a pass has started, until its time is up or this runner stops."""
        while mine and not time_is_up.done() and not self._stopping:
            self._nudged.clear()
            await first_of(self._nudged.wait(), tasks=[time_is_up, *mine])
            mine = {task for task in mine if not task.done()}

    async def next_obligation(self) -> Instant | None:
        """When there is something to do next that this runner could do; None if nothing by time."""
        if not self._by_time or self._stopping:
            return None
        claims = self._free() > 0 and self._apart is not True

        def look(tx: Transaction) -> Instant | None:
            return self._store.queue.next_obligation(tx, self.running, claims=claims)

        return await self._store.read(look)

    def begin(self) -> None:
        """Let passes claim again after a stop."""
        self._stopping = False

    def begin_stop(self) -> None:
        """Claim nothing more; a pass that waits ends."""
        self._stopping = True
        self._nudged.set()

    async def finish(self, limit_ms: int | None) -> tuple[Wake, ...]:
        """Wait for what runs, at most so long; then cancel the rest, and give it."""
        tasks = [run.task for run in self._runs.values() if run.task is not None]
        if tasks:
            everything = asyncio.gather(*tasks, return_exceptions=True)
            waits = [] if limit_ms is None else [sleep(self._clock, limit_ms)]
            await first_of(*waits, tasks=[everything])
        left = tuple(self._runs.values())
        for run in left:
            assert run.task is not None
            run.task.cancel()
        if left:
            await asyncio.wait([run.task for run in left if run.task], timeout=ENDING_SECONDS)
        return tuple(run.wake for run in left)

    # ------------------------------------------------------------------------------------- one round

    def wanted(self, limit: int) -> Wanted:
        """What this runner asks of a round."""
        most = {kind: sink.max_attempts or self._settings.max_attempts for kind, sink in self.sinks.items()}
        return Wanted(
            kinds=frozenset(self.sinks),
            holder=self._holder,
            limit=limit,
            running=self.running,
            clock=self._clock.now(),
            most_attempts=most,
        )

    async def _round(self, limit: int, counts: _Counts) -> tuple[Round, list[asyncio.Task[None]]]:
        """Run one round in the store, compare the clocks, start what was taken."""
        async with self._claiming:
            asked_at = self._clock.elapsed()
            wanted = self.wanted(0 if self._apart is not False else max(0, min(self._free(), limit)))
            writing = asyncio.ensure_future(self._store.write(self._firing.round, wanted))
            try:
                done = await asyncio.shield(writing)
            except asyncio.CancelledError:
                # What was claimed is started all the same: its lease runs.
                await asyncio.wait({writing})
                if writing.exception() is None:
                    for wake in writing.result().taken:
                        self._start(wake, asked_at, counts)
                raise
            self._compare_clocks(wanted.clock, done.now, self._clock.now())
            self._by_time = done.by_time
            counts.claimed += len(done.taken)
            counts.lapsed += len(done.lapsed)
            counts.set_aside += len(done.set_aside)
            counts.passed_over += done.passed_over
            self._tell(done, counts)
            return done, [self._start(wake, asked_at, counts) for wake in done.taken]

    def _free(self) -> int:
        return self._settings.concurrency - len(self._runs)

    def _compare_clocks(self, before: Instant, store: Instant, after: Instant) -> None:
        """Judge whether this runner's clock and the store's are together; claiming waits until they are (S-51)."""
        apart = max(before - store, store - after)
        if apart > self._settings.clock_apart_ms and self._apart is not True:
            self._notify(
                Notice(
                    NoticeKind.CLOCK_APART,
                    f"This runner's clock is {apart} ms apart from the store's; it claims nothing.",
                )
            )
        self._apart = apart > self._settings.clock_apart_ms

    def _tell(self, done: Round, counts: _Counts) -> None:
        for kind, number in Counter(wake.kind for wake in done.set_aside).items():
            self._metrics.count(kind, "no_sink", number)
            what = "1 wake waits" if number == 1 else f"{number} wakes wait"
            self._notify(Notice(NoticeKind.NO_SINK, f"{what}: no sink for {kind}."))
        for wake in done.lapsed:
            self._metrics.count(wake.kind, "lapsed")
        for wake in done.dead:
            counts.dead += 1
            self._died(wake)
        for series in done.broken:
            self._broke(series)

    # ------------------------------------------------------------------------------------- one sink

    def _start(self, wake: Wake, asked_at: int, counts: _Counts) -> asyncio.Task[None]:
        sink = self.sinks[wake.kind]
        limit = self._settings.time_limit_ms if sink.time_limit_ms is None else sink.time_limit_ms
        run = _Run(wake, sink, counts, self._clock.awake(), asked_at, None if sink.unlimited else limit)
        self._runs[wake.id] = run
        if wake.attempts == 1 and wake.late_ms is not None:
            self._metrics.started(wake.kind, wake.late_ms)
            if wake.late_ms > self._settings.late_ms:
                self._metrics.count(wake.kind, "late")
        run.task = asyncio.create_task(self._drive(run), name=f"wake {wake.id}")
        self._started.set()
        if self._keeper is None:
            self._keeper = asyncio.create_task(self._keep(), name="wake leases")
        return run.task

    async def _drive(self, run: _Run) -> None:
        """Run one sink to its end and record what became of it; nothing that it raises leaves here."""
        wake = run.wake
        try:
            await self._require_claim(run)
            if run.sink.run is not None:
                await self._run_external(run)
            # Once an effect has happened, not even a stop keeps it from being recorded.
            fired, broken = await to_the_end(self._store.write(self._firing.fire, wake, run.sink.effect))
        except LostClaim:
            await self._lost(run)
        except CalledOff as why:
            await self._called_off(run, str(why))
        except asyncio.CancelledError:
            await self._give_back(run)
        except StorageClosed:
            _log.info("The wake %s is left to its lease: the storage is closed.", wake.id)
        except Exception as error:
            await self._failed(run, error)
        else:
            expired = fired.state is WakeState.EXPIRED
            self._metrics.count(wake.kind, "expired" if expired else "fired")
            run.counts.expired += expired
            run.counts.fired += not expired
            if broken is not None:
                self._broke(broken)
        finally:
            self._metrics.ended(wake.kind, self._clock.awake() - run.began_at)
            if self._runs.get(wake.id) is run:
                del self._runs[wake.id]
            if not self._runs and self._keeper is not None:
                self._keeper.cancel()
                self._keeper = None
            self._changed()

    async def _require_claim(self, run: _Run) -> None:
        """Look again at a claim that grew old before its sink could be started (S-14)."""
        if self._clock.elapsed() - run.renewed_at >= self._settings.lease_ms:
            gone = await self._store.write(self._firing.renew, ((run.wake.id, run.wake.claim),))
            if gone:
                raise lost(run.wake)

    async def _run_external(self, run: _Run) -> None:
        assert run.sink.run is not None
        function = run.sink.run

        async def body() -> object:
            return await function(run.wake)

        with running(run.wake):
            run.body = asyncio.create_task(body(), name=f"sink {run.wake.kind} {run.wake.id}")
        try:
            await asyncio.wait({run.body})
        except asyncio.CancelledError:
            run.body.cancel()
            await asyncio.wait({run.body})
            if not run.body.cancelled() and run.body.exception() is None:
                return  # it was done after all, so it is recorded as done
            raise
        if run.body.cancelled():
            if run.lost:
                raise lost(run.wake)
            if run.out_of_time:
                raise TimeLimitReached(
                    f"The sink ran longer than {run.limit_ms} ms.",
                    means="It was told to stop; what it had done stays done.",
                )
            raise PraxisError("The sink cancelled itself.", means="Nobody knows how far it came.")
        run.body.result()

    async def _failed(self, run: _Run, error: Exception) -> None:
        wake = run.wake
        most = run.sink.max_attempts or self._settings.max_attempts
        retry_in = None if wake.attempts >= most else self._backoff(wake.attempts)
        text = error_text(error)
        try:
            after = await self._store.write(self._firing.fail, wake.id, wake.claim, text, retry_in)
        except Exception:
            # Not even that can be written; its lease lapses and brings it back.
            _log.exception("The failure of the wake %s could not be recorded: %s", wake.id, text)
            return
        if after is None:
            await self._lost(run)
            return
        run.counts.failed += 1
        if after.state is WakeState.DEAD:
            run.counts.dead += 1
            self._died(after)
            return
        self._metrics.count(wake.kind, "retried")
        self._notify(
            Notice(
                NoticeKind.FAILED,
                f"The wake {wake.id} ({wake.kind}) failed at attempt {wake.attempts} of {most}: {text}",
                wake.id,
            )
        )

    def _backoff(self, attempts: int) -> int:
        """The time to the next attempt: doubled each time, less a random share of up to a half."""
        longest = self._settings.longest_backoff_ms
        whole = min(longest, self._settings.backoff_ms << min(attempts - 1, 40))
        return max(1, whole - int(whole * self._jitter() / 2))

    async def _called_off(self, run: _Run, why: str) -> None:
        try:
            after = await self._store.write(self._firing.call_off, run.wake.id, run.wake.claim, why)
        except Exception:
            # Its lease lapses and brings it back; the sink then says so again.
            _log.exception("That the wake %s was called off could not be recorded.", run.wake.id)
            return
        if after is None:
            await self._lost(run)
            return
        self._metrics.count(run.wake.kind, "cancelled")

    async def _lost(self, run: _Run) -> None:
        run.counts.lost += 1
        self._metrics.count(run.wake.kind, "lost")
        self._notify(
            Notice(
                NoticeKind.LOST,
                f"Claim {run.wake.claim} of the wake {run.wake.id} was lost; this run changes nothing.",
                run.wake.id,
            )
        )
        try:
            await self._store.write(self._firing.note_lost, run.wake)
        except Exception:
            _log.exception("A lost claim of the wake %s could not be recorded.", run.wake.id)

    async def _give_back(self, run: _Run) -> None:
        """The runner stops: what had not ended goes back at once, so that its lease need not lapse."""
        try:
            await self._store.write(self._firing.give_back, run.wake.id, run.wake.claim, "its runner stopped")
        except StorageClosed:
            _log.info("The wake %s is left to its lease: the storage is closed.", run.wake.id)
        except Exception:
            _log.exception("The wake %s could not be given back; its lease lapses.", run.wake.id)

    def _died(self, wake: Wake) -> None:
        self._metrics.count(wake.kind, "dead")
        self._notify(
            Notice(
                NoticeKind.DEAD,
                f"The wake {wake.id} ({wake.kind}) is dead after {wake.attempts} attempts: {wake.last_error}",
                wake.id,
            )
        )

    def _broke(self, series: Series) -> None:
        text = f"The series {series.id} ({series.kind}) is broken: {series.error}"
        self._notify(Notice(NoticeKind.BROKEN, text, series=series.id))

    # ------------------------------------------------------------------------------------- leases and limits

    async def _keep(self) -> None:
        """Renew leases at a third of their length and end sinks at their time limit, while any run."""
        while self._runs:
            self._started.clear()
            await self._renew()
            self._end_overlong()
            await first_of(self._clock.sleep(self._until_next_care()), self._started.wait())

    async def _renew(self) -> None:
        elapsed, third = self._clock.elapsed(), self._settings.lease_ms // 3
        due = [run for run in self._runs.values() if elapsed - run.renewed_at >= third and not run.lost]
        if not due:
            return
        for run in due:
            run.renewed_at = elapsed
        claims = tuple((run.wake.id, run.wake.claim) for run in due)
        try:
            gone = await self._store.write(self._firing.renew, claims)
        except Exception:
            _log.exception("Leases could not be renewed; it is tried again.")
            return
        for run in due:
            if run.wake.id in gone and self._runs.get(run.wake.id) is run:
                run.lost = True
                if run.body is not None:
                    run.body.cancel()

    def _end_overlong(self) -> None:
        awake = self._clock.awake()
        for run in self._runs.values():
            if run.limit_ms is None or run.body is None or awake - run.began_at < run.limit_ms:
                continue
            if not run.out_of_time:
                run.out_of_time = True
                run.body.cancel()
            elif awake - run.began_at >= run.limit_ms + self._settings.stuck_ms and not run.reported_stuck:
                run.reported_stuck = True
                text = (
                    f"The wake {run.wake.id} ({run.wake.kind}) is stuck: its sink does not stop when told to."
                )
                self._notify(Notice(NoticeKind.STUCK, text, run.wake.id))

    def _until_next_care(self) -> int:
        elapsed, awake, third = self._clock.elapsed(), self._clock.awake(), self._settings.lease_ms // 3
        waits = [LONGEST_SLEEP_MS]
        for run in self._runs.values():
            if not run.lost:
                waits.append(run.renewed_at + third - elapsed)
            if run.limit_ms is not None and not run.out_of_time:
                waits.append(run.began_at + run.limit_ms - awake)
        return max(1, min(waits))
