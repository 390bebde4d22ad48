"""Restoring: choose, verify, compare with now, confirm by the folder's name, and go on with the restored data.

The restore itself needs the data folder closed: the console closes it, restores, and opens it again, held.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from PySide6.QtGui import QTextCursor
from PySide6.QtWidgets import QLineEdit, QPlainTextEdit, QWidget

from app.alerts import Alert
from app.panels.journal.words import kind_words
from app.panels.words import stage_name
from app.session import Session
from app.shell.quitting import may_quit
from app.theme import Tone
from app.widgets import (
    KeyValueGrid,
    Question,
    Report,
    Role,
    Times,
    ask_reason,
    label,
    number,
    opened,
    spoken,
    with_progress,
)
from app.wizards.backup import show_verification, verified
from app.wizards.copies import choose_copy, count_text, passed_on
from engine.actors import Actor
from engine.backup import Comparison, Copy, CopyKind, RestoreReport, Watch, restore
from engine.backup.watch import watched
from engine.clock import Clock
from engine.durations import size_text
from engine.errors import PraxisError
from engine.states import AttemptState, WorkOrderState
from engine.views.values import AttemptRow

_LISTED = 60


@dataclass(frozen=True, slots=True)
class RestoreWish:
    """What a person has decided to restore, carried out once the folder is closed."""

    folder: Path
    copy: Copy
    actor: Actor
    reason: str
    clock: Clock


async def restore_backup(window: QWidget, session: Session) -> None:
    """Choose a copy, verify it, show what would be lost, and if the person confirms it, leave to restore it."""
    copy = await choose_copy(
        window,
        session,
        "Restore a backup",
        "Choose what to go back to. It is verified first, and you see what would be lost before anything changes.",
        action="Verify and compare",
    )
    if copy is not None:
        await restore_copy(window, session, copy)


async def undo_last_restore(window: QWidget, session: Session) -> None:
    """Bring back what the last restore set aside, after showing what would be lost by that."""
    kept = [one for one in await session.engine.backups.listed() if one.kind is CopyKind.ROLLBACK]
    if not kept:
        raise PraxisError("There is nothing to bring back.", do="Choose a backup instead.")
    await restore_copy(window, session, kept[0])


async def restore_copy(window: QWidget, session: Session, copy: Copy) -> None:
    """Go on with a copy that was chosen."""
    if copy.kind is CopyKind.BACKUP:
        found = await verified(window, session, copy)
        if found is None:
            return
        if not found.restorable:
            await show_verification(window, session, found)
            return
    comparison = await session.engine.backups.compare(copy)
    running = await session.engine.running()
    dialog = ConfirmRestore(window, session.times, session.engine.folder, copy, comparison, running)
    if not await opened(dialog):
        return
    reason = dialog.reason
    if not await may_quit(window, session, to_restore=True):
        return
    wish = RestoreWish(session.engine.folder, copy, session.actor, reason, session.engine.clock)
    session.leave(wish)


class ConfirmRestore(Question):
    """What would be lost, what has happened since, and the folder's name to be typed."""

    def __init__(
        self,
        parent: QWidget | None,
        times: Times,
        folder: Path,
        copy: Copy,
        comparison: Comparison,
        running: Sequence[AttemptRow],
    ) -> None:
        super().__init__(
            parent,
            "Bring the other data back?" if copy.kind is CopyKind.ROLLBACK else "Restore this backup?",
            "What is there now is kept and can be brought back. Nothing starts afterwards until you have looked: "
            "attempts that were in flight are UNKNOWN, approvals are void.",
        )
        self.setMinimumWidth(640)
        facts = KeyValueGrid("The backup beside what is there now", self)
        if copy.made_at is not None:
            facts.add("Made", times.stamp(copy.made_at), tip=times.exact(copy.made_at))
        facts.add("Where", str(copy.path), code=True)
        facts.add("Size", size_text(copy.size))
        facts.add("Would be lost", _lost(comparison), tone=Tone.WARN if comparison.rows_lost else None)
        if comparison.effect_count:
            facts.add("Happened since", _since(comparison), tone=Tone.UNKNOWN)
        if comparison.removed_count:
            facts.add("Removed since", _removed_text(comparison), tone=Tone.WARN)
        if comparison.doubtful_count:
            facts.add("Left in doubt", _doubtful_text(comparison), tone=Tone.UNKNOWN)
        if running:
            facts.add("Runs now", _running_text(running), tone=Tone.WARN)
        if comparison.new_schema:
            facts.add("Cannot be in it", f"what came later: {', '.join(comparison.new_schema)}")
        self.body.addWidget(facts)
        details = "\n".join(_details(comparison, times))
        if details:
            shown = QPlainTextEdit(details, self)
            shown.setReadOnly(True)
            shown.setTabChangesFocus(True)
            shown.setAccessibleName("What would be lost, and what has happened since")
            shown.setToolTip("Each work order, decision and attempt; select and copy what you need")
            shown.moveCursor(QTextCursor.MoveOperation.Start)
            shown.setFixedHeight(shown.fontMetrics().lineSpacing() * 9 + 16)
            self.body.addWidget(shown)
        self._reason = _line(self, "Reason", "Why; it is kept in the journal of the restored data")
        self._reason.setPlaceholderText("Why? This is kept in the journal.")
        self.body.addWidget(self._reason)
        self._wanted = folder.name
        self.body.addWidget(
            label(
                f"To go on, type the name of the data folder: {spoken(folder.name)}", wrap=True, parent=self
            )
        )
        self._name = _line(self, "Name of the data folder", "Type it exactly as it is shown above")
        self._name.textChanged.connect(lambda _: self._refresh())
        self.body.addWidget(self._name)
        self.add_back()
        self.action = self.add_action(
            "Close and restore", "Close the data folder, restore, and open it again, held", Role.DANGER
        )
        self._refresh()
        self._reason.setFocus()

    @property
    def reason(self) -> str:
        """Why, as the person says."""
        return self._reason.text().strip()

    def _refresh(self) -> None:
        self.action.setEnabled(self._name.text() == self._wanted)


