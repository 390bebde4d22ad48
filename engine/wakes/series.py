"""Series: booking the next occurrence, catching up after downtime, steering.

An occurrence is booked in the transaction that ended the one before it, so a series neither dies by a crash nor
books twice. Which one is next follows from the grid and from ``booked_to`` alone.
"""

from __future__ import annotations

import json
from dataclasses import replace

from engine.actors import ENGINE, Actor
from engine.errors import InvalidValue, NotFound, WrongState
from engine.ids import new_id
from engine.instants import Instant
from engine.wakes.policy import Authorize, about, is_allowed, owns, require
from engine.wakes.recurrence import Rule, rule_from_json
from engine.wakes.settings import Budgets
from engine.wakes.steps import error_text, record_step
from engine.wakes.store import Transaction, WakeStore
from engine.wakes.times import HOUR_MS
from engine.wakes.values import (
    SERIES_LIVE,
    CancelResult,
    CatchUp,
    DocketRow,
    NewWake,
    Origin,
    Series,
    SeriesState,
    Trigger,
    Waiting,
    Wake,
    WakeState,
)


class SeriesRules:
    """The rules of series over a store. Its public methods are transaction functions."""

    def __init__(self, store: WakeStore, budgets: Budgets, authorize: Authorize) -> None:
        self._store = store
        self._budgets = budgets
        self._authorize = authorize

    # Booking

    def ensure_next(self, tx: Transaction, series_id: str | None, now: Instant) -> Series | None:
        """Book the next occurrence if none is live; gives the series if that broke it (S-19)."""
        series = None if series_id is None else self._store.series.get(tx, series_id)
        if (
            series is None
            or series.state is not SeriesState.ACTIVE
            or self._store.series.live_occurrence(tx, series.id) is not None
        ):
            return None
        try:
            due_at = self._next(series)
        except Exception as error:  # whatever keeps the grid from being reckoned, the series stays visible
            return self._break(tx, series, error_text(error), now)
        if due_at is None:
            self._end(tx, series, SeriesState.ENDED, now, why="no occurrence left")
            return None
        most = self._budgets.lane_creations_per_hour
        made = self._store.wakes.count_by_system(
            tx, series.workspace, series.lane, series.kind, now - HOUR_MS, most
        )
        if made >= most:
            return self._break(tx, series, f"lane_rate: {most} wakes were made in an hour", now)
        self.book(tx, series, due_at, now)
        return None

    def called_off(self, tx: Transaction, series_id: str | None, now: Instant) -> None:
        """Count an occurrence that was called off as never booked, and book the next one if the series goes on."""
        series = None if series_id is None else self._store.series.get(tx, series_id)
        if series is not None:
            self._store.series.save(tx, replace(series, booked=max(0, series.booked - 1)))
            self.ensure_next(tx, series.id, now)

    def book(
        self,
        tx: Transaction,
        series: Series,
        due_at: Instant,
        now: Instant,
        *,
        origin: Origin = Origin.SERIES,
    ) -> Wake:
        """Insert the occurrence at a grid point and move the series on to it."""
        wake = self._insert(tx, series, due_at, now, origin=origin)
        self._store.series.save(
            tx, replace(series, booked_to=max(series.booked_to, due_at), booked=series.booked + 1)
        )
        return wake

    def _insert(
        self,
        tx: Transaction,
        series: Series,
        due_at: Instant,
        now: Instant,
        *,
        origin: Origin = Origin.SERIES,
        decided: bool = False,
    ) -> Wake:
        """Insert an occurrence; one that a person decided for has no deadline and is not caught up again."""
        wake = self._store.wakes.insert(
            tx,
            NewWake(
                id=new_id(now),
                workspace=series.workspace,
                session=series.session,
                trigger=Trigger.AT,
                kind=series.kind,
                lane=series.lane,
                intent=series.intent,
                due_at=due_at,
                expires_at=None if decided else _deadline(series, due_at),
                not_before=now if decided else None,
                recurrence=str(rule_from_json(series.rule)),
                series=series.id,
                depth=series.depth,
                origin=origin,
                created_by=series.created_by,
                created_at=now,
            ),
        )
        record_step(self._store, tx, "created", wake, now, series=series.id, due_at=due_at)
        return wake

    def _next(self, series: Series) -> Instant | None:
        """The first occurrence that was not booked or skipped, within ``until`` and ``count``."""
        if series.count is not None and series.booked >= series.count:
            return None
        due_at = rule_from_json(series.rule).after(series.booked_to)
        return None if due_at is None or (series.until is not None and due_at > series.until) else due_at

    # Catching up

    def catch_up(self, tx: Transaction, wake: Wake, now: Instant) -> tuple[Wake | None, Series | None]:
        """Apply the catch-up policy to an occurrence that was claimed for the first time (S-09).

        Gives the wake as it is to be driven, or None if it is not to be driven now; and the series if its
        next occurrence could not be reckoned.
        """
        assert wake.series is not None
        assert wake.due_at is not None
        series = self._store.series.get(tx, wake.series)
        if series is None:
            return wake, None
        upto = now if series.until is None else min(now, series.until)
        late = now - wake.due_at > series.grace_ms
        try:
            rule = rule_from_json(series.rule)
            newer = rule.count(wake.due_at, upto)
            most = series.catch_up_most if series.catch_up is CatchUp.ALL else 1
            first_kept = rule.newest(upto, most) if newer + 1 > most else wake.due_at
            following = rule.after(now)
        except Exception as error:  # it fires as it was booked, and the series shows why it stops there
            return wake, self._break(tx, series, error_text(error), now)
        assert first_kept is not None, "so many occurrences were counted"
        if series.catch_up is CatchUp.ASK and late:
            return None, self._put_in_docket(tx, series, wake, newer, first_kept, now)
        if series.catch_up is CatchUp.NONE and late:
            self._pass_over(tx, series, wake, newer + 1, following, now)
            return None, None
        skipped = newer + 1 - most
        if skipped <= 0:
            return wake, None
        missed = 0 if series.catch_up is CatchUp.ALL else skipped
        return self._move(tx, series, wake, first_kept, skipped, missed, now), None

    def _move(
        self,
        tx: Transaction,
        series: Series,
        wake: Wake,
        due_at: Instant,
        skipped: int,
        missed: int,
        now: Instant,
    ) -> Wake:
        moved = self._store.queue.move(tx, wake.id, due_at, _deadline(series, due_at), missed, now)
        self._store.series.save(
            tx,
            replace(series, booked_to=max(series.booked_to, due_at), skipped=series.skipped + skipped),
        )
        record_step(
            self._store,
            tx,
            "moved",
            moved,
            now,
            before=WakeState.FIRING,
            why=f"catch-up {series.catch_up}: {skipped} occurrences skipped",
            scheduled=wake.due_at,
            due_at=due_at,
        )
        return moved

    def _pass_over(
        self,
        tx: Transaction,
        series: Series,
        wake: Wake,
        skipped: int,
        following: Instant | None,
        now: Instant,
    ) -> None:
        """Skip an occurrence that is too late, and everything up to now; it becomes the next one to come."""
        if following is None or (series.until is not None and following > series.until):
            self._store.queue.put_back(tx, wake.id, None)
            ended = self._store.queue.cancel(tx, wake.id, now)
            assert ended is not None
            record_step(
                self._store, tx, "cancelled", ended, now, before=WakeState.PENDING, why="too late, none left"
            )
            self._end(
                tx,
                replace(series, skipped=series.skipped + skipped),
                SeriesState.ENDED,
                now,
                why="no occurrence left",
            )
            return
        self._move(tx, series, wake, following, skipped, 0, now)
        self._store.queue.put_back(tx, wake.id, None)

    def _put_in_docket(
        self, tx: Transaction, series: Series, wake: Wake, newer: int, last: Instant, now: Instant
    ) -> Series | None:
        """Hold missed occurrences for a person, as one row; the series goes on with the next to come."""
        assert wake.due_at is not None
        if newer:
            self._move(tx, series, wake, last, newer, newer, now)
        held = self._store.queue.put_back(tx, wake.id, Waiting.DOCKET)
        row = DocketRow(
            id=new_id(now),
            wake_id=wake.id,
            series=series.id,
            workspace=series.workspace,
            first_missed=wake.due_at,
            last_missed=last,
            missed=newer + 1,
            opened_at=now,
            decided_at=None,
            decision=None,
            decided_by=None,
            reason="",
        )
        self._store.series.open_docket(tx, row)
        record_step(
            self._store,
            tx,
            "docketed",
            held,
            now,
            before=WakeState.PENDING,
            why=f"{row.missed} occurrences were missed",
            docket=row.id,
        )
        return self.ensure_next(tx, series.id, now)

    # Steering

    def cancel(
        self,
        tx: Transaction,
        series_id: str,
        actor: Actor,
        workspace: str | None,
        session: str | None,
        reason: str,
        *,
        now: Instant,
    ) -> CancelResult:
        """End a series for good: what is pending is cancelled, what fires ends, nothing more is booked (S-35)."""
        series = self._store.series.get(tx, series_id)
        if series is None:
            return CancelResult.NOT_FOUND
        if not owns(series, workspace, session) and not is_allowed(
            self._authorize, actor, "cancel", about(series)
        ):
            return CancelResult.UNAUTHORIZED
        if series.state not in SERIES_LIVE:
            return CancelResult.NOT_PENDING
        self.end(tx, series, actor, reason or "the series was cancelled", now)
        return CancelResult.OK

    def end(self, tx: Transaction, series: Series, actor: Actor, why: str, now: Instant) -> None:
        """End a series and whatever of it has not begun, the docket included."""
        series = self._withdraw(tx, series, actor, now, why)
        for wake in self._store.series.docketed(tx, series.id):
            self._store.series.decide_docket(tx, wake.id, CatchUp.NONE, actor, why, now)
            self._cancel_occurrence(tx, wake, actor, now, why)
        self._end(tx, series, SeriesState.CANCELLED, now, actor=actor, why=why)

    def pause(self, tx: Transaction, series_id: str, actor: Actor, reason: str, *, now: Instant) -> Series:
        """Book nothing until the series is resumed; a pending occurrence is withdrawn, one under way ends."""
        series = self._to_steer(tx, series_id, actor, SeriesState.ACTIVE)
        series = self._withdraw(tx, series, actor, now, "the series was paused")
        return self._change(tx, replace(series, state=SeriesState.PAUSED), "paused", actor, now, reason)

    def resume(self, tx: Transaction, series_id: str, actor: Actor, reason: str, *, now: Instant) -> Series:
        """Go on with a paused series from now, or with a broken one from where it broke."""
        series = self._to_steer(tx, series_id, actor, SeriesState.PAUSED, SeriesState.BROKEN)
        booked_to = now if series.state is SeriesState.PAUSED else series.booked_to
        series = replace(series, state=SeriesState.ACTIVE, error=None, booked_to=booked_to)
        self._change(tx, series, "resumed", actor, now, reason)
        self.ensure_next(tx, series.id, now)
        return self._get(tx, series_id)

    def change(
        self,
        tx: Transaction,
        series_id: str,
        changes: dict[str, object],
        actor: Actor,
        reason: str,
        *,
        now: Instant,
    ) -> Series:
        """Give a series another rule, intent or end; its pending occurrence is withdrawn and booked anew."""
        series = self._to_steer(
            tx, series_id, actor, SeriesState.ACTIVE, SeriesState.PAUSED, SeriesState.BROKEN
        )
        series = self._withdraw(tx, series, actor, now, "the series was changed")
        state = SeriesState.PAUSED if series.state is SeriesState.PAUSED else SeriesState.ACTIVE
        series = replace(series, state=state, error=None, booked_to=now, **changes)  # type: ignore[arg-type]
        if self._next(series) is None:
            raise InvalidValue(
                "The series would have no occurrence left.", do="Look at its rule, until and count."
            )
        self._change(tx, series, "changed", actor, now, reason)
        self.ensure_next(tx, series.id, now)
        return self._get(tx, series_id)

    def mend(self, tx: Transaction, limit: int, *, now: Instant) -> tuple[str, ...]:
        """Try broken series again, as at a start: what kept them may be mended; gives those that go on."""
        mended = []
        for series in self._store.series.broken(tx, limit):
            self._store.series.save(tx, replace(series, state=SeriesState.ACTIVE, error=None))
            if self.ensure_next(tx, series.id, now) is None:
                mended.append(series.id)
                self._record(tx, "resumed", series.id, ENGINE, now, "tried again at the start")
        return tuple(mended)

    # The docket

    def decide(
        self, tx: Transaction, docket_id: str, choice: CatchUp, actor: Actor, reason: str, *, now: Instant
    ) -> DocketRow:
        """Carry out a person's decision: fire all that was missed, the latest, or none of it."""
        row = self._store.series.docket_row(tx, docket_id)
        if row is None:
            raise NotFound(f"There is no docket row {docket_id}.", do="Look at the docket again.")
        require(self._authorize, actor, "decide", about(row))
        if row.decided_at is not None:
            raise WrongState(
                f"This was decided already: {row.decision}.", means="Nothing was changed.", found=row.decision
            )
        if choice is CatchUp.ASK:
            raise InvalidValue("ask is not a decision.", do="Choose all, latest or none.")
        self._store.series.decide_docket(tx, row.wake_id, choice, actor, reason, now)
        wake = self._store.wakes.get(tx, row.wake_id)
        assert wake is not None
        if choice is CatchUp.NONE:
            self._cancel_occurrence(tx, wake, actor, now, reason)
        else:
            alone = self._book_missed(tx, row, now) if choice is CatchUp.ALL else 0
            freed = self._store.queue.take_from_docket(tx, row.wake_id, row.missed - 1 - alone, now)
            assert freed is not None
            record_step(
                self._store, tx, "decided", freed, now, before=WakeState.PENDING, actor=actor, why=reason
            )
        self._record(tx, "decided", docket_id, actor, now, reason, kind="docket", choice=choice)
        decided = self._store.series.docket_row(tx, docket_id)
        assert decided is not None
        return decided

    def _book_missed(self, tx: Transaction, row: DocketRow, now: Instant) -> int:
        """Book what was missed beside the latest, the newest of it up to the series' bound; gives how many."""
        series = self._get(tx, row.series)
        rule = rule_from_json(series.rule)
        number = min(row.missed, series.catch_up_most) - 1
        due_at = rule.newest(row.last_missed, number + 1) if number else None
        while due_at is not None and due_at < row.last_missed:
            self._insert(tx, series, due_at, now, decided=True)
            due_at = rule.after(due_at)
        self._store.series.save(tx, replace(series, skipped=series.skipped - number))
        return number

    # Helpers

    def _withdraw(self, tx: Transaction, series: Series, actor: Actor, now: Instant, why: str) -> Series:
        """Cancel the pending occurrence, so that it counts as never booked; one that was begun stays."""
        wake = self._store.series.live_occurrence(tx, series.id)
        if wake is None or wake.state is not WakeState.PENDING or wake.attempts > 0:
            return series
        self._cancel_occurrence(tx, wake, actor, now, why)
        series = replace(series, booked=max(0, series.booked - 1))
        self._store.series.save(tx, series)
        return series

    def _cancel_occurrence(self, tx: Transaction, wake: Wake, actor: Actor, now: Instant, why: str) -> None:
        cancelled = self._store.queue.cancel(tx, wake.id, now)
        if cancelled is not None:
            record_step(self._store, tx, "cancelled", cancelled, now, before=wake.state, actor=actor, why=why)

    def _to_steer(self, tx: Transaction, series_id: str, actor: Actor, *states: SeriesState) -> Series:
        series = self._get(tx, series_id)
        require(self._authorize, actor, "steer", about(series))
        if series.state not in states:
            raise WrongState(
                f"The series is {series.state}.", means="Nothing was changed.", found=series.state
            )
        return series

    def _get(self, tx: Transaction, series_id: str) -> Series:
        series = self._store.series.get(tx, series_id)
        if series is None:
            raise NotFound(f"There is no series {series_id}.", do="Look at the list of series again.")
        return series

    def _break(self, tx: Transaction, series: Series, error: str, now: Instant) -> Series:
        broken = replace(series, state=SeriesState.BROKEN, error=error)
        return self._change(tx, broken, "broken", ENGINE, now, error)

    def _end(
        self,
        tx: Transaction,
        series: Series,
        state: SeriesState,
        now: Instant,
        *,
        actor: Actor = ENGINE,
        why: str = "",
    ) -> None:
        ended = replace(series, state=state, error=None, ended_at=now)
        self._change(tx, ended, state.value, actor, now, why)

    def _change(
        self, tx: Transaction, series: Series, event: str, actor: Actor, now: Instant, why: str
    ) -> Series:
        self._store.series.save(tx, series)
        self._record(tx, event, series.id, actor, now, why)
        return series

    def _record(
        self,
        tx: Transaction,
        event: str,
        identity: str,
        actor: Actor,
        now: Instant,
        why: str,
        *,
        kind: str = "series",
        **detail: object,
    ) -> None:
        content = {**detail, "why": why} if why else detail
        self._store.record(tx, event, kind, identity, actor, now, content)


def _deadline(series: Series, due_at: Instant) -> Instant | None:
    return None if series.expires_in is None else due_at + series.expires_in


def rule_text(rule: Rule) -> str:
    """The stored text of a rule."""
    return json.dumps(rule.to_json())
