"""The engine's values as JSON and back: for the local channel, and for what the CLI prints with ``--json``.

`encode` and `decode` are inverses, used on the channel: instants stay whole milliseconds. `document` is for
people's programs: the same form, with every instant as canonical UTC text (E-01). What comes from another
process is never trusted: `decode` checks every value against the declared type and names the place that is
wrong, so nothing but well-formed values ever reaches the engine.
"""

from __future__ import annotations

import functools
import json
import math
import types
from collections.abc import Collection, Mapping, Sequence
from dataclasses import MISSING, Field, fields, is_dataclass
from enum import Enum
from pathlib import Path
from typing import Annotated, Any, TypeAlias, Union, get_args, get_origin, get_type_hints

from engine.errors import InvalidValue, PraxisError
from engine.instants import EARLIEST, LATEST, format_instant

Json: TypeAlias = Any
"""What `json.dumps` takes: None, bool, int, float, str, and lists and string-keyed dicts of these."""

_INSTANT = "instant"
_DEEPEST = 64
_LARGEST_WHOLE = 2**63 - 1


def encode(value: object) -> Json:
    """Give the JSON form of a value of the engine; `decode` with its type is the inverse.

    Raises `TypeError` for what has no JSON form (bytes, NaN, mappings with keys other than text).
    """
    return _encode(value, instants_as_text=False)


def document(value: object) -> Json:
    """Give the JSON form for people's programs: as `encode`, but instants are canonical UTC text.

    Instants are the fields that are declared so; in stored JSON (a journal row's detail, a work order's form)
    the whole numbers under names that end in ``_at`` or ``_until``, as the engine writes them.
    """
    return _encode(value, instants_as_text=True)


def decode(kind: Any, value: Json, where: str = "value") -> Any:
    """Rebuild a value of type ``kind`` from its JSON form.

    ``kind`` is a dataclass, an enum, ``str``, ``int``, ``float``, ``bool``, ``tuple[X, ...]``, ``Sequence[X]``,
    ``Collection[X]``, ``Mapping[str, X]``, one of these or None, or ``Any``. `InvalidValue` names the place
    (``where``) of anything that is missing, unknown, or of another type.
    """
    if kind is Any or kind is object:
        return value
    origin = get_origin(kind)
    if origin is Annotated:
        return _decode_instant(value, where)
    if origin in (Union, types.UnionType):
        return _decode_optional(get_args(kind), value, where)
    if origin is tuple:
        return _decode_tuple(get_args(kind), value, where)
    if origin in (Sequence, Collection):
        return _decode_tuple((get_args(kind)[0], ...), value, where)
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return _decode_mapping(get_args(kind)[1], value, where)
    if isinstance(kind, type) and issubclass(kind, Enum):
        return _decode_enum(kind, value, where)
    if is_dataclass(kind) and isinstance(kind, type):
        return _decode_dataclass(kind, value, where)
    return _decode_plain(kind, value, where)


def dump(value: Json) -> bytes:
    """Give JSON as ASCII bytes, so that no terminal, pipe or code page can alter it."""
    return json.dumps(value, ensure_ascii=True, allow_nan=False, separators=(",", ":")).encode("ascii")


def load(data: bytes) -> Json:
    """Read JSON bytes from another process.

    Whatever is wrong with them (encoding, form, NaN, depth, absurd numbers) is one `InvalidValue`.
    """
    try:
        value = json.loads(data.decode("utf-8"), parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        raise InvalidValue("The message is not valid JSON.", reason=type(error).__name__) from error
    _require_shallow(value, 0)
    return value


def encode_error(error: PraxisError) -> Json:
    """Give the JSON form of an error for a person."""
    return _error(error, instants_as_text=False)


def document_error(error: PraxisError) -> Json:
    """Give the JSON form of an error as the CLI prints it, with its exit code."""
    return {**_error(error, instants_as_text=True), "exit_code": error.exit_code}


def decode_error(value: Json) -> PraxisError:
    """Rebuild an error of the class that has its code; an unknown code gives a plain `PraxisError`."""
    if not isinstance(value, dict):
        value = {}
    facts = value.get("facts")
    kind = error_classes().get(_text(value.get("code")), PraxisError)
    error = kind.__new__(kind)
    PraxisError.__init__(
        error,
        _text(value.get("what")) or "The owner of the data folder refused without saying why.",
        means=_text(value.get("means")),
        do=_text(value.get("do")),
    )
    error.facts = dict(facts) if isinstance(facts, dict) else {}
    return error


def error_classes() -> Mapping[str, type[PraxisError]]:
    """Every error class that is loaded, by its code; of two with one code the more general."""
    found: dict[str, type[PraxisError]] = {}
    waiting: list[type[PraxisError]] = [PraxisError]
    for kind in waiting:
        found.setdefault(kind.code, kind)
        waiting.extend(kind.__subclasses__())
    return found


# --------------------------------------------------------------------------------------------------- encoding


def _encode(value: object, *, instants_as_text: bool) -> Json:
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, str | int):
        return value
    if isinstance(value, float):
        if not math.isfinite(value):
            raise TypeError(f"{value!r} has no JSON form")
        return value
    if isinstance(value, Path):
        return str(value)
    if isinstance(value, Mapping):
        return {
            _key(name): _encode_field(item, _kind_by_name(name), instants_as_text)
            for name, item in value.items()
        }
    if isinstance(value, tuple | list):
        return [_encode(item, instants_as_text=instants_as_text) for item in value]
    if is_dataclass(value) and not isinstance(value, type):
        return {
            field.name: _encode_field(getattr(value, field.name), kind, instants_as_text)
            for field, kind in _shape(type(value))
        }
    raise TypeError(f"{type(value).__name__} has no JSON form")


