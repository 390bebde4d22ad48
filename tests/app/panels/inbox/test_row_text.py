"""What rows of the queue say: nothing hidden, nothing posed, the part that matters never cut away."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PySide6.QtCore import QRect
from PySide6.QtGui import QImage, QPainter, QStandardItemModel
from PySide6.QtWidgets import QStyleOptionViewItem
from pytestqt.qtbot import QtBot

from app.panels.inbox.delegate import QueueDelegate
from app.panels.inbox.model import Entry, Roles, order_of
from app.panels.inbox.row_text import (
    Ink,
    Piece,
    badges,
    command_line,
    describe,
    elide,
    explain,
    folder_name,
    meta_line,
)
from app.widgets import Times, Zone
from engine.clock import ManualClock
from engine.views.values import InboxRow
from tests.app.panels.inbox.samples import MINUTE, START, inbox_row


@pytest.fixture
def times(qtbot: QtBot, clock: ManualClock) -> Iterator[Times]:
    made = Times(clock.now, Zone.UTC)
    yield made
    made.deleteLater()


def entry(*rows: InboxRow) -> Entry:
    return Entry(order_of(rows[0]), rows[0], list(rows))


def text_of(pieces: tuple[Piece, ...]) -> str:
    return "".join(piece.text for piece in pieces)


def test_b008_hidden_characters_are_written_out_in_the_row() -> None:
    pieces = command_line(("run", "safe\u202egpj.exe", "a\nb", "", "end  "))
    assert text_of(pieces) == "run safe[U+202E RLO]gpj.exe a[U+000A LF]b [empty] end[2 spaces]"
    assert [piece.text for piece in pieces if piece.ink is Ink.HIDDEN] == [
        "[U+202E RLO]",
        "[U+000A LF]",
        "[empty]",
        "[2 spaces]",
    ]


def test_elements_with_blanks_stand_in_quotes() -> None:
    assert text_of(command_line(("echo", "two words", "one"))) == 'echo "two words" one'


def test_a_whole_path_is_shortened_only_where_nothing_is_hidden_in_it() -> None:
    assert text_of(command_line(("/usr/bin/python3", "x"), short=True)) == "…/python3 x"
    assert text_of(command_line(("C:\\Program Files\\Python\\python.exe",), short=True)) == "…/python.exe"
    assert text_of(command_line(("python", "/a/b"), short=True)) == "python /a/b"
    assert "U+200B" in text_of(command_line(("/usr/b\u200bin/python3",), short=True))
    assert text_of(command_line((), short=True)) == ""


def test_what_differs_from_a_look_alike_is_marked() -> None:
    pieces = command_line(("fix", "--issue", "412"), marks={2})
    assert [piece.text for piece in pieces if piece.ink is Ink.DIFFERS] == ["412"]


def test_a_long_command_is_cut_in_the_middle() -> None:
    cut = text_of(elide(command_line(("python", "x" * 100, "--last")), 40))
    assert len(cut) == 40
    assert cut.startswith("python xxx")
    assert cut.endswith("--last")
    assert "…" in cut


def test_b008_the_cut_never_hides_what_is_marked() -> None:
    hidden = ("python", "a" * 60, "pay\u200bload", "b" * 60, "end")
    assert "[U+200B ZWSP]" in text_of(elide(command_line(hidden), 40))
    differing = ("python", "a" * 60, "413", "b" * 60, "end")
    assert "413" in text_of(elide(command_line(differing, marks={2}), 40))


@pytest.mark.parametrize("room", [22, 24, 30])
def test_b008_the_name_of_a_hidden_letter_is_whole_in_a_narrow_list(room: int) -> None:
    hidden = ("python", "-c", "print('https://example.org/" + "a" * 60 + "\u200b" + "b" * 60 + "')")
    cut = text_of(elide(command_line(hidden), room))
    assert "[U+200B ZWSP]" in cut
    assert len(cut) <= room


@pytest.mark.parametrize("width", [140, 217, 340])
def test_b008_a_row_tells_that_something_changed_at_every_width(times: Times, width: int) -> None:
    def top_line(changed: bool) -> QImage:
        model = QStandardItemModel(1, 1)
        index = model.index(0, 0)
        row = inbox_row(1, changed=changed, title="Edits its own check after you approved it")
        model.setData(index, entry(row), Roles.ENTRY)
        option = QStyleOptionViewItem()
        option.rect = QRect(0, 0, width, 70)  # type: ignore[assignment]
        image = QImage(width, 70, QImage.Format.Format_RGB32)
        image.fill(0xFFFFFF)
        painter = QPainter(image)
        QueueDelegate(times).paint(painter, option, index)
        painter.end()
        return image.copy(0, 0, width, 26)

    def reds(image: QImage) -> int:
        colours = (image.pixelColor(x, y) for x in range(image.width()) for y in range(image.height()))
        return sum(colour.red() > 150 and colour.green() < 90 for colour in colours)

    assert reds(top_line(changed=False)) == 0
    assert reds(top_line(changed=True)) > 40


_PIECES = st.lists(
    st.builds(Piece, st.text("abc ", min_size=1, max_size=30), st.sampled_from(Ink)), max_size=8
).map(tuple)


@given(pieces=_PIECES, room=st.integers(0, 80))
def test_cutting_never_takes_more_than_the_room_and_invents_nothing(
    pieces: tuple[Piece, ...], room: int
) -> None:
    whole = text_of(pieces)
    cut = text_of(elide(pieces, room))
    assert len(cut) <= max(room, 1)
    if len(whole) <= room:
        assert cut == whole
    parts = [part for part in cut.split("…") if part]
    assert all(part in whole for part in parts)


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("/src/payments-api", "payments-api"),
        ("D:\\src\\payments-api\\", "payments-api"),
        ("/", "/"),
        ("payments", "payments"),
    ],
)
def test_folder_names_of_both_kinds_of_system(path: str, name: str) -> None:
    assert folder_name(path) == name


def test_meta_line_names_the_orders() -> None:
    assert meta_line(entry(inbox_row(1))) == "payments-api · WO-101 · implement"
    assert meta_line(entry(*(inbox_row(n, seal="a") for n in range(1, 4)))) == (
        "payments-api · WO-101, WO-102, WO-103 · implement"
    )
    assert "WO-103 and 2 more" in meta_line(entry(*(inbox_row(n, seal="a") for n in range(1, 6))))


def test_badges_by_weight(times: Times, clock: ManualClock) -> None:
    def words(*rows: InboxRow) -> list[str]:
        return [badge.word for badge in badges(entry(*rows), times)]

    assert words(inbox_row(1)) == []
    assert words(inbox_row(1, seal="a"), inbox_row(2, seal="a")) == ["2 alike"]
    assert words(inbox_row(1, expires_at=START + 12 * MINUTE)) == ["expires 00:12"]
    assert words(inbox_row(1, expires_at=START + 12 * MINUTE, changed=True, alike=3)) == [
        "changed since asked",
        "expires 00:12",
        "3 alike",
    ]
    clock.advance(12 * MINUTE)
    assert words(inbox_row(1, expires_at=START + 12 * MINUTE)) == ["expired"]


def test_a_row_that_ended_says_how(times: Times) -> None:
    ended = Entry(order_of(inbox_row(1)), inbox_row(1))
    assert [badge.word for badge in badges(ended, times)] == ["no longer waiting"]
    ended.end = "withdrawn"
    assert [badge.word for badge in badges(ended, times)] == ["withdrawn"]


def test_b118_the_text_for_screen_readers_has_the_whole_command(times: Times) -> None:
    row = inbox_row(1, argv=("python", *(f"--part-{number}" for number in range(60))))
    text = describe(entry(row), times)
    assert "--part-59" in text
    assert "WO-101" in text
    assert "asked just now by agent “codex-1”" in text
    assert "expires in" in text


def test_tooltips_are_never_read_as_markup(times: Times) -> None:
    row = inbox_row(1, argv=("<img src='file:///etc/passwd'>", "<b>bold</b>"), workspace="/a<i>b")
    tip = explain(entry(row), times)
    assert "<img" not in tip
    assert "&lt;b&gt;bold" in tip
    assert "/a&lt;i&gt;b" in tip


def test_a_title_cannot_pose_as_another(times: Times) -> None:
    text = describe(entry(inbox_row(1, title="Fix\u202e\nother\t title")), times)
    assert text.startswith("Fix⟨U+202E RLO⟩ other title")


def test_a_very_long_tooltip_is_cut_and_says_so(times: Times) -> None:
    row = inbox_row(1, argv=("x" * 5_000, *(str(number) for number in range(100))))
    tip = explain(entry(row), times)
    assert "… 61 more; the card shows all" in tip
    assert len(tip) < 3_000


def test_a_row_knows_when_the_first_of_its_requests_expires() -> None:
    one = entry(inbox_row(1, seal="a"), inbox_row(2, seal="a", expires_at=START + MINUTE))
    assert one.expires_at == START + MINUTE
    assert not one.changed
    assert replace(inbox_row(1), changed=True).changed
