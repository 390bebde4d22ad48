"""The form of a work order: the same fields as a work order file, checked by the same rules.

What is entered becomes the values of a work order file and is read by `engine.interfaces.work_order_file`;
each of its problems goes to the field it is about.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable
from typing import Any

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import (
    QButtonGroup,
    QCheckBox,
    QLineEdit,
    QRadioButton,
    QScrollArea,
    QTabWidget,
    QWidget,
)

from app.widgets import Times, button, check_box, column, row
from app.wizards.arguments_edit import ArgumentsEdit
from app.wizards.environment_table import EnvironmentTable
from app.wizards.fields import FieldGrid, lines_of
from engine.durations import format_duration, format_size
from engine.errors import InvalidWorkOrder
from engine.interfaces.work_order_file import Problem, parse_work_order
from engine.work_order import (
    DEFAULT_OUTPUT_LIMIT_BYTES,
    CommandSpec,
    Secret,
    ValidatedBy,
    WorkOrderSpec,
)

_COMMAND = ("argv", "folder", "environment", "inputs", "artifacts", "report", "time_limit", "max_cost")
_SECRET_HINT = "A secret names a variable of the console; its content is sealed, never stored or shown."


class CommandFields:
    """The fields of one command within a tab, and what they come to."""

    def __init__(self, grid: FieldGrid, section: str, name: str, *, report: bool) -> None:
        self._grid = grid
        self._section = section
        self._beyond: dict[str, Any] = {}
        self.arguments = ArgumentsEdit(name, grid)
        self.arguments.changed.connect(grid.changed)
        grid.add(f"{section}.argv", name, self.arguments)
        self._folder = grid.line(
            f"{section}.folder",
            "Working folder",
            "Relative to the workspace",
            placeholder="the workspace itself",
        )
        self._environment = EnvironmentTable(f"{name}: environment", grid)
        self._environment.changed.connect(grid.changed)
        grid.add(f"{section}.environment", "Environment", self._environment, _SECRET_HINT)
        self._inputs = grid.text(
            f"{section}.inputs",
            "Inputs",
            "Files and folders that are sealed with the command, one per line, relative to the workspace",
            lines=2,
            code=True,
            hint="Sealed with the command, one per line. An interpreter's script is sealed without being named.",
        )
        self._artifacts = grid.text(
            f"{section}.artifacts",
            "Artifacts",
            "Files to keep as evidence, one per line, relative to the workspace; * and ** are allowed",
            lines=2,
            code=True,
            hint="Kept as evidence after the run, one per line; * and ** are allowed.",
        )
        self._report: QLineEdit | None = None
        if report:
            self._report = grid.line(
                f"{section}.report",
                "Test report",
                "A JUnit XML file that the command writes, relative to the workspace",
                placeholder="report.xml, if it writes one",
            )
        self._time = grid.line(
            f"{section}.time_limit",
            "Time limit",
            "The most active time, such as 90s, 5m or 1h30m; at the limit it is stopped and becomes UNKNOWN",
            placeholder="10m",
            hint="At the limit the whole process tree is ended, and the run becomes UNKNOWN.",
        )
        self._cost = grid.number(
            f"{section}.max_cost", "Most cost", "The most it may cost, in whole budget units", unit="units"
        )

    @property
    def fields(self) -> tuple[str, ...]:
        """Its fields, as the work order file calls them."""
        return tuple(
            f"{self._section}.{field}" for field in _COMMAND if field != "report" or self._report is not None
        )

    def values(self) -> dict[str, Any]:
        """What a work order file would say; what was left empty is left out."""
        report = self._report.text().strip() if self._report is not None else ""
        found: dict[str, Any] = {
            "folder": self._folder.text().strip(),
            "environment": self._environment.environment(),
            "inputs": lines_of(self._inputs),
            "artifacts": lines_of(self._artifacts),
            "report": report,
            "time_limit": self._time.text().strip(),
        }
        given = {name: value for name, value in found.items() if value}
        return {
            "argv": self.arguments.arguments(),
            **given,
            **self._beyond,
            "max_cost": self._cost.value(),
        }

    def fill(self, command: CommandSpec) -> None:
        """Take over a command; what it has beyond these fields is kept."""
        self.arguments.set_arguments(list(command.argv))
        self._folder.setText("" if command.folder == "." else command.folder)
        for name, value in command.environment.items():
            secret = isinstance(value, Secret)
            self._environment.add(name, value.variable if isinstance(value, Secret) else value, secret=secret)
        self._inputs.setPlainText("\n".join(command.inputs))
        self._artifacts.setPlainText("\n".join(command.artifacts))
        if self._report is not None:
            self._report.setText(command.report)
        self._time.setText(format_duration(command.time_limit_ms))
        self._cost.setValue(command.max_cost)
        if command.output_limit_bytes != DEFAULT_OUTPUT_LIMIT_BYTES:
            self._beyond["output_limit"] = format_size(command.output_limit_bytes)

    def problems(self) -> list[tuple[str, str]]:
        """What the file's form cannot see: names that are given twice."""
        return [
            (f"{self._section}.environment", f"{name} is given twice; keep one of them.")
            for name in self._environment.repeated()
        ]


