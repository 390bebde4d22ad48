"""Typed errors. Each says what happened, what it means and what to do, in one voice.

A caller matches on the class (or ``code``), a person reads ``what``, ``means`` and ``do``. Facts that a
program may need (ids, instants, the closed gate) are in ``facts``, never only in prose.
"""

from __future__ import annotations

from typing import ClassVar


class PraxisError(Exception):
    """The base of every error that is meant for a person.

    ``code`` is stable and language-free (journal, JSON, channel); ``exit_code`` is the CLI's.
    """

    code: ClassVar[str] = "error"
    exit_code: ClassVar[int] = 1

    def __init__(self, what: str, *, means: str = "", do: str = "", **facts: object) -> None:
        super().__init__(what)
        self.what = what
        self.means = means
        self.do = do
        self.facts = facts

    def __str__(self) -> str:
        return " ".join(part for part in (self.what, self.means, self.do) if part)


class InvalidValue(PraxisError):
    """An argument, field or file has a form that is not accepted. Nothing was changed."""

    code = "invalid_value"
    exit_code = 2


class InvalidWorkOrder(InvalidValue):
    """A work order cannot be read or planned; ``facts`` may hold ``line`` and ``field``."""

    code = "invalid_work_order"


class NotFound(PraxisError):
    """No such work order, task, approval, attempt or file."""

    code = "not_found"
    exit_code = 3


class WrongState(PraxisError):
    """The thing is not in a state from which this is possible; ``facts['found']`` names its state."""

    code = "wrong_state"
    exit_code = 4


class Refused(PraxisError):
    """A policy, gate or limit says no."""

    code = "refused"
    exit_code = 5


class Unauthorized(Refused):
    """This actor may not do this."""

    code = "unauthorized"


class GateClosed(Refused):
    """A gate is closed; ``facts['gate']`` names it, ``facts['scope']`` the scope for lack of headroom."""

    code = "gate_closed"


class ClockDistrusted(GateClosed):
    """Wall time is distrusted; what would be judged by it is left alone (E-32)."""

    code = "clock_distrusted"


class Drifted(Refused):
    """What would run now is not what was approved; ``facts['differences']`` lists approved/now."""

    code = "drifted"


class Fenced(PraxisError):
    """A write came from a holder that is no longer the holder (E-24)."""

    code = "fenced"
    exit_code = 4


class StaleEpoch(Fenced):
    """A newer coordinator has taken over (E-20)."""

    code = "stale_epoch"


class LeaseExpired(Fenced):
    """The lease ended before this call, equality included (E-24)."""

    code = "lease_expired"


class OutsideWorkspace(Refused):
    """A path does not stay inside the workspace root (E-52)."""

    code = "outside_workspace"


class StorageError(PraxisError):
    """The data folder or its database cannot be used as it is."""

    code = "storage"
    exit_code = 6


class FolderInUse(StorageError):
    """Another process owns the data folder; ``facts`` say which (E-10)."""

    code = "folder_in_use"


class QueueFull(StorageError):
    """The background queue of the writer is full (E-11); control commands never get this."""

    code = "queue_full"


class StorageClosed(StorageError):
    """The storage was closed before this call could be answered."""

    code = "storage_closed"


class UnsuitableFolder(StorageError):
    """The data folder is at a place where a live database would be damaged (E-16a)."""

    code = "unsuitable_folder"


class FolderNotUsable(StorageError):
    """The data folder cannot be made or written to."""

    code = "folder_not_usable"


class DatabaseReadOnly(StorageError):
    """The database file cannot be written to."""

    code = "database_read_only"


class DatabaseNewer(StorageError):
    """The database was written by a newer version of the program."""

    code = "database_newer"


class SchemaMismatch(StorageError):
    """The database has a schema step that this version of the program does not have in that form."""

    code = "schema_mismatch"


class MigrationFailed(StorageError):
    """An older database could not be brought up to date; it is as it was."""

    code = "migration_failed"


class DatabaseDamaged(StorageError):
    """The database is damaged or incomplete."""

    code = "database_damaged"


class NotADatabase(StorageError):
    """The file in the database's place is no database, or a database of another program."""

    code = "not_a_database"


class DatabaseLocked(StorageError):
    """Another program keeps the database locked; ``facts['holders']`` names it where it can be found out."""

    code = "database_locked"


class DatabaseMisconfigured(StorageError):
    """A setting that durability depends on does not hold on this machine or file system."""

    code = "database_misconfigured"


class DiskFull(StorageError):
    """There is no room left on the disk; what was asked did not happen."""

    code = "disk_full"


class DiskFault(StorageError):
    """The disk or its file system reported an error; what was asked did not happen."""

    code = "disk_fault"


class ChannelError(PraxisError):
    """The local channel to the owner of the data folder failed (E-90)."""

    code = "channel"
    exit_code = 7


class BackupNotGood(StorageError):
    """A backup does not hold what it should; ``facts['problems']`` lists what is wrong (E-81)."""

    code = "backup_not_good"


class Cancelled(PraxisError):
    """A person cancelled a long action; what it had begun was taken away again."""

    code = "cancelled"
