"""The form of a schedule: which work order, when, what becomes of missed occurrences, and when it ends."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from zoneinfo import ZoneInfo, available_timezones

from PySide6.QtCore import QDateTime, QTimeZone, Signal
from PySide6.QtGui import QWheelEvent
from PySide6.QtWidgets import (
    QButtonGroup,
    QComboBox,
    QDateTimeEdit,
    QLineEdit,
    QRadioButton,
    QWidget,
)

from app.panels.wakes.words import CATCH_UP_MEANS, CATCH_UP_WORDS
from app.panels.words import folder_name, order_name
from app.theme import Text
from app.widgets import ElidedLabel, Times, Zone, button, column, label, row, spoken
from app.wizards.fields import CalmComboBox, CalmSpinBox, FieldGrid
from engine.durations import format_duration
from engine.instants import LATEST, Instant
from engine.wakes import CatchUp
from engine.work_order import WorkOrderSpec

PATTERNS: tuple[tuple[str, str], ...] = (
    ("Every day", "0 9 * * *"),
    ("Every working day", "0 9 * * MON-FRI"),
    ("Every Monday", "0 9 * * MON"),
    ("The first of every month", "0 9 1 * *"),
    ("Every hour", "0 * * * *"),
)
"""Patterns to begin with, at nine where a time is needed."""

OWN_PATTERN = "As written below"
CALENDAR, INTERVAL = range(2)
NEVER, AT, COUNT = range(3)


@dataclass(frozen=True, slots=True)
class Template:
    """A work order that a schedule can submit: where it comes from, and what it is."""

    name: str
    spec: WorkOrderSpec

    @classmethod
    def of_order(cls, number: int, spec: WorkOrderSpec) -> Template:
        """An existing work order; its own time does not count in a schedule."""
        return cls(f"{order_name(number)} · {spec.title}", replace(spec, due_at=None))


@dataclass(frozen=True, slots=True)
class Timing:
    """When a schedule occurs: exactly one of ``cron`` (with ``zone``) and ``every``.

    ``start`` is a moment of the grid of ``every``, without it the present one.
    """

    cron: str | None = None
    zone: str | None = None
    every: str | None = None
    start: Instant | None = None
    until: Instant | None = None
    count: int | None = None


class MomentEdit(QDateTimeEdit):
    """Day and time in the zone in which the console writes times; the wheel does not change it."""

    def __init__(self, times: Times, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        utc = times.zone is Zone.UTC
        self._zone = QTimeZone.utc() if utc else QTimeZone.systemTimeZone()
        self.setDisplayFormat("yyyy-MM-dd HH:mm")
        self.setTimeZone(self._zone)

    @property
    def instant(self) -> Instant:
        """What is entered."""
        shown = self.dateTime()
        return int(QDateTime(shown.date(), shown.time(), self._zone).toMSecsSinceEpoch())

    def show_instant(self, instant: Instant) -> None:
        """Enter another one."""
        self.setDateTime(QDateTime.fromMSecsSinceEpoch(instant, self._zone))

    def wheelEvent(self, event: QWheelEvent) -> None:
        """Leave the wheel to what is around."""
        event.ignore()


def zone_names() -> tuple[str, ...]:
    """Every time zone of this machine and of the program's own data, by name."""
    return tuple(
        sorted(name for name in available_timezones() if not name.startswith(("Etc/", "posix", "right")))
    )


def own_zone(times: Times) -> str:
    """The zone that a new schedule begins with: the one in which the console writes times."""
    if times.zone is Zone.UTC:
        return "UTC"
    found = bytes(QTimeZone.systemTimeZoneId().data()).decode("ascii", "replace")
    try:
        return ZoneInfo(found).key
    except (ValueError, OSError, LookupError):
        return "UTC"


