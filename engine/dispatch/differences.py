"""What differs between an approved plan and what would run now, in words that a person reads (E-40a, E-41)."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from engine.dispatch.plan import Plan

ABSENT = "not there"


@dataclass(frozen=True, slots=True)
class Difference:
    """One thing that differs. ``field`` names it in words; a side that lacks it reads `ABSENT`.

    The values are as they are, not made safe for display: see `engine.dispatch.display`.
    """

    field: str
    approved: str
    now: str

    def __str__(self) -> str:
        return f"{self.field}: {self.approved} → {self.now}"


def differences(approved: Plan, now: Plan) -> tuple[Difference, ...]:
    """Compare two plans field by field; nothing is returned exactly when their seals are equal."""
    return tuple(_compare(approved.to_json(), now.to_json()))


def _compare(old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[Difference]:
    for name in {**old, **new}:
        compare = _SPECIAL.get(name, _in_one)
        yield from compare(name, old.get(name), new.get(name))


def _in_one(name: str, old: Any, new: Any) -> Iterator[Difference]:
    if old != new:
        yield Difference(_WORDS.get(name, name), _shown(old), _shown(new))


def _parts(name: str, old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[Difference]:
    for part in {**old, **new}:
        yield from _in_one(f"{name}.{part}", old.get(part), new.get(part))


def _arguments(name: str, old: list[str], new: list[str]) -> Iterator[Difference]:
    for index in range(max(len(old), len(new))):
        left = old[index] if index < len(old) else None
        right = new[index] if index < len(new) else None
        if left != right:
            yield Difference(
                f"argument {index}" if index else "program as written", _shown(left), _shown(right)
            )


def _environment(name: str, old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[Difference]:
    left, right = ({part: side[part] for part in ("base", "own")} for side in (old, new))
    for variable in sorted({key for side in (left, right) for values in side.values() for key in values}):
        before, after = (_variable(side, variable) for side in (left, right))
        if before != after:
            yield Difference(f"environment {variable}", *_variables_shown(before, after))


def _variable(side: Mapping[str, Mapping[str, Any]], name: str) -> tuple[Any, Any]:
    return side["base"].get(name), side["own"].get(name)


def _variables_shown(before: tuple[Any, Any], after: tuple[Any, Any]) -> tuple[str, str]:
    left, right = _variable_shown(before), _variable_shown(after)
    if left != right:
        return left, right
    return f"{left} ({_source(before)})", f"{right} ({_source(after)})"


def _variable_shown(values: tuple[Any, Any]) -> str:
    base, own = values
    value = own if own is not None else base
    if isinstance(value, Mapping):
        return f"secret from {value['secret']}, seal {value['seal']}"
    return _shown(value)


def _source(values: tuple[Any, Any]) -> str:
    base, own = values
    if base is not None and own is not None:
        return "set by the command over the console's"
    return "set by the command" if own is not None else "from the console"


def _inputs(name: str, old: list[Any], new: list[Any]) -> Iterator[Difference]:
    left, right = ({item["path"]: item for item in side} for side in (old, new))
    for path in sorted({**left, **right}):
        if left.get(path) != right.get(path):
            yield Difference(f"input {path}", _input_shown(left.get(path)), _input_shown(right.get(path)))
    if left == right and old != new:
        yield Difference(
            "order of the inputs", *(_shown([item["path"] for item in side]) for side in (old, new))
        )


def _input_shown(item: Mapping[str, Any] | None) -> str:
    if item is None:
        return ABSENT
    kind = "" if item["kind"] == "file" else f"{item['kind']}, "
    return f"{kind}sha256 {item['sha256']}, {item['size']} bytes"


def _shown(value: Any) -> str:
    if value is None:
        return ABSENT
    if isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False)


_SPECIAL: Mapping[str, Callable[[str, Any, Any], Iterator[Difference]]] = {
    "argv": _arguments,
    "environment": _environment,
    "inputs": _inputs,
    "program": _parts,
    "workspace": _parts,
    "limits": _parts,
    "state": _parts,
}

_WORDS: Mapping[str, str] = {
    "version": "form of the plan",
    "program.path": "program",
    "program.real_path": "program behind links",
    "program.sha256": "program sha256",
    "program.size": "program size in bytes",
    "program.searched": "folders searched for the program",
    "folder": "working folder",
    "workspace.path": "workspace",
    "workspace.identity": "identity of the workspace folder",
    "limits.time_ms": "time limit in ms",
    "limits.cost": "maximum cost",
    "limits.output_bytes": "output limit in bytes",
    "state.kind": "kind of workspace state",
    "state.head": "repository head",
    "state.branch": "repository branch",
    "state.changed": "number of uncommitted changes",
    "state.files": "number of files in the workspace",
    "state.digest": "content of the workspace",
    "state.unread": "number of files judged by size and time",
    "state.note": "remark on the workspace state",
}
