"""B-061, B-062: output of any encoding is read without an error, and the choice is shown."""

from __future__ import annotations

import codecs

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.panels.evidence.text_encoding import CHOICES, decode, detect, line_start_after, pieces

GERMAN = "Größe prüfen: Änderung übernommen, schöne Grüße\n"


@pytest.mark.parametrize(
    ("data", "encoding"),
    [
        (b"", "utf-8"),
        (b"plain text\n", "utf-8"),
        (GERMAN.encode(), "utf-8"),
        (codecs.BOM_UTF8 + b"text", "utf-8"),
        (GERMAN.encode("utf-16"), "utf-16-le"),
        (GERMAN.encode("utf-16-le"), "utf-16-le"),
        (codecs.BOM_UTF16_BE + GERMAN.encode("utf-16-be"), "utf-16-be"),
        (GERMAN.encode("utf-16-be"), "utf-16-be"),
        (GERMAN.encode("cp850"), "cp850"),
        (GERMAN.encode("cp1252"), "cp1252"),
        ("┌──────┐\n│ rows │\n└──────┘\n".encode("cp437"), "cp850"),
        ("проверка завершена успешно\n".encode("cp1251"), "cp1251"),
        ("проверка завершена успешно\n".encode("cp866"), "cp866"),
        ("编译完成，没有错误。请检查结果\n".encode("cp936"), "cp936"),
        (GERMAN.encode() * 50 + b"\xff\x81 one odd line\n", "utf-8"),
    ],
)
def test_b061_the_encoding_is_found(data, encoding):
    assert detect(data).encoding == encoding


def test_a_guess_is_called_a_guess():
    assert "guess" in detect(GERMAN.encode("cp850")).why
    assert detect(GERMAN.encode("cp1252")).label == "Windows-1252"


def lines(block: bytes, encoding: str, *, automatic: bool = True) -> list[str]:
    return [
        decode(block[piece.start : piece.end], piece.encoding).rstrip("\r")
        for piece in pieces(block, encoding, automatic=automatic)
    ]


def test_b061_a_stream_that_switches_to_utf16_and_back_stays_readable():
    block = b"native one\r\n" + "Größe zwei\r\nПривет\r\n".encode("utf-16-le") + b"native three\n"
    assert lines(block, "utf-8") == ["native one", "Größe zwei", "Привет", "native three"]


def test_b061_narrow_lines_in_a_utf16_stream_stay_readable():
    block = "eins\r\n\r\nzwei\r\n".encode("utf-16") + b"native line here\r\n" + "drei\r\n".encode("utf-16-le")
    assert lines(block, detect(block).encoding) == ["eins", "", "zwei", "native line here", "drei"]


@pytest.mark.parametrize("order", ["le", "be"])
def test_utf16_is_cut_at_its_own_newlines_only(order):
    text = "a\u0a0ab\u010a\n\u0a0d\nend"
    block = text.encode(f"utf-16-{order}")
    assert lines(block, f"utf-16-{order}", automatic=False) == text.split("\n")


@pytest.mark.parametrize("encoding", ["utf-8", "cp850", "cp936", "utf-16-le", "utf-16-be"])
def test_a_block_from_anywhere_begins_at_a_line(encoding):
    text = "first line\nsecond line\nthird"
    data = text.encode(encoding)
    starts = {len(text[:at].encode(encoding)) for at in (11, 23)}
    for cut in range(1, len("first lin".encode(encoding))):
        start = line_start_after(data[cut:], encoding, cut)
        assert start is not None
        assert start + cut in starts


def test_b062_bytes_of_no_code_page_become_marks():
    assert decode(b"\x81\x8d\xa2\xff", "utf-8") == "\ufffd" * 4
    assert decode(b"\x81a", "cp1252") == "\ufffda"
    assert decode(b"\x81a", "utf-8", raw=True) == "\\x81a"


def test_b062_half_a_character_waits_for_its_other_half():
    assert decode("ü".encode()[:1], "utf-8", final=False) == ""
    assert decode("ü".encode()[:1], "utf-8") == "\ufffd"


@given(st.binary(max_size=300), st.sampled_from([name for name, _ in CHOICES[1:]]), st.booleans())
def test_b062_no_bytes_raise_and_none_are_lost(data, encoding, automatic):
    detect(data, data)
    end = 0
    for piece in pieces(data, encoding, automatic=automatic):
        assert piece.start == end
        assert piece.start <= piece.end <= piece.following
        decode(data[piece.start : piece.end], piece.encoding)
        decode(data[piece.start : piece.end], piece.encoding, raw=True)
        end = piece.following
    assert end == len(data)
