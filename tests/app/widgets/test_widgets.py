"""The shared widgets: what they show, what a screen reader hears, what they measure."""

from __future__ import annotations

import json

import pytest
from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtGui import QGuiApplication, QImage, QPainter
from PySide6.QtWidgets import QLabel, QScrollArea, QWidget
from pytestqt.qtbot import QtBot

from app.theme import Shape, Text, Theme, Tone, font
from app.widgets import (
    Badge,
    Budget,
    BudgetBar,
    BudgetWaterfall,
    CommandText,
    Element,
    ElidedLabel,
    EmptyState,
    KeyValueGrid,
    Role,
    badge_size,
    button,
    copy_text,
    label,
    paint_badge,
    set_role,
)
from app.widgets.meter import left_text
from engine.states import TaskState

pytestmark = pytest.mark.usefixtures("themed")

NASTY = ("python", "-c", "a\nb\tc  ", "\u202egnp.exe", "x" * 12_000, "", "😀 é 日本")


def show(qtbot: QtBot, widget: QWidget, width: int = 600, height: int = 400) -> QWidget:
    qtbot.addWidget(widget)
    widget.resize(width, height)
    widget.show()
    qtbot.waitExposed(widget)
    return widget


def test_a_badge_says_its_word_in_the_accessible_name(qtbot: QtBot) -> None:
    badge = Badge.of(TaskState.UNKNOWN)
    qtbot.addWidget(badge)
    assert (badge.word, badge.tone, badge.accessibleName()) == ("UNKNOWN", Tone.UNKNOWN, "UNKNOWN")
    badge.show_word("2 alike")
    assert badge.accessibleName() == "2 alike"


def test_a_painted_badge_fits_its_measure(qtbot: QtBot) -> None:
    image = QImage(200, 40, QImage.Format.Format_ARGB32)
    image.fill(Qt.GlobalColor.white)
    painter = QPainter(image)
    at = paint_badge(painter, QPointF(4, 4), "expires 12:40", Tone.WARN, Shape.CLOCK, font(Text.SMALL_STRONG))
    painter.end()
    assert at.size() == badge_size("expires 12:40", Shape.CLOCK, font(Text.SMALL_STRONG))
    outside = [
        image.pixelColor(x, y).lightness()
        for x in range(200)
        for y in range(40)
        if not at.contains(QPointF(x, y))
    ]
    assert min(outside) == 255


def test_buttons_say_their_key_and_are_never_the_default(qtbot: QtBot) -> None:
    pressed: list[int] = []
    made = button("Hold…", "Hold what is selected", lambda: pressed.append(1), role=Role.PLAIN, key="Ctrl+H")
    show(qtbot, made)
    assert made.accessibleName() == "Hold"
    assert made.toolTip() == "Hold what is selected (Ctrl+H)"
    assert not made.isDefault()
    assert not made.autoDefault()
    qtbot.mouseClick(made, Qt.MouseButton.LeftButton)
    assert pressed == [1]


def test_roles_can_change(qtbot: QtBot) -> None:
    made = label("dispatch held", parent=None)
    qtbot.addWidget(made)
    set_role(made, "danger")
    assert made.property("role") == "danger"


def test_labels_never_read_markup(qtbot: QtBot) -> None:
    made = label("<b>bold</b>")
    qtbot.addWidget(made)
    assert made.textFormat() is Qt.TextFormat.PlainText


def test_an_elided_label_keeps_all_of_its_text_in_the_tooltip(qtbot: QtBot) -> None:
    text = "a long title that does not fit into the place it has\nsecond line"
    made = ElidedLabel(text)
    show(qtbot, made, 80, 20)
    assert made.toolTip() == text.replace("\n", " ")
    made.resize(900, 20)
    assert made.toolTip() == ""


def test_key_values_are_spoken_together(qtbot: QtBot) -> None:
    grid = KeyValueGrid("Where")
    value = grid.add("Workspace", "D:\\src", code=True, tip="the folder")
    grid.add("State", Badge.of(TaskState.READY))
    show(qtbot, grid)
    assert isinstance(value, QLabel)
    assert value.accessibleName() == "Workspace: D:\\src"
    grid.clear()
    assert not [child for child in grid.findChildren(QLabel) if child.isVisible()]


