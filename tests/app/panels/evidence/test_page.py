"""The page "Evidence" over a real engine: what was observed, kept, changed and judged (E-55, E-60, B-122)."""

from __future__ import annotations

import asyncio
import json
import struct
import zlib

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QImage
from PySide6.QtWidgets import QAbstractButton, QComboBox, QDialog, QLabel, QPlainTextEdit, QPushButton

from app.panels.evidence import kept_file
from app.panels.evidence.page import FILTERS, EvidencePage
from app.panels.inbox.wrapped_text import WrappedText
from app.widgets import Badge
from engine.states import AttemptState
from tests.app.panels.work_orders.console import console, python

__all__ = ["console"]

SUMMARY, OUTPUT, ARTIFACTS, CHANGES, VALIDATION = range(5)

RESULT = (
    "import json, os, pathlib; print('did it'); pathlib.Path('made.txt').write_text('x');"
    "pathlib.Path(os.environ['PRAXIS_RESULT']).write_text("
    "json.dumps({'cost': 7, 'summary': 'made a file', 'questions': ['is it enough?']}))"
)


@pytest.fixture
async def page(console, qtbot):
    made = EvidencePage(console.session)
    made.acts = []
    made.acts_on.connect(made.acts.append)
    qtbot.addWidget(made)
    made.resize(1100, 700)
    made.show()
    yield made
    await console.settle()


async def attempts_of(console, identity):
    return [attempt for task in (await console.story(identity)).tasks for attempt in task.attempts]


async def shown(console, page, attempt_id, tab=SUMMARY):
    page._tabs.setCurrentIndex(tab)
    page.show_subject(attempt_id)
    await console.settle()


def words_of(widget):
    found = [part.text() for part in widget.findChildren(QLabel) if part.isVisibleTo(widget)]
    found += [part.text() for part in widget.findChildren(WrappedText) if part.isVisibleTo(widget)]
    found += [part.word for part in widget.findChildren(Badge) if part.isVisibleTo(widget)]
    return "\n".join(found)


def log_rows(view):
    model = view.table.model()
    return [model.index(place, 0).data() for place in range(model.rowCount())]


def blob_path(console, sha256):
    return next(
        path for path in (console.engine.folder / "blobs").rglob("*") if path.name.endswith(sha256[2:])
    )


async def test_nothing_has_run_yet(console, page):
    await console.settle()
    assert page._nothing.isVisibleTo(page)
    assert page._side.nothing.isVisibleTo(page)


async def test_what_is_claimed_stands_beside_what_was_observed(console, page):
    identity = await console.finished("Claims", RESULT)
    (attempt, _) = await attempts_of(console, identity)
    await shown(console, page, attempt.id)
    assert "Exit code" in words_of(page._summary._observed)
    claimed = words_of(page._summary._claimed)
    assert "made a file" in claimed
    assert "7 units" in claimed
    assert "is it enough?" in claimed
    assert "1 added, 0 changed, 0 removed" in words_of(page._summary._workspace)
    assert "7 of at most 30 units, as the command reported" in words_of(page._summary._settled)
    assert [badge.word for badge in page._badges] == ["ran, succeeded", "validation passed"]


async def test_b026_nothing_changed_is_said_as_such(console, page):
    identity = await console.finished("Changes nothing", steps=1)
    (attempt,) = (await attempts_of(console, identity))[:1]
    await shown(console, page, attempt.id, CHANGES)
    assert "No files changed" in words_of(page._changes)
    assert page._tabs.tabText(CHANGES) == "Changes (0)"
    assert page._badges[1].isHidden()
    await shown(console, page, attempt.id, VALIDATION)
    assert "says nothing about the criteria" in words_of(page._judged)


async def test_changes_are_listed_with_digests(console, page):
    (console.workspace / "old.txt").write_text("old")
    (console.workspace / "gone.txt").write_text("gone")
    code = (
        "import os; open('new.txt','w').write('n'); open('old.txt','w').write('other'); os.remove('gone.txt')"
    )
    identity = await console.finished("Changes", code, steps=1)
    (attempt,) = await attempts_of(console, identity)
    await shown(console, page, attempt.id, CHANGES)
    model = page._changes.model
    rows = [model.row(place) for place in range(model.rowCount())]
    assert [(row.kind, row.path) for row in rows] == [
        ("added", "new.txt"),
        ("changed", "old.txt"),
        ("removed", "gone.txt"),
    ]
    assert rows[1].before.startswith("3 bytes · ")
    assert rows[1].after.startswith("5 bytes · ")
    assert "1 added, 1 changed, 1 removed" in words_of(page._changes)


