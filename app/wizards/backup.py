"""Backing up, verifying, rehearsing: where, what, how far, and what came out. Green only after a rehearsal."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path

from PySide6.QtWidgets import QWidget
from shiboken6 import isValid

from app.alerts import Alert
from app.session import Session
from app.theme import Shape, Text, Tone
from app.widgets import (
    Badge,
    ElidedLabel,
    KeyValueGrid,
    Question,
    Report,
    SectionLabel,
    ask_folder,
    button,
    label,
    number,
    opened,
    row,
    set_role,
    with_progress,
)
from app.wizards.copies import choose_copy, contents_text, count_text, passed_on
from engine.backup import Copy, Rehearsal, Verification
from engine.backup.backups import Estimate
from engine.durations import size_text
from engine.errors import PraxisError

FAILED = "backup failed"
"""The key of the strip that says that a backup failed; a good one takes it down."""


async def back_up(window: QWidget, session: Session) -> None:
    """Ask where, make the backup, verify and rehearse it, and say what came of it."""
    place = session.engine.backups.folder
    dialog = BackupDialog(window, session, place, await session.engine.backups.estimate(place))
    if not await opened(dialog):
        return
    place = dialog.place
    try:
        done = await with_progress(
            window,
            "Backing up",
            "Work goes on meanwhile. The backup appears when it is whole; then its restore is rehearsed.",
            partial(_back_up, session, place),
        )
    except PraxisError as error:
        session.alerts.show(
            Alert(
                FAILED, "The backup failed.", f"{error.what} {error.do}".strip(), Tone.BAD, dismissable=True
            )
        )
        raise
    if done is not None:
        session.alerts.clear(FAILED)
        session.refresh_status()
        await show_rehearsal(window, session, done)


async def verify_backup(window: QWidget, session: Session) -> None:
    """Let a person choose a backup, read all of it, and say whether it is true."""
    copy = await choose_copy(
        window,
        session,
        "Verify a backup",
        "Every file, the database, the journal's chain and every kept file are read. Nothing is changed.",
        action="Verify",
    )
    if copy is not None and (found := await verified(window, session, copy)) is not None:
        await show_verification(window, session, found)


async def rehearse_restore(window: QWidget, session: Session) -> None:
    """Let a person choose a backup, restore it into a scratch place, and say what came out."""
    copy = await choose_copy(
        window,
        session,
        "Rehearse a restore",
        "The backup is restored into a scratch folder, which is removed afterwards. Your data is not touched.",
        action="Rehearse",
    )
    if copy is None:
        return

    async def run(report: Report) -> Rehearsal:
        return await session.engine.backups.rehearse(copy.path, session.actor, passed_on(report))

    done = await with_progress(window, "Rehearsing a restore", "Your data is not touched.", run)
    if done is not None:
        session.refresh_status()
        await show_rehearsal(window, session, done)


async def verified(window: QWidget, session: Session, copy: Copy) -> Verification | None:
    """Verify a backup with progress; None if the person stopped it."""

    async def run(report: Report) -> Verification:
        return await session.engine.backups.verify(copy.path, passed_on(report))

    return await with_progress(window, "Verifying the backup", "Every byte of it is read.", run)


async def _back_up(session: Session, place: Path, report: Report) -> Rehearsal:
    backups = session.engine.backups
    made = await backups.back_up(session.actor, place=place, progress=passed_on(report))
    return await backups.rehearse(made.path, session.actor, passed_on(report, "rehearsing: "))


class BackupDialog(Question):
    """Where to, what will be in it, and what room there is."""

    def __init__(self, parent: QWidget | None, session: Session, place: Path, estimate: Estimate) -> None:
        super().__init__(
            parent,
            "Back up",
            "A backup holds everything that the console knows. You can go back to it at any time.",
        )
        self._session = session
        self.place = place
        self.setMinimumWidth(560)
        self.body.addWidget(SectionLabel("Into", self))
        line = row(gap=8)
        self._where = ElidedLabel(str(place), Text.CODE, parent=self)
        line.addWidget(self._where, 1)
        line.addWidget(
            button("Choose…", "Choose another folder, best on another disk", self._choose, parent=self)
        )
        self.body.addLayout(line)
        self.body.addWidget(SectionLabel("What is in it", self))
        self._facts = KeyValueGrid("What is in it", self)
        self.body.addWidget(self._facts)
        self._warning = label("", wrap=True, parent=self)
        set_role(self._warning, "warn")
        self.body.addWidget(self._warning)
        self.add_back()
        self.start = self.add_action("Back up now", "Make the backup, verify it and rehearse its restore")
        self.show_estimate(place, estimate)
        self.start.setFocus()

    def show_estimate(self, place: Path, estimate: Estimate) -> None:
        """Show what would be in a backup there."""
        self.place = place
        self._where.set_text(str(place))
        needed = estimate.database + estimate.kept_files
        facts = self._facts
        facts.clear()
        facts.add("Database", size_text(estimate.database))
        facts.add(
            "Kept files", f"{count_text(estimate.kept_count, 'file')}, {size_text(estimate.kept_files)}"
        )
        facts.add("Holds", contents_text(estimate.contents.counts))
        facts.add("Key", "The key of sealed secrets goes along: keep the backup as private as your data.")
        facts.add("Free there", size_text(estimate.free), tone=Tone.BAD if estimate.free < needed else None)
        if estimate.free < needed:
            words = f"There is not enough room: about {size_text(needed)} are needed."
        elif estimate.same_disk:
            words = (
                "This is the disk that your data is on. If the disk fails, both are lost: choose another one."
            )
        else:
            words = ""
        self._warning.setText(words)
        self._warning.setVisible(bool(words))
        self.start.setEnabled(estimate.free >= needed)

    def _choose(self) -> None:
        self._session.spawn(self._ask_place(), "choose where to back up")

    async def _ask_place(self) -> None:
        chosen = await ask_folder(self, "Where to back up", folder=Path.home())
        if chosen is None:
            return
        estimate = await self._session.engine.backups.estimate(chosen)
        if isValid(self):
            self.show_estimate(chosen, estimate)


async def show_rehearsal(window: QWidget, session: Session, done: Rehearsal) -> None:
    """Say what a restore of the backup would bring."""
    title = "The backup is proven" if done.good else "The backup is not proven"
    dialog = Question(
        window,
        title,
        "It was verified and restored into a scratch place, which is removed again."
        if done.good
        else "It was restored into a scratch place, and not everything came back.",
    )
    badge = Badge(parent=dialog)
    badge.show_word(*(("PROVEN", Tone.OK, Shape.DOT) if done.good else ("NOT PROVEN", Tone.BAD, Shape.CROSS)))
    dialog.body.addWidget(badge)
    facts = KeyValueGrid("What a restore would bring", dialog)
    if done.made_at is not None:
        facts.add("Made", session.times.stamp(done.made_at), tip=session.times.exact(done.made_at))
    facts.add("Where", str(done.path), code=True)
    facts.add(
        "In flight",
        f"{count_text(done.unknown, 'attempt')} would be UNKNOWN",
        tone=Tone.UNKNOWN if done.unknown else None,
    )
    facts.add("Requests", f"{number(done.void)}, open or approved and not used, would be void")
    facts.add(
        "By time",
        f"{count_text(done.due, 'waiting task')} and {count_text(done.wakes_due, 'wake')} would be due",
    )
    facts.add("Dispatch", "held until you have looked" if done.held else "not held")
    # The restore itself writes rows; they are not in the backup.
    own = done.after.journal_sequence - done.before_sequence
    rows = done.after.counts.get("journal_rows", 0) - own
    facts.add("Holds", contents_text({**done.after.counts, "journal_rows": rows}))
    if done.new_schema:
        facts.add("Brought up to date", ", ".join(done.new_schema))
    dialog.body.addWidget(facts)
    problems = [one.text for one in done.problems]
    if done.lacking:
        problems.append(
            f"{number(len(done.lacking))} kept files are lacking; they were lost before the backup."
        )
    await _finish(dialog, problems, done.path)


async def show_verification(window: QWidget, session: Session, found: Verification) -> None:
    """Say whether a backup is true."""
    dialog = Question(
        window,
        "The backup is good" if found.good else "The backup is not good",
        "Every file, the database, the journal's chain and every kept file are true. Rehearse it to prove it."
        if found.good
        else "It is restorable, but not everything would come back."
        if found.restorable
        else "It will not be restored. Make a new backup.",
    )
    badge = Badge(parent=dialog)
    badge.show_word(
        *(("VERIFIED", Tone.LIVE, Shape.RING) if found.good else ("NOT GOOD", Tone.BAD, Shape.CROSS))
    )
    dialog.body.addWidget(badge)
    facts = KeyValueGrid("What was read", dialog)
    if found.manifest is not None:
        facts.add("Made", session.times.stamp(found.manifest.instant))
        facts.add("Files", f"{number(len(found.manifest.files))}, {size_text(found.manifest.size)}")
        facts.add("Journal", f"up to {number(found.manifest.journal_sequence)}")
    facts.add("Where", str(found.path), code=True)
    dialog.body.addWidget(facts)
    await _finish(dialog, [one.text for one in found.problems], found.path)


async def _finish(dialog: Question, problems: Sequence[str], path: Path) -> None:
    for text in problems[:10]:
        said = label(text, wrap=True, selectable=True, parent=dialog)
        set_role(said, "danger")
        dialog.body.addWidget(said)
    if len(problems) > 10:
        dialog.body.addWidget(label(f"… and {len(problems) - 10} more", muted=True, parent=dialog))
    dialog.add_show_in_folder(path, "backup")
    dialog.setMinimumWidth(560)
    dialog.add_back("Close").setFocus()
    await opened(dialog)
