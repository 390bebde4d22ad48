"""What the console remembers: window and view, in an INI file; nonsense counts as not set."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import QByteArray, QRect

from app.settings import FILE_NAME, Settings
from app.theme import Density, ThemeChoice
from app.widgets import Zone


def test_everything_is_remembered(tmp_path: Path) -> None:
    settings = Settings(tmp_path)
    settings.theme = ThemeChoice.HIGH_CONTRAST
    settings.density = Density.COMPACT
    settings.zone = Zone.UTC
    settings.page = "journal"
    settings.geometry = QRect(10, 20, 1100, 700)
    settings.maximized = True
    settings.told_about_tray = True
    settings.set_state("inbox splitter", QByteArray(b"\x00\x01state"))
    settings.save()
    again = Settings(tmp_path)
    assert again.theme is ThemeChoice.HIGH_CONTRAST
    assert again.density is Density.COMPACT
    assert again.zone is Zone.UTC
    assert again.page == "journal"
    assert again.geometry == QRect(10, 20, 1100, 700)
    assert again.maximized
    assert again.told_about_tray
    assert again.state("inbox splitter") == QByteArray(b"\x00\x01state")


def test_the_beginning(tmp_path: Path) -> None:
    settings = Settings(tmp_path / "not there yet")
    assert settings.theme is ThemeChoice.AUTO
    assert settings.density is Density.COMFORTABLE
    assert settings.zone is Zone.LOCAL
    assert settings.page == ""
    assert settings.geometry is None
    assert not settings.maximized
    assert not settings.told_about_tray
    assert settings.state("anything").isEmpty()
    assert not (tmp_path / "not there yet").exists(), "looking makes no folder"


def test_nonsense_counts_as_not_set(tmp_path: Path) -> None:
    (tmp_path / FILE_NAME).write_text(
        "[view]\ntheme=purple\ndensity=\x00\nzone=Mars\n[window]\ngeometry=@Rect(broken)\nmaximized=perhaps\n",
        encoding="utf-8",
    )
    settings = Settings(tmp_path)
    assert settings.theme is ThemeChoice.AUTO
    assert settings.density is Density.COMFORTABLE
    assert settings.zone is Zone.LOCAL
    assert settings.geometry is None
    assert not settings.maximized
