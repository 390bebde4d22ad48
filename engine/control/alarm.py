"""The engine's alarm clock: `engine.wakes` over the data folder, under the engine's epoch, policy and clock.

One clock, one table, one sweep for everything that waits for a time. Beside what the library rules, three things
of the engine hold: a superseded epoch writes and so fires nothing (E-20), by a distrusted clock nothing fires by
time (E-32), and after a restore nothing fires at all until a person has looked (E-82, E-85).
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import TypeVar

from engine.actors import Actor, ActorKind
from engine.clock import Clock
from engine.dispatch.expiry_notices import EXPIRING, note_expiring
from engine.errors import StaleEpoch, StorageClosed
from engine.instants import Instant
from engine.scheduling.gates import awaits_a_look, time_is_trusted
from engine.scheduling.tasks import wake_task
from engine.scheduling.wakeups import TASK_WAKE_UP
from engine.storage import Rx, Storage, Tx, under_epoch
from engine.wakes import About, AlarmClock, Right, Wake, WakeSettings, in_transaction
from engine.wakes.cleaning import CLEAN_UP_KIND
from engine.wakes.sqlite import SqliteWakeStore
from engine.wakes.sqlite.queue import SqliteQueue
from engine.wakes.store import Claims
from engine.wakes.times import DAY_MS

HOLDER = "engine"
"""The name of the engine's runner: an engine that starts again takes back at once what the last one drove."""

STOP_LIMIT = "1s"
"""How long what the alarm clock drives may go on when the engine closes; then it is told to stop, and goes back."""

WAKE_SETTINGS = WakeSettings(clean_up_every_ms=DAY_MS)

BACKUP_KIND = "backup.run"
BACKUP_RETRY_KIND = "backup.retry"

OWN_KINDS = frozenset({TASK_WAKE_UP, EXPIRING, CLEAN_UP_KIND, BACKUP_KIND, BACKUP_RETRY_KIND})
"""Kinds that the engine books for itself: nobody cancels, pauses or changes them but what they are for."""

R = TypeVar("R")


class TakenOver(StaleEpoch, StorageClosed):
    """A write of an alarm clock whose engine was superseded: for it the storage is closed, and it ends."""


def person_or_owner(actor: Actor, right: Right, about: About | None) -> bool:
    """The policy of the product: a person may everything that is left to persons, nobody else anything.

    What a session made itself it may cancel; that the alarm clock grants without asking. What the engine booked
    for something else is steered there: a task that lost its wake would wait for ever.
    """
    if actor.kind is not ActorKind.PERSON:
        return False
    if about is None or about.kind not in OWN_KINDS:
        return True
    return right in ("release", "decide") or (right == "drop" and about.kind != TASK_WAKE_UP)


class HeldQueue(SqliteQueue):
    """The queue of an engine: while a restore waits to be looked at, nothing leaves it and nothing expires."""

    def claim(
        self,
        tx: Tx,
        kinds: Collection[str],
        holder: str,
        lease_until: Instant,
        limit: int,
        *,
        by_time: bool,
        now: Instant,
    ) -> Claims:
        """Claim as ever, or nothing after a restore."""
        if awaits_a_look(tx):
            return Claims((), ())
        return super().claim(tx, kinds, holder, lease_until, limit, by_time=by_time, now=now)

    def expire(self, tx: Tx, limit: int, now: Instant) -> tuple[Wake, ...]:
        """Expire as ever, or nothing after a restore."""
        return () if awaits_a_look(tx) else super().expire(tx, limit, now)

    def next_obligation(self, tx: Rx, running: Collection[str], *, claims: bool) -> Instant | None:
        """As ever; nothing is to be done after a restore."""
        return None if awaits_a_look(tx) else super().next_obligation(tx, running, claims=claims)


class EngineWakeStore(SqliteWakeStore):
    """The wakes of a data folder, written under an epoch. ``taken_over`` hears that it is no longer in force."""

    def __init__(self, storage: Storage, epoch: Callable[[], int], taken_over: Callable[[], None]) -> None:
        super().__init__(storage)
        self.queue = HeldQueue()
        self._epoch = epoch
        self._taken_over = taken_over

    async def write(self, function: Callable[..., R], *arguments: object, control: bool = False) -> R:
        """Run a transaction function, unless another coordinator has taken over the folder."""
        try:
            return await self.storage.write(under_epoch, self._epoch(), function, *arguments, control=control)
        except StaleEpoch as error:
            self._taken_over()
            raise TakenOver(error.what, means=error.means, do=error.do, **error.facts) from None

    def time_trusted(self, tx: Tx) -> bool:
        """Whether the instant may be judged by: no jump just seen, no CLOCK hold."""
        return time_is_trusted(tx)


def make_alarm_clock(
    storage: Storage, clock: Clock, epoch: Callable[[], int], taken_over: Callable[[], None]
) -> AlarmClock:
    """Make the alarm clock of an engine; its sinks are registered by who has them."""
    return AlarmClock(
        EngineWakeStore(storage, epoch, taken_over),
        clock=clock,
        authorize=person_or_owner,
        settings=WAKE_SETTINGS,
        sinks={TASK_WAKE_UP: in_transaction(wake_task), EXPIRING: in_transaction(note_expiring)},
        holder=HOLDER,
    )