def _line(parent: QWidget, name: str, tip: str) -> QLineEdit:
    made = QLineEdit(parent)
    made.setAccessibleName(name)
    made.setAccessibleDescription(tip)
    made.setToolTip(tip)
    return made


def _lost(found: Comparison) -> str:
    if found.why_unread:
        return f"Nobody can say: the present data cannot be read. {found.why_unread}"
    if not found.has_present:
        return "nothing: there is no data yet"
    if not found.same_instance:
        return f"all of the present data ({number(found.rows_lost)} rows of the journal): the backup is of other data"
    if not found.rows_lost:
        return "nothing: nothing has happened since"
    return (
        f"{count_text(found.rows_lost, 'row')} of the journal, {number(found.decision_count)} by a person; "
        f"new or changed: {count_text(found.order_count, 'work order')}"
    )


def _since(found: Comparison) -> str:
    attempts = (
        "1 attempt was started"
        if found.effect_count == 1
        else f"{number(found.effect_count)} attempts were started"
    )
    return f"{attempts} after the backup. A restore forgets that; the effects stay."


def _removed_text(found: Comparison) -> str:
    return (
        f"{count_text(found.removed_count, 'work order')} that ended after the backup "
        f"({_names(found.removed, found.removed_count)}); you decide before anything of that is asked again"
    )


def _doubtful_text(found: Comparison) -> str:
    return (
        f"{count_text(found.doubtful_count, 'work order')} of which something was started in data that a restore has "
        f"set aside ({_names(found.doubtful, found.doubtful_count)}); you decide before anything of that is asked again"
    )


def _names(numbers: Sequence[int], count: int) -> str:
    names = ", ".join(f"WO-{one}" for one in numbers[:8])
    return f"{names} and {number(count - 8)} more" if count > 8 else names


