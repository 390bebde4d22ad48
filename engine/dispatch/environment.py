"""The complete environment of a child: a small base, the command's own values, nothing else.

Nothing is inherited in silence. The base is a stated list of names taken from the console's environment; what
the command sets comes on top; Python children are asked for UTF-8, openly (B-064). A secret is given by
reference to a variable of the console. Its value goes to the child and nowhere else: plans, the journal and
the screen hold a keyed digest of it.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from engine.errors import InvalidWorkOrder
from engine.work_order import EnvironmentValue, Secret
from engine.workspace.folders import WINDOWS

BASE_NAMES_POSIX = frozenset(
    {
        "PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "TZ", "TMPDIR",
        "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME",
    }
)  # fmt: skip
"""Names of the base on Linux and macOS; every ``LC_…`` belongs to it as well."""

BASE_NAMES_WINDOWS = frozenset(
    {
        "PATH", "PATHEXT", "SYSTEMROOT", "SYSTEMDRIVE", "WINDIR", "COMSPEC", "TEMP", "TMP", "OS",
        "USERPROFILE", "HOMEDRIVE", "HOMEPATH", "USERNAME", "USERDOMAIN", "COMPUTERNAME", "APPDATA",
        "LOCALAPPDATA", "PROGRAMDATA", "ALLUSERSPROFILE", "PUBLIC", "PROGRAMFILES", "PROGRAMFILES(X86)",
        "PROGRAMW6432", "COMMONPROGRAMFILES", "COMMONPROGRAMFILES(X86)", "COMMONPROGRAMW6432",
        "NUMBER_OF_PROCESSORS", "PROCESSOR_ARCHITECTURE", "PSMODULEPATH",
    }
)  # fmt: skip
"""Names of the base on Windows, where letter case does not count."""

ASKED_OF_PYTHON = MappingProxyType({"PYTHONUTF8": "1", "PYTHONIOENCODING": "utf-8:surrogateescape"})
"""Set for every child unless the command says otherwise, so that Python children write UTF-8."""

SHORTEST_MASKED = 8
"""Shorter secrets are not masked in text: hiding every ``LIVE`` would break ordinary words (B-124)."""


@dataclass(frozen=True, slots=True)
class SealedSecret:
    """A secret as plans hold it: the variable it is read from, and HMAC-SHA256 over its value."""

    variable: str
    seal: str


SealedValue = str | SealedSecret


@dataclass(frozen=True, slots=True)
class ChildEnvironment:
    """The environment of one child.

    ``base`` and ``own`` are what a plan holds: values from the console, and values of the command, secrets
    sealed. ``values`` is what the child gets, secrets in clear; it is never shown, stored or logged.
    """

    base: Mapping[str, str]
    own: Mapping[str, SealedValue]
    values: Mapping[str, str] = field(repr=False)

    @property
    def masked(self) -> Mapping[str, str]:
        """The environment for display: every value, with secrets as words that name their source."""
        shown = dict(self.base)
        for name, value in self.own.items():
            shown[name] = value if isinstance(value, str) else f"secret from {value.variable}"
        return MappingProxyType(dict(sorted(shown.items())))

    def mask(self, text: str) -> str:
        """Replace the values of this environment's secrets in a text that is to be shown or exported.

        Only what the command named as a secret is masked, and only values of `SHORTEST_MASKED` characters or
        more. The stored bytes of an output are evidence and are never changed.
        """
        secrets = {
            self.values[name]: name for name, value in self.own.items() if isinstance(value, SealedSecret)
        }
        for value in sorted(secrets, key=len, reverse=True):
            if len(value) >= SHORTEST_MASKED:
                text = text.replace(value, f"[secret {secrets[value]}]")
        return text


def child_environment(
    wanted: Mapping[str, EnvironmentValue],
    console: Mapping[str, str],
    secret_key: bytes,
    *,
    windows: bool = WINDOWS,
) -> ChildEnvironment:
    """Put together the environment of a child.

    ``wanted`` are the command's own values, ``console`` the console's whole environment, ``secret_key`` the
    key of the data folder under which secrets are sealed. Raises `InvalidWorkOrder` for a secret whose
    variable is not set, for names that no environment can hold, and for two names that differ in case only
    where case does not count.
    """
    base = {
        (name.upper() if windows else name): value
        for name, value in console.items()
        if _in_base(name, windows)
    }
    own: dict[str, SealedValue] = {}
    values = dict(base)
    seen: dict[str, str] = {}
    for name, value in {**_asked(wanted, windows), **wanted}.items():
        _check_name(name, seen, windows)
        clear = _secret_value(name, value, console) if isinstance(value, Secret) else value
        if "\0" in clear:
            raise _invalid(name, f"The value of the variable {name} holds a NUL character.", "Remove it.")
        own[name] = (
            SealedSecret(value.variable, _seal(secret_key, clear)) if isinstance(value, Secret) else clear
        )
        if windows:
            values = {known: kept for known, kept in values.items() if known.upper() != name.upper()}
            base.pop(name.upper(), None)
        else:
            base.pop(name, None)
        values[name] = clear
    return ChildEnvironment(
        MappingProxyType(dict(sorted(base.items()))),
        MappingProxyType(dict(sorted(own.items()))),
        MappingProxyType(dict(sorted(values.items()))),
    )


def look_up(values: Mapping[str, str], name: str, *, windows: bool = WINDOWS) -> str:
    """Give a variable's value, or an empty text; letter case does not count on Windows."""
    if not windows:
        return values.get(name, "")
    return next((value for known, value in values.items() if known.upper() == name.upper()), "")


def _in_base(name: str, windows: bool) -> bool:
    if windows:
        return name.upper() in BASE_NAMES_WINDOWS
    return name in BASE_NAMES_POSIX or name.startswith("LC_")


def _asked(wanted: Mapping[str, EnvironmentValue], windows: bool) -> dict[str, EnvironmentValue]:
    given = {name.upper() if windows else name for name in wanted}
    return {name: value for name, value in ASKED_OF_PYTHON.items() if name not in given}


def _check_name(name: str, seen: dict[str, str], windows: bool) -> None:
    if not name or "=" in name or "\0" in name:
        raise _invalid(name, f"{name!r} cannot be the name of a variable.", "Use a name without = and NUL.")
    key = name.upper() if windows else name
    if key in seen:
        raise _invalid(
            name, f"The variables {seen[key]} and {name} are the same one on Windows.", "Keep one of them."
        )
    seen[key] = name


def _secret_value(name: str, secret: Secret, console: Mapping[str, str]) -> str:
    value = look_up(console, secret.variable)
    if not value:
        raise _invalid(
            name,
            f"The secret for {name} is not there: the variable {secret.variable} of the console is not set.",
            f"Set {secret.variable} in the environment in which the console starts, then start it again.",
        )
    return value


def _seal(key: bytes, value: str) -> str:
    return hmac.new(key, value.encode("utf-8", "surrogateescape"), hashlib.sha256).hexdigest()


def _invalid(name: str, what: str, do: str) -> InvalidWorkOrder:
    return InvalidWorkOrder(
        what, means="Nothing can be sealed or started.", do=do, field=f"environment.{name}"
    )