async def test_b122_verify_now_reads_again_and_tells_true_altered_missing(console, page):
    identity = await console.finished(
        "Verified", "import sys; print('out'); print('err', file=sys.stderr)", steps=1
    )
    (attempt,) = await attempts_of(console, identity)
    await shown(console, page, attempt.id)
    view = await console.engine.evidence.of(attempt.id)
    digests = page._summary.digests
    files = {blob.role: blob for blob in view.blobs}
    stdout = blob_path(console, files["stdout"].sha256)
    stdout.chmod(0o600)
    stdout.write_text("tampered")
    stderr = blob_path(console, files["stderr"].sha256)
    stderr.unlink()
    digests.verify_all()
    await console.settle()
    assert digests.answer(files["stdout"].sha256) == "ALTERED"
    assert digests.answer(files["stderr"].sha256) == "MISSING"
    assert digests.answer(files["manifest"].sha256) == "matches"
    page._summary._record_again.click()
    assert page._summary._record_badge.word == "matches"
    await shown(console, page, attempt.id, OUTPUT)
    page._output._bar.setCurrentIndex(1)
    await console.settle()
    assert page._output.view("stderr")._empty.accessibleName() == "Standard error is missing"


async def test_output_of_both_streams_is_kept_and_the_one_with_words_comes_first(console, page):
    code = "import sys; print('only here', file=sys.stderr); sys.exit(1)"
    identity = await console.finished("Errs", code, steps=1)
    (attempt,) = await attempts_of(console, identity)
    await shown(console, page, attempt.id, OUTPUT)
    assert page._output.stream == "stderr"
    assert log_rows(page._output.view("stderr")) == ["only here"]
    assert "stdout · 0 bytes" in page._output._bar.tabText(0)


async def test_a_running_attempt_shows_its_output_live_and_then_what_was_kept(console, page, until):
    wait = "while not pathlib.Path('go').exists(): time.sleep(0.02)"
    code = f"import time, pathlib\nprint('first', flush=True)\n{wait}\nprint('last')"
    identity = await console.submit("Live", code)
    (row,) = await console.engine.approvals.inbox()
    await console.engine.approvals.approve(row.approval_id, console.session.actor, seal=row.seal)
    running = asyncio.get_running_loop().create_task(console.engine.work_once())
    await until(lambda: page._view is not None and page._view.attempt.state is AttemptState.RUNNING)
    assert page._tabs.currentIndex() == OUTPUT
    view = page._output.view("stdout")
    await until(lambda: log_rows(view) == ["first"])
    page._tabs.setCurrentIndex(SUMMARY)
    await until(lambda: "last output" in page._summary._live.text())
    assert "compared when the run has ended" in words_of(page._changes)
    page._tabs.setCurrentIndex(OUTPUT)
    (console.workspace / "go").write_text("")
    await running
    await until(lambda: page._view.evidence is not None)
    await until(lambda: log_rows(view) == ["first", "last"])
    assert (await console.story(identity)).tasks[0].state == "SUCCEEDED"


async def test_stop_on_a_running_attempt_asks_for_a_reason(console, page, until):
    await console.submit("Stopped", "import time; time.sleep(60)")
    (row,) = await console.engine.approvals.inbox()
    await console.engine.approvals.approve(row.approval_id, console.session.actor, seal=row.seal)
    running = asyncio.get_running_loop().create_task(console.engine.work_once())
    await until(lambda: page._stop.isVisibleTo(page) and page._view.attempt.state is AttemptState.RUNNING)
    page._stop.click()
    await asyncio.sleep(0)
    (dialog,) = [child for child in page.findChildren(QDialog) if child.isVisible()]
    dialog.findChild(QPlainTextEdit).setPlainText("enough")
    next(made for made in dialog.findChildren(QPushButton) if made.text() == "Stop it").click()
    await running
    await until(lambda: page._view.attempt.state is AttemptState.UNKNOWN)
    await console.settle()
    assert page._badges[0].word == "UNKNOWN"
    assert "a person stopped it" in words_of(page._summary._observed)
    assert "failed" not in words_of(page._summary).lower()


def png(width=3, height=2):
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    rows = b"".join(b"\0" + b"\xff\0\0" * width for _ in range(height))
    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", head)
        + chunk(b"IDAT", zlib.compress(rows))
        + chunk(b"IEND", b"")
    )


