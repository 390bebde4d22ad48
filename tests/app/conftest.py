"""What tests of the console share: the product's event loop, and a look for windows left open."""

from __future__ import annotations

import asyncio
import gc
import os
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from pathlib import Path

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")

import pytest
from PySide6.QtCore import QCoreApplication, QEvent
from PySide6.QtWidgets import QApplication, QWidget

from app.event_loop import EventLoop
from app.session import Session
from app.settings import Settings
from app.theme import Theme, ThemeChoice
from app.widgets import Times, Zone
from tests.app.fake_engine import ADA, FakeEngine


def pytest_asyncio_loop_factories(
    config: pytest.Config, item: pytest.Item
) -> Mapping[str, Callable[[], EventLoop]]:
    return {"qt": lambda: EventLoop(_application())}


def _application() -> QApplication:
    """The one application of the test run; pytest-qt's ``qapp`` is the same one, whichever comes first."""
    if not _APPLICATIONS:
        found = QApplication.instance()
        _APPLICATIONS.append(found if isinstance(found, QApplication) else QApplication([]))
    return _APPLICATIONS[0]


_APPLICATIONS: list[QApplication] = []


def _windows() -> set[QWidget]:
    return set(QApplication.topLevelWidgets())


def _deliver_deletions() -> None:
    QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete.value)


@pytest.fixture(autouse=True)
def _no_leftover_windows() -> Iterator[None]:
    """Fail a test that leaves a window open, after closing it so that the next test starts clean."""
    _application()
    before = _windows()
    yield
    _deliver_deletions()
    gc.collect()
    _deliver_deletions()
    left = _windows() - before
    names = [f"{type(window).__name__} “{window.windowTitle()}”" for window in left if window.isVisible()]
    for window in left:
        window.hide()
        window.deleteLater()
    _deliver_deletions()
    if names:
        pytest.fail(f"windows left open: {', '.join(names)}", pytrace=False)


@pytest.fixture
def themed(qapp: QApplication) -> Iterator[Theme]:
    """The light theme, applied to the application for the time of the test."""
    theme = Theme(qapp, ThemeChoice.LIGHT)
    yield theme
    theme.setParent(None)
    theme.deleteLater()
    _deliver_deletions()
    qapp.setStyleSheet("")


@pytest.fixture
def fake(tmp_path: Path) -> FakeEngine:
    """An engine of nothing but memory."""
    return FakeEngine(tmp_path)


@pytest.fixture
async def session(fake: FakeEngine, tmp_path: Path) -> AsyncIterator[Session]:
    """A session over the fake engine; it listens once the test calls ``start``."""
    settings = Settings(tmp_path)
    made = Session(fake, ADA, settings, Times(fake.clock.now, Zone.UTC))  # type: ignore[arg-type]
    yield made
    await made.close()
    made.deleteLater()


async def until(condition: Callable[[], object]) -> None:
    """Wait until something is so; it has to come about within 30 seconds on a busy machine."""
    async with asyncio.timeout(30):
        await asyncio.sleep(0)
        while not condition():
            await asyncio.sleep(0.002)
