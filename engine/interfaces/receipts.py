"""Receipts: one file that tells and proves the whole story of one work order (E-93).

A receipt is a JSON array with one row on each line, in canonical form. Each row holds ``row`` (its number from
1), ``kind``, ``facts``, ``previous`` (the hash of the row before it) and ``hash``, the SHA-256 over the
canonical JSON of the other four. So no byte can change without its row being named, and the check needs
nothing but the file.

What a receipt cannot prove by itself is that it was not written anew from end to end. Its digest, the hash of
its last row, can: note it elsewhere, or compare it with one that the data folder gives. The same state of a
work order always gives the same receipt.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from engine.canonical import canonical_digest, canonical_json
from engine.errors import InvalidValue, PraxisError
from engine.files import write_whole
from engine.instants import format_instant, parse_instant
from engine.storage.chain import GENESIS, JournalRow, row_hash
from engine.version import VERSION
from engine.views.receipt import ReceiptEntry

FORM = "praxis-receipt"
FORM_VERSION = 1
LARGEST_RECEIPT = 256 << 20
"""Larger files are not read as receipts; a receipt of a hundred attempts has about one million bytes."""
MOST_PROBLEMS = 100
"""How many problems a report lists; it counts all of them."""

_OPENING, _BETWEEN, _CLOSING = b"[\n", b",\n", b"\n]\n"
_FIELDS = {"row", "kind", "facts", "previous", "hash"}


@dataclass(frozen=True, slots=True)
class ReceiptProblem:
    """One thing that is wrong with a receipt, and the row at which it shows."""

    row: int
    text: str


@dataclass(frozen=True, slots=True)
class ReceiptReport:
    """What a check found. ``problems`` are the first `MOST_PROBLEMS`, in the order of their rows.

    ``rows`` could be read. ``digest`` is the hash of the last row; it stands for the whole receipt if there is
    no problem.
    """

    work_order: str
    title: str
    state: str
    rows: int
    journal_rows: int
    digest: str
    problem_count: int
    problems: tuple[ReceiptProblem, ...]

    @property
    def sound(self) -> bool:
        """Whether nothing is wrong."""
        return self.problem_count == 0


class ReceiptNotSound(PraxisError):
    """A receipt was altered, or is not the one that was meant."""

    code = "receipt_not_sound"
    exit_code = 6


def make_receipt(entries: Sequence[ReceiptEntry]) -> bytes:
    """Give the bytes of a receipt of what `engine.views.receipt.receipt` told."""
    order = entries[0].facts
    head = {
        "form": FORM,
        "version": FORM_VERSION,
        "program": VERSION,
        "work_order": f"WO-{order['number']}",
        "id": order["id"],
    }
    rows: list[bytes] = []
    previous = GENESIS
    last = {"rows": len(entries) + 2}
    told = [("receipt", head), *((one.kind, _as_text(one)) for one in entries), ("end", last)]
    for number, (kind, facts) in enumerate(told, 1):
        row = {"row": number, "kind": kind, "facts": facts, "previous": previous}
        previous = canonical_digest(row)
        rows.append(canonical_json({**row, "hash": previous}))
    return _OPENING + _BETWEEN.join(rows) + _CLOSING


def write_receipt(receipt: bytes, target: Path) -> None:
    """Write a receipt to a file, which appears only when it is whole; `InvalidValue` if that cannot be."""
    try:
        write_whole(target, receipt)
    except OSError as error:
        raise InvalidValue(
            f"{target} cannot be written: {error.strerror or error}.",
            do="Name another file.",
            file=str(target),
        ) from error


def receipt_digest(receipt: bytes) -> str:
    """Give the digest of a receipt that `make_receipt` made: the hash of its last row."""
    return str(json.loads(receipt)[-1]["hash"])


def check_receipt(data: bytes) -> ReceiptReport:
    """Check a receipt from anywhere, with nothing but its bytes; every fault names the row at which it shows.

    Raises `InvalidValue` for what is no receipt at all: nothing in it can be read as a row of one.
    """
    if len(data) > LARGEST_RECEIPT:
        raise InvalidValue(
            f"The file has {len(data):,} bytes; a receipt has at most {LARGEST_RECEIPT:,}.",
            do="Name the receipt that praxis receipt wrote.",
        )
    check = _Check()
    check.read(data)
    report = check.report()
    if report.rows == 0:
        raise InvalidValue("The file is no receipt.", do="Name the receipt that praxis receipt wrote.")
    return report


# ---------------------------------------------------------------------------------------------------- writing


def _as_text(entry: ReceiptEntry) -> dict[str, Any]:
    """Instants as canonical UTC text (E-01). Only at the top: what lies deeper was sealed or stored as it is."""
    return {
        name: format_instant(value) if type(value) is int and _is_instant(name) else value
        for name, value in entry.facts.items()
    }


def _is_instant(name: str) -> bool:
    return name == "at" or name.endswith("_at")


# --------------------------------------------------------------------------------------------------- checking


class _Check:
    """The state of a check that goes through the rows once."""

    def __init__(self) -> None:
        self._problems: list[ReceiptProblem] = []
        self._count = 0
        self._expected = 1
        self._previous: str | None = GENESIS
        self._unread = False
        self._rows = 0
        self._journal_rows = 0
        self._last_sequence = 0
        self._last_hash = ""
        self._first: dict[str, Any] = {}
        self._order: dict[str, Any] = {}
        self._seals: dict[str, str] = {}
        self._ended = False
        self._digest = ""

    def read(self, data: bytes) -> None:
        body = data
        if body.startswith(_OPENING):
            body = body[len(_OPENING) :]
        else:
            self._note(1, "The file does not begin as a receipt does.")
            body = body[body.find(b"{") :]
        whole_end = body.endswith(_CLOSING)
        if whole_end:
            body = body[: -len(_CLOSING)]
        lines = body.split(b"\n")
        for index, line in enumerate(lines):
            last = index == len(lines) - 1
            if last and not whole_end:
                self._read_line(line.rstrip(b",\r\n] \t"), b"")
                place = self._expected - 1 if self._ended else self._expected
                self._note(place, "The file does not end as a receipt does.")
            elif last:
                self._read_line(line, b"")
            else:
                self._read_line(line[:-1], line[-1:])
        if not self._ended:
            self._note(self._expected, f"The receipt is cut off: row {self._expected} is missing.")

    def _read_line(self, line: bytes, separator: bytes) -> None:
        """``separator`` is the byte between this row and the end of its line."""
        row = _parse(line)
        if row is None:
            if not self._unread:
                self._note(self._expected, f"Row {self._expected} was altered: it cannot be read.")
            self._unread, self._previous = True, None
            return
        number = row["row"]
        if self._unread:
            self._unread = False
            if number != self._expected:
                self._expected += 1
        place = self._expected
        if canonical_digest({name: row[name] for name in _FIELDS - {"hash"}}) != row["hash"]:
            self._note(place, f"Row {place} was altered.")
            self._previous = None
        else:
            place = self._follow(number, row)
            self._look_into(place, row)
            self._previous = row["hash"]
        if separator not in (b"", b","):
            self._note(place, f"Row {place} was altered: it is not followed by a comma.")
        self._expected = place + 1
        self._rows += 1

    def _follow(self, number: int, row: dict[str, Any]) -> int:
        """Compare a sound row with the one before it; give its place."""
        expected = self._expected
        if self._ended:
            self._note(number, f"Row {number} stands after the end.")
        elif number > expected:
            gone = f"Row {expected} is" if number == expected + 1 else f"Rows {expected} to {number - 1} are"
            self._note(expected, f"{gone} missing.")
        elif number < expected:
            self._note(number, f"Row {number} stands at the place of row {expected}.")
        elif self._previous is not None and row["previous"] != self._previous:
            self._note(number, f"Row {number} does not continue the row before it.")
        return number

    def _look_into(self, number: int, row: dict[str, Any]) -> None:
        """Check what a row says about itself and others, beyond its own hash."""
        facts = row["facts"]
        try:
            if (number == 1) != (row["kind"] == "receipt"):
                self._note(number, "A receipt begins with a row of the kind receipt, and has no other.")
            for text in _LOOKS.get(row["kind"], _nothing)(self, facts):
                self._note(number, text)
        except (KeyError, TypeError, AttributeError, PraxisError) as error:
            self._note(number, f"Row {number} has not the form of a {row['kind']}: {error}.")
        if row["kind"] == "end":
            self._ended, self._digest = True, row["hash"]
            if facts != {"rows": number}:
                self._note(number, f"Row {number} says that there are {facts.get('rows')} rows.")

    def look_at_head(self, facts: dict[str, Any]) -> Iterator[str]:
        self._first = facts
        if (facts["form"], facts["version"]) != (FORM, FORM_VERSION):
            yield f"This is version {facts['version']!r} of a receipt; this program knows {FORM_VERSION}."

    def look_at_order(self, facts: dict[str, Any]) -> Iterator[str]:
        self._order = facts
        if facts["id"] != self._first.get("id", facts["id"]):
            yield "The work order is not the one that the first row names."

    def look_at_approval(self, facts: dict[str, Any]) -> Iterator[str]:
        self._seals[facts["id"]] = facts["seal"]
        if canonical_digest(facts["plan"]) != facts["seal"]:
            yield "The plan is not the one that was sealed."
        plan, seal = facts["validation_plan"], facts["validation_seal"]
        if (plan is None) != (seal is None) or (plan is not None and canonical_digest(plan) != seal):
            yield "The plan of the validation is not the one that was sealed."

    def look_at_attempt(self, facts: dict[str, Any]) -> Iterator[str]:
        approved = self._seals.get(facts["approval_id"])
        # An approval that could not be read has been named already.
        if approved != facts["seal"] and (approved is not None or self._count == 0):
            yield "The attempt does not have the seal of its approval."

    def look_at_journal(self, facts: dict[str, Any]) -> Iterator[str]:
        self._journal_rows += 1
        sequence, previous = facts["sequence"], facts["previous"]
        if sequence <= self._last_sequence:
            yield f"Row {sequence} of the journal is not in its order."
        elif sequence == self._last_sequence + 1 and self._last_hash and previous != self._last_hash:
            yield f"Row {sequence} of the journal does not continue the one before it."
        self._last_sequence, self._last_hash = sequence, facts["hash"]
        if facts["work_order_id"] != self._first.get("id", facts["work_order_id"]):
            yield f"Row {sequence} of the journal belongs to another work order."
        content = JournalRow(
            sequence,
            parse_instant(facts["at"]),
            facts["epoch"],
            facts["actor_kind"],
            facts["actor_name"],
            facts["subject_kind"],
            facts["subject_id"],
            facts["work_order_id"],
            facts["kind"],
            facts["detail"],
        )
        if previous is not None and row_hash(previous, content) != facts["hash"]:
            yield f"Row {sequence} of the journal does not have its hash."

    def report(self) -> ReceiptReport:
        problems = sorted(self._problems, key=lambda one: one.row)
        return ReceiptReport(
            work_order=str(self._first.get("work_order", "")),
            title=str(self._order.get("title", "")),
            state=str(self._order.get("state", "")),
            rows=self._rows,
            journal_rows=self._journal_rows,
            digest=self._digest,
            problem_count=self._count,
            problems=tuple(problems),
        )

    def _note(self, row: int, text: str) -> None:
        self._count += 1
        if len(self._problems) < MOST_PROBLEMS:
            self._problems.append(ReceiptProblem(row, text))


def _nothing(_check: _Check, _facts: dict[str, Any]) -> Iterator[str]:
    return iter(())


_LOOKS = {
    "receipt": _Check.look_at_head,
    "work_order": _Check.look_at_order,
    "approval": _Check.look_at_approval,
    "attempt": _Check.look_at_attempt,
    "journal": _Check.look_at_journal,
}


def _parse(line: bytes) -> dict[str, Any] | None:
    """Give a row that stands there in canonical form, or None."""
    try:
        row = json.loads(line.decode("utf-8"))
        if not isinstance(row, dict) or row.keys() != _FIELDS or canonical_json(row) != line:
            return None
    except (ValueError, RecursionError, PraxisError):
        return None
    right = (
        type(row["row"]) is int
        and isinstance(row["kind"], str)
        and isinstance(row["facts"], dict)
        and isinstance(row["previous"], str)
        and isinstance(row["hash"], str)
    )
    return row if right else None
