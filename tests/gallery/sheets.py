"""Contact sheets: the pictures of one page beside and under each other, to be looked at together."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

from PySide6.QtCore import Qt
from PySide6.QtGui import QImage, QPainter

WIDTH = 960


def make_sheets(folder: Path, states: Sequence[str], themes: Sequence[str]) -> None:
    """Write ``sheets/PAGE-SCALE-SIZE.png`` below ``folder``: states downwards, themes across."""
    groups: defaultdict[str, dict[tuple[str, str], Path]] = defaultdict(dict)
    looks = [theme.replace(" ", "-") for theme in themes]
    for state in states:
        for look in looks:
            middle = f"-{state}-{look}-"
            for file in folder.glob(f"*{middle}*.png"):
                page, _, rest = file.stem.partition(middle)
                groups[f"{page}-{rest}"][state, look] = file
    (folder / "sheets").mkdir(exist_ok=True)
    for name, files in groups.items():
        rows = [[files.get((state, look)) for look in looks] for state in states]
        _sheet(rows, folder / "sheets" / f"{name}.png")


def _sheet(rows: Sequence[Sequence[Path | None]], into: Path) -> None:
    pictures = [[_picture(file) for file in row] for row in rows]
    height = max(picture.height() for row in pictures for picture in row)
    made = QImage(WIDTH * max(len(row) for row in rows), height * len(rows), QImage.Format.Format_RGB32)
    made.fill(Qt.GlobalColor.gray)
    painter = QPainter(made)
    for down, row in enumerate(pictures):
        for across, picture in enumerate(row):
            painter.drawImage(across * WIDTH, down * height, picture)
    painter.end()
    made.save(str(into))


def _picture(file: Path | None) -> QImage:
    if file is None:
        return QImage()
    return QImage(str(file)).scaledToWidth(WIDTH, Qt.TransformationMode.SmoothTransformation)