class WorkOrderForm(QTabWidget):
    """The whole form in tabs.

    ``changed`` comes on edits, ``folder_wanted`` when the person wants to choose the workspace.
    """

    changed = Signal()
    folder_wanted = Signal()

    def __init__(self, times: Times, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._times = times
        self.setUsesScrollButtons(True)
        self.setAccessibleName("Parts of the work order")
        self._tabs: list[tuple[str, FieldGrid]] = []
        self._build_work()
        self._build_command()
        self._build_validation()
        self._build_correction()
        self._judged_by_changed()
        self._correction_changed()

    # -------------------------------------------------------------------------------------------- building

    def _tab(self, name: str) -> FieldGrid:
        grid = FieldGrid()
        scroll = QScrollArea(self)
        scroll.setWidgetResizable(True)
        scroll.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        scroll.setWidget(grid)
        scroll.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        scroll.setAccessibleName(name)
        self.addTab(scroll, name)
        self._tabs.append((name, grid))
        grid.changed.connect(self.changed)
        return grid

    def _build_work(self) -> None:
        grid = self._tab("Work")
        self._title = grid.line("title", "Title", "What a person recognises it by, in one line")
        holder = QWidget(grid)
        line = row(holder, gap=8)
        self._workspace = QLineEdit(holder)
        self._workspace.setAccessibleName("Workspace")
        self._workspace.setToolTip("The folder to work in, as a whole path")
        self._workspace.textChanged.connect(grid.changed)
        holder.setFocusProxy(self._workspace)
        line.addWidget(self._workspace, 1)
        choose = button(
            "Choose…",
            "Choose the folder",
            self.folder_wanted.emit,
            name="Choose the workspace",
            parent=holder,
        )
        line.addWidget(choose)
        grid.add(
            "workspace",
            "Workspace",
            holder,
            "Commands start here; what they change in it becomes evidence.",
        )
        self._reason = grid.text(
            "reason",
            "Reason",
            "Why it is asked for; shown on the card, not part of what is sealed",
            hint="Shown on the card. It is no part of what is sealed.",
        )
        self._project = grid.line(
            "project",
            "Project",
            "The budget above this work order's own; made if it is new",
            placeholder="default",
        )
        self._due = grid.line(
            "due_at",
            "Not before",
            "Date and time before which nothing of it starts, such as 2026-09-10 08:00; empty for at once",
            placeholder="at once",
            hint=f"Such as 2026-09-10 08:00, in {self._times.zone_name()}.",
        )
        self._life = grid.line(
            "approval_life",
            "Approval expires",
            "How long a request for approval waits, such as 24h or 3d",
            placeholder="1d",
            hint="How long a request waits for you before it expires.",
        )
        grid.finish()

    def _build_command(self) -> None:
        grid = self._tab("Command")
        self._implementation = CommandFields(grid, "implementation", "Command", report=False)
        grid.finish()

    def _build_validation(self) -> None:
        grid = self._tab("Validation")
        self._criteria = grid.text(
            "validation.criteria",
            "Criteria",
            "What must be true of the result; fixed before the work begins",
            hint="Fixed before the work begins, and sealed with it.",
        )
        holder = QWidget(grid)
        lines = column(holder, gap=4)
        self._judges = QButtonGroup(holder)
        by_command = QRadioButton("A command, by its exit code", holder)
        by_person = QRadioButton("A person, who looks at the result", holder)
        for number, made in enumerate((by_command, by_person)):
            made.setAccessibleName(f"Judged by {made.text().lower()}")
            made.setToolTip("How the result is judged")
            self._judges.addButton(made, number)
            lines.addWidget(made)
        by_command.setChecked(True)
        holder.setFocusProxy(by_command)
        self._judges.idToggled.connect(self._judged_by_changed)
        grid.add("validation.by", "Judged by", holder)
        self._validation = CommandFields(grid, "validation", "Validation command", report=True)
        self._validation_grid = grid
        grid.finish()

    def _build_correction(self) -> None:
        grid = self._tab("Correction and budget")
        self._corrections = grid.number(
            "correction.max",
            "Corrections",
            "How many corrections may follow a failed validation",
            none="none",
            hint="After a failed validation, so many corrections may be prepared one after the other.",
        )
        self._corrections.setMaximum(1000)
        self._corrections.valueChanged.connect(self._correction_changed)
        self._reapproval: QCheckBox = check_box(
            "Each correction waits for its own approval",
            "Without this, a correction whose seal was approved before runs again without asking",
            on=True,
            parent=grid,
        )
        self._reapproval.toggled.connect(grid.changed)
        grid.add("correction.reapproval_required", "Approval", self._reapproval)
        self._own_correction = check_box(
            "Corrections have a command of their own",
            "Without this the command of the work order is run again",
            parent=grid,
        )
        self._own_correction.toggled.connect(self._correction_changed)
        grid.add("correction.own", "Command", self._own_correction)
        self._correction = CommandFields(grid, "correction", "Correction command", report=False)
        self._correction_grid = grid
        self._limit_cost = grid.number(
            "limits.cost",
            "Budget",
            "The most that the whole work order may cost, in units",
            unit="units",
            least=-1,
            none="enough for every step once",
        )
        self._limit_cost.setValue(-1)
        self._limit_time = grid.line(
            "limits.time",
            "Active time",
            "The most active time of the whole work order, such as 2h",
            placeholder="enough for every step once",
        )
        self._handoff_cost = grid.number(
            "limits.handoff_cost",
            "Kept for handoff",
            "Units that only handing the work over can use",
            unit="units",
            hint="Only handing the work over can use this, when the rest is spent.",
        )
        self._handoff_time = grid.line(
            "limits.handoff_time",
            "Handoff time",
            "Active time that only handing the work over can use",
            placeholder="none",
        )
        grid.finish()

    def _judged_by_changed(self) -> None:
        self._validation_grid.show_fields(self._validation.fields, self._judges.checkedId() == 0)
        self.changed.emit()

    def _correction_changed(self) -> None:
        some = self._corrections.value() > 0
        own = some and self._own_correction.isChecked()
        self._correction_grid.show_fields(("correction.reapproval_required", "correction.own"), some)
        self._correction_grid.show_fields(self._correction.fields, own)
        self.changed.emit()

    # -------------------------------------------------------------------------------------------- outside

    def set_workspace(self, path: str) -> None:
        """Take over a chosen folder."""
        self._workspace.setText(path)

    def fill(self, spec: WorkOrderSpec) -> None:
        """Take over a work order, field by field."""
        self._title.setText(spec.title)
        self._workspace.setText(spec.workspace)
        self._reason.setPlainText(spec.reason)
        self._project.setText(spec.project)
        self._life.setText(format_duration(spec.approval_life_ms))
        self._implementation.fill(spec.implementation)
        self._criteria.setPlainText(spec.validation.criteria)
        self._judges.button(1 if spec.validation.by is ValidatedBy.PERSON else 0).setChecked(True)
        if spec.validation.command is not None:
            self._validation.fill(spec.validation.command)
        self._corrections.setValue(spec.correction.max_corrections)
        self._reapproval.setChecked(spec.correction.reapproval_required)
        self._own_correction.setChecked(spec.correction.command is not None)
        if spec.correction.command is not None:
            self._correction.fill(spec.correction.command)
        self._limit_cost.setValue(spec.limits.execution_cost)
        self._limit_time.setText(format_duration(spec.limits.execution_active_ms))
        self._handoff_cost.setValue(spec.limits.handoff_cost)
        if spec.limits.handoff_active_ms:
            self._handoff_time.setText(format_duration(spec.limits.handoff_active_ms))

    def workspace(self) -> str:
        """The workspace as it stands."""
        return self._workspace.text().strip()

    def is_empty(self) -> bool:
        """Whether nothing worth keeping was entered."""
        return not (
            self._title.text().strip()
            or self._reason.toPlainText().strip()
            or self._criteria.toPlainText().strip()
            or self._implementation.arguments.arguments()
            or self._validation.arguments.arguments()
        )

    def values(self) -> dict[str, Any]:
        """What was entered, as a work order file would say it."""
        by_person = self._judges.checkedId() == 1
        validation: dict[str, Any] = {} if by_person else self._validation.values()
        if not validation.get("argv"):
            # Left out it is said to be missing, and that a person may judge instead.
            validation.pop("argv", None)
        validation |= {
            "by": "person" if by_person else "command",
            "criteria": self._criteria.toPlainText().strip(),
        }
        found: dict[str, Any] = {
            "title": self._title.text().strip(),
            "workspace": self.workspace(),
            "implementation": self._implementation.values(),
            "validation": validation,
            "correction": self._correction_values(),
            "limits": self._limit_values(),
        }
        if self._due.text().strip():
            found["due_at"] = self._times.typed(self._due.text().strip())
        for name, field in (("project", self._project), ("approval_life", self._life)):
            if field.text().strip():
                found[name] = field.text().strip()
        if self._reason.toPlainText().strip():
            found["reason"] = self._reason.toPlainText().strip()
        return found

    def _correction_values(self) -> dict[str, Any]:
        found: dict[str, Any] = {"max": self._corrections.value()}
        if self._corrections.value():
            found["reapproval_required"] = self._reapproval.isChecked()
            if self._own_correction.isChecked():
                found |= self._correction.values()
        return found

    def _limit_values(self) -> dict[str, Any]:
        found: dict[str, Any] = {"handoff_cost": self._handoff_cost.value()}
        if self._limit_cost.value() >= 0:
            found["cost"] = self._limit_cost.value()
        for name, field in (("time", self._limit_time), ("handoff_time", self._handoff_time)):
            if field.text().strip():
                found[name] = field.text().strip()
        return found

    def read(self) -> tuple[WorkOrderSpec | None, int]:
        """Read what was entered and say what is wrong where it is wrong.

        Gives the work order, or None and the number of problems.
        """
        problems: list[tuple[str, str]] = []
        spec: WorkOrderSpec | None = None
        try:
            spec = parse_work_order(json.dumps(self.values()).encode(), form="json", name="the work order")
        except InvalidWorkOrder as error:
            found = error.facts.get("problems", ())
            assert isinstance(found, tuple)
            problems += [(problem.field, problem_words(problem)) for problem in found]
        for commands in (self._implementation, self._validation, self._correction):
            problems += commands.problems()
        self.say(problems)
        return (None if problems else spec), len(problems)

    def say(self, problems: Iterable[tuple[str, str]]) -> None:
        """Put each problem at its field; the tabs count theirs."""
        at_field: dict[str, list[str]] = defaultdict(list)
        for field, message in problems:
            at_field[self._known(field)].append(message)
        for number, (name, grid) in enumerate(self._tabs):
            count = 0
            for field in grid.fields:
                messages = at_field.get(field, [])
                count += len(messages)
                grid.say(field, messages)
            self.setTabText(number, f"{name} ({count})" if count else name)
            words = f"{name}, {count} {'problem' if count == 1 else 'problems'}" if count else name
            self.setTabToolTip(number, words)

    def go_to_first_problem(self) -> None:
        """Bring the first field with a problem into view and put the focus there."""
        for number, (_, grid) in enumerate(self._tabs):
            for field in grid.fields:
                if grid.said(field):
                    self.setCurrentIndex(number)
                    grid.focus(field)
                    return

    def said(self, field: str) -> str:
        """What is said to be wrong with a field of the work order file."""
        return next((grid.said(field) for _, grid in self._tabs if field in grid.fields), "")

    def focus_first(self) -> None:
        """Put the focus where one begins."""
        self.setCurrentIndex(0)
        self._title.setFocus(Qt.FocusReason.OtherFocusReason)

    def _known(self, field: str) -> str:
        """The field of the form that a field of the file belongs to."""
        known = {name for _, grid in self._tabs for name in grid.fields}
        wanted = field
        while wanted and wanted not in known:
            cut = max(wanted.rfind("."), wanted.rfind("["))
            wanted = wanted[: max(cut, 0)]
        return wanted or "title"


def problem_words(problem: Problem) -> str:
    """A problem as the form says it: without line and field name, since it stands at the field."""
    field = problem.field
    what = "This"
    if field.endswith("]") and "[" in field:
        place = field[field.rindex("[") + 1 : -1]
        what = f"Number {int(place) + 1}" if place.isdecimal() else "This"
        if ".argv[" in field:
            what = "The program" if place == "0" else f"Argument {place}"
    elif ".environment." in field:
        what = field.split(".environment.", 1)[1]
    message = problem.message.replace('write by = "person"', "let a person judge")
    return f"{what} {message.removesuffix('.')}."
