"""The log's model stays equal to its source, with row signals that Qt's own tester accepts."""

from __future__ import annotations

import random

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QAbstractItemModelTester

from app.panels.evidence import log_source
from app.panels.evidence.ansi import LogLine
from app.panels.evidence.log_model import LogModel, Roles
from app.panels.evidence.log_source import LogSource


@pytest.mark.parametrize("seed", range(8))
def test_any_order_of_reading_keeps_the_model_equal(qapp, tmp_path, monkeypatch, seed):
    monkeypatch.setattr(log_source, "BLOCK", 2000)
    monkeypatch.setattr(log_source, "MOST_ROWS", 150)
    chance = random.Random(seed)
    path = tmp_path / "log"
    path.write_bytes(b"".join(b"line %d\n" % number for number in range(1500)))
    source, model = LogSource(path), LogModel()
    tester = QAbstractItemModelTester(model, QAbstractItemModelTester.FailureReportingMode.Fatal)
    model.apply(source.open_end())
    with path.open("ab", buffering=0) as file:
        for _ in range(60):
            action = chance.choice(("write", "earlier", "later", "around", "end"))
            if action == "write":
                file.write(chance.choice((b"more\n", b"\rpart", b"\x1b[3A\x1b[2Kup\n\n\n", b"x\n" * 90)))
                patch = source.poll(following=chance.random() < 0.5)
            elif action == "around":
                patch = source.open_around(chance.randrange(9000))
            elif action == "end":
                patch = source.open_end()
            else:
                patch = getattr(source, action)()
            if patch is not None:
                model.apply(patch)
            held = [model.line(row) for row in range(model.rowCount())]
            assert held == source._lines
    del tester


def test_what_was_cut_is_said(qapp, tmp_path):
    path = tmp_path / "log"
    path.write_bytes(b"y" * 5000)
    model = LogModel()
    model.apply(LogSource(path).open_end())
    text = model.index(0, 0).data(Qt.ItemDataRole.DisplayRole)
    assert text.endswith("(+3,000 chars)")
    assert isinstance(model.index(0, 0).data(Roles.LINE), LogLine)


def test_row_at_finds_the_row_of_a_byte(qapp, tmp_path):
    path = tmp_path / "log"
    path.write_bytes(b"a\nbb\nccc\n")
    model = LogModel()
    model.apply(LogSource(path).open_end())
    assert [model.row_at(offset) for offset in (0, 1, 2, 4, 5, 99)] == [0, 0, 1, 1, 2, 2]
