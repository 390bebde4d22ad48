"""What is asked for: requests for wakes, checked for their form before any transaction is begun.

A request that was built is well-formed; whether there is budget for it is for the transaction to say. It holds
no moment of its own: relative times become instants where it is carried out.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Required, TypedDict

from engine.actors import Actor
from engine.errors import InvalidValue
from engine.instants import Instant, require_batch
from engine.wakes import recurrence
from engine.wakes.recurrence import Cron
from engine.wakes.running import running_wake
from engine.wakes.settings import WakeSettings
from engine.wakes.times import Duration, TimeText, absolute, duration
from engine.wakes.values import CatchUp, Json, Origin, Trigger

DEFAULT_KIND = "session_turn"
LONGEST_NAME = 200
MOST_JSON_BYTES = 256 * 1024
"""How large an intent, payload, answer or result may be: a wake says what to do, it does not carry it."""

_KIND = re.compile(r"[a-z][a-z0-9_]*(\.[a-z][a-z0-9_]*)*", re.ASCII)


@dataclass(frozen=True, slots=True)
class Request:
    """A well-formed request for a wake. At most one of ``due_at``, ``delay``, ``rule`` and ``every`` is set."""

    workspace: str
    session: str | None
    actor: Actor
    trigger: Trigger
    kind: str
    lane: str | None
    intent: str
    key: str | None
    coalesce: bool
    fingerprint: str
    depth: int
    origin: Origin
    due_at: Instant | None = None
    delay: int | None = None
    rule: Cron | None = None
    every: int | None = None
    start: Instant | None = None
    expires_at: Instant | None = None
    expires_in: int | None = None
    until: Instant | None = None
    count: int | None = None
    catch_up: CatchUp = CatchUp.LATEST
    catch_up_most: int = 1
    grace_ms: int = 1
    event_key: str | None = None
    after: int | None = None
    token_digest: str | None = None
    refuse_past: bool = False


class Asked(TypedDict, total=False):
    """What every creator may be told.

    ``session`` owns the wake; ``kind`` is its sink; of one ``lane`` never two fire at once; ``intent`` is handed
    over. ``key`` makes a retry safe. ``depth`` is at least that of the sink in which the request is made.
    """

    workspace: Required[str]
    actor: Required[Actor]
    session: str | None
    kind: str
    intent: Json
    lane: str | None
    expires_at: TimeText | None
    expires_in: Duration | None
    key: str | None
    depth: int


class ScheduleAsked(Asked, total=False):
    """What `schedule` may be told: exactly one of ``at``, ``in_``, ``cron`` and ``every``.

    A time in the past is due at once, unless ``refuse_past``. ``cron`` is in ``zone`` (UTC). ``start`` is a
    moment of an ``every`` grid, and the moment before which no series occurs; ``until`` is inclusive;
    ``expires_in`` is each occurrence's deadline after its due time. ``catch_up`` says what becomes of missed
    occurrences: of ``all`` the newest ``catch_up_most``; ``none`` and ``ask`` count as missed what is later than
    ``grace``. ``coalesce`` gives the pending wake of this lane and kind instead of another.
    """

    at: TimeText | None
    in_: Duration | None
    cron: str | None
    zone: str | None
    every: Duration | None
    start: TimeText | None
    until: TimeText | None
    count: int | None
    catch_up: CatchUp | str
    catch_up_most: int | None
    grace: Duration | None
    coalesce: bool
    refuse_past: bool


class WatchAsked(Asked, total=False):
    """What `watch` may be told. ``after`` asks for kept events after a position; without a deadline: a week."""

    event_key: Required[str]
    never_expires: bool
    after: int | None
    coalesce: bool


def schedule(
    settings: WakeSettings,
    *,
    workspace: str,
    actor: Actor,
    session: str | None = None,
    at: TimeText | None = None,
    in_: Duration | None = None,
    cron: str | None = None,
    zone: str | None = None,
    every: Duration | None = None,
    start: TimeText | None = None,
    kind: str = DEFAULT_KIND,
    intent: Json = None,
    lane: str | None = None,
    expires_at: TimeText | None = None,
    expires_in: Duration | None = None,
    until: TimeText | None = None,
    count: int | None = None,
    catch_up: CatchUp | str = CatchUp.LATEST,
    catch_up_most: int | None = None,
    grace: Duration | None = None,
    key: str | None = None,
    coalesce: bool = False,
    refuse_past: bool = False,
    depth: int = 0,
) -> Request:
    """Ask for a wake at a time, or for a series of them; exactly one time form (S-37)."""
    given = {"at": at, "in_": in_, "cron": cron, "every": every}
    forms = [name for name, value in given.items() if value is not None]
    if len(forms) != 1:
        raise InvalidValue(
            f"{' and '.join(forms)} were given together." if forms else "No time was given.",
            do="Give exactly one of at, in_, cron and every.",
        )
    recurring = forms[0] in ("cron", "every")
    for name, value, allowed in (
        ("zone", zone, cron is not None),
        ("start", start, recurring),
        ("until", until, recurring),
        ("count", count, recurring),
        ("expires_at", expires_at, not recurring),
        ("coalesce", coalesce or None, lane is not None),
    ):
        if value is not None and not allowed:
            raise InvalidValue(f"{name} has no meaning with {forms[0]}.", do=_PAIRS[name])
    if expires_at is not None and expires_in is not None:
        raise InvalidValue("expires_at and expires_in were given together.", do="Give one deadline.")
    due_at = None if at is None else absolute(at, "at")
    deadline = None if expires_at is None else absolute(expires_at, "expires_at")
    if due_at is not None and deadline is not None and deadline <= due_at:
        raise InvalidValue(
            "expires_at is not later than at.",
            means="Such a wake could only expire.",
            do="Give a later deadline.",
        )
    delay = None if in_ is None else duration(in_, "in_")
    life = None if expires_in is None else duration(expires_in, "expires_in")
    if delay is not None and life is not None and life <= delay:
        raise InvalidValue(
            "expires_in is not longer than in_.",
            means="Such a wake could only expire.",
            do="Give a later deadline.",
        )
    values: dict[str, object] = {
        "due_at": due_at,
        "delay": delay,
        "rule": None
        if cron is None
        else recurrence.cron(_text(cron, "cron"), "UTC" if zone is None else zone),
        "every": None if every is None else duration(every, "every"),
        "start": None if start is None else absolute(start, "start"),
        "expires_at": deadline,
        "expires_in": life,
        "until": None if until is None else absolute(until, "until"),
        "count": None if count is None else require_batch(count, "count"),
        "catch_up": _catch_up(catch_up),
        "catch_up_most": settings.catch_up_most
        if catch_up_most is None
        else require_batch(catch_up_most, "catch_up_most"),
        "grace_ms": settings.catch_up_grace_ms if grace is None else duration(grace, "grace"),
    }
    return _request(
        Trigger.AT, workspace, session, actor, kind, lane, intent, key, coalesce, depth, refuse_past, values
    )


def watch(
    settings: WakeSettings,
    *,
    workspace: str,
    event_key: str,
    actor: Actor,
    session: str | None = None,
    kind: str = DEFAULT_KIND,
    intent: Json = None,
    lane: str | None = None,
    expires_at: TimeText | None = None,
    expires_in: Duration | None = None,
    never_expires: bool = False,
    after: int | None = None,
    key: str | None = None,
    coalesce: bool = False,
    depth: int = 0,
) -> Request:
    """Ask for a wake when an event comes; without a deadline it lives for the settings' time (S-38)."""
    if sum((expires_at is not None, expires_in is not None, never_expires)) > 1:
        raise InvalidValue(
            "Several deadlines were given together.",
            do="Give one of expires_at, expires_in and never_expires.",
        )
    if expires_at is None and expires_in is None and not never_expires:
        expires_in = settings.watch_life_ms
    if after is not None and (type(after) is not int or after < 0):
        raise InvalidValue(f"after {after!r} is not a position.", do="Give the position of an event, or 0.")
    if coalesce and lane is None:
        raise InvalidValue("coalesce has no meaning without a lane.", do=_PAIRS["coalesce"])
    values: dict[str, object] = {
        "event_key": _text(event_key, "event_key"),
        "expires_at": None if expires_at is None else absolute(expires_at, "expires_at"),
        "expires_in": None if expires_in is None else duration(expires_in, "expires_in"),
        "after": after,
    }
    return _request(
        Trigger.ON_EVENT, workspace, session, actor, kind, lane, intent, key, coalesce, depth, False, values
    )


