"""The inbox at work: what a person presses, and what the engine hears of it."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest
from PySide6.QtCore import QEvent, QPoint, QPointF, Qt
from PySide6.QtGui import QEnterEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QPushButton, QWidget

from app.panels.inbox.sheet import Act
from app.session import Selection
from engine.control.holds import Node
from engine.scheduling.gates import Gate
from engine.states import ApprovalState, NodeKind
from engine.views.values import ApprovalCard, DifferenceLine
from tests.app.panels.inbox.conftest import MakeDesk, answer, dialog
from tests.app.panels.inbox.samples import GATES, MINUTE, START, approval_card, plan_json

HOSTILE = (
    "python",
    "-c",
    "print(1)\nimport os\tos",
    "safe\u202egpj.exe",
    "trailing   ",
    "",
    "a" * 12_000,
    *(f"--option-{number}" for number in range(33)),
)


def cards(count: int) -> list[ApprovalCard]:
    """Different requests, oldest first."""
    return [
        approval_card(
            approval_id=f"A{number}",
            task_id=f"T{number}",
            work_order_id=f"W{number}",
            number=100 + number,
            title=f"Title {number}",
            seal=f"{number:064d}",
            asked_at=START + number,
            plan=plan_json(argv=["python", "fix.py", str(number)]),
        )
        for number in range(1, count + 1)
    ]


def alike(count: int) -> list[ApprovalCard]:
    return [replace(card, seal="s" * 64, plan=cards(1)[0].plan) for card in cards(count)]


# ----------------------------------------------------------------------------------------------- attention


async def test_b005_enter_at_once_approves_nothing(desk: MakeDesk) -> None:
    one = await desk(cards(2))
    one.list.setFocus()
    QTest.keyClick(one.list, Qt.Key.Key_Return)
    assert one.card.isAncestorOf(QApplication.focusWidget()), "Enter goes on to the card"
    assert not isinstance(QApplication.focusWidget(), QPushButton)
    await one.look_to_the_end()
    for key in (Qt.Key.Key_Return, Qt.Key.Key_Enter, Qt.Key.Key_Space, Qt.Key.Key_Y, Qt.Key.Key_A):
        QTest.keyClick(QApplication.focusWidget(), key)
    await one.settle()
    assert one.commands() == []
    for button in one.card.findChildren(QPushButton):
        assert not button.isDefault()
        assert not button.autoDefault()


async def test_ctrl_enter_in_the_card_approves_what_was_shown(desk: MakeDesk) -> None:
    one = await desk(cards(1))
    one.card.focus_body()
    await one.look_to_the_end()
    assert one.card.hint() == "Enter goes into the card, Ctrl+Enter there approves · ready"
    one.approve_key()
    await one.settle()
    (call,) = one.engine.calls
    assert call[:4] == ("approve", "A1", f"{1:064d}", False)
    assert call[4] > 0, "the look time goes along"


async def test_ctrl_enter_outside_the_card_does_nothing(desk: MakeDesk) -> None:
    one = await desk(cards(1))
    await one.look_to_the_end()
    one.list.setFocus()
    one.approve_key()
    await one.settle()
    assert one.commands() == []


async def test_a_held_down_key_does_nothing(desk: MakeDesk) -> None:
    one = await desk(cards(1))
    one.card.focus_body()
    await one.look_to_the_end()
    one.approve_key(repeat=True)
    await one.settle()
    assert one.commands() == []


async def test_nothing_can_be_approved_before_the_arming_delay(desk: MakeDesk) -> None:
    one = await desk(cards(2))
    QTest.keyClick(one.list, Qt.Key.Key_Down)
    await one.settle()
    assert one.shown() == "A2"
    assert one.card.hint() == "Enter goes into the card, Ctrl+Enter there approves · ready in 0.7 s"
    one.clock.advance(300)
    one.card._refresh()
    assert one.card.hint() == "Enter goes into the card, Ctrl+Enter there approves · ready in 0.4 s"
    approve = one.card.button(Act.APPROVE)
    assert approve is not None
    assert not approve.isEnabled()
    one.approve_key(at=one.card)
    one.clock.advance(400)
    one.card._refresh()
    assert approve.isEnabled()
    await one.settle()
    assert one.commands() == []


async def test_while_another_card_is_read_nothing_can_be_approved(desk: MakeDesk) -> None:
    one = await desk(cards(2))
    await one.look_to_the_end()
    assert one.card.readiness().ready
    QTest.keyClick(one.list, Qt.Key.Key_Down)
    assert not one.card.readiness().ready, "the old card still stands there, but another was chosen"
    await one.settle()


async def becomes_active(view: QWidget, active: bool) -> None:
    """Wait until the window system has told the view so."""
    while view.isActiveWindow() is not active:
        await asyncio.sleep(0.001)


async def test_b007_the_click_that_activates_the_window_does_nothing_else(desk: MakeDesk) -> None:
    one = await desk(cards(2))
    await one.look_to_the_end()
    cover = QWidget()
    cover.show()
    cover.activateWindow()
    await becomes_active(one.view, False)
    one.click(Act.APPROVE)
    QTest.mouseClick(one.list.viewport(), Qt.MouseButton.LeftButton, pos=QPoint(40, 100))
    one.view.activateWindow()
    await becomes_active(one.view, True)
    one.click(Act.APPROVE)
    await one.settle()
    assert one.commands() == []
    assert one.shown() == "A1"
    await one.arm()
    one.click(Act.APPROVE)
    await one.settle()
    assert one.commands() == ["approve"]
    cover.close()


async def test_look_time_stops_while_the_window_is_behind_another(desk: MakeDesk) -> None:
    one = await desk(cards(1))
    cover = QWidget()
    cover.show()
    cover.activateWindow()
    await becomes_active(one.view, False)
    before = one.view._guard.look_ms
    one.clock.advance(60_000)
    assert one.view._guard.look_ms == before
    cover.close()


async def test_b008_approve_waits_until_the_end_of_argv_was_visible(desk: MakeDesk) -> None:
    one = await desk([replace(with_validation(), plan=plan_json(argv=list(HOSTILE)))])
    await one.arm()
    assert one.card.readiness().unseen == ("command",)
    assert one.card.hint() == "Scroll to the end of the command first"
    one.card.focus_body()
    one.approve_key()
    bar = one.card._scroll.verticalScrollBar()
    bar.setValue(bar.maximum())
    assert one.card.readiness().unseen == ("command",), "rushing past the end is not seeing it"
    QTest.keyClick(QApplication.focusWidget(), Qt.Key.Key_End)
    assert one.card.readiness().ready
    assert one.commands() == []
    assert one.card._command.command.argv() == HOSTILE
    said = one.card._command.command.accessibleDescription()
    assert "U+202E" in said
    assert "3 spaces" in said
    assert "40 elements" in one.card._command._end.text()


async def test_content_that_changes_disarms_and_is_read_again(desk: MakeDesk) -> None:
    one = await desk(cards(1))
    await one.look_to_the_end()
    assert one.card.readiness().ready
    one.engine.put(**{**_fields(one.engine.cards["A1"]), "seal": "f" * 64})
    await one.settle()
    assert not one.card.readiness().ready
    await one.look_to_the_end()
    one.click(Act.APPROVE)
    await one.settle()
    assert one.engine.calls[0][2] == "f" * 64, "the seal that was shown"


async def test_other_work_leaves_the_card_armed(desk: MakeDesk) -> None:
    one = await desk(cards(2))
    await one.look_to_the_end()
    one.engine.end("A2", ApprovalState.EXPIRED)
    await one.settle()
    one.view._read_card_again()
    await one.settle()
    assert one.card.readiness().ready


async def test_two_presses_send_one_decision(desk: MakeDesk) -> None:
    one = await desk(cards(1))
    one.engine.gate = asyncio.Event()
    one.card.focus_body()
    await one.look_to_the_end()
    one.approve_key()
    await asyncio.sleep(0)
    assert one.card.hint() == "Sending the decision…"
    one.approve_key()
    one.click(Act.APPROVE)
    one.engine.gate.set()
    await one.settle()
    assert one.commands() == ["approve"]


# ------------------------------------------------------------------------------------------ after a decision


async def test_the_next_card_is_shown_disarmed_with_the_focus_on_its_body(desk: MakeDesk) -> None:
    one = await desk(cards(3))
    one.card.focus_body()
    await one.look_to_the_end()
    one.approve_key()
    await one.settle()
    assert one.shown() == "A2"
    assert one.titles() == ["Title 2", "Title 3"]
    assert not one.card.readiness().ready
    assert one.card.isAncestorOf(QApplication.focusWidget())
    assert not isinstance(QApplication.focusWidget(), QPushButton)
    assert one.view._done.text() == "Approved WO-101 · implement “Title 1” at 00:00"


async def test_an_approval_of_what_is_held_says_that_it_waits(desk: MakeDesk) -> None:
    held = Gate("hold", False, "The engine is held: look at the disk.")
    gates = tuple(held if gate.name == "hold" else gate for gate in GATES)
    one = await desk([replace(card, gates=gates) for card in cards(2)])
    one.card.focus_body()
    await one.look_to_the_end()
    one.approve_key()
    await one.settle()
    assert one.view._done.text().endswith("at 00:00 · It waits: The engine is held: look at the disk.")


async def test_an_approval_can_be_withdrawn_at_once(desk: MakeDesk) -> None:
    one = await desk(cards(2))
    await one.look_to_the_end()
    one.click(Act.APPROVE)
    await one.settle()
    assert one.view._undo.isVisible()
    one.view._undo.click()
    await one.settle()
    assert one.commands() == ["approve", "withdraw"]
    assert one.view._done.text().endswith("withdrawn again; nothing runs")
    assert not one.view._undo.isVisible()


async def test_once_used_an_approval_is_not_offered_to_be_withdrawn(desk: MakeDesk) -> None:
    one = await desk(cards(2))
    await one.look_to_the_end()
    one.click(Act.APPROVE)
    await one.settle()
    one.engine.end("A1", ApprovalState.CONSUMED)
    await one.settle()
    assert not one.view._undo.isVisible()
    assert one.view._done.text().endswith("used: its run was authorised")


async def test_a_withdrawal_that_comes_too_late_says_why(desk: MakeDesk) -> None:
    one = await desk(cards(1))
    await one.look_to_the_end()
    one.click(Act.APPROVE)
    await one.settle()
    one.engine.cards["A1"] = replace(one.engine.cards["A1"], state=ApprovalState.CONSUMED)
    one.view._undo.click()
    await one.settle()
    assert "An admission has used it." in one.view._done.text()
    assert "Stop the attempt instead" in one.view._done.text()


async def test_the_last_one_leaves_the_empty_page(desk: MakeDesk) -> None:
    one = await desk(cards(1))
    one.card.focus_body()
    await one.look_to_the_end()
    one.approve_key()
    await one.settle()
    assert one.shown() is None
    assert one.view._stack.currentWidget() is one.view._nothing
    assert not one.card.readiness().ready
    one.engine.put(**{**_fields(cards(2)[1])})
    await one.settle()
    assert one.shown() == "A2"


async def test_an_error_of_the_engine_is_said_in_the_card(desk: MakeDesk) -> None:
    one = await desk(cards(1))
    one.card.focus_body()
    await one.look_to_the_end()
    one.engine.cards["A1"] = replace(one.engine.cards["A1"], seal="0" * 64)
    one.approve_key()
    await one.settle()
    assert one.card.error_text() == "What was shown is not what is asked for now.\nLook at the card again."
    assert one.shown() == "A1"
    assert one.engine.cards["A1"].state is ApprovalState.PENDING
    assert one.card.isAncestorOf(QApplication.focusWidget())
    assert not one.card.readiness().ready, "the new content was not looked at yet"
    await one.look_to_the_end()
    one.approve_key()
    await one.settle()
    assert one.card.error_text() == ""
    assert one.engine.cards["A1"].state is ApprovalState.APPROVED


async def test_a_decision_somebody_else_made_first_is_told_as_such(desk: MakeDesk) -> None:
    one = await desk(cards(2))
    await one.look_to_the_end()
    one.engine.cards["A1"] = replace(
        one.engine.cards["A1"], state=ApprovalState.REJECTED, decided_by="eve", decided_at=START
    )
    one.click(Act.APPROVE)
    await one.settle()
    assert one.view._done.text().startswith("Not approved:")
    assert "eve had rejected it before" in one.view._done.text()


async def test_reject_needs_a_reason_and_holds_its_row_until_then(desk: MakeDesk) -> None:
    one = await desk(cards(2))
    one.click(Act.REJECT)
    asked = await dialog()
    assert one.commands() == []
    asked.reject()
    await one.settle()
    assert one.commands() == []
    assert one.shown() == "A1"
    await one.arm()
    one.click(Act.REJECT)
    await answer("wrong branch", "Reject")
    await one.settle()
    assert one.engine.calls == [("reject", "A1", "wrong branch")]
    assert one.shown() == "A2"
    assert one.view._done.text().startswith("Rejected WO-101")


async def test_hold_and_resume_act_on_the_step(desk: MakeDesk) -> None:
    one = await desk(cards(1))
    assert Act.RESUME not in one.acts()
    one.click(Act.HOLD)
    await answer("wait for Bob", "Hold")
    await one.settle()
    one.session.refresh_status()
    await one.settle()
    assert one.engine.calls == [("hold", Node(NodeKind.TASK, "T1"), "wait for Bob")]
    assert one.shown() == "A1", "a hold decides nothing about the request"
    assert Act.RESUME in one.acts()
    assert Act.HOLD not in one.acts()
    await one.arm()
    one.click(Act.RESUME)
    await answer("Bob is back", "Resume")
    await one.settle()
    assert one.engine.calls[-1] == ("resume", Node(NodeKind.TASK, "T1"), "Bob is back")


# ------------------------------------------------------------------------------------------ ended requests


async def test_b016_an_expired_request_says_so_and_offers_only_what_works(desk: MakeDesk) -> None:
    one = await desk(cards(2))
    one.clock.advance(60 * MINUTE)
    one.session.times.ticked.emit()
    assert Act.APPROVE not in one.acts()
    assert Act.REJECT not in one.acts()
    assert not one.card.readiness().ready
    one.engine.end("A1", ApprovalState.EXPIRED, ended_at=one.clock.now())
    await one.settle()
    assert one.shown() == "A1", "its card stays: a person looks at it"
    assert one.acts() == {Act.ASK_AGAIN, Act.SHOW_ORDER}
    assert "Expired today" in one.card._ending.text()
    one.click(Act.ASK_AGAIN)
    await one.settle()
    assert one.commands() == ["ask_again"]
    assert one.shown() == "A1x"
    assert Act.APPROVE in one.acts()


async def test_b019_a_changed_request_leads_to_the_new_one_with_both_sides(desk: MakeDesk) -> None:
    one = await desk(cards(1))
    old = one.engine.end(
        "A1", ApprovalState.CHANGED, decided_by="ada", decided_at=START, ended_at=START + MINUTE
    )
    one.engine.put(
        **{
            **_fields(old),
            "approval_id": "A9",
            "state": ApprovalState.PENDING,
            "seal": "9" * 64,
            "asked_at": START + MINUTE,
            "previous_id": "A1",
            "differences": (
                DifferenceLine("input tools/apply_fix.py", "sha256 aa, 1 bytes", "sha256 bb, 2 bytes"),
                DifferenceLine("argument 2", "1", "2"),
            ),
        }
    )
    await one.settle()
    assert one.shown() == "A1"
    assert Act.ASK_AGAIN not in one.acts()
    one.click(Act.SHOW_NEXT)
    await one.settle()
    assert one.shown() == "A9"
    assert one.card._badge.word == "changed since asked"
    assert one.card._differences.isVisible()
    names = {child.accessibleName() for child in one.card._differences.findChildren(QWidget)}
    assert "argument 2, approved by ada today 00:00: 1" in names
    assert "argument 2, now: 2" in names
    assert [line.element.changed for line in one.card._command.command._lines] == [False, False, True]


async def test_an_approved_request_can_be_withdrawn_from_its_card(desk: MakeDesk) -> None:
    one = await desk(cards(1))
    one.engine.end("A1", ApprovalState.APPROVED, decided_by="ada", decided_at=START)
    await one.settle()
    assert one.acts() == {Act.WITHDRAW, Act.HOLD, Act.SHOW_ORDER}
    await one.arm()
    one.click(Act.WITHDRAW)
    await one.settle()
    assert one.commands() == ["withdraw"]
    assert "Withdrawn" in one.card._ending.text()


async def test_a_request_that_is_not_in_the_queue_can_be_shown(desk: MakeDesk) -> None:
    one = await desk(cards(2))
    one.engine.end("A2", ApprovalState.CONSUMED, decided_by="ada", decided_at=START, ended_at=START)
    await one.settle()
    one.view.show_subject("A2")
    await one.settle()
    assert one.shown() == "A2"
    assert one.acts() == {Act.SHOW_ORDER}
    assert not one.list.currentIndex().isValid(), "no row is marked that is not on the card"
    one.view.show_subject("W1")
    await one.settle()
    assert one.shown() == "A1"


# -------------------------------------------------------------------------------------------------- batches


async def test_b010_alike_requests_are_listed_deselectable_and_approved_together(desk: MakeDesk) -> None:
    one = await desk([*alike(3), *cards(4)[3:]], size=(856, 490))
    assert one.titles() == ["Title 1", "Title 4"]
    assert one.card.ticked() == ("A1", "A2", "A3")
    assert one.card.button(Act.APPROVE).text() == "Approve 3 alike"
    await one.arm()
    assert one.card.readiness().unseen == ("list of those alike",), "every one must have been visible"
    await one.look_to_the_end()
    one.card._alike._boxes["A2"].click()
    assert one.card.button(Act.APPROVE).text() == "Approve 2 alike"
    one.click(Act.APPROVE)
    await one.settle()
    assert one.engine.calls[0][:3] == ("approve_alike", ("A1", "A3"), "s" * 64)
    assert one.shown() == "A2", "what was left out still waits"
    assert one.titles() == ["Title 2", "Title 4"]


async def test_what_joins_while_one_looks_is_not_ticked(desk: MakeDesk) -> None:
    one = await desk(alike(3)[:2])
    await one.look_to_the_end()
    one.engine.put(**_fields(alike(3)[2]))
    await one.settle()
    one.view._read_card_again()
    await one.settle()
    assert one.card._alike._boxes.keys() == {"A1", "A2", "A3"}
    assert one.card.ticked() == ("A1", "A2")
    one.click(Act.APPROVE)
    await one.settle()
    assert one.engine.calls[0][1] == ("A1", "A2")


async def test_e42b_a_validation_that_is_not_shown_is_never_covered(desk: MakeDesk) -> None:
    first = with_validation()
    other = replace(first, approval_id="A2", task_id="T2", asked_at=START + 5, validation_seal="w" * 64)
    one = await desk([first, other])
    one.card._alike._boxes["A2"].click()
    one.card._covers.click()
    assert one.card.covers_validation
    one.card._alike._boxes["A2"].click()
    one.card._alike._boxes["A1"].click()
    assert one.card.ticked() == ("A2",)
    assert not one.card.covers_validation
    await one.look_to_the_end()
    one.click(Act.APPROVE)
    await one.settle()
    assert one.engine.calls[0][1:4] == ("A2", first.seal, False)


async def test_nothing_ticked_approves_nothing(desk: MakeDesk) -> None:
    one = await desk(alike(2))
    await one.look_to_the_end()
    for box in one.card._alike._boxes.values():
        box.click()
    assert one.card.hint() == "Tick at least one request"
    assert not one.card.button(Act.APPROVE).isEnabled()


async def test_one_ticked_is_approved_alone(desk: MakeDesk) -> None:
    one = await desk(alike(2))
    await one.look_to_the_end()
    one.card._alike._boxes["A1"].click()
    one.click(Act.APPROVE)
    await one.settle()
    assert one.engine.calls[0][:3] == ("approve", "A2", "s" * 64)


async def test_a_batch_is_all_or_nothing(desk: MakeDesk) -> None:
    one = await desk(alike(2))
    await one.look_to_the_end()
    one.engine.cards["A2"] = replace(one.engine.cards["A2"], state=ApprovalState.WITHDRAWN)
    one.click(Act.APPROVE)
    await one.settle()
    assert one.engine.cards["A1"].state is ApprovalState.PENDING
    assert "WITHDRAWN" in one.card.error_text()
    assert "Nothing was decided" in one.card.error_text()


async def test_the_card_of_each_request_alike_can_be_looked_at(desk: MakeDesk) -> None:
    one = await desk(alike(2))
    one.card._alike.looked_at.emit("A2")
    await one.settle()
    assert one.shown() == "A2"
    assert one.list.currentIndex().row() == 0


# --------------------------------------------------------------------------------------------- validation


def with_validation() -> ApprovalCard:
    return approval_card(
        approval_id="A1",
        validation_plan=plan_json(
            purpose="VALIDATE",
            argv=["python", "-m", "pytest", *[f"tests/test_{number}.py" for number in range(40)]],
            inputs=[],
            state={**plan_json()["state"], "kind": "as_left_by_approved_step"},
        ),
        validation_seal="v" * 64,
    )


async def test_e42b_the_step_alone_is_what_is_approved_unless_the_box_is_ticked(desk: MakeDesk) -> None:
    one = await desk([with_validation()])
    await one.look_to_the_end()
    assert not one.card.covers_validation
    assert one.card._validation.isVisible(), "the validation is shown either way"
    one.click(Act.APPROVE)
    await one.settle()
    assert one.engine.calls[0][3] is False


async def test_e42b_one_look_covers_both_once_both_ends_were_visible(desk: MakeDesk) -> None:
    one = await desk([with_validation()])
    await one.look_to_the_end()
    assert one.card.readiness().ready
    one.card._covers.click()
    assert one.card.button(Act.APPROVE).text() == "Approve both"
    assert one.card.readiness().unseen == ("validation command",)
    await one.look_to_the_end()
    one.click(Act.APPROVE)
    await one.settle()
    assert one.engine.calls[0][3] is True


async def test_the_box_is_not_ticked_on_the_next_card(desk: MakeDesk) -> None:
    second = replace(with_validation(), approval_id="A2", task_id="T2", seal="2" * 64, asked_at=START + 5)
    one = await desk([with_validation(), second])
    one.card._covers.click()
    QTest.keyClick(one.list, Qt.Key.Key_Down)
    await one.settle()
    assert one.shown() == "A2"
    assert not one.card.covers_validation


# ------------------------------------------------------------------------------------------------ the list


async def test_b002_the_list_never_moves_under_the_pointer(desk: MakeDesk) -> None:
    one = await desk(cards(4))
    inside = QPointF(20, 20)
    QApplication.sendEvent(one.list, QEnterEvent(inside, inside, inside))
    one.engine.end("A2", ApprovalState.EXPIRED)
    one.engine.put(**_fields(cards(6)[5]))
    await one.settle()
    assert one.titles() == ["Title 1", "Title 2", "Title 3", "Title 4", "Title 6"]
    assert one.model.entry(1).end == "expired"
    QApplication.sendEvent(one.list, QEvent(QEvent.Type.Leave))
    assert one.titles()[1] == "Title 2", "not at once"
    one.list._settle.timeout.emit()
    assert one.titles() == ["Title 1", "Title 3", "Title 4", "Title 6"]


async def test_scroll_and_selection_stay_when_rows_above_go(desk: MakeDesk) -> None:
    one = await desk(cards(60))
    one.list.choose(40)
    await one.settle()
    chosen = one.list.currentIndex().data()
    top = one.list.visualRect(one.list.currentIndex()).top()
    for number in range(1, 11):
        one.engine.end(f"A{number}", ApprovalState.EXPIRED)
    await one.settle()
    assert one.list.currentIndex().data() == chosen
    assert one.list.visualRect(one.list.currentIndex()).top() == top
    assert one.model.rowCount() == 50


async def test_keys_go_from_the_list_to_the_card_and_back(desk: MakeDesk) -> None:
    one = await desk(cards(3))
    one.view.focus_first()
    QTest.keyClick(one.list, Qt.Key.Key_Down)
    await one.settle()
    assert one.shown() == "A2"
    QTest.keyClick(one.list, Qt.Key.Key_Right)
    assert one.card.isAncestorOf(QApplication.focusWidget())
    QTest.keyClick(QApplication.focusWidget(), Qt.Key.Key_Escape)
    assert QApplication.focusWidget() is one.list
    assert one.commands() == []


async def test_b013_the_queue_is_read_from_what_is_stored(desk: MakeDesk) -> None:
    one = await desk(cards(2))
    one.engine.cards["A9"] = replace(cards(1)[0], approval_id="A9", seal="9" * 64, asked_at=START + 9)
    one.session.refresh_status()
    await one.settle()
    one.view._recheck.timeout.emit()
    await one.settle()
    assert one.titles() == ["Title 1", "Title 2", "Title 1"], "found although no change told of it"


async def test_counts_and_meter(desk: MakeDesk) -> None:
    one = await desk(alike(3))
    assert one.view._count.text() == "3 of 3"
    meter = one.view._meter.text().replace("\u00a0", " ")
    assert meter == "Quiet meter: 6 decisions in the last hour · median look 38 s"


async def test_the_command_bar_acts_on_the_step_of_the_card(desk: MakeDesk) -> None:
    one = await desk(cards(1))
    assert one.view.selection == Selection(NodeKind.TASK, "T1", "WO-101 · implement")
    one.engine.end("A1", ApprovalState.APPROVED)
    one.view._forget()
    assert one.view.selection is None


# ---------------------------------------------------------------------------------------------- accessibility


async def test_b118_b119_everything_has_a_name_and_the_card_tells_the_whole_argv(desk: MakeDesk) -> None:
    one = await desk([with_validation(), *cards(3)[1:]])
    for widget in one.view.findChildren(QWidget):
        if widget.focusPolicy() != Qt.FocusPolicy.NoFocus and widget.isVisible():
            assert widget.accessibleName(), f"{type(widget).__name__} has no name"
    for element in one.engine.cards["A1"].plan["argv"]:
        assert element in one.card.accessibleDescription()
    text = one.model.index(0).data(Qt.ItemDataRole.AccessibleTextRole)
    assert "--issue" in text
    assert "WO-118" in text
    assert "asked" in text


@pytest.mark.parametrize("size", [(1112, 650), (856, 490)])
async def test_nothing_is_wider_than_its_place(desk: MakeDesk, size: tuple[int, int]) -> None:
    one = await desk([with_validation(), approval_card(approval_id="A2", seal="2" * 64)], size=size)
    assert (one.view.width(), one.view.height()) == size, "the page fits the smallest window"
    assert one.card._body.width() <= one.card._scroll.viewport().width()
    assert one.card._scroll.horizontalScrollBar().maximum() == 0


def _fields(card: ApprovalCard) -> dict[str, object]:
    return {name: getattr(card, name) for name in ApprovalCard.__dataclass_fields__}


async def test_b013_going_on_from_an_ended_row_loses_no_other(desk: MakeDesk) -> None:
    """The ended row goes when another is looked at; what the view chooses in between chooses and removes nothing."""
    one = await desk(cards(4))
    assert one.shown() == "A1"
    one.engine.end("A1", ApprovalState.REJECTED)
    await one.settle()
    assert one.titles() == ["Title 1", "Title 2", "Title 3", "Title 4"]
    one.view.show_subject("A4")
    await one.settle()
    assert one.titles() == ["Title 2", "Title 3", "Title 4"]
    assert one.shown() == "A4"
    assert one.list.currentIndex().row() == 2