@pytest.mark.parametrize(
    "name", ["x" * 200, "a project whose name somebody made much longer than any column could ever be " * 2]
)
def test_a_long_name_wraps_and_leaves_its_value_in_sight(qtbot: QtBot, name: str) -> None:
    grid = KeyValueGrid("Held")
    value = grid.add(name, "20 units and 5 s frozen")
    assert grid.minimumSizeHint().width() < 400
    show(qtbot, grid, 400, 300)
    (head,) = (one for one in grid.findChildren(QLabel) if one is not value)
    assert head.accessibleName() == name
    assert head.height() >= 2 * head.fontMetrics().height()
    assert value.geometry().right() <= grid.width()
    assert value.width() > 100


def test_an_ampersand_in_a_name_is_shown(qtbot: QtBot) -> None:
    grid = KeyValueGrid("Held")
    value = grid.add("R&D", "20 units")
    (head,) = (one for one in grid.findChildren(QLabel) if one is not value)
    assert (
        head.text() == "R&&D"
    )  # as Qt writes it: one "&" alone would be taken for a shortcut and not be seen


def test_an_empty_state_says_what_and_what_to_do(qtbot: QtBot) -> None:
    pressed: list[int] = []
    empty = EmptyState(
        "Nothing waits for you", "New requests come here.", "New work order…", lambda: pressed.append(1)
    )
    show(qtbot, empty)
    assert empty.accessibleName() == "Nothing waits for you"
    assert empty.button is not None
    qtbot.mouseClick(empty.button, Qt.MouseButton.LeftButton)
    assert pressed == [1]
    empty.say("No match", "Search for something else.")
    assert empty.accessibleDescription() == "Search for something else."


def test_copying(qtbot: QtBot) -> None:
    copy_text("4be1 c09d")
    assert QGuiApplication.clipboard().text() == "4be1 c09d"


# ------------------------------------------------------------------------------------------ command text


def test_a_command_is_shown_whole_and_spoken_whole(qtbot: QtBot) -> None:
    """B-008: 12,000 characters, a newline, a tab, an override and trailing spaces."""
    shown = CommandText(NASTY)
    show(qtbot, shown)
    assert shown.argv() == NASTY
    assert shown.accessibleName() == "Command, 7 elements"
    said = shown.accessibleDescription()
    assert "2: a⟨U+000A LF⟩b⟨U+0009 TAB⟩c⟨2 spaces⟩" in said
    assert "3: ⟨U+202E RLO⟩gnp.exe" in said
    assert "x" * 12_000 in said
    assert "5: ⟨empty⟩" in said
    assert shown.heightForWidth(600) > 100 * shown.fontMetrics().height()


def test_a_command_grows_as_it_gets_narrower(qtbot: QtBot) -> None:
    shown = CommandText(NASTY)
    qtbot.addWidget(shown)
    assert shown.heightForWidth(300) > shown.heightForWidth(600) > shown.heightForWidth(1200)


def test_the_end_of_a_command_counts_only_when_it_was_on_screen(qtbot: QtBot) -> None:
    area = QScrollArea()
    shown = CommandText(NASTY)
    area.setWidget(shown)
    area.setWidgetResizable(True)
    show(qtbot, area)
    assert not shown.end_is_visible()
    area.verticalScrollBar().setValue(area.verticalScrollBar().maximum())
    assert shown.end_is_visible()


def test_a_short_command_is_seen_at_once(qtbot: QtBot) -> None:
    area = QScrollArea()
    shown = CommandText(["python", "-V"])
    area.setWidget(shown)
    area.setWidgetResizable(True)
    show(qtbot, area)
    assert shown.end_is_visible()


def test_copying_a_command_gives_the_exact_vector(qtbot: QtBot) -> None:
    shown = CommandText(NASTY)
    show(qtbot, shown)
    qtbot.keyClick(shown, Qt.Key.Key_C, Qt.KeyboardModifier.ControlModifier)
    assert tuple(json.loads(QGuiApplication.clipboard().text())) == NASTY


def test_hidden_characters_change_the_picture(qtbot: QtBot) -> None:
    """Two commands that differ only in what cannot be seen do not look alike."""
    pictures = set()
    for text in ("412", "412\u200b", "412 ", "\u202e412", "412\n"):
        shown = CommandText([text])
        show(qtbot, shown, 400, 60)
        pictures.add(bytes(shown.grab().toImage().constBits()))
    assert len(pictures) == 5


