"""The schedule editor: a work order that is submitted again and again, with its coming occurrences beside it (E-27)."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from pathlib import Path

from PySide6.QtCore import QSize, Qt, QTimer
from PySide6.QtWidgets import QDialog, QScrollArea, QWidget
from shiboken6 import isValid

from app.panels.wakes.preview import PreviewTable
from app.panels.wakes.schedule_form import ScheduleForm, Template, Timing, zone_names
from app.panels.words import order_name
from app.session import Session
from app.theme import Text
from app.widgets import (
    EmptyState,
    Role,
    SectionLabel,
    ask_open_file,
    button,
    column,
    frame,
    label,
    opened,
    row,
    rule,
    set_role,
)
from app.wizards.fields import fit_dialog
from app.wizards.import_work_orders import problem_lines
from engine.errors import InvalidValue, PraxisError
from engine.ids import new_id
from engine.interfaces.work_order_file import read_work_order
from engine.wakes import Occurrence, Series
from engine.work_order import work_order_from_json

PREVIEWED = 8
AHEAD = 400
"""How many occurrences are looked through for days whose clocks change."""

AHEAD_MS = 800 * 24 * 3_600_000
MOST_CHANGES = 3
ORDERS_OFFERED = 100
PREVIEW_AFTER_MS = 150
_FILE = "Work order (*.toml *.json)"


async def make_schedule(window: QWidget, session: Session, series: Series | None = None) -> str | None:
    """Open the editor for a new schedule, or to change one; gives its id, None if the person went back."""
    dialog = ScheduleDialog(window, session, series)
    if await opened(dialog) and dialog.saved is not None:
        return dialog.saved
    return None


class ScheduleDialog(QDialog):
    """See the module. ``saved`` is the schedule's id after it was accepted."""

    def __init__(self, parent: QWidget | None, session: Session, series: Series | None = None) -> None:
        super().__init__(parent)
        self._session = session
        self._series = series
        self.saved: str | None = None
        # One dialog is one schedule, however often Save is pressed.
        self._key = new_id(session.engine.clock.now())
        self._busy = False
        self._asked = 0
        heading = "New schedule" if series is None else "Change a schedule"
        self.setWindowTitle(heading)
        self.setAccessibleName(heading)
        self.setMinimumSize(560, 400)
        outer = column(self)
        outer.addWidget(self._build_head(heading))
        outer.addWidget(rule(self))
        middle = row(gap=0)
        self.form = ScheduleForm(session.times, changing=series is not None)
        scroll = QScrollArea(self)
        scroll.setWidgetResizable(True)
        scroll.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        scroll.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        scroll.setAccessibleName("Schedule")
        scroll.setWidget(self.form)
        middle.addWidget(scroll, 5)
        middle.addWidget(self._build_preview(), 4)
        outer.addLayout(middle, 1)
        outer.addWidget(self._build_foot(series is None))
        self._soon = QTimer(self, interval=PREVIEW_AFTER_MS, singleShot=True)
        self._soon.timeout.connect(self.preview_now)
        if series is not None:
            self._fill(series)
        self.form.changed.connect(self._soon.start)
        self.form.file_wanted.connect(self._choose_file)
        self.form.picked.connect(self._pick)
        session.spawn(self._offer(), "read what a schedule can be made of")
        self.preview_now()
        self.form.focus("work_order")
        fit_dialog(self, QSize(1000, 640))

    # -------------------------------------------------------------------------------------------- building

    def _build_head(self, heading: str) -> QWidget:
        head = frame("window", self)
        lines = column(head, margins=(18, 14, 18, 10), gap=4)
        lines.addWidget(label(heading, Text.TITLE, parent=head))
        words = (
            "Each occurrence submits this work order anew. It then waits in the inbox for your approval, like any "
            "other: nothing runs because of a schedule alone."
        )
        lines.addWidget(label(words, muted=True, wrap=True, parent=head))
        return head

    def _build_preview(self) -> QWidget:
        side = frame("window", self)
        side.setMinimumWidth(330)
        area = QScrollArea(self)
        area.setWidgetResizable(True)
        area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        area.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        area.setAccessibleName("Preview")
        area.setWidget(side)
        lines = column(side, margins=(8, 14, 18, 14), gap=6)
        lines.addWidget(SectionLabel("Coming occurrences", side))
        self.coming = PreviewTable(self._session.times, side)
        lines.addWidget(self.coming)
        self._none = EmptyState("No preview", "Give a time, and the coming occurrences stand here.")
        lines.addWidget(self._none)
        lines.addSpacing(8)
        self._changes_head = SectionLabel("Next on days whose clocks change", side)
        lines.addWidget(self._changes_head)
        self.changes = PreviewTable(self._session.times, side, name="Occurrences on days whose clocks change")
        lines.addWidget(self.changes)
        self._changes_words = label("", Text.SMALL, muted=True, wrap=True, parent=side)
        lines.addWidget(self._changes_words)
        lines.addStretch(1)
        return area

    def _build_foot(self, is_new: bool) -> QWidget:
        foot = frame("surface", self)
        lines = column(foot)
        lines.addWidget(rule(foot))
        self._said = label("", wrap=True, selectable=True, parent=foot)
        self._said.setContentsMargins(18, 8, 18, 0)
        set_role(self._said, "danger")
        self._said.hide()
        lines.addWidget(self._said)
        line = row(margins=(18, 10, 18, 12), gap=8)
        line.addStretch(1)
        line.addWidget(
            button("Go back", "Close this and change nothing", self.reject, key="Esc", shortcut=False)
        )
        self._save = button(
            "Make schedule" if is_new else "Change schedule",
            "Put it in force; its first occurrence is the first one in the preview",
            self._save_pressed,
            role=Role.PRIMARY,
            key="Ctrl+Return",
        )
        line.addWidget(self._save)
        lines.addLayout(line)
        return foot

    # ---------------------------------------------------------------------------------------- the template

    def _fill(self, series: Series) -> None:
        self.form.fill(json.loads(series.rule), series.catch_up, series.until, series.count)
        spec = work_order_from_json(json.loads(series.intent)["work_order"])
        self.form.take(Template(f"As it is: {spec.title}", spec))

    async def _offer(self) -> None:
        """Fill in what can be chosen from; the names of the zones are read from many files."""
        names = await asyncio.to_thread(zone_names)
        if isValid(self):
            self.form.offer_zones(names)
        orders = await self._session.engine.work_orders(limit=ORDERS_OFFERED)
        if isValid(self):
            self.form.offer_orders(
                [(order.id, f"{order_name(order.number)} · {order.title}") for order in orders]
            )

    def _pick(self, order_id: str) -> None:
        self._session.spawn(self._read_order(order_id), "read a work order")

    async def _read_order(self, order_id: str) -> None:
        story = await self._session.engine.work_order(order_id)
        if isValid(self):
            spec = work_order_from_json(story.spec)
            self.form.take(Template.of_order(story.row.number, spec), order_id)

    def _choose_file(self) -> None:
        self._session.spawn(self._ask_file(), "choose a work order file")

    async def _ask_file(self) -> None:
        path = await ask_open_file(self, "Choose a work order file", filters=_FILE)
        if path is not None and isValid(self):
            await self.take_file(path)

    async def take_file(self, path: Path) -> None:
        """Use the work order of a file; what is wrong with it is said at the field."""
        try:
            spec = await asyncio.to_thread(read_work_order, path)
        except PraxisError as error:
            if isValid(self):
                self.form.say("work_order", [f"{path.name}: {line}" for line in problem_lines(error)][:5])
            return
        if isValid(self):
            self.form.take(Template(f"{path.name} · {spec.title}", spec))

    # -------------------------------------------------------------------------------------------- preview

    def preview_now(self) -> asyncio.Task[None]:
        """Reckon the coming occurrences of what is entered, and show them at the end of the task."""
        self._asked += 1
        self._say("")
        return self._session.spawn(self._preview(self._asked), "preview a schedule")

    async def _preview(self, asked: int) -> None:
        timing = self.form.timing()
        problems = await self._problems(timing)
        found: tuple[Occurrence, ...] = ()
        ahead: tuple[Occurrence, ...] = ()
        if not problems:
            try:
                found = await self._reckon(timing, PREVIEWED)
                ahead = await asyncio.to_thread(self._look_ahead, timing)
            except InvalidValue as error:
                problems = {_field_of(error, timing): _words(error)}
        if not isValid(self) or asked != self._asked:
            return
        self._say_problems(problems)
        self._show_preview(found, ahead, timing)

    def _look_ahead(self, timing: Timing) -> tuple[Occurrence, ...]:
        """The occurrences of the next two years, as far as days whose clocks change are looked for."""
        clock, alarm = self._session.engine.clock, self._session.engine.wakes
        end = clock.now() + AHEAD_MS
        return alarm.preview_rule(
            cron=timing.cron,
            zone=timing.zone,
            every=timing.every,
            start=timing.start,
            until=end if timing.until is None else min(end, timing.until),
            number=AHEAD if timing.count is None else min(AHEAD, timing.count),
        )

    async def _reckon(self, timing: Timing, number: int) -> tuple[Occurrence, ...]:
        return await self._session.engine.schedules.preview_rule(
            cron=timing.cron,
            zone=timing.zone,
            every=timing.every,
            start=timing.start,
            until=timing.until,
            number=number if timing.count is None else min(number, timing.count),
        )

    async def _problems(self, timing: Timing) -> dict[str, str]:
        """What is wrong with each field by itself."""
        alone = (
            ("cron", Timing(cron=timing.cron, zone="UTC")),
            ("zone", Timing(cron="0 0 * * *", zone=timing.zone)),
        )
        if timing.every is not None:
            alone = (("every", Timing(every=timing.every)),) * 2
        found: dict[str, str] = {}
        for field, one in alone:
            try:
                await self._reckon(one, 1)
            except InvalidValue as error:
                found[field] = _words(error)
        return found

    def _say_problems(self, problems: dict[str, str]) -> None:
        for field in ("cron", "zone", "every", "until"):
            self.form.say(field, [problems[field]] if field in problems else ())

    def _show_preview(self, found: Sequence[Occurrence], ahead: Sequence[Occurrence], timing: Timing) -> None:
        marked = [one for one in ahead[len(found) :] if one.mark is not None][:MOST_CHANGES]
        self.coming.show_occurrences(found)
        self.coming.setVisible(bool(found))
        self._none.setVisible(not found)
        self.changes.show_occurrences(marked)
        for part in (self._changes_head, self.changes):
            part.setVisible(bool(marked))
        self._changes_words.setText(_changes_words((*found, *ahead), timing))
        if timing.until is not None and not found and not self.form.said("cron"):
            self.form.say("until", ["Nothing occurs before this moment."])

    # ---------------------------------------------------------------------------------------------- saving

    def _save_pressed(self) -> None:
        if self._busy:
            return
        wrong = self._missing()
        if wrong:
            self._say("One thing needs mending." if len(wrong) == 1 else f"{len(wrong)} things need mending.")
            self.form.focus(wrong[0])
            return
        self._busy = True
        self._save.setEnabled(False)
        self._session.spawn(self._save_now(), "save a schedule")

    def _missing(self) -> list[str]:
        """The fields that need mending, from the top."""
        template = self.form.template
        if template is None:
            self.form.say("work_order", ["Choose the work order that is to be submitted."])
        wrong = [] if template is not None else ["work_order"]
        wrong += [field for field in ("cron", "zone", "every", "until") if self.form.said(field)]
        if self.form.reason is not None:
            missing = not self.form.reason_text()
            self.form.say("reason", ["Say why, in a few words."] if missing else ())
            wrong += ["reason"] if missing else []
        return wrong

    async def _save_now(self) -> None:
        try:
            self.saved = await self._save_draft()
        except PraxisError as error:
            if isValid(self):
                self._say(" ".join(part for part in (error.what, error.means, error.do) if part))
                self._busy = False
                self._save.setEnabled(True)
            return
        if isValid(self):
            self.accept()

    async def _save_draft(self) -> str:
        template, timing = self.form.template, self.form.timing()
        assert template is not None
        schedules, actor = self._session.engine.schedules, self._session.actor
        if self._series is None:
            made = await schedules.add(
                template.spec,
                actor,
                cron=timing.cron,
                zone=timing.zone,
                every=timing.every,
                until=timing.until,
                count=timing.count,
                catch_up=self.form.catch_up,
                key=self._key,
            )
            return made.id
        changed = await schedules.change(
            self._series.id,
            actor,
            reason=self.form.reason_text(),
            spec=template.spec,
            cron=timing.cron,
            zone=timing.zone,
            every=timing.every,
            start=timing.start,
            until=timing.until,
            count=timing.count,
            no_end=True,
            catch_up=self.form.catch_up,
        )
        return changed.id

    def _say(self, text: str) -> None:
        self._said.setText(text)
        self._said.setVisible(bool(text))


def _words(error: PraxisError) -> str:
    return " ".join(part for part in (error.what, error.do) if part)


def _field_of(error: InvalidValue, timing: Timing) -> str:
    """Where an error of a whole rule is said."""
    field = str(error.facts.get("field", ""))
    if field in ("cron", "zone", "every", "until"):
        return field if field != "every" or timing.every is not None else "cron"
    return "cron" if timing.cron is not None else "every"


def _changes_words(found: Sequence[Occurrence], timing: Timing) -> str:
    if not found:
        return ""
    if timing.every is not None:
        return "A fixed interval goes on through changes of the clocks; its local time moves with them."
    if any(one.mark is not None for one in found):
        return (
            "A local time that does not exist on such a day fires when the clocks have changed; one that occurs twice "
            "fires once."
        )
    return "None of the coming occurrences lies on a day whose clocks change."
