"""B-055, B-056, B-062: any log is shown from its end, in bounded pieces, without losing a byte of it."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.panels.evidence import log_source
from app.panels.evidence.ansi import LogLine
from app.panels.evidence.log_source import LogSource, Patch


class Window:
    """What a model does with patches."""

    def __init__(self) -> None:
        self.lines: list[LogLine] = []
        self.patch: Patch | None = None

    def apply(self, patch: Patch | None) -> Window:
        if patch is not None:
            self.patch = patch
            if patch.fresh:
                self.lines.clear()
            for splice in patch.splices:
                assert splice.index + splice.removed <= len(self.lines)
                self.lines[splice.index : splice.index + splice.removed] = splice.lines
        return self

    @property
    def texts(self) -> list[str]:
        return [line.text for line in self.lines]


@pytest.fixture
def small_blocks(monkeypatch):
    monkeypatch.setattr(log_source, "BLOCK", 4096)
    monkeypatch.setattr(log_source, "MOST_BEHIND", 4 * 4096)
    monkeypatch.setattr(log_source, "MOST_PARTIAL", 512)
    monkeypatch.setattr(log_source, "MOST_ROWS", 500)


def numbered(count: int, first: int = 0) -> str:
    return "".join(f"line {number}\n" for number in range(first, first + count))


def written(path: Path, data: bytes | str) -> Path:
    path.write_bytes(data if isinstance(data, bytes) else data.encode())
    return path


def test_b056_opens_at_the_end_and_pages_back_to_the_start(tmp_path, small_blocks):
    path = written(tmp_path / "log", numbered(1000))
    source, window = LogSource(path), Window()
    window.apply(source.open_end())
    assert window.texts[-1] == "line 999"
    assert 300 < len(window.lines) < 500
    assert not window.patch.at_start
    assert window.patch.at_end
    while not window.patch.at_start:
        window.apply(source.earlier())
        assert len(window.lines) <= 500
        first = int(window.texts[0].split()[1])
        assert window.texts == [f"line {first + at}" for at in range(len(window.lines))]
    assert window.texts[0] == "line 0"
    assert not window.patch.at_end
    while not window.patch.at_end:
        window.apply(source.later())
        first = int(window.texts[0].split()[1])
        assert window.texts == [f"line {first + at}" for at in range(len(window.lines))]
    assert window.texts[-1] == "line 999"


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-8-sig"])
def test_b061_pages_of_wide_encodings_stay_in_step(tmp_path, small_blocks, encoding):
    path = written(tmp_path / "log", "".join(f"Zeile {n} – größer\r\n" for n in range(900)).encode(encoding))
    source, window = LogSource(path), Window()
    window.apply(source.open_end())
    while not window.patch.at_start:
        window.apply(source.earlier())
        first = int(window.texts[0].split()[1])
        assert window.texts == [f"Zeile {first + at} – größer" for at in range(len(window.lines))]
    assert window.texts[0] == "Zeile 0 – größer"


def test_offsets_lead_back_to_the_bytes(tmp_path, small_blocks):
    path = written(tmp_path / "log", numbered(700))
    source, window = LogSource(path), Window()
    window.apply(source.open_around(5000))
    data = path.read_bytes()
    for line in window.lines:
        assert data[line.offset :].startswith(line.text.encode() + b"\n")
    assert any(line.offset <= 5000 < line.offset + len(line.text) + 1 for line in window.lines)


def test_follows_what_is_written_and_drops_the_oldest(tmp_path, small_blocks):
    path = written(tmp_path / "log", "")
    source, window = LogSource(path), Window()
    window.apply(source.open_end())
    assert window.lines == []
    with path.open("ab", buffering=0) as file:
        for number in range(60):
            file.write(numbered(20, number * 20).encode())
            window.apply(source.poll(following=True))
            assert window.texts[-1] == f"line {number * 20 + 19}"
    assert len(window.lines) == 500
    assert source.poll(following=True) is None


def test_a_flood_is_followed_by_jumping_to_its_end(tmp_path, small_blocks):
    path = written(tmp_path / "log", numbered(10))
    source, window = LogSource(path), Window()
    window.apply(source.open_end())
    with path.open("ab") as file:
        file.write(numbered(9000, 10).encode())
    window.apply(source.poll(following=True))
    assert window.patch.fresh
    assert window.texts[-1] == "line 9009"


def test_rows_being_read_are_not_pushed_out(tmp_path, small_blocks):
    path = written(tmp_path / "log", numbered(100))
    source, window = LogSource(path), Window()
    window.apply(source.open_end())
    with path.open("ab", buffering=0) as file:
        for number in range(5, 50):
            file.write(numbered(20, number * 20).encode())
            window.apply(source.poll(following=False))
            assert window.texts[0] == "line 0"
    assert 500 <= len(window.lines) < 800
    assert not window.patch.at_end
    assert window.patch.size == path.stat().st_size


def test_growth_in_one_step_is_taken_whole(tmp_path, small_blocks):
    path = written(tmp_path / "log", numbered(10))
    source, window = LogSource(path), Window()
    window.apply(source.open_end())
    with path.open("ab") as file:
        file.write(numbered(1000, 10).encode())
    window.apply(source.poll(following=True))
    assert window.patch.at_end
    assert window.texts == [f"line {number}" for number in range(510, 1010)]


def test_a_shorter_file_is_another_file(tmp_path):
    path = written(tmp_path / "log", numbered(100))
    source, window = LogSource(path), Window()
    window.apply(source.open_end())
    written(path, "new\n")
    window.apply(source.poll(following=True))
    assert window.texts == ["new"]


def test_b122_a_missing_file_says_missing(tmp_path):
    window = Window().apply(LogSource(tmp_path / "gone").open_end())
    assert window.patch.missing
    assert window.lines == []


def test_a_file_that_goes_away_says_missing(tmp_path):
    path = written(tmp_path / "log", numbered(3))
    source, window = LogSource(path), Window()
    window.apply(source.open_end())
    path.unlink()
    window.apply(source.poll(following=True))
    assert window.patch.missing
    assert window.lines == []


def test_a_folder_in_the_place_of_the_file_is_a_problem_in_words(tmp_path):
    assert "cannot be read" in LogSource(tmp_path).open_end().problem


def test_a_line_without_end_is_one_cut_row_and_copies_whole(tmp_path):
    text = "start " + "x" * 300_000 + " end"
    path = written(tmp_path / "log", f"before\n{text}")
    source, window = LogSource(path), Window()
    window.apply(source.open_end())
    assert len(window.lines) == 1
    window.apply(source.earlier())
    assert window.texts[0] == "before"
    assert sum(len(line.text) + line.hidden for line in window.lines[1:]) == len(text)
    whole = source.text(window.lines[1:], window.patch.end)
    assert whole == text


def test_progress_without_newlines_stays_one_row(tmp_path, small_blocks):
    path = written(tmp_path / "log", "begin\n")
    source, window = LogSource(path), Window()
    window.apply(source.open_end())
    with path.open("ab", buffering=0) as file:
        for percent in range(101):
            file.write(f"\r\x1b[32m{percent:3} %\x1b[0m {'#' * percent}".encode())
            window.apply(source.poll(following=True))
    assert window.texts == ["begin", "100 % " + "#" * 100]


def test_only_ascii_so_far_says_nothing_about_what_comes(tmp_path):
    path = written(tmp_path / "log", "only ascii\n")
    source, window = LogSource(path), Window()
    window.apply(source.open_end())
    with path.open("ab") as file:
        file.write("schöne Grüße aus Köln, übermorgen\n".encode("cp850"))
    window.apply(source.poll(following=True))
    assert window.texts[-1] == "schöne Grüße aus Köln, übermorgen"
    assert window.patch.detection.encoding == "cp850"


def test_a_chosen_encoding_is_kept(tmp_path):
    path = written(tmp_path / "log", "größer\n".encode("cp850"))
    window = Window().apply(LogSource(path, encoding="cp1252").open_end())
    assert window.patch.detection.chosen
    assert window.texts == ["gr”áer"]


def test_raw_shows_escapes_and_unreadable_bytes(tmp_path):
    path = written(tmp_path / "log", b"\x1b[31mred\x1b[0m \xff\r\n")
    window = Window().apply(LogSource(path, raw=True, encoding="utf-8").open_end())
    assert window.texts == ["␛[31mred␛[0m \\xff␍"]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16-le", "cp1252"])
def test_search_finds_every_line_whatever_its_colours(tmp_path, monkeypatch, encoding):
    monkeypatch.setattr(log_source, "SEARCH_BLOCK", 1000)
    monkeypatch.setattr(log_source, "SEARCH_STEP", 1000)
    lines = [f"line {n} \x1b[31mnee\x1b[0mdle ü" if n % 50 == 7 else f"line {n}" for n in range(800)]
    text = "\n".join(lines)
    path = written(tmp_path / "log", text.encode(encoding))
    source = LogSource(path)
    source.open_end()
    steps = list(source.search("NEEDLE Ü", lambda: False))
    found = [offset for step in steps for offset in step.offsets]
    expected = [len("\n".join([*lines[:at], ""]).encode(encoding)) for at in range(800) if at % 50 == 7]
    assert found == expected
    assert steps[-1].searched == path.stat().st_size


def test_search_stops_when_told(tmp_path, monkeypatch):
    monkeypatch.setattr(log_source, "SEARCH_BLOCK", 1000)
    monkeypatch.setattr(log_source, "SEARCH_STEP", 1000)
    source = LogSource(written(tmp_path / "log", numbered(5000)))
    source.open_end()
    answers = iter([False, False, True])
    assert len(list(source.search("line", lambda: next(answers)))) == 2


OUTPUT = st.lists(
    st.one_of(
        st.binary(max_size=40),
        st.sampled_from(
            [b"\n", b"\r", b"\r\n", b"\x1b[A", b"\x1b[2K", b"\x1b[31m", "ü€😀".encode(), b"\x1b]0;t\x07"]
        ),
    ),
    max_size=25,
)


@given(OUTPUT, st.integers(1, 7))
def test_b062_output_that_comes_in_any_pieces_ends_up_the_same(tmp_path_factory, parts, step):
    data = b"".join(parts)
    path = tmp_path_factory.mktemp("log") / "out"
    path.write_bytes(b"")
    source, live = LogSource(path, encoding="utf-8"), Window()
    live.apply(source.open_end())
    with path.open("ab", buffering=0) as file:
        for at in range(0, len(data), step):
            file.write(data[at : at + step])
            live.apply(source.poll(following=True))
    whole = Window().apply(LogSource(path, encoding="utf-8").open_end())
    assert live.lines == whole.lines


@given(st.binary(max_size=3000), st.sampled_from(["auto", "utf-8", "utf-16-le", "cp936"]), st.booleans())
def test_b062_no_bytes_break_the_reader(tmp_path_factory, data, encoding, raw):
    path = tmp_path_factory.mktemp("log") / "out"
    path.write_bytes(data)
    source, window = LogSource(path, encoding=encoding, raw=raw), Window()
    window.apply(source.open_end())
    window.apply(source.open_around(len(data) // 2))
    window.apply(source.earlier())
    window.apply(source.later())
    list(source.search("x", lambda: False))
    assert all(0 <= line.offset <= len(data) for line in window.lines)