def _encode_field(value: object, kind: Any, instants_as_text: bool) -> Json:
    if instants_as_text and type(value) is int and _is_instant(kind) and EARLIEST <= value <= LATEST:
        return format_instant(value)
    return _encode(value, instants_as_text=instants_as_text)


def _kind_by_name(name: object) -> Any:
    named_so = isinstance(name, str) and name.endswith(("_at", "_until"))
    return Annotated[int, _INSTANT] if named_so else None


def _key(name: object) -> str:
    if isinstance(name, Enum):
        name = name.value
    if not isinstance(name, str):
        raise TypeError(f"a mapping with the key {name!r} has no JSON form")
    return name


def _error(error: PraxisError, *, instants_as_text: bool) -> Json:
    return {
        "code": error.code,
        "what": error.what,
        "means": error.means,
        "do": error.do,
        "facts": {name: _fact(item, instants_as_text) for name, item in error.facts.items()},
    }


def _fact(value: object, instants_as_text: bool) -> Json:
    """A fact is whatever the raiser had at hand; an odd one is shown as text rather than losing the error."""
    try:
        return _encode(value, instants_as_text=instants_as_text)
    except (TypeError, PraxisError):
        return str(value)


# --------------------------------------------------------------------------------------------------- decoding


@functools.cache
def _shape(kind: type) -> tuple[tuple[Field[Any], Any], ...]:
    """The fields of a dataclass with their resolved types; instants keep a mark of their own."""
    hints = get_type_hints(kind, localns={"Instant": Annotated[int, _INSTANT]}, include_extras=True)
    return tuple((field, hints[field.name]) for field in fields(kind))


def _is_instant(kind: Any) -> bool:
    return get_origin(kind) is Annotated or any(get_origin(one) is Annotated for one in get_args(kind))


def _decode_instant(value: Json, where: str) -> int:
    if type(value) is not int or not EARLIEST <= value <= LATEST:
        raise _wrong(where, "an instant in milliseconds", value)
    return value


def _decode_optional(kinds: tuple[Any, ...], value: Json, where: str) -> Any:
    (kind,) = (kind for kind in kinds if kind is not types.NoneType)
    if value is None and types.NoneType in kinds:
        return None
    return decode(kind, value, where)


def _decode_tuple(kinds: tuple[Any, ...], value: Json, where: str) -> tuple[Any, ...]:
    if not isinstance(value, list):
        raise _wrong(where, "a list", value)
    if len(kinds) == 2 and kinds[1] is Ellipsis:
        return tuple(decode(kinds[0], item, f"{where}[{index}]") for index, item in enumerate(value))
    if len(kinds) != len(value):
        raise _wrong(where, f"a list of {len(kinds)}", value)
    return tuple(
        decode(kind, item, f"{where}[{index}]")
        for index, (kind, item) in enumerate(zip(kinds, value, strict=True))
    )


def _decode_mapping(kind: Any, value: Json, where: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise _wrong(where, "a mapping", value)
    return {name: decode(kind, item, f"{where}[{name!r}]") for name, item in value.items()}


def _decode_enum(kind: type[Enum], value: Json, where: str) -> Enum:
    if isinstance(value, str):
        try:
            return kind(value)
        except ValueError:
            pass
    raise _wrong(where, "one of " + ", ".join(str(member.value) for member in kind), value)


def _decode_dataclass(kind: type, value: Json, where: str) -> Any:
    if not isinstance(value, dict):
        raise _wrong(where, f"a {kind.__name__}", value)
    shape = _shape(kind)
    unknown = value.keys() - {field.name for field, _ in shape}
    if unknown:
        raise _wrong(f"{where}.{min(unknown)}", "nothing of this name", value[min(unknown)])
    found: dict[str, Any] = {}
    for field, field_kind in shape:
        if field.name in value:
            found[field.name] = decode(field_kind, value[field.name], f"{where}.{field.name}")
        elif field.default is MISSING and field.default_factory is MISSING:
            raise InvalidValue(f"{where}.{field.name} is missing.", field=f"{where}.{field.name}")
    return kind(**found)


def _decode_plain(kind: Any, value: Json, where: str) -> Any:
    if kind is float and type(value) in (int, float):
        return float(value)
    if kind is Path and type(value) is str:
        return Path(value)
    if type(value) is kind:
        if kind is int and abs(value) > _LARGEST_WHOLE:
            raise _wrong(where, "a whole number of at most 63 bits", value)
        return value
    raise _wrong(where, _name(kind), value)


def _name(kind: Any) -> str:
    words = {str: "text", int: "a whole number", float: "a number", bool: "true or false"}
    return words.get(kind, getattr(kind, "__name__", str(kind)))


def _wrong(where: str, wanted: str, value: Json) -> InvalidValue:
    shown = repr(value)
    shown = shown if len(shown) <= 80 else shown[:77] + "…"
    return InvalidValue(f"{where} should be {wanted}, but it is {shown}.", field=where)


def _refuse_constant(name: str) -> Json:
    raise ValueError(f"{name} is not JSON")


def _require_shallow(value: Json, depth: int) -> None:
    if depth > _DEEPEST:
        raise InvalidValue(f"The message is nested more than {_DEEPEST} levels deep.")
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        for item in value:
            _require_shallow(item, depth + 1)


def _text(value: Json) -> str:
    return value if isinstance(value, str) else ""
