"""JUnit reports are read as tests, without trusting the file."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.panels.evidence import junit
from app.panels.evidence.junit import CaseState, NotAReport, read_report
from app.panels.evidence.junit_view import JUnitView

REPORT = b"""<?xml version="1.0"?>
<testsuites><testsuite name="rounding" tests="4">
  <testcase classname="tests.test_a" name="test_passes" time="0.25"/>
  <testcase classname="tests.test_a" name="test_fails" time="1.5"><failure message="2.50 != 2.51">Trace
back</failure></testcase>
  <testcase name="test_error"><error>boom here</error></testcase>
  <testcase classname="tests.test_a" name="test_skips" time="x"><skipped message="needs net"/></testcase>
  <testsuite name="inner"><testcase name="deep"/></testsuite>
</testsuite></testsuites>"""


def test_all_kinds_of_ends_are_read():
    report = read_report(REPORT)
    assert [(test.name, test.state) for test in report.tests] == [
        ("test_passes", CaseState.PASSED),
        ("test_fails", CaseState.FAILED),
        ("test_error", CaseState.ERROR),
        ("test_skips", CaseState.SKIPPED),
        ("deep", CaseState.PASSED),
    ]
    failed, error = report.tests[1:3]
    assert (failed.message, failed.detail, failed.seconds) == ("2.50 != 2.51", "Trace\nback", 1.5)
    assert (error.message, error.suite, error.seconds) == ("boom here", "rounding", None)
    assert report.seconds() == 1.75


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"no xml", "not XML"),
        (b"<html/>", "neither testsuite"),
        (b'<!DOCTYPE x [<!ENTITY a "b">]><testsuite/>', "document type"),
        ('<!DOCTYPE x [<!ENTITY a "b">]><testsuite/>'.encode("utf-16"), "document type"),
        (b"<testsuite>", "not XML"),
    ],
)
def test_what_is_no_report_says_why(data, why):
    with pytest.raises(NotAReport, match=why):
        read_report(data)


def test_a_report_without_end_is_cut_and_says_so(monkeypatch):
    monkeypatch.setattr(junit, "MOST_TESTS", 2)
    report = read_report(b"<testsuite>" + b'<testcase name="a"/>' * 3 + b"</testsuite>")
    assert (len(report.tests), report.left_out) == (2, True)


@given(st.binary(max_size=200))
def test_any_bytes_are_a_report_or_said_not_to_be_one(data):
    with contextlib.suppress(NotAReport):
        read_report(data)


def test_the_table_shows_what_failed_first_when_asked(qtbot, themed):
    view = JUnitView()
    qtbot.addWidget(view)
    view.show_report(read_report(REPORT))
    assert view.model.rowCount() == 5
    assert "2 passed, 1 failed, 1 error, 1 skipped" in view._summary.text()
    assert view._detail.toPlainText() == "Trace\nback"
    view._failed_only.setChecked(True)
    assert [view.model.row(place)[1].name for place in range(3)] == ["test_fails", "test_error", "test_skips"]
