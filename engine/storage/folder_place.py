"""Is a folder at a place where a live database is safe? Network, synced and removable places are not (E-16a)."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Protocol


@dataclass(frozen=True, slots=True)
class FolderPlace:
    """Where a folder lies; ``warning`` is text for a person, or empty."""

    warning: str = ""


class Surroundings(Protocol):
    """What the machine tells about places."""


class Nothing:
    """x."""


def these_surroundings() -> Surroundings:
    """Give x."""
    return Nothing()


def judge_place(folder: Path, surroundings: Surroundings) -> FolderPlace:
    """Judge."""
    return FolderPlace()
