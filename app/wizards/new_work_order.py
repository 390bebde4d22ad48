"""The dialog for a new work order: fill in, check without saving, save as a file, submit."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from PySide6.QtCore import QSize, QTimer
from PySide6.QtGui import QCloseEvent
from PySide6.QtWidgets import QDialog, QWidget
from shiboken6 import isValid

from app.session import Session
from app.theme import Text
from app.widgets import (
    Role,
    ask_folder,
    ask_reason,
    ask_save_file,
    button,
    column,
    confirm,
    focus_next,
    frame,
    label,
    opened,
    row,
    rule,
    set_role,
)
from app.wizards.check_view import CheckView
from app.wizards.fields import fit_dialog
from app.wizards.work_order_form import WorkOrderForm
from engine.errors import PraxisError
from engine.ids import new_id
from engine.interfaces.work_order_file import to_toml
from engine.states import WorkOrderState
from engine.views.values import WorkOrderRow, WorkOrderStory
from engine.work_order import WorkOrderSpec, work_order_from_json

_AGAIN_MS = 250
_CHECK = "Dry check"


async def new_work_order(window: QWidget, session: Session) -> None:
    """Open the dialog and, if a work order was submitted, show it."""
    dialog = NewWorkOrderDialog(window, session)
    if await opened(dialog) and dialog.submitted is not None:
        session.open_page("work_orders", dialog.submitted.id)


async def replan(window: QWidget, session: Session, story: WorkOrderStory) -> None:
    """Ask why, open the dialog filled with an old work order, and put the new one in its place."""
    name = f"WO-{story.row.number}"
    waits = story.row.state in (WorkOrderState.AWAITING_ACCEPTANCE, WorkOrderState.DECISION_NEEDED)
    ends = (
        "its work is rejected" if waits else "it is cancelled, and what runs is stopped and becomes UNKNOWN"
    )
    reason = await ask_reason(
        window,
        f"Replan {name}?",
        f"A new work order is filled in from it for you to change. When you submit that one, {name} ends: {ends}. "
        "What was done in the workspace stays as it is.",
        action="Fill in the new one…",
    )
    if reason is None:
        return
    dialog = NewWorkOrderDialog(window, session, Replaced(story, reason))
    if await opened(dialog) and dialog.submitted is not None:
        session.open_page("work_orders", dialog.submitted.id)


@dataclass(frozen=True, slots=True)
class Replaced:
    """The work order in whose place the new one comes, and why."""

    story: WorkOrderStory
    reason: str


class NewWorkOrderDialog(QDialog):
    """See the module. ``submitted`` is the new work order after it was accepted."""

    def __init__(self, parent: QWidget | None, session: Session, replaced: Replaced | None = None) -> None:
        super().__init__(parent)
        self._session = session
        self._replaced = replaced
        self.submitted: WorkOrderRow | None = None
        # One dialog is one work order, however often Submit is pressed.
        self._key = new_id(session.engine.clock.now())
        self._busy = False
        self._asking = False
        self._tried = False
        self.setWindowTitle(self._heading())
        self.setAccessibleName(self._heading())
        self.setMinimumSize(560, 420)
        outer = column(self)
        outer.addWidget(self._build_head())
        self._form = WorkOrderForm(session.times, self)
        if replaced is not None:
            self._form.fill(work_order_from_json(replaced.story.spec))
        outer.addWidget(self._form, 1)
        self._check_view = CheckView(self)
        self._check_view.hide()
        outer.addWidget(self._build_foot())
        self._again = QTimer(self, interval=_AGAIN_MS, singleShot=True)
        self._again.timeout.connect(self._read_again)
        self._form.changed.connect(self._edited)
        self._form.folder_wanted.connect(self._choose_folder)
        self._form.focus_first()
        fit_dialog(self, QSize(820, 600))

    def focusNextPrevChild(self, next: bool) -> bool:
        """Tab goes as one reads."""
        return focus_next(self, next)

    @property
    def form(self) -> WorkOrderForm:
        """The form."""
        return self._form

    # -------------------------------------------------------------------------------------------- building

    def _heading(self) -> str:
        if self._replaced is None:
            return "New work order"
        return f"New work order in place of WO-{self._replaced.story.row.number}"

    def _build_head(self) -> QWidget:
        head = frame("window", self)
        lines = column(head, margins=(18, 14, 18, 8), gap=4)
        lines.addWidget(label(self._heading(), Text.TITLE, parent=head))
        words = "Nothing runs when you submit it: its exact command is sealed and waits in the inbox for approval."
        lines.addWidget(label(words, muted=True, wrap=True, parent=head))
        return head

    def _build_foot(self) -> QWidget:
        foot = frame("surface", self)
        lines = column(foot)
        lines.addWidget(rule(foot))
        self._said = label("", wrap=True, selectable=True, parent=foot)
        self._said.setContentsMargins(18, 8, 18, 0)
        set_role(self._said, "danger")
        self._said.hide()
        lines.addWidget(self._said)
        line = row(margins=(18, 10, 18, 12), gap=8)
        self._save = button(
            "Save as TOML…", "Write this work order to a file that can be imported", self._save_pressed
        )
        self._check = button(
            "Dry check", "Resolve and seal everything without saving it", self._check_pressed, key="Ctrl+D"
        )
        self._back = button(
            "Go back", "Close this and submit nothing", self.reject, key="Esc", shortcut=False
        )
        self._submit = button(
            "Submit",
            "Save it; its command then waits for approval in the inbox",
            self._submit_pressed,
            role=Role.PRIMARY,
            key="Ctrl+Return",
        )
        line.addWidget(self._save)
        line.addWidget(self._check)
        line.addStretch(1)
        line.addWidget(self._back)
        line.addWidget(self._submit)
        lines.addLayout(line)
        return foot

    # --------------------------------------------------------------------------------------------- reading

    def _edited(self) -> None:
        self._drop_check()
        if self._tried:
            self._again.start()

    def _read_again(self) -> None:
        _, count = self._form.read()
        self._say(_count_words(count))

    def _read(self) -> WorkOrderSpec | None:
        """Read the form; on problems say so, go to the first, and give None."""
        self._tried = True
        spec, count = self._form.read()
        self._say(_count_words(count))
        if spec is None:
            self._form.go_to_first_problem()
        return spec

    def _say(self, text: str, role: str = "danger") -> None:
        set_role(self._said, role)
        self._said.setText(text)
        self._said.setVisible(bool(text))

    def _say_error(self, error: PraxisError) -> None:
        """Say what the engine found; at the field too, where it names one."""
        words = " ".join(part for part in (error.what, error.means, error.do) if part)
        self._say(words)
        field = str(error.facts.get("field", ""))
        step = str(error.facts.get("step", "implementation")).lower()
        if field:
            self._form.say([(field if "." in field or field == "workspace" else f"{step}.{field}", words)])
            self._form.go_to_first_problem()

    # ----------------------------------------------------------------------------------------------- doing

    def _choose_folder(self) -> None:
        self._session.spawn(self._ask_folder(), "choose a workspace")

    async def _ask_folder(self) -> None:
        now = Path(self._form.workspace() or Path.home())
        chosen = await ask_folder(self, "Choose the workspace", folder=now if now.is_dir() else None)
        if chosen is not None:
            self._form.set_workspace(str(chosen))

    def _check_pressed(self) -> None:
        spec = self._read()
        if spec is not None:
            self._run(self._check_now(spec), "Checking…")

    async def _check_now(self, spec: WorkOrderSpec) -> None:
        check = await self._session.engine.check(spec)
        self._check_view.show_check(check)
        if self._form.indexOf(self._check_view) < 0:
            self._form.addTab(self._check_view, _CHECK)
        self._form.setCurrentWidget(self._check_view)
        self._say("")

    def _drop_check(self) -> None:
        """What was checked is no longer what stands here."""
        place = self._form.indexOf(self._check_view)
        if place >= 0:
            self._form.removeTab(place)

    def _save_pressed(self) -> None:
        spec = self._read()
        if spec is not None:
            self._run(self._save_now(spec), "")

    async def _save_now(self, spec: WorkOrderSpec) -> None:
        name = "-".join("".join(c if c.isalnum() else " " for c in spec.title.lower()).split())[:60]
        path = await ask_save_file(
            self, "Save the work order", filters="Work order (*.toml)", name=f"{name or 'work-order'}.toml"
        )
        if path is None:
            return
        path = path if path.suffix else path.with_suffix(".toml")
        try:
            await asyncio.to_thread(path.write_text, to_toml(spec), encoding="utf-8")
        except OSError as error:
            self._say(f"It could not be written to {path}: {error.strerror or error}.")
            return
        self._say(f"Written to {path}.", "ok")

    def _submit_pressed(self) -> None:
        spec = self._read()
        if spec is not None:
            self._run(self._submit_now(spec), "Looking at everything, and sealing it…")

    async def _submit_now(self, spec: WorkOrderSpec) -> None:
        engine, actor = self._session.engine, self._session.actor
        if self._replaced is None:
            self.submitted = await engine.submit(spec, actor, key=self._key)
        else:
            old = self._replaced.story.row.id
            self.submitted = await engine.replan(
                old, spec, actor, reason=self._replaced.reason, key=self._key
            )
        self.accept()

    def _run(self, work: Coroutine[Any, Any, None], words: str) -> None:
        if self._busy:
            work.close()
            return
        self._set_busy(True)
        self._say(words, "muted")
        self._session.spawn(self._guarded(work), "new work order")

    async def _guarded(self, work: Coroutine[Any, Any, None]) -> None:
        try:
            await work
        except PraxisError as error:
            if isValid(self):
                self._say_error(error)
        finally:
            if isValid(self):
                self._set_busy(False)

    def _set_busy(self, busy: bool) -> None:
        self._busy = busy
        for made in (self._save, self._check, self._submit):
            made.setEnabled(not busy)

    # --------------------------------------------------------------------------------------------- closing

    def reject(self) -> None:
        """Close; what was entered is thrown away only after a question."""
        if self._form.is_empty():
            super().reject()
        elif not self._asking:
            self._asking = True
            self._session.spawn(self._ask_to_close(), "close the new work order")

    def closeEvent(self, event: QCloseEvent) -> None:
        """Closing the window asks like Escape does."""
        if self.result() == QDialog.DialogCode.Accepted.value or self._form.is_empty():
            super().closeEvent(event)
            return
        event.ignore()
        self.reject()

    async def _ask_to_close(self) -> None:
        try:
            sure = await confirm(
                self,
                "Throw away what you entered?",
                "The work order has not been submitted or saved.",
                action="Throw it away",
                danger=True,
            )
        finally:
            self._asking = False
        if sure:
            super().reject()


def _count_words(count: int) -> str:
    if count == 0:
        return ""
    return "One thing needs mending." if count == 1 else f"{count} things need mending."
