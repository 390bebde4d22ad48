"""The dialog for a new work order: problems at their fields, a dry check, saving as TOML, submitting once."""

from __future__ import annotations

import asyncio
import sys

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import (
    QAbstractButton,
    QApplication,
    QComboBox,
    QDialog,
    QLineEdit,
    QPlainTextEdit,
    QSpinBox,
)

from app.wizards import new_work_order as module
from app.wizards.arguments_edit import ArgumentsEdit
from app.wizards.environment_table import EnvironmentTable
from app.wizards.new_work_order import NewWorkOrderDialog, new_work_order
from engine.interfaces.work_order_file import read_work_order
from engine.states import WorkOrderState
from engine.work_order import Secret, ValidatedBy


@pytest.fixture
def dialog(console, qtbot):
    made = NewWorkOrderDialog(None, console.session)
    qtbot.addWidget(made, before_close_func=lambda widget: widget.done(QDialog.DialogCode.Accepted.value))
    made.show()
    return made


def fill(dialog, console):
    form = dialog.form
    form._title.setText("Mend rounding")
    form.set_workspace(str(console.workspace))
    form._criteria.setPlainText("totals agree")
    form._implementation.arguments.set_arguments([sys.executable, "-c", "print('a b')"])
    form._validation.arguments.set_arguments([sys.executable, "-c", "print(1)"])
    return form


async def test_an_empty_form_says_what_is_missing_at_each_field(dialog, console):
    dialog._submit_pressed()
    form = dialog.form
    assert "recognise" in form.said("title")
    assert "empty" in form.said("workspace")
    assert "name the program" in form.said("implementation.argv")
    assert "let a person judge" in form.said("validation.argv")
    assert "judged" in form.said("validation.criteria")
    assert [form.tabText(number) for number in range(4)] == [
        "Work (2)",
        "Command (1)",
        "Validation (2)",
        "Correction and budget",
    ]
    assert QApplication.focusWidget() is form._title
    assert await console.engine.work_orders() == ()


async def test_mending_a_field_takes_its_problem_away_by_itself(dialog, console, qtbot):
    dialog._submit_pressed()
    form = fill(dialog, console)
    form._implementation._time.setText("soon")
    dialog._again.timeout.emit()
    assert form.said("title") == ""
    assert "90s, 5m or 1h30m" in form.said("implementation.time_limit")
    form._implementation._time.setText("5m")
    dialog._again.timeout.emit()
    assert dialog._said.text() == ""


async def test_submitting_makes_one_work_order_with_all_that_was_entered(dialog, console):
    form = fill(dialog, console)
    form._reason.setPlainText("issue 412")
    form._project.setText("payments")
    form._implementation._environment.add("MODE", "fast")
    form._implementation._environment.add("TOKEN", "HOME", secret=True)
    form._implementation._artifacts.setPlainText("out/*.txt\n\n  report.html ")
    form._implementation._time.setText("2m")
    form._implementation._cost.setValue(30)
    form._corrections.setValue(2)
    form._reapproval.setChecked(False)
    form._limit_cost.setValue(200)
    dialog._submit_pressed()
    dialog._submit_pressed()
    await console.settle()
    assert dialog.result() == QDialog.DialogCode.Accepted.value
    (row,) = await console.engine.work_orders()
    assert row.id == dialog.submitted.id
    assert row.state is WorkOrderState.ACTIVE
    spec = (await console.story(row.id)).spec
    assert spec["implementation"]["argv"] == [sys.executable, "-c", "print('a b')"]
    assert spec["implementation"]["environment"] == {"MODE": "fast", "TOKEN": {"variable": "HOME"}}
    assert spec["implementation"]["artifacts"] == ["out/*.txt", "report.html"]
    assert spec["implementation"]["time_limit_ms"] == 120_000
    assert spec["correction"]["max_corrections"] == 2
    assert spec["correction"]["reapproval_required"] is False
    assert spec["limits"]["execution_cost"] == 200
    assert (spec["reason"], spec["project"]) == ("issue 412", "payments")


async def test_a_person_as_judge_needs_no_command(dialog, console):
    form = fill(dialog, console)
    form._judges.button(1).setChecked(True)
    assert not form._validation.arguments.isVisibleTo(form)
    spec, problems = form.read()
    assert problems == 0
    assert spec.validation.by is ValidatedBy.PERSON
    assert spec.validation.command is None


async def test_corrections_may_have_a_command_of_their_own(dialog, console):
    form = fill(dialog, console)
    assert not form._own_correction.isVisibleTo(form)
    form._corrections.setValue(1)
    form._own_correction.setChecked(True)
    assert form.read()[1] == 1
    assert "name the program" in form.said("correction.argv")
    form._correction.arguments.set_arguments(["python", "mend.py"])
    spec, _ = form.read()
    assert spec.correction.command.argv == ("python", "mend.py")


async def test_dry_check_shows_what_would_be_sealed_and_saves_nothing(dialog, console):
    form = fill(dialog, console)
    dialog._check_pressed()
    await console.settle()
    assert form.tabText(form.currentIndex()) == "Dry check"
    assert list(dialog._check_view._command.command.argv()) == [sys.executable, "-c", "print('a b')"]
    assert dialog._check_view._validation.isVisibleTo(dialog)
    assert await console.engine.work_orders() == ()
    form._title.setText("Another title")
    assert form.count() == 4


