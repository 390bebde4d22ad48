"""The self-test tries everything once, in a folder of its own, and names what fails."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path

import pytest
from PySide6.QtCore import QTimer
from PySide6.QtGui import QImage
from PySide6.QtWidgets import QApplication

from app import main
from app.options import Options
from app.self_test import Check, Report, self_test, tell_report
from app.session import Session
from app.shell.pages import Page, PageView
from app.shell.registry import registered_pages
from engine.errors import PraxisError

INBOX = registered_pages()[0]


class Broken(PageView):
    """A page that cannot be built."""

    def __init__(self, session: Session) -> None:
        raise ValueError("no such table: grants")


class Faulty(PageView):
    """A page that is drawn, but of which something fails."""

    def __init__(self, session: Session) -> None:
        super().__init__()

        async def refused() -> None:
            raise PraxisError("The grants could not be read.")

        def slot() -> None:
            raise KeyError("grants")

        QTimer.singleShot(0, self, slot)
        session.spawn(refused(), "read the grants")


def page(name: str, view: Callable[[Session], PageView]) -> Page:
    return replace(INBOX, key=name.lower(), title=name, make=view)


async def test_everything_passes_and_leaves_nothing_but_its_pictures(
    qapp: QApplication, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    report = await self_test(qapp, tmp_path / "pictures")
    assert report.passed, report.as_text()
    names = [check.name for check in report.checks]
    assert names[:2] == ["open a data folder", "dispatch a command to evidence"]
    assert [name for name in names if name.startswith("draw")] == [
        f"draw the page {page.title}" for page in registered_pages()
    ]
    assert names[-3:] == ["verify the journal", "make a backup and verify it", "close"]
    assert [path.name for path in tmp_path.iterdir()] == ["pictures"]
    assert not QImage(str(tmp_path / "pictures" / "inbox.png")).isNull()


async def test_what_fails_is_named_and_the_rest_is_tried_all_the_same(
    qapp: QApplication,
    monkeypatch: pytest.MonkeyPatch,
    expected_log: Callable[[str], AbstractContextManager[object]],
) -> None:
    pages = (INBOX, page("Broken", Broken), page("Faulty", Faulty))
    monkeypatch.setattr(main, "registered_pages", lambda: pages)
    monkeypatch.setattr("app.shell.window.show_error", lambda *_: None)
    with expected_log("KeyError: 'grants'"):
        report = await self_test(qapp)
    assert not report.passed
    failed = {check.name: check.found for check in report.checks if not check.passed}
    assert failed.keys() == {"draw the page Broken", "draw the page Faulty"}
    assert failed["draw the page Broken"] == "ValueError: no such table: grants"
    assert "KeyError: 'grants'" in failed["draw the page Faulty"]
    assert "The grants could not be read." in failed["draw the page Faulty"]
    assert report.checks[-1].name == "close"


REPORT = Report("0.1.0", True, "3.13.2", "6.11.3", "windows", "Windows-10", (Check("close", True, 9),))


def test_the_report_is_printed_for_people_and_for_programs(capsys: pytest.CaptureFixture[str]) -> None:
    assert tell_report(REPORT, as_json=False) == 0
    assert capsys.readouterr().out.endswith("ok          9 ms  close\n1 of 1 checks passed.\n")
    bad = replace(REPORT, checks=(*REPORT.checks, Check("draw the page Inbox", False, 3, "It is\nempty.")))
    assert tell_report(bad, as_json=True) == 1
    found = json.loads(capsys.readouterr().out)
    assert (found["passed"], found["frozen"], found["drawn_by"]) == (False, True, "windows")
    assert found["checks"][1]["found"] == "It is\nempty."
    assert "FAILED      3 ms  draw the page Inbox\n" in bad.as_text()


def test_the_exit_code_says_it_where_there_is_nothing_to_print_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdout", None)
    assert tell_report(REPORT, as_json=False) == 0


def test_the_option_runs_it(qapp: QApplication, monkeypatch: pytest.MonkeyPatch) -> None:
    async def stand_in(app: QApplication, pictures: Path | None) -> Report:
        return replace(REPORT, checks=(Check("close", pictures == Path("x"), 1),))

    monkeypatch.setattr("app.self_test.self_test", stand_in)
    assert main.start(Options(self_test=True, screenshots=Path("x")), print) == 0
    assert main.start(Options(self_test=True, json=True), print) == 1