async def test_artifacts_are_looked_at_as_what_they_are(console, page):
    files = {
        "a.png": png(),
        "b.json": b'{"z":1,"a":[1,2]}',
        "c.xml": b'<testsuite><testcase name="t"><failure message="no"/></testcase></testsuite>',
        "d.txt": b"plain\ntext\n",
        "e.png": b"no picture",
        "f.xml": b"<other/>",
    }
    source = json.dumps({name: list(data) for name, data in files.items()})
    code = f"import json\nfor n, d in json.loads({source!r}).items(): open(n, 'wb').write(bytes(d))"
    identity = await console.finished(
        "Artifacts",
        implementation=python(code, artifacts=("*.png", "*.json", "*.xml", "*.txt", "none.bin")),
        steps=1,
    )
    (attempt,) = await attempts_of(console, identity)
    await shown(console, page, attempt.id, ARTIFACTS)
    view = page._artifacts
    assert page._tabs.tabText(ARTIFACTS) == "Artifacts (6)"
    assert "none.bin" in words_of(view._problems)
    preview = view.preview
    seen = {}
    for place in range(view._model.rowCount()):
        view._table.choose(place)
        await console.settle()
        seen[view._model.row(place).path] = (preview.shown, preview._note.text())
    assert seen["a.png"][0] is preview._picture
    assert seen["a.png"][1] == "3 × 2 pixels"
    assert isinstance(preview._picture._image, QImage)
    assert seen["b.json"][0] is preview._ordered
    assert seen["c.xml"][0] is preview._report
    assert seen["d.txt"][0] is preview._text
    assert seen["e.png"][0] is preview._text
    assert "no picture" in seen["e.png"][1]
    assert "neither testsuite" in seen["f.xml"][1]


async def test_a_copy_of_an_artifact_can_be_saved_and_a_lost_one_is_missing(
    console, page, tmp_path, monkeypatch
):
    code = "open('kept.txt', 'w').write('kept')"
    identity = await console.finished("Kept", implementation=python(code, artifacts=("kept.txt",)), steps=1)
    (attempt,) = await attempts_of(console, identity)
    await shown(console, page, attempt.id, ARTIFACTS)

    async def chosen(parent, title, *, filters, name):
        return tmp_path / f"copy of {name}"

    monkeypatch.setattr(kept_file, "ask_save_file", chosen)
    page._artifacts._save.click()
    await console.settle()
    assert (tmp_path / "copy of kept.txt").read_text() == "kept"
    blob = page._artifacts._model.row(0)
    blob_path(console, blob.sha256).unlink()
    page._artifacts._again.click()
    await console.settle()
    assert page._artifacts._answer.word == "MISSING"
    page._artifacts._save.click()
    await console.settle()
    assert console.failures[-1].what.startswith("The copy could not be written")


async def test_the_verdict_names_criteria_fixed_beforehand_and_leads_to_the_other_run(console, page):
    identity = await console.finished("Judged", check="import sys; sys.exit(1)")
    (work, check) = await attempts_of(console, identity)
    await shown(console, page, work.id, VALIDATION)
    said = words_of(page._judged)
    assert "the check exits 0" in said
    assert "The criteria are not met." in said
    assert "the validation command" in said
    page._judged._link.click()
    await console.settle()
    assert page._view.attempt.id == check.id
    assert "was the validation of another one" in words_of(page._judged)


async def test_the_newest_comes_first_and_a_filter_is_asked_of_the_engine(console, page):
    await console.finished("First", steps=1)
    await console.finished("Second", "import sys; sys.exit(1)", steps=1)
    await console.settle()
    model = page._model
    rows = [model.row(place) for place in range(model.rowCount())]
    assert [row.authorized_at for row in rows] == sorted((row.authorized_at for row in rows), reverse=True)
    page._side.states.setCurrentIndex([words for words, _ in FILTERS].index("UNKNOWN"))
    await console.settle()
    assert model.rowCount() == 0
    assert page._side.nothing.isVisibleTo(page)


async def test_choosing_tells_what_the_command_bar_acts_on_and_leads_to_the_work_order(console, page):
    identity = await console.finished("Linked", steps=1)
    await console.settle()
    assert page.acts[-1].id == identity
    assert page.acts[-1].label == "WO-1 · workspace"
    page._order.click()
    assert console.opened == [("work_orders", identity)]


async def test_an_unknown_attempt_is_said_not_to_be_there(console, page):
    page.show_subject("01ARZ3NDEKTSV4RRFFQ69G5FAV")
    await console.settle()
    assert "no such attempt" in page._nothing.accessibleName()


async def test_b118_rows_speak_for_themselves(console, page):
    await console.finished("Spoken", steps=1)
    await console.settle()
    text = page._model.index(0, 0).data(Qt.ItemDataRole.AccessibleTextRole)
    assert "WO-1, implement, Spoken. ran, succeeded" in text
    assert "exit code 0" in text


async def test_b119_every_control_has_a_name(console, page):
    identity = await console.finished("Named", RESULT)
    (attempt, _) = await attempts_of(console, identity)
    await shown(console, page, attempt.id)
    for kind in (QAbstractButton, QComboBox):
        for control in page.findChildren(kind):
            owner = control.parent().metaObject().className()
            if control.objectName().startswith("qt_") or owner in (
                "QTabBar",
                "QLineEdit",
                "QComboBoxPrivateScroller",
            ):
                continue
            assert control.accessibleName(), control
