"""A JUnit report as a table of tests, failed ones first on demand, with what the chosen one said."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QPlainTextEdit, QSplitter, QWidget

from app.panels.evidence.junit import CaseResult, CaseState, Report
from app.panels.rows import BadgeDelegate, Column, RowModel, RowTable
from app.theme import Look, Shape, Text, Tone, font
from app.widgets import check_box, column, label, number, row

_LOOKS = {
    CaseState.PASSED: Look("passed", Tone.OK, Shape.DOT),
    CaseState.FAILED: Look("failed", Tone.BAD, Shape.CROSS),
    CaseState.ERROR: Look("error", Tone.BAD, Shape.TRIANGLE),
    CaseState.SKIPPED: Look("skipped", Tone.NEUTRAL, Shape.DASH),
}

_Row = tuple[int, CaseResult]


class JUnitView(QWidget):
    """Shows a `Report`."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._report = Report(())
        self._model: RowModel[_Row] = RowModel(
            [
                Column("Outcome", lambda one: _LOOKS[one[1].state].word),
                Column("Test", lambda one: one[1].name, lambda one: one[1].name),
                Column("In", lambda one: one[1].suite, lambda one: one[1].suite),
                Column("Time", lambda one: _seconds(one[1].seconds)),
                Column("Said", lambda one: " ".join(one[1].message.split())),
            ],
            lambda one: str(one[0]),
            lambda one: f"{one[1].state}: {one[1].name} in {one[1].suite}. {one[1].message}",
            self,
        )
        lines = column(self, gap=6)
        head = row(gap=12)
        self._summary = label("", Text.STRONG, wrap=True, parent=self)
        head.addWidget(self._summary, 1)
        self._failed_only = check_box("Only what did not pass", "Hide tests that passed", parent=self)
        self._failed_only.toggled.connect(self._fill)
        head.addWidget(self._failed_only)
        lines.addLayout(head)
        split = QSplitter(Qt.Orientation.Vertical, self)
        self._table: RowTable[_Row] = RowTable(self._model, "Tests of the report", (13, 26, 20, 10), split)
        self._table.setItemDelegateForColumn(0, BadgeDelegate(self._look_at, self._table))
        self._table.chosen.connect(self._chosen)
        self._detail = QPlainTextEdit(split)
        self._detail.setReadOnly(True)
        self._detail.setFont(font(Text.CODE_SMALL))
        self._detail.setTabChangesFocus(True)
        self._detail.setAccessibleName("What the chosen test said")
        self._detail.setToolTip("What the chosen test said")
        split.setChildrenCollapsible(False)
        split.addWidget(self._table)
        split.addWidget(self._detail)
        split.setSizes([240, 110])
        lines.addWidget(split, 1)

    def show_report(self, report: Report) -> None:
        """Show another report."""
        self._report = report
        parts = [
            f"{number(count)} {_LOOKS[state].word}" for state in CaseState if (count := report.count(state))
        ]
        words = ", ".join(parts) or "no tests"
        more = "; there are more, which are left out" if report.left_out else ""
        self._summary.setText(f"{words} in {report.seconds():.2f} s{more}")
        some_failed = any(test.state in (CaseState.FAILED, CaseState.ERROR) for test in report.tests)
        self._failed_only.setEnabled(some_failed)
        self._failed_only.setChecked(False)
        self._fill()

    @property
    def model(self) -> RowModel[_Row]:
        """The tests shown."""
        return self._model

    def _fill(self) -> None:
        tests = list(enumerate(self._report.tests))
        if self._failed_only.isChecked():
            tests = [one for one in tests if one[1].state is not CaseState.PASSED]
        self._model.replace(tests, complete=True)
        self._detail.setVisible(bool(tests))
        if tests:
            first = next((at for at, one in enumerate(tests) if one[1].detail), 0)
            self._table.choose(first)

    def _look_at(self, place: int) -> Look:
        return _LOOKS[self._model.row(place)[1].state]

    def _chosen(self, place: int) -> None:
        if place >= 0:
            test = self._model.row(place)[1]
            self._detail.setPlainText(test.detail or test.message or "It said nothing.")


def _seconds(seconds: float | None) -> str:
    return "" if seconds is None else f"{seconds:.3f} s"