async def test_what_the_engine_cannot_find_is_said_at_its_field(dialog, console):
    form = fill(dialog, console)
    form._implementation._folder.setText("not/there")
    dialog._check_pressed()
    await console.settle()
    assert "not/there" in dialog._said.text()
    assert "not/there" in form.said("implementation.folder")
    assert dialog._submit.isEnabled()


async def test_a_missing_program_is_said_and_the_dialog_stays(dialog, console):
    form = fill(dialog, console)
    form._implementation.arguments.set_arguments(["no-such-program-here"])
    dialog._submit_pressed()
    await console.settle()
    assert dialog.isVisible()
    assert "no-such-program-here" in dialog._said.text()
    assert await console.engine.work_orders() == ()


async def test_saving_writes_a_file_that_reads_back_as_the_same(dialog, console, tmp_path, monkeypatch):
    form = fill(dialog, console)
    form._implementation._environment.add("TOKEN", "HOME", secret=True)
    asked = {}

    async def chosen(parent, title, *, filters, name):
        asked["name"] = name
        return tmp_path / "saved"

    monkeypatch.setattr(module, "ask_save_file", chosen)
    dialog._save_pressed()
    await console.settle()
    assert asked["name"] == "mend-rounding.toml"
    spec = read_work_order(tmp_path / "saved.toml")
    assert spec == form.read()[0]
    assert spec.implementation.environment["TOKEN"] == Secret("HOME")
    assert "saved.toml" in dialog._said.text()


async def test_escape_asks_before_it_throws_anything_away(dialog, console):
    fill(dialog, console)
    QTest.keyClick(dialog, Qt.Key.Key_Escape)
    await asyncio.sleep(0)
    assert dialog.isVisible()
    (question,) = [child for child in dialog.findChildren(QDialog) if child.isVisible()]
    question.reject()
    await console.settle()
    assert dialog.isVisible()
    dialog.reject()
    await asyncio.sleep(0)
    (question,) = [child for child in dialog.findChildren(QDialog) if child.isVisible()]
    question.accept()
    await console.settle()
    assert not dialog.isVisible()


async def test_an_empty_dialog_closes_at_once(console, qtbot):
    made = NewWorkOrderDialog(None, console.session)
    qtbot.addWidget(made)
    made.show()
    QTest.keyClick(made, Qt.Key.Key_Escape)
    assert not made.isVisible()


async def test_enter_in_a_field_submits_nothing(dialog, console):
    form = fill(dialog, console)
    QTest.keyClick(form._title, Qt.Key.Key_Return)
    form.setCurrentIndex(3)
    QTest.keyClick(form._limit_cost, Qt.Key.Key_Return)
    await console.settle()
    assert await console.engine.work_orders() == ()
    assert dialog.isVisible()


async def test_after_submitting_the_work_order_is_shown(console, qtbot, qapp):
    from PySide6.QtWidgets import QWidget

    window = QWidget()
    qtbot.addWidget(window)
    window.show()
    task = console.session.spawn(new_work_order(window, console.session), "new")
    await asyncio.sleep(0)
    (made,) = window.findChildren(NewWorkOrderDialog)
    fill(made, console)
    made._submit_pressed()
    await task
    (row,) = await console.engine.work_orders()
    assert console.opened == [("work_orders", row.id)]


async def test_b119_every_control_has_a_name(dialog, console):
    form = dialog.form
    form._corrections.setValue(1)
    form._own_correction.setChecked(True)
    for kind in (QAbstractButton, QLineEdit, QPlainTextEdit, QSpinBox, QComboBox):
        for control in dialog.findChildren(kind):
            inner = control.objectName().startswith("qt_") or isinstance(
                control.parent(), QSpinBox | QLineEdit
            )
            if not inner and control.parent().metaObject().className() != "QTabBar":
                assert control.accessibleName(), control


def test_a_pasted_line_is_offered_as_a_list_and_taken_only_when_told(qtbot, themed):
    edit = ArgumentsEdit("Command")
    qtbot.addWidget(edit)
    edit._edit.insertPlainText("python fix.py --issue '4 12' | tee")
    assert edit.arguments() == ["python fix.py --issue '4 12' | tee"]
    assert edit.offered is not None
    assert "|" in edit.offered.warning
    edit.take_offer()
    assert edit.arguments() == ["python", "fix.py", "--issue", "4 12", "|", "tee"]
    assert edit.offered is None
    assert list(edit._preview.argv()) == edit.arguments()


def test_lines_are_arguments_byte_for_byte(qtbot, themed):
    edit = ArgumentsEdit("Command")
    qtbot.addWidget(edit)
    edit._edit.setPlainText("tool\n\n trailing \n%VAR% & ^\n\n")
    assert edit.arguments() == ["tool", "", " trailing ", "%VAR% & ^"]


def test_the_environment_table_is_worked_by_keyboard(qtbot, themed):
    table = EnvironmentTable("Environment")
    qtbot.addWidget(table)
    table.show()
    table.add("A", "1")
    table.add("A", "HOME", secret=True)
    assert table.environment() == {"A": {"secret": "HOME"}}
    assert table.repeated() == ("A",)
    table._table.setCurrentCell(0, 0)
    table._remove.click()
    assert table.repeated() == ()
