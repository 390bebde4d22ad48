"""One question over everything: names, identities, seals, digests of kept files, and words of titles and places."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass

from engine.instants import Instant, require_batch
from engine.storage import Rx
from engine.views.grants import grants
from engine.views.schedules import SUBMIT_KIND, rule_words
from engine.views.work_orders import work_orders

_IDENTITY = re.compile(r"[0-9A-HJKMNP-TV-Z]{26}", re.IGNORECASE | re.ASCII)
_NAME = re.compile(r"(?:WO-)?(\d{1,15})(?:/(\d{1,6}))?(?:/(\d{1,6}))?", re.IGNORECASE | re.ASCII)
_DIGEST = re.compile(r"[0-9a-f]{8,64}", re.IGNORECASE | re.ASCII)

_WAKES_LOOKED_AT = 5_000


@dataclass(frozen=True, slots=True)
class Found:
    """One thing that was found.

    ``kind`` is work_order, attempt, approval, grant, project, schedule or wake, ``id`` its identity; ``name`` and
    ``line`` say what it is. ``unknown`` marks an attempt that is UNKNOWN.
    """

    kind: str
    id: str
    name: str
    line: str
    unknown: bool = False


def find(rx: Rx, text: str, limit: int, now: Instant) -> tuple[Found, ...]:
    """At most ``limit`` things that ``text`` may mean, the exact ones first, each once.

    It may be a name (WO-118, 118/2/1), an identity, eight or more digits of a seal or of the digest of a kept file,
    or a part of a title, a workspace or a project. Of wakes, words find those that agents, scripts and persons asked
    for and that are open, the newest few thousand: what the engine books for itself belongs to something else found.
    """
    require_batch(limit)
    text = text.strip()
    if not text:
        return ()
    found: dict[tuple[str, str], Found] = {}
    for one in _all(rx, text, limit, now):
        found.setdefault((one.kind, one.id), one)
        if len(found) >= limit:
            break
    return tuple(found.values())


def _all(rx: Rx, text: str, limit: int, now: Instant) -> Iterator[Found]:
    if match := _NAME.fullmatch(text):
        yield from _named(rx, *(None if part is None else int(part) for part in match.groups()))
    if _IDENTITY.fullmatch(text):
        identified = tuple(_identified(rx, text.upper()))
        # A wake that the engine books for something bears that thing's identity.
        yield from identified or _wakes_identified(rx, text.upper())
    if _DIGEST.fullmatch(text):
        yield from _sealed(rx, text.lower(), limit)
    lowered = text.lower()
    for project in rx.all(
        "SELECT id, name FROM scope WHERE kind = 'PROJECT' AND instr(lower(name), ?) > 0 ORDER BY name LIMIT ?",
        (lowered, limit),
    ):
        yield Found("project", project["id"], project["name"], "project, its budget")
    for order in work_orders(rx, None, limit, text, (), now):
        yield Found("work_order", order.id, f"WO-{order.number} · {order.title}", order.why)
    for row in rx.all(
        f"""{_SCHEDULES} AND instr(lower(json_extract(intent, '$.title')), ?) > 0 ORDER BY ended_at IS NOT NULL, id DESC
            LIMIT ?""",
        (SUBMIT_KIND, lowered, limit),
    ):
        yield _schedule(row)
    for row in rx.all(
        f"""SELECT * FROM ({_WAKES} WHERE state IN ('pending', 'firing', 'dead') AND created_by_kind <> 'engine'
              AND kind <> ? ORDER BY seq DESC LIMIT ?) WHERE instr(lower(name), ?) > 0 LIMIT ?""",
        (SUBMIT_KIND, _WAKES_LOOKED_AT, lowered, limit),
    ):
        yield _wake(row)
    for grant in grants(rx, (), None, 200, now):
        if lowered in grant.title.lower():
            yield Found(
                "grant", grant.id, f"Grant from WO-{grant.number} · {grant.title}", grant.state.value.lower()
            )


def _named(rx: Rx, number: int | None, task: int | None, attempt: int | None) -> Iterator[Found]:
    order = rx.one("SELECT * FROM work_order WHERE number = ?", (number,))
    if order is None:
        return
    if task is not None:
        rows = rx.all(
            f"""{_ATTEMPTS} WHERE attempt.work_order_id = ? AND task.ordinal = ?
                ORDER BY attempt.ordinal DESC LIMIT 20""",
            (order["id"], task),
        )
        yield from (_attempt(row) for row in rows if attempt is None or row["ordinal"] == attempt)
    yield Found("work_order", order["id"], f"WO-{order['number']} · {order['title']}", order["workspace"])


def _identified(rx: Rx, identity: str) -> Iterator[Found]:
    order = rx.one(
        """SELECT * FROM work_order WHERE id = ? OR id = (SELECT work_order_id FROM task WHERE id = ?)
             OR scope_id = ?""",
        (identity, identity, identity),
    )
    if order is not None:
        yield Found("work_order", order["id"], f"WO-{order['number']} · {order['title']}", order["workspace"])
    for row in rx.all(
        f"""{_ATTEMPTS} WHERE attempt.id = ?
              OR attempt.id = (SELECT attempt_id FROM evidence WHERE evidence.id = ?)
              OR attempt.id = (SELECT attempt_id FROM validation WHERE validation.id = ?)""",
        (identity, identity, identity),
    ):
        yield _attempt(row)
    for row in rx.all(f"{_APPROVALS} WHERE approval.id = ?", (identity,)):
        yield _approval(row)
    grant = rx.one("SELECT * FROM standing_grant WHERE id = ?", (identity,))
    if grant is not None:
        yield Found(
            "grant",
            grant["id"],
            f"Grant from WO-{grant['number']} · {grant['title']}",
            grant["state"].lower(),
        )
    schedule = rx.one(f"{_SCHEDULES} AND id = ?", (SUBMIT_KIND, identity))
    if schedule is not None:
        yield _schedule(schedule)
    project = rx.one("SELECT id, name FROM scope WHERE id = ? AND kind = 'PROJECT'", (identity,))
    if project is not None:
        yield Found("project", project["id"], project["name"], "project, its budget")


def _wakes_identified(rx: Rx, identity: str) -> Iterator[Found]:
    for row in rx.all(f"{_WAKES} WHERE id = ?", (identity,)):
        yield _wake(row)


def _sealed(rx: Rx, digits: str, limit: int) -> Iterator[Found]:
    """Requests whose seal, and runs of which a kept file, begins with these digits."""
    after = f"{digits}g"
    for row in rx.all(
        f"{_APPROVALS} WHERE approval.seal >= ? AND approval.seal < ? ORDER BY approval.id DESC LIMIT ?",
        (digits, after, limit),
    ):
        yield _approval(row)
    for row in rx.all(
        f"""{_ATTEMPTS} WHERE attempt.id IN (SELECT evidence.attempt_id FROM evidence_blob
              JOIN evidence ON evidence.id = evidence_blob.evidence_id
              WHERE evidence_blob.sha256 >= ? AND evidence_blob.sha256 < ? LIMIT ?)""",
        (digits, after, limit),
    ):
        yield _attempt(row)


_ATTEMPTS = """
    SELECT attempt.id, attempt.ordinal, attempt.state, attempt.purpose, task.ordinal AS task_ordinal,
      work_order.number, work_order.title
    FROM attempt JOIN task ON task.id = attempt.task_id JOIN work_order ON work_order.id = attempt.work_order_id"""

_SCHEDULES = (
    "SELECT id, rule, state, json_extract(intent, '$.title') AS title FROM wake_series WHERE kind = ?"
)

_WAKES = "SELECT seq, id, state, coalesce(json_extract(intent, '$.title'), kind) AS name FROM wake"

_APPROVALS = """
    SELECT approval.id, approval.state, task.purpose, work_order.number, work_order.title FROM approval
    JOIN task ON task.id = approval.task_id JOIN work_order ON work_order.id = approval.work_order_id"""


def _attempt(value: sqlite3.Row) -> Found:
    return Found(
        "attempt",
        value["id"],
        f"WO-{value['number']}/{value['task_ordinal']}/{value['ordinal']} · {value['title']}",
        f"run of {value['purpose'].lower()}, {value['state'].lower().replace('_', ' ')}",
        value["state"] == "UNKNOWN",
    )


def _approval(value: sqlite3.Row) -> Found:
    return Found(
        "approval",
        value["id"],
        f"WO-{value['number']} · {value['purpose'].lower()} · {value['title']}",
        f"request for approval, {value['state'].lower()}",
    )


def _schedule(value: sqlite3.Row) -> Found:
    return Found(
        "schedule", value["id"], str(value["title"]), f"{rule_words(value['rule'])}, {value['state']}"
    )


def _wake(value: sqlite3.Row) -> Found:
    return Found("wake", value["id"], str(value["name"]), f"wake, {value['state']}")
