"""JUnit XML reports as tests: read without trusting the file."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from dataclasses import dataclass
from enum import StrEnum

MOST_BYTES = 32 * 1024 * 1024
MOST_TESTS = 100_000
_LONGEST_TEXT = 20_000
_DECLARES = re.compile(r"<!\s*(?:DOCTYPE|ENTITY)", re.IGNORECASE)


class CaseState(StrEnum):
    """How a test ended."""

    PASSED = "passed"
    FAILED = "failed"
    ERROR = "error"
    SKIPPED = "skipped"


@dataclass(frozen=True, slots=True)
class CaseResult:
    """One test: its suite and name, how it ended, seconds taken (None if not said), and what it said."""

    suite: str
    name: str
    state: CaseState
    seconds: float | None
    message: str
    detail: str


@dataclass(frozen=True, slots=True)
class Report:
    """The tests of a report in its order; ``left_out`` is true when there were more than `MOST_TESTS`."""

    tests: tuple[CaseResult, ...]
    left_out: bool = False

    def count(self, state: CaseState) -> int:
        """How many tests ended so."""
        return sum(1 for test in self.tests if test.state is state)

    def seconds(self) -> float:
        """The time of all tests together, as far as it is said."""
        return sum(test.seconds or 0.0 for test in self.tests)


class NotAReport(ValueError):
    """The file is no JUnit report; the text says why."""


def read_report(data: bytes) -> Report:
    """Read a report. Document types and entities are refused, since a report needs none."""
    if len(data) > MOST_BYTES:
        raise NotAReport("It is too large to be shown as a table.")
    try:
        text = data.decode("utf-16" if data[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8", "replace")
        if _DECLARES.search(text):
            raise NotAReport("It declares a document type or entities, which a report does not need.")
        root = ET.fromstring(data)
    except (ET.ParseError, ValueError, LookupError) as error:
        if isinstance(error, NotAReport):
            raise
        raise NotAReport(f"It is not XML: {error}.") from error
    if root.tag not in ("testsuite", "testsuites"):
        raise NotAReport("Its root is neither testsuite nor testsuites.")
    tests: list[CaseResult] = []
    for suite in root.iter("testsuite"):
        for case in suite.findall("testcase"):
            if len(tests) >= MOST_TESTS:
                return Report(tuple(tests), left_out=True)
            tests.append(_test(case, suite.get("name", "")))
    return Report(tuple(tests))


def _test(case: ET.Element, suite: str) -> CaseResult:
    state, message, detail = CaseState.PASSED, "", ""
    for tag, found_state in (
        ("error", CaseState.ERROR),
        ("failure", CaseState.FAILED),
        ("skipped", CaseState.SKIPPED),
    ):
        found = case.find(tag)
        if found is not None:
            state, message, detail = found_state, found.get("message", ""), (found.text or "").strip()
            break
    if not message and detail:
        message = detail.splitlines()[0]
    try:
        seconds: float | None = float(case.get("time", "").replace(",", ""))
    except ValueError:
        seconds = None
    return CaseResult(
        case.get("classname", "") or suite,
        case.get("name", "") or "(no name)",
        state,
        seconds if seconds is not None and 0 <= seconds < 1e9 else None,
        message[:_LONGEST_TEXT],
        detail[:_LONGEST_TEXT],
    )
