"""Every part of the page and the editor: names, tooltips, the keyboard, and room for words at the smallest size."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from PySide6.QtCore import QSize, Qt
from PySide6.QtWidgets import (
    QAbstractButton,
    QAbstractItemView,
    QApplication,
    QRadioButton,
    QScrollArea,
    QTabBar,
    QWidget,
)

from app.panels.wakes.schedule_editor import ScheduleDialog
from engine.actors import Actor
from engine.wakes import CatchUp
from engine.work_order import WorkOrderSpec
from tests.app.conftest import until
from tests.app.panels.wakes.conftest import DAY, HOUR, MINUTE, SECOND, Desk
from tests.app.test_accessibility import controls_of, name_of

SMALLEST = QSize(856, 440)
"""What is left for a page at 1024×640 beside the rail and under two strips."""


def faults(widget: QWidget) -> list[str]:
    """What is nameless, silent, cut, or scrolls sideways."""
    found = []
    for control in controls_of(widget):
        name = name_of(control)
        if not name:
            found.append(f"nameless: {control}")
        if not isinstance(control, QAbstractItemView | QTabBar) and not control.toolTip():
            found.append(f"silent: {name}")
        if isinstance(control, QAbstractButton) and control.text():
            needed = control.fontMetrics().horizontalAdvance(control.text())
            if control.width() < needed:
                found.append(f"cut: {control.text()}")
    for area in widget.findChildren(QScrollArea):
        if area.isVisible() and area.horizontalScrollBar().maximum() > 0:
            found.append(f"sideways: {area.accessibleName()}")
    return found


def missed_by_tab(window: QWidget, widget: QWidget) -> list[str]:
    """The controls that the Tab key does not come to."""
    reached: set[QWidget] = set()
    for _ in range(120):
        focused = QApplication.focusWidget()
        if focused is None or focused in reached:
            break
        reached.add(focused)
        window.focusNextChild()
    missed = []
    for control in controls_of(widget):
        proxied = control.focusProxy() or control
        group = isinstance(control, QRadioButton) and not control.isChecked()
        wants = proxied.focusPolicy() & Qt.FocusPolicy.TabFocus
        if control.isEnabled() and wants and proxied not in reached and not group:
            missed.append(name_of(control))
    return missed


async def test_b118_b119_every_part_can_be_read_and_walked(
    desk: Desk, spec: WorkOrderSpec, actor: Actor, expected_log: Any
) -> None:
    zone = "America/Argentina/Buenos_Aires"
    for title in ("A schedule whose name goes on and on, further than any list is wide", "Another"):
        await desk.engine.schedules.add(
            replace(spec, title=title), actor, cron="30 2 * * *", zone=zone, catch_up=CatchUp.ASK
        )
    desk.sink.error = RuntimeError("the mail server said 550 " * 20)
    await desk.book(in_="1m", lane="mail", intent={"title": "Send the report"})
    await desk.engine.reconcile_once()
    with expected_log("failed at attempt 1"), expected_log("is dead"):
        await desk.pass_time(MINUTE)
        await desk.pass_time(HOUR)
    desk.clock.suspend(DAY)
    desk.clock.advance(SECOND)
    await desk.engine.reconcile_once()
    await desk.book(in_="1h", lane="mail")
    desk.page.resize(SMALLEST)
    desk.page.activateWindow()
    await until(desk.page.isActiveWindow)
    for subject in ("dead", "schedules", "docket", "figures"):
        desk.page.show_subject(subject)
        await desk.settle()
        desk.page.focus_first()
        await desk.settle()
        assert faults(desk.page) == [], subject
        assert missed_by_tab(desk.page, desk.page) == [], subject
        assert desk.page.size() == SMALLEST, subject


async def test_b118_b119_the_editor_can_be_read_and_walked(
    desk: Desk, spec: WorkOrderSpec, actor: Actor
) -> None:
    await desk.engine.submit(spec, actor)
    desk.page._make_schedule(None)
    await until(lambda: isinstance(QApplication.activeModalWidget(), ScheduleDialog))
    dialog = QApplication.activeModalWidget()
    assert isinstance(dialog, ScheduleDialog)
    dialog.resize(984, 560)
    await until(dialog.isActiveWindow)
    for kind, end in ((0, 1), (1, 2)):
        dialog.form._kind.setCurrentIndex(kind)
        dialog.form._end.setCurrentIndex(end)
        dialog._soon.stop()
        await dialog.preview_now()
        dialog.form.focus("work_order")
        assert faults(dialog) == []
        assert missed_by_tab(dialog, dialog) == []
    assert dialog.size() == QSize(984, 560)
    dialog.reject()
    await desk.settle()
