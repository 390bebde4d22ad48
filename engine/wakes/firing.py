"""Firing: one bounded round of what is due, and what becomes of each wake that was driven.

Everything here is a transaction function. Which sink runs, and what its error means, is the runner's affair.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from engine.instants import Instant
from engine.wakes.errors import LostClaim
from engine.wakes.running import running
from engine.wakes.series import SeriesRules
from engine.wakes.settings import WakeSettings
from engine.wakes.steps import record_step
from engine.wakes.store import Claims, Transaction, Trusted, WakeStore
from engine.wakes.values import Series, Wake, WakeState

LEASE_LAPSED = "The lease lapsed: its runner ended or could not renew it."
RUNNER_RESTARTED = "Its runner was started again."

Effect = Callable[[Transaction, Wake, Instant], object]
"""What an in-transaction sink does, before its wake is marked as fired in the same commit."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a runner asks of a round.

    ``limit`` wakes may be claimed, 0 for none; ``running`` are those it drives already. ``clock`` is its own
    reading of the time: a runner that is ahead of the store claims nothing (S-51).
    """

    kinds: frozenset[str]
    holder: str
    limit: int
    running: tuple[str, ...]
    clock: Instant
    most_attempts: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Round:
    """What a round did. ``now`` is the store's time, ``by_time`` whether it was judged by."""

    now: Instant
    by_time: bool
    taken: tuple[Wake, ...]
    set_aside: tuple[Wake, ...]
    expired: int
    lapsed: tuple[Wake, ...]
    dead: tuple[Wake, ...]
    passed_over: int
    broken: tuple[Series, ...]
    full: bool

    @property
    def progress(self) -> bool:
        """Whether anything came forward, so that another round may find more."""
        return bool(
            self.taken or self.set_aside or self.expired or self.lapsed or self.dead or self.passed_over
        )


