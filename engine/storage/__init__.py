"""The one SQLite file: writer, readers, migrations, journal."""

from engine.storage.changes import Change, ChangeSet, Subject
from engine.storage.epochs import current_epoch, require_epoch, take_epoch, under_epoch
from engine.storage.storage import Latency, Storage, WriterHealth
from engine.storage.transaction import Boundary, Rx, Tx

__all__ = [
    "Boundary",
    "Change",
    "ChangeSet",
    "Latency",
    "Rx",
    "Storage",
    "Subject",
    "Tx",
    "WriterHealth",
    "current_epoch",
    "require_epoch",
    "take_epoch",
    "under_epoch",
]
