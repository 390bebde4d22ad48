"""The window opens where it can be seen (B-115)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PySide6.QtCore import QRect

from app.shell.geometry import fitted

PRIMARY = QRect(0, 0, 1920, 1040)
LEFT = QRect(-1280, 0, 1280, 984)
SMALL = QRect(0, 0, 1000, 600)


def test_without_a_place_it_is_centred() -> None:
    assert fitted(None, [PRIMARY]) == QRect(320, 120, 1280, 800)


def test_a_place_on_a_screen_is_kept() -> None:
    place = QRect(-1200, 50, 1100, 700)
    assert fitted(place, [PRIMARY, LEFT]) == place


def test_a_place_on_a_screen_that_is_gone_moves_to_the_primary() -> None:
    found = fitted(QRect(-1200, 50, 1100, 700), [PRIMARY])
    assert PRIMARY.contains(found)
    assert found.size() == QRect(0, 0, 1100, 700).size()


def test_a_place_that_is_mostly_outside_moves() -> None:
    assert PRIMARY.contains(fitted(QRect(1900, 1000, 1100, 700), [PRIMARY, LEFT]))


def test_a_place_partly_outside_is_moved_inside_its_screen() -> None:
    assert fitted(QRect(-1400, -80, 1100, 700), [PRIMARY, LEFT]) == QRect(-1280, 0, 1100, 700)


def test_it_is_made_smaller_for_a_smaller_screen() -> None:
    assert fitted(QRect(0, 0, 1800, 1000), [SMALL]) == SMALL
    assert fitted(None, [SMALL]) == SMALL


numbers = st.integers(-4000, 4000)
sizes = st.integers(1, 4000)


@given(
    st.builds(QRect, numbers, numbers, sizes, sizes), st.sampled_from([[PRIMARY], [PRIMARY, LEFT], [SMALL]])
)
def test_it_is_always_wholly_on_a_screen(wanted: QRect, screens: list[QRect]) -> None:
    found = fitted(wanted, screens)
    assert any(screen.contains(found) for screen in screens)


@pytest.mark.parametrize("place", [QRect(), QRect(5, 5, -1, 10)])
def test_nonsense_counts_as_no_place(place: QRect) -> None:
    assert fitted(place, [PRIMARY]) == fitted(None, [PRIMARY])