def test_notes_and_changes_are_painted(qtbot: QtBot) -> None:
    plain = CommandText(["tools/fix.py"])
    noted = CommandText([Element("tools/fix.py", "sha256 77d0…1e52")])
    changed = CommandText([Element("tools/fix.py", changed=True)])
    pictures = {
        bytes(show(qtbot, shown, 400, 40).grab().toImage().constBits()) for shown in (plain, noted, changed)
    }
    assert len(pictures) == 3


def test_letters_of_right_to_left_scripts_stand_in_stored_order(qtbot: QtBot) -> None:
    shown = CommandText(["\u05d0\u05d1/x"])
    show(qtbot, shown, 400, 40)
    line = shown._lines[0].layout.lineAt(0)

    def x_of(position: int) -> float:
        found = line.cursorToX(position)
        return float(found[0] if isinstance(found, tuple) else found)

    places = [x_of(position) for position in range(1, 6)]
    assert places == sorted(places)


# ------------------------------------------------------------------------------------------------ budgets


def test_what_is_left_is_said_in_words() -> None:
    assert left_text(Budget("all", 1000, 310, 60, 40, 30)) == "560 of 1\u202f000 left"
    assert left_text(Budget("WO-118", 60, 20, 0, 0, 50)) == "10 over 60"


def test_a_bar_is_spoken_whole(qtbot: QtBot) -> None:
    bar = BudgetBar(Budget("payments", 500, 240, 50, 40, 30))
    show(qtbot, bar, 400, 12)
    assert bar.accessibleName() == (
        "payments: 240 spent, 50 reserved, 40 frozen by UNKNOWN, 30 this dispatch; 140 of 500 left"
    )


def test_bars_are_in_proportion(qtbot: QtBot, themed: Theme) -> None:
    bar = BudgetBar(Budget("x", 100, spent=50))
    show(qtbot, bar, 400, 12)
    picture = bar.grab().toImage()
    assert picture.pixelColor(QPoint(190, 6)) == themed.tokens.bar_spent
    assert picture.pixelColor(QPoint(210, 6)) == themed.tokens.bar_back


def test_an_empty_limit_is_painted(qtbot: QtBot) -> None:
    bar = BudgetBar(Budget("x", 0))
    show(qtbot, bar, 400, 12)
    assert bar.grab()


def test_the_scope_that_refuses_is_named(qtbot: QtBot) -> None:
    waterfall = BudgetWaterfall()
    waterfall.set_budgets(
        [Budget("everything", 1000), Budget("WO-118", 60, 20, 0, 0, 50)], refused_by="WO-118"
    )
    show(qtbot, waterfall)
    texts = [child.text() for child in waterfall.findChildren(QLabel)]
    assert "refuses: 10 over 60" in texts
    waterfall.set_budgets([])
    assert not [child for child in waterfall.findChildren(QLabel) if child.isVisible()]


def test_a_waterfall_whose_numbers_change_keeps_its_bars(qtbot: QtBot) -> None:
    waterfall = BudgetWaterfall([Budget("all", 100, 10, 0, 0, 5), Budget("p", 50, 0, 0, 0, 5)])
    qtbot.addWidget(waterfall)
    bars = waterfall.findChildren(BudgetBar)
    waterfall.set_budgets([Budget("all", 100, 60, 0, 0, 5), Budget("p", 50, 0, 0, 0, 5)])
    assert waterfall.findChildren(BudgetBar) == bars
    assert [bar.accessibleName() for bar in bars] == [
        "all: 60 spent, 5 this dispatch; 35 of 100 left",
        "p: 5 this dispatch; 45 of 50 left",
    ]
    texts = [found.text() for found in waterfall.findChildren(QLabel)]
    assert "35 of 100 left" in texts
    waterfall.set_budgets([Budget("all", 100, 60, 0, 0, 50), Budget("p", 50, 0, 0, 0, 50)], refused_by="all")
    assert "refuses: 10 over 100" in [
        found.text() for found in waterfall.findChildren(QLabel) if not found.isHidden()
    ]
