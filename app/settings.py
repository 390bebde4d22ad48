"""What the console remembers of itself: window state and view settings, in an INI file of the data folder.

Nothing that the engine goes by is kept here.
"""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TypeVar

from PySide6.QtCore import QByteArray, QRect, QSettings

from app.theme import Density, ThemeChoice
from app.widgets.times import Zone

_Choice = TypeVar("_Choice", bound=StrEnum)

FILE_NAME = "console.ini"


class Settings:
    """Typed access to the INI file. A value that cannot be read counts as not set."""

    def __init__(self, folder: Path) -> None:
        self._store = QSettings(str(folder / FILE_NAME), QSettings.Format.IniFormat)

    @property
    def theme(self) -> ThemeChoice:
        """Which theme was chosen."""
        return self._choice("view/theme", ThemeChoice.AUTO)

    @theme.setter
    def theme(self, value: ThemeChoice) -> None:
        self._store.setValue("view/theme", value.value)

    @property
    def density(self) -> Density:
        """Which density was chosen."""
        return self._choice("view/density", Density.COMFORTABLE)

    @density.setter
    def density(self, value: Density) -> None:
        self._store.setValue("view/density", value.value)

    @property
    def zone(self) -> Zone:
        """In which zone times are written."""
        return self._choice("view/zone", Zone.LOCAL)

    @zone.setter
    def zone(self, value: Zone) -> None:
        self._store.setValue("view/zone", value.value)

    @property
    def page(self) -> str:
        """The key of the page that was open last, or ``""``."""
        return str(self._store.value("window/page", ""))

    @page.setter
    def page(self, value: str) -> None:
        self._store.setValue("window/page", value)

    @property
    def wrap_output(self) -> bool:
        """Whether long lines of output are laid out over several rows."""
        return self._flag("evidence/wrap_output")

    @wrap_output.setter
    def wrap_output(self, value: bool) -> None:
        self._set_flag("evidence/wrap_output", value)

    @property
    def geometry(self) -> QRect | None:
        """Where the window was when it was neither maximised nor minimised."""
        value = self._store.value("window/geometry")
        return value if isinstance(value, QRect) and value.isValid() else None

    @geometry.setter
    def geometry(self, value: QRect) -> None:
        self._store.setValue("window/geometry", value)

    @property
    def maximized(self) -> bool:
        """Whether the window was maximised."""
        return self._flag("window/maximized")

    @maximized.setter
    def maximized(self, value: bool) -> None:
        self._set_flag("window/maximized", value)

    @property
    def told_about_tray(self) -> bool:
        """Whether the person has been told that closing the window keeps the engine running."""
        return self._flag("window/told_about_tray")

    @told_about_tray.setter
    def told_about_tray(self, value: bool) -> None:
        self._set_flag("window/told_about_tray", value)

    @property
    def tour_step(self) -> str:
        """The key of the step of the guided tour that is under way, or ``""``."""
        return str(self._store.value("tour/step", ""))

    @tour_step.setter
    def tour_step(self, value: str) -> None:
        self._store.setValue("tour/step", value)

    @property
    def tour_epoch(self) -> int:
        """The engine's epoch in which that step began; 0 if it is not known."""
        kept = str(self._store.value("tour/epoch", ""))
        return int(kept) if kept.isdecimal() else 0

    @tour_epoch.setter
    def tour_epoch(self, value: int) -> None:
        self._store.setValue("tour/epoch", value)

    @property
    def tour_folder(self) -> Path | None:
        """The scratch workspace of the tour."""
        kept = str(self._store.value("tour/folder", ""))
        return Path(kept) if kept else None

    @tour_folder.setter
    def tour_folder(self, value: Path) -> None:
        self._store.setValue("tour/folder", str(value))

    def state(self, name: str) -> QByteArray:
        """The saved state of a window part (geometry, splitter, header), or an empty array."""
        value = self._store.value(f"state/{name}")
        return value if isinstance(value, QByteArray) else QByteArray()

    def set_state(self, name: str, value: QByteArray) -> None:
        """Remember the state of a window part."""
        self._store.setValue(f"state/{name}", value)

    def save(self) -> None:
        """Write the file now."""
        self._store.sync()

    def _flag(self, key: str) -> bool:
        return str(self._store.value(key, "")) == "yes"

    def _set_flag(self, key: str, value: bool) -> None:
        self._store.setValue(key, "yes" if value else "no")

    def _choice(self, key: str, fallback: _Choice) -> _Choice:
        try:
            return type(fallback)(str(self._store.value(key, fallback.value)))
        except ValueError:
            return fallback
