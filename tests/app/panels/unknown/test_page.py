"""The page "Unknown" over a real engine: what it shows, what it asks for, and what it never offers."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication, QPushButton, QWidget

from app.panels.evidence.kept_file import KeptFileDialog
from app.panels.evidence.log_view import LogView
from app.panels.unknown.deciding import ExitDialog
from engine.control.decisions import Finding
from engine.states import AttemptState, TaskState
from tests.app.test_accessibility import controls_of, name_of
from tests.ledger import SEEN


def dialog() -> ExitDialog | None:
    shown = [one for one in QApplication.topLevelWidgets() if isinstance(one, ExitDialog) and one.isVisible()]
    return shown[0] if shown else None


def words_of(widget: QWidget) -> str:
    return "\n".join(child.accessibleName() for child in widget.findChildren(QWidget))


async def test_an_unknown_is_shown_with_what_is_certain_and_never_called_failure(
    console, page, unknown, until
) -> None:
    """B-032, console.md §5: last certain fact, process tree, files, output, artifacts, frozen exposure."""
    (console.workspace / "kept.txt").write_text("old\n")
    attempt = await unknown(artifacts=("half.txt",))
    case = page.case
    await until(lambda: case.view is not None and case.files.table.model().rowCount() == 2)
    assert case.view.attempt.id == attempt
    assert "time limit" in case.view.attempt.reason
    said = words_of(page)
    assert "fail" not in said.lower()
    assert "retry" not in said.lower()
    assert [fact.sentence for fact in case.view.certain][-1].startswith("Its process was ended by signal")
    assert {(one.name, one.cost, one.state) for one in case.view.exposure} >= {("WO-1", 30, "FROZEN")}
    assert case.files.words.startswith("1 added, 1 changed, 0 removed")
    await until(lambda: "kept.txt" in case.files.diff.said)
    assert "not kept" in case.files.diff.said
    assert case.files.diff.text == "new\n"
    assert "half.txt: 5 bytes" in said


async def test_no_button_runs_anything_again(console, page, unknown, until) -> None:
    """E-72: three exits, and no way to a second run from here."""
    await unknown()
    await until(lambda: page.case.view is not None)
    buttons = {one.text() for one in page.findChildren(QPushButton) if one.isVisibleTo(page)}
    assert {"It took effect…", "It did not…", "Still unknown…"} <= buttons
    assert not {one for one in buttons if "again" in one.lower() and one != "Look again"}
    assert not {one for one in buttons if "run" in one.lower() or "start" in one.lower()}


async def test_it_did_not_needs_reason_and_proof_and_then_waits_for_approval(
    console, page, unknown, until, tmp_path: Path
) -> None:
    """E-72: nothing is recorded without both; the proof is kept and named in decision and journal."""
    attempt = await unknown()
    await until(lambda: page.case.view is not None)
    assert page.case._lost_age.text().startswith("Became UNKNOWN ")
    proof = tmp_path / "table.csv"
    proof.write_text("no,rows\n")
    page.case.exit_button(Finding.DID_NOT).click()
    await until(dialog)
    asked = dialog()
    assert not asked._done.isEnabled()
    asked._reason.setPlainText("The table is empty.")
    assert not asked._done.isEnabled()
    asked.proof.add_file(proof)
    assert asked._done.isEnabled()
    asked._done.click()
    await until(lambda: page.case.view is not None and not page.case.view.is_open)
    view = page.case.view
    assert view.attempt.decided_by == "ada"
    assert view.notes[0].proof[0].name == "table.csv"
    kept = console.engine._blobs.path(view.notes[0].proof[0].sha256)
    assert kept.read_text() == "no,rows\n"
    journal = await console.engine.journal(before=10**9, limit=100)
    (row,) = [row for row in journal if row.kind == "decision.reconciled.did_not"]
    assert row.detail["proof"][0]["sha256"] == view.notes[0].proof[0].sha256
    story = await console.story(view.attempt.work_order_id)
    assert story.tasks[0].state is TaskState.READY
    assert "decided by ada" in words_of(page)
    assert "fail" not in words_of(page).lower()
    assert attempt == view.attempt.id


async def test_it_took_effect_is_prefilled_with_what_was_measured_only(console, page, unknown, until) -> None:
    """Nothing was reported, so no cost stands there; the measured time does."""
    await unknown()
    await until(lambda: page.case.view is not None)
    page.case.exit_button(Finding.TOOK_EFFECT).click()
    await until(dialog)
    asked = dialog()
    assert asked._cost.text() == ""
    assert asked._time.text().endswith("ms")
    asked._cost.setText("many")
    asked._reason.setPlainText("half.txt is there")
    asked.proof._note.setPlainText("ls: half.txt")
    assert not asked._done.isEnabled()
    asked._cost.setText("7")
    asked._time.setText("300ms")
    assert asked._done.isEnabled()
    asked._done.click()
    await until(lambda: page.case.view is not None and not page.case.view.is_open)
    attempt = page.case.view.attempt
    assert (attempt.state, attempt.actual_cost, attempt.cost_source) == (AttemptState.EXECUTED, 7, "person")
    assert attempt.actual_active_ms == 300


async def test_still_unknown_is_a_note_and_nothing_moves(console, page, unknown, until) -> None:
    await unknown()
    await until(lambda: page.case.view is not None)
    page.case.exit_button(Finding.STILL_UNKNOWN).click()
    await until(dialog)
    dialog()._reason.setPlainText("Asked Grace.")
    dialog()._done.click()
    await until(lambda: page.case.view.notes)
    assert page.case.view.is_open
    assert page.case.view.notes[0].reason == "Asked Grace."
    assert page.case.view.exposure[0].state == "FROZEN"


async def test_what_changed_since_the_end_is_told_apart(console, page, unknown, until) -> None:
    """B-029: after the end it was not the command; the page says by whom it may have been."""
    await unknown()
    await until(lambda: page.case.files._tabs.tabText(1) == "Since it ended (0)")
    (console.workspace / "by-hand.txt").write_text("later\n")
    page.case.files._again.click()
    await until(lambda: page.case.files._tabs.tabText(1) == "Since it ended (1)")
    page.case.files._tabs.setCurrentIndex(1)
    assert "after the run had ended" in page.case.files.words
    await until(lambda: "+later" in page.case.files.diff.text)


async def test_nothing_unknown_says_so_and_a_decided_one_can_still_be_shown(
    console, page, unknown, until
) -> None:
    await until(lambda: page._stack.currentWidget() is page._nothing)
    attempt = await unknown()
    await until(lambda: page._model.rowCount() == 1)
    await console.engine.unknowns.reconcile(
        attempt, Finding.DID_NOT, console.session.actor, reason="nothing there", proof=SEEN
    )
    await until(lambda: page._model.rowCount() == 0 and not page.case.view.is_open)
    page.show_subject(attempt)
    await until(lambda: page._stack.currentWidget() is page.case)
    said = words_of(page.case)
    assert "ada decided that it did not take effect" in said
    assert "It did not take effect, as ada found: nothing there. Known before: The command" in said
    shows = next(one for one in page.case.findChildren(QPushButton) if one.text() == "Show")
    shows.click()
    await until(lambda: any(isinstance(one, KeptFileDialog) for one in QApplication.topLevelWidgets()))
    (kept,) = [one for one in QApplication.topLevelWidgets() if isinstance(one, KeptFileDialog)]
    await until(
        lambda: isinstance(kept.preview.shown, LogView) and kept.preview.shown.table.model().rowCount()
    )
    assert kept.preview.shown.table.model().index(0, 0).data() == "I looked, and it is so."
    kept.reject()
    page.show_subject("01ARZ3NDEKTSV4RRFFQ69G5FAV")
    await until(lambda: page._stack.currentWidget() is page._nothing)


async def test_every_control_has_a_name_and_a_tip_and_nothing_is_cut_off(
    console, page, unknown, until
) -> None:
    """B-118, console.md §9: at the least width of the window the body fits its view."""
    await unknown()
    await until(lambda: page.case.view is not None and page.case.files.diff.text)
    page.resize(856, 460)
    await console.settle()
    for control in controls_of(page.case):
        assert name_of(control), control
        assert control.toolTip() or control.accessibleDescription() or control.accessibleName(), control
    body = page.case._scroll.widget()
    assert body.minimumSizeHint().width() <= page.case._scroll.viewport().width()
    for finding in Finding:
        assert page.case.exit_button(finding).focusPolicy() & Qt.FocusPolicy.TabFocus
