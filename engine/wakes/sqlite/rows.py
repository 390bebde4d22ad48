"""Between rows of the tables and the values of the alarm clock."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Collection

from engine.actors import Actor, ActorKind
from engine.wakes.values import (
    CatchUp,
    DocketRow,
    Json,
    Origin,
    Receipt,
    ReceiptState,
    Series,
    SeriesState,
    Trigger,
    Waiting,
    Wake,
    WakeState,
    WakeSummary,
)

_TRIGGERS = {trigger.value: trigger for trigger in Trigger}
_STATES = {state.value: state for state in WakeState}
_ORIGINS = {origin.value: origin for origin in Origin}
_ACTORS = {kind.value: kind for kind in ActorKind}

WAKE_COLUMNS = (
    "seq, id, workspace, session, trigger, kind, lane, intent, result, expired, event_key, position,"
    " answered_by_kind, answered_by, due_at, expires_at, state, waiting, admitted_at, armed_at, lease_until, holder,"
    " claim, attempts, not_before, late_ms, missed, last_error, recurrence, series, idempotency_key, depth, origin,"
    " created_by_kind, created_by, created_at, ended_at"
)
"""What `wake_of` reads, in this order: everything but a token's digest and a request's fingerprint."""


def wake_of(row: sqlite3.Row) -> Wake:
    """A row that begins with `WAKE_COLUMNS` as a value."""
    # By position: looking up so many names would cost more than the statement that found the row.
    (
        order,
        wake_id,
        workspace,
        session,
        trigger,
        kind,
        lane,
        intent,
        result,
        expired,
        event_key,
        position,
        answered_by_kind,
        answered_by,
        due_at,
        expires_at,
        state,
        waiting,
        admitted_at,
        armed_at,
        lease_until,
        holder,
        claim,
        attempts,
        not_before,
        late_ms,
        missed,
        last_error,
        recurrence,
        series,
        idempotency_key,
        depth,
        origin,
        created_by_kind,
        created_by,
        created_at,
        ended_at,
        *_,
    ) = row
    return Wake(
        order=order,
        id=wake_id,
        workspace=workspace,
        session=session,
        trigger=_TRIGGERS[trigger],
        kind=kind,
        lane=lane,
        intent=json.loads(intent),
        result=_json(result),
        expired=bool(expired),
        event_key=event_key,
        position=position,
        answered_by=None if answered_by is None else Actor(_ACTORS[answered_by_kind], answered_by),
        due_at=due_at,
        expires_at=expires_at,
        state=_STATES[state],
        waiting=None if waiting is None else Waiting(waiting),
        admitted_at=admitted_at,
        armed_at=armed_at,
        lease_until=lease_until,
        holder=holder,
        claim=claim,
        attempts=attempts,
        not_before=not_before,
        late_ms=late_ms,
        missed=missed,
        last_error=last_error,
        recurrence=recurrence,
        series=series,
        idempotency_key=idempotency_key,
        depth=depth,
        origin=_ORIGINS[origin],
        created_by=Actor(_ACTORS[created_by_kind], created_by),
        created_at=created_at,
        ended_at=ended_at,
    )


SUMMARY_COLUMNS = (
    "seq, id, workspace, session, trigger, kind, lane, event_key, state, waiting, expired, due_at, expires_at,"
    " armed_at, attempts, late_ms, missed, last_error, recurrence, series, created_by_kind, created_by, created_at,"
    " ended_at, CASE json_type(intent, '$.title') WHEN 'text' THEN CAST(json_extract(intent, '$.title') AS BLOB) END"
    " AS title"
)
"""The title comes as bytes: an intent may hold half of a surrogate pair, which is no text to the database."""


def summary_of(row: sqlite3.Row) -> WakeSummary:
    """A row of `SUMMARY_COLUMNS` as a value."""
    return WakeSummary(
        order=row["seq"],
        id=row["id"],
        workspace=row["workspace"],
        session=row["session"],
        trigger=Trigger(row["trigger"]),
        kind=row["kind"],
        title=None if row["title"] is None else row["title"].decode("utf-8", "replace"),
        lane=row["lane"],
        event_key=row["event_key"],
        state=WakeState(row["state"]),
        waiting=None if row["waiting"] is None else Waiting(row["waiting"]),
        expired=bool(row["expired"]),
        due_at=row["due_at"],
        expires_at=row["expires_at"],
        armed_at=row["armed_at"],
        attempts=row["attempts"],
        late_ms=row["late_ms"],
        missed=row["missed"],
        last_error=row["last_error"],
        recurrence=row["recurrence"],
        series=row["series"],
        created_by=Actor(ActorKind(row["created_by_kind"]), row["created_by"]),
        created_at=row["created_at"],
        ended_at=row["ended_at"],
    )


def series_of(row: sqlite3.Row) -> Series:
    """A row of the series table as a value."""
    return Series(
        id=row["id"],
        workspace=row["workspace"],
        session=row["session"],
        kind=row["kind"],
        lane=row["lane"],
        intent=row["intent"],
        rule=row["rule"],
        catch_up=CatchUp(row["catch_up"]),
        catch_up_most=row["catch_up_most"],
        grace_ms=row["grace_ms"],
        until=row["until"],
        count=row["count"],
        expires_in=row["expires_in"],
        state=SeriesState(row["state"]),
        error=row["error"],
        booked_to=row["booked_to"],
        booked=row["booked"],
        skipped=row["skipped"],
        depth=row["depth"],
        idempotency_key=row["idempotency_key"],
        fingerprint=row["fingerprint"],
        created_by=Actor(ActorKind(row["created_by_kind"]), row["created_by"]),
        created_at=row["created_at"],
        ended_at=row["ended_at"],
    )


def docket_of(row: sqlite3.Row) -> DocketRow:
    """A row of the docket as a value."""
    return DocketRow(
        id=row["id"],
        wake_id=row["wake_id"],
        series=row["series"],
        workspace=row["workspace"],
        first_missed=row["first_missed"],
        last_missed=row["last_missed"],
        missed=row["missed"],
        opened_at=row["opened_at"],
        decided_at=row["decided_at"],
        decision=None if row["decision"] is None else CatchUp(row["decision"]),
        decided_by=actor_of(row, "decided_by"),
        reason=row["reason"],
    )


def receipt_of(row: sqlite3.Row) -> Receipt:
    """A row of the receipts as a value."""
    return Receipt(
        workspace=row["workspace"],
        session=row["session"],
        key=row["key"],
        state=ReceiptState(row["state"]),
        claim=row["claim"],
        holder=row["holder"],
        lease_until=row["lease_until"],
        result=_json(row["result"]),
        created_at=row["created_at"],
        ended_at=row["ended_at"],
    )


def actor_of(row: sqlite3.Row, column: str) -> Actor | None:
    """The actor in a pair of columns, or None."""
    name = row[column]
    return None if name is None else Actor(ActorKind(row[f"{column}_kind"]), name)


def marks(values: Collection[object]) -> str:
    """As many parameter marks as there are values, for an IN list."""
    return ", ".join("?" * len(values))


def _json(text: str | None) -> Json:
    return None if text is None else json.loads(text)
