"""The pages of the console in the order of the rail, and the commands that other parts bring."""

from __future__ import annotations

from app.guide import guided_tour
from app.panels.budgets import PAGE as BUDGETS
from app.panels.clock import PAGE as CLOCK
from app.panels.evidence import PAGE as EVIDENCE
from app.panels.inbox import PAGE as INBOX
from app.panels.journal import PAGE as JOURNAL
from app.panels.timeline import PAGE as TIMELINE
from app.panels.unknown import PAGE as UNKNOWN
from app.panels.wakes import PAGE as WAKES
from app.panels.work_orders import PAGE as WORK_ORDERS
from app.shell.commands import Entry, Extras
from app.shell.pages import Page
from app.wizards.backup import back_up, rehearse_restore, verify_backup
from app.wizards.backup_schedule import schedule_backups
from app.wizards.import_work_orders import import_work_orders
from app.wizards.new_work_order import new_work_order
from app.wizards.restore import restore_backup
from app.wizards.retention import keep_or_remove


def registered_pages() -> tuple[Page, ...]:
    """Every page there is. Importing a page costs nothing; it is built when it is first shown."""
    return (INBOX, WORK_ORDERS, TIMELINE, UNKNOWN, EVIDENCE, WAKES, BUDGETS, CLOCK, JOURNAL)


def registered_extras() -> Extras:
    """The commands beyond those of the shell."""
    data = (
        Entry(
            "Back up now…", "Keep a copy of everything, and prove that it can be restored", "Ctrl+B", back_up
        ),
        Entry("Restore…", "Go back to a backup; what is there now is kept", "", restore_backup),
        Entry(
            "Verify a backup…", "Read every byte of a backup and say whether it is true", "", verify_backup
        ),
        Entry(
            "Rehearse a restore…",
            "Restore into a scratch place and see what comes back",
            "",
            rehearse_restore,
        ),
        Entry("Scheduled backups…", "Have backups made by themselves", "", schedule_backups),
        Entry("Retention…", "See what is old, and say how long it is kept", "", keep_or_remove),
    )
    return Extras(new_work_order, import_work_orders, guided_tour, data)
