"""Where in a TOML or JSON text each key and element stands, so that an error can name its line.

The parsers of the standard library give values without positions. These scanners go over the same text and
give, for each path of keys and indexes, the line (from 1) where its key or element begins.
"""

from __future__ import annotations

import json
import re
import tomllib
from bisect import bisect_right
from typing import NoReturn, TypeAlias

KeyPath: TypeAlias = tuple[str | int, ...]

DEEPEST = 16
"""How deeply tables and lists may be nested; a work order needs four levels."""


class TooDeep(Exception):
    """Nested more deeply than `DEEPEST`; ``line`` is where."""

    def __init__(self, line: int) -> None:
        super().__init__(line)
        self.line = line


class NotScanned(Exception):
    """The text is not what the scanner expects; the real parser will say it better."""


class Positions:
    """Lines by path, and the paths that were given twice."""

    def __init__(self, text: str) -> None:
        self._ends = [match.start() for match in re.finditer("\n", text)]
        self._lines: dict[KeyPath, int] = {(): 1}
        self.repeated: list[tuple[KeyPath, int]] = []

    def line_at(self, offset: int) -> int:
        """Give the line in which a character stands."""
        return bisect_right(self._ends, offset - 1) + 1

    def add(self, path: KeyPath, offset: int) -> None:
        """Note a path where it first stands."""
        self._lines.setdefault(path, self.line_at(offset))

    def repeat(self, path: KeyPath, offset: int) -> None:
        """Note that a path is given once more."""
        self.repeated.append((path, self.line_at(offset)))

    def __contains__(self, path: KeyPath) -> bool:
        return path in self._lines

    def line(self, path: KeyPath) -> int:
        """Give the line of a path, or of the nearest table around it that is there."""
        while path not in self._lines:
            path = path[:-1]
        return self._lines[path]


def toml_positions(text: str) -> Positions:
    """Scan TOML text; `TooDeep`, or `NotScanned` where it is not well formed."""
    return _Toml(text).scan()


def json_positions(text: str) -> Positions:
    """Scan JSON text; `TooDeep`, or `NotScanned` where it is not well formed."""
    scanner = _Json(text)
    scanner.value((), 0)
    return scanner.positions


class _Scanner:
    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.positions = Positions(text)

    def fail(self) -> NoReturn:
        raise NotScanned(self.positions.line_at(self.at))

    def skip(self, pattern: re.Pattern[str]) -> str:
        match = pattern.match(self.text, self.at)
        if match is None:
            self.fail()
        self.at = match.end()
        return match[0]

    def here(self, text: str) -> bool:
        return self.text.startswith(text, self.at)

    def take(self, text: str) -> bool:
        if self.here(text):
            self.at += len(text)
            return True
        return False

    def check_depth(self, depth: int) -> None:
        if depth > DEEPEST:
            raise TooDeep(self.positions.line_at(self.at))


class _Json(_Scanner):
    _SPACE = re.compile(r"[ \t\r\n]*")
    _SCALAR = re.compile(r"[^\s,\]}\[{\":]+")
    _STRING = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"', re.DOTALL)

    def value(self, path: KeyPath, depth: int) -> None:
        self.check_depth(depth)
        self.skip(self._SPACE)
        self.positions.add(path, self.at)
        if self.take("{"):
            self._members(path, depth)
        elif self.take("["):
            self._elements(path, depth)
        elif self.here('"'):
            self._string()
        else:
            self.skip(self._SCALAR)
        self.skip(self._SPACE)

    def _string(self) -> str:
        try:
            return str(json.loads(self.skip(self._STRING)))
        except json.JSONDecodeError:
            self.fail()

    def _members(self, path: KeyPath, depth: int) -> None:
        seen: set[str] = set()
        self.skip(self._SPACE)
        while not self.take("}"):
            if not self.here('"'):
                self.fail()
            start = self.at
            name = self._string()
            self.positions.add((*path, name), start)
            if name in seen:
                self.positions.repeat((*path, name), start)
            seen.add(name)
            self.skip(self._SPACE)
            if not self.take(":"):
                self.fail()
            self.value((*path, name), depth + 1)
            if not self.take(",") and not self.here("}"):
                self.fail()
            self.skip(self._SPACE)

    def _elements(self, path: KeyPath, depth: int) -> None:
        index = 0
        self.skip(self._SPACE)
        while not self.take("]"):
            self.value((*path, index), depth + 1)
            index += 1
            if not self.take(",") and not self.here("]"):
                self.fail()
            self.skip(self._SPACE)


