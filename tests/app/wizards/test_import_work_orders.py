"""Importing: each file's problems with line and field; all or nothing; confirmed; again is harmless."""

from __future__ import annotations

import asyncio
import json
import sys

import pytest
from PySide6.QtCore import QMimeData, QPointF, Qt, QUrl
from PySide6.QtGui import QDropEvent
from PySide6.QtWidgets import QAbstractButton, QDialog

from app.wizards.import_work_orders import ImportDialog


@pytest.fixture
def dialog(console, qtbot):
    made = ImportDialog(None, console.session)
    qtbot.addWidget(made)
    made.show()
    return made


@pytest.fixture
def good(tmp_path, console):
    def write(name="good.toml", title="Good one", program=sys.executable):
        path = tmp_path / name
        path.write_text(
            f"title = {json.dumps(title)}\nworkspace = {json.dumps(str(console.workspace))}\n"
            f'[implementation]\nargv = [{json.dumps(program)}, "-c", "print(1)"]\n'
            '[validation]\ncriteria = "ok"\nby = "person"\n',
            encoding="utf-8",
        )
        return path

    return write


def question_of(dialog):
    return next(child for child in dialog.findChildren(QDialog) if child.isVisible())


async def test_all_right_files_are_submitted_after_a_yes(dialog, console, good):
    dialog.add_files([good(), good("other.toml", "Other")])
    await console.settle()
    assert dialog._submit.isEnabled()
    assert dialog._submit.text() == "Submit 2 work orders…"
    assert await console.engine.work_orders() == ()
    dialog._submit_pressed()
    await asyncio.sleep(0)
    question_of(dialog).accept()
    await console.settle()
    assert {row.title for row in await console.engine.work_orders()} == {"Good one", "Other"}
    assert [row.title for row in dialog.submitted] == ["Good one", "Other"]
    assert not dialog.isVisible()


async def test_a_no_submits_nothing(dialog, console, good):
    dialog.add_files([good()])
    await console.settle()
    dialog._submit_pressed()
    await asyncio.sleep(0)
    question_of(dialog).reject()
    await console.settle()
    assert await console.engine.work_orders() == ()
    assert dialog.isVisible()
    assert dialog._submit.isEnabled()


async def test_one_wrong_file_keeps_all_back_and_says_line_and_field(dialog, console, good, tmp_path):
    bad = tmp_path / "bad.toml"
    bad.write_text('title = ""\nworkspace = "."\n[implementation]\nargv = ["x"]\ntime_limt = "5m"\n')
    dialog.add_files([good(), bad])
    await console.settle()
    assert not dialog._submit.isEnabled()
    problems = dialog.entries[1].problems
    assert any(line.startswith("Line 1 · title is empty") for line in problems)
    assert any("Line 5 · implementation.time_limt is unknown" in line for line in problems)
    assert (
        "4 problems" in dialog._blocks[bad].accessibleName()
        or "3 problems" in dialog._blocks[bad].accessibleName()
    )
    bad.write_text(good("mended.toml").read_text())
    dialog._read_all()
    await console.settle()
    assert dialog._submit.isEnabled()


async def test_a_file_whose_program_is_missing_is_not_right(dialog, console, good):
    dialog.add_files([good(program="no-such-program-here")])
    await console.settle()
    assert not dialog._submit.isEnabled()
    assert "no-such-program-here" in dialog.entries[0].problems[0]


async def test_a_wrong_file_can_be_left_out(dialog, console, good, tmp_path):
    broken = tmp_path / "broken.json"
    broken.write_text('{"title": ')
    dialog.add_files([good(), broken, tmp_path / "gone.toml"])
    await console.settle()
    assert [len(entry.problems) for entry in dialog.entries] == [0, 1, 1]
    for entry in dialog.entries[1:]:
        dialog._blocks[entry.path]._remove.click()
    assert dialog._submit.isEnabled()
    assert list(dialog._blocks) == [dialog.entries[0].path]


async def test_files_and_folders_can_be_dropped(dialog, console, good, tmp_path):
    good("a.toml")
    good("b.toml")
    (tmp_path / "readme.md").write_text("no work order")
    mime = QMimeData()
    mime.setUrls([QUrl.fromLocalFile(str(tmp_path)), QUrl.fromLocalFile(str(tmp_path / "a.toml"))])
    event = QDropEvent(
        QPointF(5, 5),
        Qt.DropAction.CopyAction,
        mime,
        Qt.MouseButton.LeftButton,
        Qt.KeyboardModifier.NoModifier,
    )
    dialog.dropEvent(event)
    await console.settle()
    assert sorted(entry.path.name for entry in dialog.entries) == ["a.toml", "b.toml"]


async def test_submitting_after_a_failure_in_between_goes_on_where_it_stopped(
    dialog, console, good, monkeypatch
):
    from engine.errors import Refused

    dialog.add_files([good(), good("other.toml", "Other")])
    await console.settle()
    real = console.engine.submit
    calls = []

    async def failing(spec, actor, *, key=None):
        calls.append(spec.title)
        if calls == ["Good one", "Other"]:
            raise Refused("Not now.", do="Try again.")
        return await real(spec, actor, key=key)

    monkeypatch.setattr(console.engine, "submit", failing)
    dialog._submit_pressed()
    await asyncio.sleep(0)
    question_of(dialog).accept()
    await console.settle()
    assert dialog.isVisible()
    assert dialog.entries[0].submitted is not None
    assert dialog.entries[1].problems == ("Not now. Try again.",)
    dialog._read_all()
    await console.settle()
    assert dialog._submit.text() == "Submit 1 work order…"
    dialog._submit_pressed()
    await asyncio.sleep(0)
    question_of(dialog).accept()
    await console.settle()
    assert len(await console.engine.work_orders()) == 2


async def test_b119_every_button_has_a_name_and_a_tooltip(dialog, console, good):
    dialog.add_files([good()])
    await console.settle()
    for made in dialog.findChildren(QAbstractButton):
        assert made.accessibleName(), made
        assert made.toolTip(), made
