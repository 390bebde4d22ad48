"""Running `praxis` in the test's own process, on the test's own data folder."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from engine.interfaces import cli
from engine.interfaces.work_order_file import to_toml


@dataclass(frozen=True)
class Ran:
    """What a command did: its exit code and the bytes it printed."""

    code: int
    raw: bytes
    raw_err: bytes
    encoding: str

    @property
    def out(self) -> str:
        return self.raw.decode(self.encoding)

    @property
    def err(self) -> str:
        return self.raw_err.decode(self.encoding)

    @property
    def json(self) -> Any:
        return json.loads(self.raw)


Praxis = Callable[..., Ran]


@pytest.fixture
def praxis(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Praxis:
    """Run a command in this process on the test's data folder, with streams of any encoding."""
    monkeypatch.setenv("PRAXIS_DATA", str(folder))

    def run(*arguments: str, ok: bool = True, encoding: str = "utf-8") -> Ran:
        streams = [io.TextIOWrapper(io.BytesIO(), encoding=encoding, write_through=True) for _ in range(2)]
        with monkeypatch.context() as patch:
            patch.setattr(sys, "stdin", io.StringIO())
            patch.setattr(sys, "stdout", streams[0])
            patch.setattr(sys, "stderr", streams[1])
            code = cli.run(arguments)
        raw, raw_err = (stream.buffer.getvalue() for stream in streams)
        ran = Ran(code, raw, raw_err, encoding)
        assert "Traceback" not in ran.err
        if ok:
            assert code == 0, ran.err
        return ran

    return run


def approve(praxis: Praxis, name: str, *more: str) -> Ran:
    """Approve the first task of a work order by the seal that is shown."""
    seal = praxis("show", f"{name}/1", "--json").json["approval"]["seal"]
    return praxis("approve", name, "--seal", seal[:8], *more)


@pytest.fixture
def order_file(tmp_path: Path, work_order: Any) -> Callable[..., str]:
    """Write a work order file; the parameters are those of `work_order`."""

    def write(*arguments: Any, name: str = "order.toml", **fields: Any) -> str:
        path = tmp_path / name
        path.write_text(to_toml(work_order(*arguments, **fields)), encoding="utf-8")
        return str(path)

    return write
