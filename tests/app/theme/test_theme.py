"""The theme: applied whole, changed live, and everything painted from it."""

from __future__ import annotations

from enum import StrEnum

import pytest
from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QColor, QImage, QPainter, QPalette
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from app import theme as package
from app.theme import (
    Density,
    Shape,
    Text,
    Theme,
    ThemeChoice,
    draw_shape,
    font,
    icon,
    pixmap,
    spacing,
    tokens,
)
from app.theme.tokens import DARK, HIGH_CONTRAST, LIGHT


def test_without_a_theme_the_light_tokens_are_in_force(qapp: QApplication) -> None:
    assert package.theme() is None
    assert tokens() is LIGHT


def test_choosing_applies_at_once(themed: Theme, qapp: QApplication, qtbot: QtBot) -> None:
    for choice, wanted in (
        (ThemeChoice.DARK, DARK),
        (ThemeChoice.HIGH_CONTRAST, HIGH_CONTRAST),
        (ThemeChoice.LIGHT, LIGHT),
    ):
        with qtbot.waitSignal(themed.changed):
            themed.choose(choice)
        assert tokens() is wanted
        assert qapp.palette().color(QPalette.ColorRole.Base) == wanted.surface
        assert wanted.accent.name() in qapp.styleSheet()


def test_auto_follows_the_system(themed: Theme, qapp: QApplication, monkeypatch: pytest.MonkeyPatch) -> None:
    scheme = Qt.ColorScheme.Dark
    monkeypatch.setattr(type(qapp.styleHints()), "colorScheme", lambda _: scheme)
    themed.choose(ThemeChoice.AUTO)
    assert tokens() is DARK
    scheme = Qt.ColorScheme.Light
    qapp.styleHints().colorSchemeChanged.emit(scheme)
    assert tokens() is LIGHT


def test_auto_follows_the_wish_for_more_contrast_live(
    themed: Theme, qapp: QApplication, monkeypatch: pytest.MonkeyPatch
) -> None:
    hints = qapp.styleHints().accessibility()
    wish = Qt.ContrastPreference.HighContrast
    monkeypatch.setattr(type(hints), "contrastPreference", lambda _: wish)
    themed.choose(ThemeChoice.AUTO)
    assert tokens() is HIGH_CONTRAST
    wish = Qt.ContrastPreference.NoPreference
    hints.contrastPreferenceChanged.emit(wish)
    assert tokens() is LIGHT


def test_a_chosen_theme_does_not_follow_the_system(themed: Theme, qapp: QApplication) -> None:
    qapp.styleHints().colorSchemeChanged.emit(Qt.ColorScheme.Dark)
    assert tokens() is LIGHT


def test_an_unknown_system_scheme_is_light(themed: Theme) -> None:
    themed.choose(ThemeChoice.AUTO)
    assert tokens() is LIGHT


def test_density_changes_distances(themed: Theme) -> None:
    wide = spacing()
    themed.choose(density=Density.COMPACT)
    assert spacing().pad < wide.pad
    assert spacing().row_pad < wide.row_pad
    assert themed.choice is ThemeChoice.LIGHT


@pytest.mark.parametrize("shape", list(Shape))
def test_every_shape_is_painted_within_its_rectangle(shape: StrEnum, qapp: QApplication) -> None:
    image = QImage(32, 32, QImage.Format.Format_ARGB32)
    image.fill(Qt.GlobalColor.white)
    painter = QPainter(image)
    draw_shape(painter, QRectF(8, 8, 16, 16), Shape(shape), QColor("#000000"))
    painter.end()
    dark = [(x, y) for x in range(32) for y in range(32) if image.pixelColor(x, y).lightness() < 128]
    assert len(dark) > 8
    assert all(7 <= x <= 24 and 7 <= y <= 24 for x, y in dark)


def test_shapes_differ_from_each_other(qapp: QApplication) -> None:
    pictures = set()
    for shape in Shape:
        image = QImage(16, 16, QImage.Format.Format_ARGB32)
        image.fill(Qt.GlobalColor.white)
        painter = QPainter(image)
        draw_shape(painter, QRectF(2, 2, 12, 12), shape, QColor("#000000"))
        painter.end()
        pictures.add(bytes(image.constBits()))
    assert len(pictures) == len(Shape)


def test_fonts_keep_their_proportions(themed: Theme) -> None:
    sizes = {role: font(role).pointSizeF() for role in Text}
    assert sizes[Text.TITLE] > sizes[Text.BODY] >= 9.75
    assert min(sizes.values()) > 8
    assert font(Text.CODE).fixedPitch()


def test_icons_take_their_colour(qapp: QApplication) -> None:
    assert not icon("praxis").isNull()
    picture = pixmap("warning", 24, QColor("#FF0000")).toImage()
    seen = [
        picture.pixelColor(x, y)
        for x in range(24)
        for y in range(24)
        if picture.pixelColor(x, y).alpha() == 255
    ]
    assert seen
    assert all(colour == QColor("#FF0000") for colour in seen)
    with pytest.raises(FileNotFoundError):
        icon("there is none")
