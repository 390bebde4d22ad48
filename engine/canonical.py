"""One byte form for a JSON value, so that equal values have equal digests.

Keys are sorted, there is no white space, text is UTF-8, numbers are whole. Two values have the same canonical
bytes exactly when they are equal as JSON; a seal (E-40) is the SHA-256 over these bytes.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from engine.errors import InvalidValue


def canonical_json(value: Any) -> bytes:
    """Give the canonical bytes of a JSON value made of mappings, lists, text, whole numbers, bools and None.

    A file name that is not Unicode holds lone surrogates; they are written as JSON escapes, so that the bytes
    are valid UTF-8 and `json.loads` gives the same text back. Fractions and other types raise `InvalidValue`.
    """
    text = json.dumps(_checked(value), ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    return text.encode("utf-8", "backslashreplace")


def canonical_digest(value: Any) -> str:
    """Give the SHA-256 of the canonical bytes, 64 hexadecimal digits."""
    return hashlib.sha256(canonical_json(value)).hexdigest()


def _checked(value: Any) -> Any:
    if value is None or isinstance(value, str | bool | int):
        return value
    if isinstance(value, Mapping):
        if all(isinstance(name, str) for name in value):
            return {name: _checked(item) for name, item in value.items()}
    elif isinstance(value, list | tuple):
        return [_checked(item) for item in value]
    raise InvalidValue(
        f"A {type(value).__name__} has no canonical form.",
        do="Use mappings with text keys, lists, text, whole numbers, true, false and null.",
    )