class ScheduleForm(FieldGrid):
    """See the module. ``file_wanted`` comes when a person wants to choose a work order file."""

    file_wanted = Signal()
    picked = Signal(str)

    def __init__(self, times: Times, *, changing: bool, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._times = times
        self._templates: list[Template | str] = []
        self._template: Template | None = None
        # The grid that a schedule has now; it goes on as long as its period is left alone.
        self._grid_every = ""
        self._grid_start: Instant | None = None
        self._build_order()
        self._build_rule()
        self._build_missed()
        self._build_end()
        self.reason: QLineEdit | None = None
        if changing:
            self.reason = self.line(
                "reason", "Reason", "Why it is changed; kept in the journal with your name"
            )
        self.finish()
        self._rule_changed()
        self._end_changed()

    # -------------------------------------------------------------------------------------------- building

    def _build_order(self) -> None:
        holder = QWidget(self)
        lines = column(holder, gap=4)
        line = row(gap=8)
        self._orders = CalmComboBox(holder)
        _name(self._orders, "Work order", "The work order that each occurrence submits anew")
        self._orders.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
        self._orders.setMinimumContentsLength(18)
        self._orders.addItem("Choose…")
        self._templates.append("")
        self._orders.currentIndexChanged.connect(self._order_chosen)
        holder.setFocusProxy(self._orders)
        line.addWidget(self._orders, 1)
        line.addWidget(
            button(
                "From a file…",
                "Choose a work order file, TOML or JSON",
                self.file_wanted.emit,
                name="Choose a work order file",
                parent=holder,
            )
        )
        lines.addLayout(line)
        self._summary = ElidedLabel("", Text.SMALL, muted=True, parent=holder)
        lines.addWidget(self._summary)
        self.add("work_order", "Work order", holder)

    def _build_rule(self) -> None:
        self._kind = self._choice(
            "rule", "Recurs", "How its times are given", ("At times of the calendar", "At a fixed interval")
        )
        self._kind.currentIndexChanged.connect(self._rule_changed)
        self._pattern = self._choice(
            "pattern", "Pattern", "A pattern to begin with", (*(name for name, _ in PATTERNS), OWN_PATTERN)
        )
        self._pattern.activated.connect(self._pattern_chosen)
        self._cron = self.line(
            "cron",
            "Cron",
            "Five fields: minute, hour, day of month, month, day of week",
            hint="Minute, hour, day of month, month, day of week.",
        )
        self._cron.setText(PATTERNS[0][1])
        self._cron.textEdited.connect(self._cron_edited)
        self._zone = CalmComboBox(self)
        _name(self._zone, "Time zone", "The zone whose clocks count; its changes of the clocks are followed")
        self._zone.setEditable(True)
        self._zone.setInsertPolicy(QComboBox.InsertPolicy.NoInsert)
        self._zone.setCurrentText(own_zone(self._times))
        self._zone.setMinimumContentsLength(18)
        self._zone.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
        field = self._zone.lineEdit()
        if field is not None:
            _name(field, "Time zone", "An IANA name, such as Europe/Berlin or UTC")
        self._zone.currentTextChanged.connect(self.changed)
        self.add("zone", "Time zone", self._zone)
        self._every = self.line(
            "every",
            "Every",
            "The time between two occurrences, such as 90m, 6h or 1d",
            placeholder="6h",
            hint="Such as 90m, 6h or 1d: a fixed grid that no change of the clocks moves.",
        )

        self._every.setText("6h")

    def offer_zones(self, names: Sequence[str]) -> None:
        """Offer time zones by name; what is entered stays."""
        entered = self._zone.currentText()
        was_blocked = self._zone.blockSignals(True)
        self._zone.addItems(list(names))
        self._zone.setCurrentText(entered)
        self._zone.blockSignals(was_blocked)

    def _build_missed(self) -> None:
        holder = QWidget(self)
        lines = column(holder, gap=3)
        self._missed = QButtonGroup(holder)
        self._policies = (CatchUp.ASK, CatchUp.LATEST, CatchUp.ALL, CatchUp.NONE)
        for number, policy in enumerate(self._policies):
            made = QRadioButton(CATCH_UP_WORDS[policy], holder)
            _name(made, f"If missed: {CATCH_UP_WORDS[policy].lower()}", CATCH_UP_MEANS[policy])
            self._missed.addButton(made, number)
            lines.addWidget(made)
            means = label(CATCH_UP_MEANS[policy], Text.SMALL, muted=True, wrap=True, parent=holder)
            means.setContentsMargins(21, 0, 0, 4)
            lines.addWidget(means)
        self._missed.button(1).setChecked(True)
        holder.setFocusProxy(self._missed.button(1))
        self._missed.idToggled.connect(self.changed)
        self.add("catch_up", "If missed", holder)

    def _build_end(self) -> None:
        self._end = self._choice(
            "end", "Ends", "When it ends by itself", ("When I end it", "After a moment", "After so many")
        )
        self._end.currentIndexChanged.connect(self._end_changed)
        self._until = MomentEdit(self._times, self)
        _name(self._until, "Last moment", f"Day and time after which nothing occurs, {self._zone_words()}")
        self._until.show_instant(self._times.now() + 30 * 24 * 3_600_000)
        self._until.dateTimeChanged.connect(self.changed)
        self.add("until", "Last moment", self._until, f"In {self._zone_words()}.")
        self._count = CalmSpinBox(self)
        _name(self._count, "Occurrences", "How many occurrences it has in all")
        self._count.setRange(1, 1_000_000)
        self._count.setValue(10)
        self._count.valueChanged.connect(self.changed)
        self.add("count", "Occurrences", self._count)

    def _choice(self, field: str, name: str, tip: str, words: Sequence[str]) -> QComboBox:
        made = CalmComboBox(self)
        _name(made, name, tip)
        made.addItems(list(words))
        made.currentIndexChanged.connect(self.changed)
        self.add(field, name, made)
        return made

    def _zone_words(self) -> str:
        return "UTC" if self._times.zone is Zone.UTC else "local time"

    # -------------------------------------------------------------------------------------- the work order

    def offer_orders(self, orders: Sequence[tuple[str, str]]) -> None:
        """Offer existing work orders by (id, name); ``picked`` tells when one is chosen, to be given to `take`."""
        for identity, name in orders:
            self._templates.append(identity)
            self._orders.addItem(spoken(name))

    def take(self, template: Template, identity: str = "") -> None:
        """Use a work order: one that was picked (by its id), or another, which is listed as well."""
        if identity:
            place = self._templates.index(identity)
            self._templates[place] = template
        else:
            self._templates.insert(1, template)
            self._orders.insertItem(1, spoken(template.name))
            place = 1
        if self._orders.currentIndex() == place:
            self._order_chosen(place)
        else:
            self._orders.setCurrentIndex(place)

    @property
    def template(self) -> Template | None:
        """The work order that was chosen."""
        return self._template

    def _order_chosen(self, place: int) -> None:
        chosen = self._templates[place] if 0 <= place < len(self._templates) else ""
        self._template = chosen if isinstance(chosen, Template) else None
        if isinstance(chosen, str) and chosen:
            self._summary.set_text("Reading it…")
            self.picked.emit(chosen)
        elif self._template is not None:
            spec = self._template.spec
            command = " ".join(spoken(part) for part in spec.implementation.argv)
            self._summary.set_text(f"{spoken(folder_name(spec.workspace))} · {command}")
            self.say("work_order", ())
        else:
            self._summary.set_text("Nothing is chosen yet.")
        self.changed.emit()

    # ------------------------------------------------------------------------------------------- the rule

    def _rule_changed(self) -> None:
        calendar = self._kind.currentIndex() == CALENDAR
        self.show_fields(("pattern", "cron", "zone"), calendar)
        self.show_fields(("every",), not calendar)

    def _end_changed(self) -> None:
        self.show_fields(("until",), self._end.currentIndex() == AT)
        self.show_fields(("count",), self._end.currentIndex() == COUNT)

    def _pattern_chosen(self, place: int) -> None:
        if place < len(PATTERNS):
            self._cron.setText(PATTERNS[place][1])
        self._cron.setFocus()
        self._cron.selectAll()

    def _cron_edited(self, text: str) -> None:
        known = [cron for _, cron in PATTERNS]
        written = " ".join(text.split())
        self._pattern.setCurrentIndex(known.index(written) if written in known else len(PATTERNS))

    def timing(self) -> Timing:
        """What is entered about when; it is judged by the engine."""
        end = self._end.currentIndex()
        until = self._until.instant if end == AT else None
        count = self._count.value() if end == COUNT else None
        if self._kind.currentIndex() == CALENDAR:
            zone = self._zone.currentText().strip()
            return Timing(cron=self._cron.text().strip(), zone=zone, until=until, count=count)
        every = self._every.text().strip().replace(" ", "")
        start = self._grid_start if every == self._grid_every else None
        return Timing(every=every, start=start, until=until, count=count)

    @property
    def catch_up(self) -> CatchUp:
        """What becomes of missed occurrences."""
        return self._policies[self._missed.checkedId()]

    def fill(
        self,
        rule: dict[str, object],
        catch_up: CatchUp,
        until: Instant | None,
        count: int | None,
    ) -> None:
        """Enter what a schedule has now; ``rule`` is its stored form."""
        if "cron" in rule:
            self._kind.setCurrentIndex(CALENDAR)
            self._cron.setText(str(rule["cron"]))
            self._cron_edited(str(rule["cron"]))
            self._zone.setCurrentText(str(rule["zone"]))
        else:
            self._kind.setCurrentIndex(INTERVAL)
            period, anchor = rule["every"], rule["anchor"]
            assert isinstance(period, int)
            assert isinstance(anchor, int)
            self._grid_every, self._grid_start = format_duration(period), anchor
            self._every.setText(self._grid_every)
        self._missed.button(self._policies.index(catch_up)).setChecked(True)
        if until is not None and until < LATEST:
            self._end.setCurrentIndex(AT)
            self._until.show_instant(until)
        elif count is not None:
            self._end.setCurrentIndex(COUNT)
            self._count.setValue(count)

    def reason_text(self) -> str:
        """Why it is changed."""
        return "" if self.reason is None else self.reason.text().strip()


def _name(widget: QWidget, name: str, tip: str) -> None:
    widget.setAccessibleName(name)
    widget.setAccessibleDescription(tip)
    widget.setToolTip(tip)
