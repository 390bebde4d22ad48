"""Wakes in the data folder's SQLite database, beside everything else that commits there."""

from engine.wakes.sqlite.store import SqliteWakeStore

__all__ = ["SqliteWakeStore"]
