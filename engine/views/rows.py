"""Turning columns into values that several reads share."""

from __future__ import annotations

import sqlite3

from engine.actors import Actor, ActorKind


def actor_of(row: sqlite3.Row, name: str) -> Actor:
    """The actor kept in the columns ``name`` and ``name_kind``."""
    return Actor(ActorKind(row[f"{name}_kind"]), row[name])