def approval(
    *,
    token: str,
    workspace: str,
    actor: Actor,
    session: str | None = None,
    kind: str = DEFAULT_KIND,
    intent: Json = None,
    lane: str | None = None,
    expires_at: TimeText | None = None,
    expires_in: Duration | None = None,
    key: str | None = None,
    depth: int = 0,
) -> Request:
    """Ask for a wake when a person answers; it must have a deadline."""
    if (expires_at is None) == (expires_in is None):
        raise InvalidValue(
            "An approval needs one deadline.",
            means="Without it, nobody would ever be told that no answer came.",
            do="Give expires_at or expires_in.",
        )
    values: dict[str, object] = {
        "expires_at": None if expires_at is None else absolute(expires_at, "expires_at"),
        "expires_in": None if expires_in is None else duration(expires_in, "expires_in"),
    }
    request = _request(
        Trigger.ON_APPROVAL, workspace, session, actor, kind, lane, intent, key, False, depth, False, values
    )
    return _with_token(request, token)


def token_digest(token: str) -> str:
    """What is stored of an approval's token."""
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()


def json_text(value: Json, name: str) -> str:
    """The stored text of a JSON value; anything that is not JSON, or too large, is an `InvalidValue`."""
    _require_json(value, name, 0)
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    # Lone surrogates, as in a file name that is not Unicode, become JSON escapes and come back as they were.
    stored = text.encode("utf-8", "backslashreplace")
    if len(stored) > MOST_JSON_BYTES:
        raise InvalidValue(
            f"{name} is larger than {MOST_JSON_BYTES} bytes.", do="Store it elsewhere and hand over where."
        )
    return stored.decode()