class Firing:
    """The rules of firing over a store."""

    def __init__(
        self, store: WakeStore, series: SeriesRules, settings: WakeSettings, trusted: Trusted
    ) -> None:
        self._store = store
        self._series = series
        self._settings = settings
        self._trusted = trusted

    def round(self, tx: Transaction, wanted: Wanted, *, now: Instant) -> Round:
        """Expire what is overdue, re-drive what lapsed, claim what is due; each at most a batch."""
        store, settings = self._store, self._settings
        by_time = self._trusted(tx)
        store.queue.readmit(tx, wanted.kinds, settings.batch)
        expired: tuple[Wake, ...] = ()
        lapsed: tuple[Wake, ...] = ()
        dead: tuple[Wake, ...] = ()
        if by_time:
            expired = store.queue.expire(tx, settings.expiry_batch, now)
            for wake in expired:
                record_step(
                    store, tx, "expiring", wake, now, before=WakeState.PENDING, why="its deadline passed"
                )
            lapsed, dead = self._end_leases(tx, None, wanted, LEASE_LAPSED, now)
        claims = Claims((), ())
        if wanted.limit > 0 and wanted.clock - now <= settings.clock_apart_ms:
            claims = store.queue.claim(
                tx,
                wanted.kinds,
                wanted.holder,
                now + settings.lease_ms,
                wanted.limit,
                by_time=by_time,
                now=now,
            )
        taken, passed_over, broken = self._caught_up(tx, claims.taken, now)
        for wake in claims.set_aside:
            record_step(
                store, tx, "set_aside", wake, now, before=WakeState.PENDING, why=f"no sink for {wake.kind}"
            )
        for wake in taken:
            record_step(
                store,
                tx,
                "claimed",
                wake,
                now,
                before=WakeState.PENDING,
                holder=wake.holder,
                claim=wake.claim,
                attempt=wake.attempts,
            )
        store.boundary(tx, "wake.claim")
        return Round(
            now,
            by_time,
            taken,
            claims.set_aside,
            len(expired),
            lapsed,
            dead,
            passed_over,
            broken,
            full=len(expired) >= settings.expiry_batch or len(claims.taken) >= wanted.limit > 0,
        )

    def _caught_up(
        self, tx: Transaction, taken: tuple[Wake, ...], now: Instant
    ) -> tuple[tuple[Wake, ...], int, tuple[Series, ...]]:
        """Apply the catch-up policies to occurrences that were claimed for the first time."""
        kept: list[Wake] = []
        broken: list[Series] = []
        for wake in taken:
            if wake.series is None or wake.attempts > 1 or wake.not_before is not None:
                kept.append(wake)
                continue
            current, broke = self._series.catch_up(tx, wake, now)
            if current is not None:
                kept.append(current)
            if broke is not None:
                broken.append(broke)
        return tuple(kept), len(taken) - len(kept), tuple(broken)

    def _end_leases(
        self, tx: Transaction, holder: str | None, wanted: Wanted, why: str, now: Instant
    ) -> tuple[tuple[Wake, ...], tuple[Wake, ...]]:
        """Bring back what nobody drives any more; what used up its attempts that way is dead."""
        lapsed, dead = [], []
        for wake in self._store.queue.lapsed(tx, holder, wanted.running, self._settings.batch, now):
            most = wanted.most_attempts.get(wake.kind, self._settings.max_attempts)
            if wake.attempts >= most:
                buried = self.fail(tx, wake.id, wake.claim, why, None, now=now)
                assert buried is not None, "it was read in this transaction"
                dead.append(buried)
                continue
            back = self._store.queue.retry(tx, wake.id, wake.claim, why, now)
            assert back is not None, "it was read in this transaction"
            record_step(
                self._store,
                tx,
                "lapsed",
                back,
                now,
                before=WakeState.FIRING,
                why=why,
                holder=wake.holder,
                claim=wake.claim,
            )
            lapsed.append(back)
        return tuple(lapsed), tuple(dead)

    def take_back(self, tx: Transaction, wanted: Wanted, *, now: Instant) -> tuple[str, ...]:
        """Bring back what this holder drove in an earlier life, whatever its lease says (S-29)."""
        lapsed, dead = self._end_leases(tx, wanted.holder, wanted, RUNNER_RESTARTED, now)
        return tuple(wake.id for wake in (*lapsed, *dead))

    def fire(
        self, tx: Transaction, wake: Wake, effect: Effect | None, *, now: Instant
    ) -> tuple[Wake, Series | None]:
        """Mark a driven wake as fired, with the effect of an in-transaction sink and the series' next occurrence.

        Gives the wake, and the series if that broke it. Raises `LostClaim`, and does nothing, if the wake was
        claimed by another meanwhile.
        """
        fired = self._store.queue.finish(tx, wake.id, wake.claim, now)
        if fired is None:
            raise lost(wake)
        if effect is not None:
            with running(wake):
                effect(tx, wake, now)
            self._store.boundary(tx, "wake.effect")
        broken = self._series.ensure_next(tx, fired.series, now)
        record_step(
            self._store,
            tx,
            fired.state.value,
            fired,
            now,
            before=WakeState.FIRING,
            holder=wake.holder,
            claim=wake.claim,
        )
        self._store.boundary(tx, "wake.fire")
        return fired, broken

    def fail(
        self, tx: Transaction, wake_id: str, claim: int, error: str, retry_in: int | None, *, now: Instant
    ) -> Wake | None:
        """Record that a drive failed: back to pending for a while, or dead if ``retry_in`` is None."""
        queue = self._store.queue
        if retry_in is None:
            wake = queue.bury(tx, wake_id, claim, error, now)
        else:
            wake = queue.retry(tx, wake_id, claim, error, now + retry_in)
        if wake is None:
            return None
        event = "dead" if retry_in is None else "failed"
        record_step(self._store, tx, event, wake, now, before=WakeState.FIRING, why=error, claim=claim)
        if retry_in is None:
            self._series.ensure_next(tx, wake.series, now)
        self._store.boundary(tx, "wake.fail")
        return wake

    def call_off(self, tx: Transaction, wake_id: str, claim: int, why: str, *, now: Instant) -> Wake | None:
        """Cancel a driven wake whose sink did nothing, as it is wanted no more; an occurrence was never booked."""
        wake = self._store.queue.call_off(tx, wake_id, claim, now)
        if wake is None:
            return None
        record_step(self._store, tx, "cancelled", wake, now, before=WakeState.FIRING, why=why, claim=claim)
        self._series.called_off(tx, wake.series, now)
        self._store.boundary(tx, "wake.call_off")
        return wake

    def give_back(self, tx: Transaction, wake_id: str, claim: int, why: str, *, now: Instant) -> Wake | None:
        """Return a wake whose drive was broken off by its runner, without counting the attempt."""
        wake = self._store.queue.give_back(tx, wake_id, claim)
        if wake is not None:
            record_step(
                self._store, tx, "given_back", wake, now, before=WakeState.FIRING, why=why, claim=claim
            )
        return wake

    def renew(self, tx: Transaction, claims: tuple[tuple[str, int], ...], *, now: Instant) -> tuple[str, ...]:
        """Lengthen the leases of running claims; gives the ids of those that are lost.

        By a distrusted clock no lease is judged, and none is lengthened: it might end years ahead.
        """
        if not self._trusted(tx):
            return ()
        until = now + self._settings.lease_ms
        return tuple(
            wake_id for wake_id, claim in claims if not self._store.queue.renew(tx, wake_id, claim, until)
        )

    def note_lost(self, tx: Transaction, wake: Wake, *, now: Instant) -> None:
        """Record that a runner had lost its claim before it was done (S-16)."""
        current = self._store.wakes.get(tx, wake.id)
        if current is not None:
            record_step(
                self._store,
                tx,
                "lost",
                current,
                now,
                before=current.state,
                why="lost ownership: it was claimed by another meanwhile",
                holder=wake.holder,
                claim=wake.claim,
            )


def lost(wake: Wake) -> LostClaim:
    """Say that a claim of a wake is no longer the one."""
    return LostClaim(
        f"Claim {wake.claim} of the wake {wake.id} is no longer the one.",
        means="Another runner has claimed it, or it has ended. This run changes nothing.",
        do="Nothing: the newer run counts.",
        wake_id=wake.id,
        claim=wake.claim,
    )