def _running_text(running: Sequence[AttemptRow]) -> str:
    names = ", ".join(stage_name(one.number, one.purpose) for one in running[:8])
    more = f" and {number(len(running) - 8)} more" if len(running) > 8 else ""
    return f"{names}{more}. You are asked what becomes of it before the folder is closed."


def _details(found: Comparison, times: Times) -> Iterator[str]:
    for effect in found.effects[:_LISTED]:
        argv = " ".join(spoken(one) for one in effect.argv)
        yield (
            f"started {times.stamp(effect.started_at)}: WO-{effect.number} {effect.purpose.lower()} · "
            f"{effect.state} · {argv}"
        )
    for order in found.orders[:_LISTED]:
        word = "new" if order.is_new else "changed"
        yield f"{word}: WO-{order.number} {spoken(order.title)} · {order.state}"
    for decision in found.decisions[:_LISTED]:
        about = "" if decision.number is None else f" WO-{decision.number}"
        yield f"{times.stamp(decision.at)}: {kind_words(decision.kind)}{about} by {spoken(decision.actor)}"


# ----------------------------------------------------------------------------------- while nothing is open


async def carry_out(parent: QWidget | None, wish: RestoreWish) -> RestoreReport | None:
    """Restore the closed folder with progress; None if the person stopped it. Errors are raised.

    From the moment at which the data is put in place it is no longer stopped.
    """

    def run(watch: Watch) -> RestoreReport:
        return restore(
            wish.folder,
            wish.copy.path,
            actor=wish.actor,
            reason=wish.reason,
            clock=wish.clock,
            watch=watch,
            program="praxis-console",
        )

    async def work(report: Report) -> RestoreReport:
        return await watched(run, passed_on(report))

    return await with_progress(
        parent,
        "Restoring",
        "The data folder is closed meanwhile. Until the last step, stopping leaves everything as it was.",
        work,
    )


def tell_restored(window: QWidget, session: Session, report: RestoreReport) -> None:
    """Say in the console that was opened again what the restore did, with the way back."""
    done = report.aftermath
    made = "" if report.made_at is None else f", made {session.times.stamp(report.made_at)}"
    means = (
        f"{count_text(len(done.unknown), 'attempt')} UNKNOWN, {count_text(len(done.void), 'approval')} void, "
        f"{count_text(len(done.asked), 'work order')} for you to decide."
    )
    if report.comparison.effect_count:
        means += f" {_since(report.comparison)}"
    if report.lacking:
        means += f" {number(len(report.lacking))} kept files are lost."
    undo = partial(undo_last_restore, window, session)
    session.alerts.show(
        Alert(
            "restored",
            f"Restored from {report.source.name}{made}.",
            means,
            Tone.LIVE,
            "" if report.rollback is None else "Undo…",
            lambda: session.spawn(undo(), "undo the restore"),
            dismissable=True,
        )
    )


async def acknowledge(window: QWidget, session: Session) -> None:
    """Ask what the person has seen after a restore; then work may begin again."""
    engine = session.engine
    unknown = await engine.attempts(states=(AttemptState.UNKNOWN,), limit=_LISTED)
    waiting = await engine.work_orders(states=(WorkOrderState.DECISION_NEEDED,), limit=_LISTED)
    reason = await ask_reason(
        window,
        "Let work begin again?",
        "Look first at what is UNKNOWN and at the work orders that need your decision: it may have been done already. "
        "Then say what you found.",
        action="I have looked",
        details=[
            *(f"UNKNOWN: {stage_name(one.number, one.purpose)} · {spoken(one.title)}" for one in unknown),
            *(f"Decide: WO-{one.number} · {spoken(one.title)}" for one in waiting),
        ],
    )
    if reason is not None:
        await session.engine.acknowledge_restore(session.actor, reason)
        session.alerts.clear("restored")