class _Toml(_Scanner):
    _BLANK = re.compile(r"[ \t]*")
    _SPACE = re.compile(r"(?:[ \t\r\n]|#[^\n]*)*")
    _BARE = re.compile(r"[A-Za-z0-9_-]+")
    _SCALAR = re.compile(r"[^,\]}\n#]+")
    _STRINGS = (
        ('"""', re.compile(r'"""[^"\\]*(?:(?:\\.|"(?!""))[^"\\]*)*"{3,5}', re.DOTALL)),
        ("'''", re.compile(r"'''[^']*(?:'(?!'')[^']*)*'{3,5}", re.DOTALL)),
        ('"', re.compile(r'"[^"\\\n]*(?:\\.[^"\\\n]*)*"')),
        ("'", re.compile(r"'[^'\n]*'")),
    )

    def scan(self) -> Positions:
        table: KeyPath = ()
        self._counts: dict[KeyPath, int] = {}
        self.skip(self._SPACE)
        while self.at < len(self.text):
            if self.take("[["):
                table = self._header("]]")
            elif self.take("["):
                table = self._header("]")
            else:
                self._pair(table, 0)
            self.skip(self._SPACE)
        return self.positions

    def _header(self, end: str) -> KeyPath:
        start = self.at
        path: KeyPath = ()
        parts = self._key()
        for place, part in enumerate(parts):
            path += (part,)
            if end == "]]" and place == len(parts) - 1:
                self.positions.add(path, start)
                self._counts[path] = self._counts.get(path, 0) + 1
            if path in self._counts:
                path += (self._counts[path] - 1,)
            self.positions.add(path, start)
        if not self.take(end):
            self.fail()
        return path

    def _pair(self, table: KeyPath, depth: int) -> None:
        start = self.at
        path = table
        for part in self._key():
            path += (part,)
            self.positions.add(path, start)
        if not self.take("="):
            self.fail()
        self._value(path, depth + 1)

    def _key(self) -> list[str]:
        parts: list[str] = []
        while True:
            self.check_depth(len(parts))
            self.skip(self._BLANK)
            if self.here('"') or self.here("'"):
                parts.append(self._quoted())
            else:
                parts.append(self.skip(self._BARE))
            self.skip(self._BLANK)
            if not self.take("."):
                return parts

    def _quoted(self) -> str:
        text = self.skip(self._STRINGS[2][1] if self.here('"') else self._STRINGS[3][1])
        try:
            return str(tomllib.loads(f"key = {text}")["key"])
        except tomllib.TOMLDecodeError:
            self.fail()

    def _value(self, path: KeyPath, depth: int) -> None:
        self.check_depth(depth)
        self.skip(self._BLANK)
        if self.take("["):
            self._array(path, depth)
        elif self.take("{"):
            self._inline_table(path, depth)
        else:
            for opening, pattern in self._STRINGS:
                if self.here(opening):
                    self.skip(pattern)
                    return
            self.skip(self._SCALAR)

    def _array(self, path: KeyPath, depth: int) -> None:
        index = 0
        self.skip(self._SPACE)
        while not self.take("]"):
            self.positions.add((*path, index), self.at)
            self._value((*path, index), depth + 1)
            index += 1
            self.skip(self._SPACE)
            if not self.take(",") and not self.here("]"):
                self.fail()
            self.skip(self._SPACE)

    def _inline_table(self, path: KeyPath, depth: int) -> None:
        self.skip(self._BLANK)
        while not self.take("}"):
            self._pair(path, depth)
            self.skip(self._BLANK)
            if not self.take(",") and not self.here("}"):
                self.fail()
            self.skip(self._BLANK)
