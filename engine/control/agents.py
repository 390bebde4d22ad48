"""Agents and scripts that a person gave a key of their own: who they are, and that it can be taken back (E-90).

What is kept here is that a key was given, to whom, and whether it still counts. The secret itself is not kept: it
follows from the person's key and the identity of the row, so that no copy of the data holds one.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from engine.actors import Actor, ActorKind
from engine.dispatch.approvals import require_reason
from engine.errors import InvalidValue, NotFound, WrongState
from engine.ids import new_id
from engine.instants import Instant
from engine.policy import Authorize
from engine.storage import Rx, Storage, Subject, Tx

KEYED_KINDS = (ActorKind.AGENT, ActorKind.SCRIPT)
"""Who can have a key of its own. A person's is that of the data folder."""

_NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]{0,62}[A-Za-z0-9])?", re.ASCII)

_Write = Callable[..., Awaitable[Any]]


@dataclass(frozen=True, slots=True)
class AgentRow:
    """One key that was given: to whom, when, by whom; and when and why it was taken back, if it was."""

    id: str
    actor: Actor
    added_at: Instant
    added_by: Actor
    revoked_at: Instant | None
    revoked_by: Actor | None
    reason: str


class Agents:
    """The keys of a data folder's agents and scripts: given, listed and taken back."""

    def __init__(self, storage: Storage, authorize: Authorize, write: _Write) -> None:
        self._storage = storage
        self._authorize = authorize
        self._write = write

    async def add(self, name: str, actor: Actor, *, kind: ActorKind = ActorKind.AGENT) -> AgentRow:
        """Give a new key to an agent, or a script, of this name; `WrongState` if it has one that counts."""
        self._authorize(actor, "decide")
        agent_id: str = await self._write(add_agent, kind, name, actor)
        return await self._storage.read(_row, agent_id)

    async def revoke(
        self, name: str, actor: Actor, reason: str, *, kind: ActorKind = ActorKind.AGENT
    ) -> AgentRow:
        """Take the key back: from this commit on nothing that it says is heard. The reason is kept."""
        self._authorize(actor, "decide")
        agent_id: str = await self._write(revoke_agent, kind, name, actor, reason)
        return await self._storage.read(_row, agent_id)

    async def listed(self) -> tuple[AgentRow, ...]:
        """Every key that was ever given, the newest first."""
        return await self._storage.read(_all)

    async def holder(self, agent_id: str) -> AgentRow | None:
        """To whom the key of this identity was given, or None if it is not known here."""
        return await self._storage.read(_holder, agent_id)


def add_agent(tx: Tx, kind: ActorKind, name: str, actor: Actor, *, now: Instant) -> str:
    """Record that a key is given; returns its identity."""
    if kind not in KEYED_KINDS:
        raise InvalidValue(f"A {kind} is given no key.", do="Give one to an agent or a script.", field="kind")
    if _NAME.fullmatch(name) is None:
        raise InvalidValue(
            f"{name[:100]!r} cannot be the name of a key.",
            means="Nothing was changed.",
            do="Use up to 64 letters, digits, dots, dashes and underscores; a letter or digit at both ends.",
            field="name",
        )
    if _counting(tx, kind, name) is not None:
        raise WrongState(
            f"The {kind} {name} has a key already.",
            means="Nothing was changed.",
            do=f"Use that one, or take it back first: {revoke_command(kind, name)}",
        )
    agent_id = new_id(now)
    tx.run(
        """INSERT INTO agent(id, kind, name, added_at, added_by_kind, added_by, reason)
           VALUES (?, ?, ?, ?, ?, ?, '')""",
        (agent_id, kind, name, now, actor.kind, actor.name),
    )
    tx.journal("agent.added", _subject(agent_id), actor, now, detail={"kind": kind, "name": name})
    return agent_id


def revoke_command(kind: ActorKind, name: str) -> str:
    """The command that takes a key back, as it is typed."""
    script = " --script" if kind is ActorKind.SCRIPT else ""
    return f'praxis agent revoke {name}{script} --reason "why"'


def revoke_agent(tx: Tx, kind: ActorKind, name: str, actor: Actor, reason: str, *, now: Instant) -> str:
    """Record that the key of this name counts no more; returns its identity."""
    require_reason(reason, "take a key back")
    row = _counting(tx, kind, name)
    if row is None:
        raise NotFound(f"No {kind} {name[:100]} has a key.", do="Look at them: praxis agent list")
    _revoke(tx, row, actor, reason, now)
    return str(row["id"])


def revoke_all(tx: Tx, actor: Actor, reason: str, *, now: Instant) -> tuple[str, ...]:
    """Take every key back, as after a restore: a key that was taken back since the copy must not count again."""
    rows = tx.all("SELECT * FROM agent WHERE revoked_at IS NULL ORDER BY id")
    for row in rows:
        _revoke(tx, row, actor, reason, now)
    return tuple(row["id"] for row in rows)


def _revoke(tx: Tx, row: sqlite3.Row, actor: Actor, reason: str, now: Instant) -> None:
    tx.run(
        "UPDATE agent SET revoked_at = ?, revoked_by_kind = ?, revoked_by = ?, reason = ? WHERE id = ?",
        (now, actor.kind, actor.name, reason, row["id"]),
    )
    tx.journal(
        "agent.revoked",
        _subject(row["id"]),
        actor,
        now,
        detail={"kind": row["kind"], "name": row["name"], "reason": reason},
    )


def _counting(rx: Rx, kind: ActorKind, name: str) -> sqlite3.Row | None:
    return rx.one(
        "SELECT * FROM agent WHERE kind = ? AND name = ? COLLATE NOCASE AND revoked_at IS NULL", (kind, name)
    )


def _subject(agent_id: str) -> Subject:
    return Subject("agent", agent_id)


def _holder(rx: Rx, agent_id: str) -> AgentRow | None:
    row = rx.one("SELECT * FROM agent WHERE id = ?", (agent_id,))
    return None if row is None else _value(row)


def _row(rx: Rx, agent_id: str) -> AgentRow:
    found = _holder(rx, agent_id)
    assert found is not None
    return found


def _all(rx: Rx) -> tuple[AgentRow, ...]:
    return tuple(map(_value, rx.all("SELECT * FROM agent ORDER BY id DESC")))


def _value(row: sqlite3.Row) -> AgentRow:
    return AgentRow(
        id=row["id"],
        actor=Actor(ActorKind(row["kind"]), row["name"]),
        added_at=row["added_at"],
        added_by=Actor(ActorKind(row["added_by_kind"]), row["added_by"]),
        revoked_at=row["revoked_at"],
        revoked_by=None
        if row["revoked_by"] is None
        else Actor(ActorKind(row["revoked_by_kind"]), row["revoked_by"]),
        reason=row["reason"],
    )