def require_name(value: object, name: str) -> str:
    """Return ``value`` if it can name a workspace, session, lane or key."""
    return _text(value, name)


def optional_name(value: object, name: str) -> str | None:
    """Return ``value`` if it is None or a name."""
    return None if value is None else _text(value, name)


def require_kind(value: object) -> str:
    """Return ``value`` if it can be the kind of a sink: lower-case words with dots between them (S-41)."""
    if not isinstance(value, str) or len(value) > LONGEST_NAME or _KIND.fullmatch(value) is None:
        raise InvalidValue(
            f"{value!r} is not a kind.",
            do="Write it like session_turn or engine.backup: lower case, dots between.",
        )
    return value


_PAIRS: Mapping[str, str] = {
    "zone": "A zone belongs to cron; give other times in UTC or with their offset.",
    "start": "Only a series has a start; give cron or every.",
    "until": "Only a series has an end; give cron or every.",
    "count": "Only a series has a count; give cron or every.",
    "expires_at": "Give a series until, or expires_in for each of its occurrences.",
    "coalesce": "It means one pending wake in a lane; give a lane.",
}


def _request(
    trigger: Trigger,
    workspace: str,
    session: str | None,
    actor: Actor,
    kind: str,
    lane: str | None,
    intent: Json,
    key: str | None,
    coalesce: bool,
    depth: int,
    refuse_past: bool,
    values: dict[str, object],
) -> Request:
    if not isinstance(actor, Actor):
        raise InvalidValue(f"{actor!r} is not an actor.", do="Give who asks, as an Actor.")
    if type(depth) is not int or depth < 0:
        raise InvalidValue(f"depth {depth!r} is not a depth.", do="Give a whole number, 0 or more.")
    parent = running_wake()
    text = json_text(intent, "intent")
    request = Request(
        workspace=_text(workspace, "workspace"),
        session=optional_name(session, "session"),
        actor=actor,
        trigger=trigger,
        kind=require_kind(kind),
        lane=optional_name(lane, "lane"),
        intent=text,
        key=optional_name(key, "key"),
        coalesce=bool(coalesce),
        fingerprint="",
        depth=max(depth, 0 if parent is None else parent.depth + 1),
        origin=Origin.CALLER if parent is None else Origin.SINK,
        refuse_past=refuse_past,
        **values,  # type: ignore[arg-type]
    )
    return _with_fingerprint(request, values)


def _with_fingerprint(request: Request, values: dict[str, object]) -> Request:
    """Add the digest of what was asked, by which a repeat is told from a different request (S-31)."""
    asked = [request.trigger, request.kind, request.lane, request.session, request.intent]
    asked += [f"{name}={value}" for name, value in sorted(values.items())]
    return replace(request, fingerprint=hashlib.sha256(json.dumps(asked).encode()).hexdigest())


def _with_token(request: Request, token: str) -> Request:
    return replace(request, token_digest=token_digest(token))


def _catch_up(value: object) -> CatchUp:
    try:
        return CatchUp(value)  # type: ignore[arg-type]
    except ValueError as error:
        raise InvalidValue(
            f"catch_up {value!r} is not a policy.", do=f"Give one of {', '.join(CatchUp)}."
        ) from error


def _text(value: object, name: str) -> str:
    if (
        not isinstance(value, str)
        or not value.strip()
        or len(value) > LONGEST_NAME
        or not value.isprintable()
    ):
        raise InvalidValue(
            f"{name} {value!r} is not a name.", do=f"Give 1 to {LONGEST_NAME} printable characters."
        )
    return value


def _require_json(value: Json, name: str, depth: int) -> None:
    if depth > 50:
        raise InvalidValue(f"{name} is nested too deeply.", do="Store it elsewhere and hand over where.")
    if value is None or isinstance(value, str | bool | int):
        return
    if isinstance(value, float) and math.isfinite(value):
        return
    if isinstance(value, Mapping) and all(isinstance(item, str) for item in value):
        for item in value.values():
            _require_json(item, name, depth + 1)
        return
    if isinstance(value, list | tuple):
        for item in value:
            _require_json(item, name, depth + 1)
        return
    raise InvalidValue(
        f"{name} holds {value!r}, which is not JSON."[:300],
        do="Use mappings with text keys, lists, text, finite numbers, true, false and null.",
    )
