"""The terms of a standing grant: which plans it covers, exactly (E-42a).

A grant is made from one sealed plan. Its *template* is that plan with what the person left free blanked: single
arguments by their place, and, if the person said so, the state of the workspace's other files. Everything else is
in the template and must be the same to the byte: program and its digest, every other argument and how many there
are, folder, the workspace and the identity of its folder, the whole environment with sealed secrets, declared
inputs with their digests, limits, artifacts, report and criteria. The template's digest stands for it as a seal
stands for a plan.

A plan is the *granted thing* if it has the template's purpose, workspace, folder and arguments. If anything else of
it differs, that is drift, and the grant is void. A plan that is another thing is merely not covered.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import PureWindowsPath
from typing import Any

from engine.canonical import canonical_digest
from engine.dispatch.differences import differences
from engine.dispatch.display import visible_text
from engine.dispatch.interpreters import Module, Script, is_env, is_interpreter, program_behind_env, what_runs
from engine.dispatch.plan import Plan, plan_from_json
from engine.errors import InvalidValue
from engine.workspace.repository import StateKind

LONGEST_FREE_VALUE = 200

_PLAIN = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.,+/-]*(?:::[A-Za-z0-9_][A-Za-z0-9_.,+/-]*)*", re.ASCII)


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


_LAUNCHERS = _set(
    "busybox chroot chrt cpulimit daemonize doas docker entr eatmydata firejail flatpak flock gdb ionice ltrace nice "
    "nohup npx numactl parallel podman prlimit proot runas runuser screen setarch setpriv setsid ssh stdbuf strace su "
    "sudo systemd-run taskset time timeout tmux toybox unbuffer unshare uv uvx valgrind watch wine wsl xargs xvfb-run"
)
"""Programs whose arguments are a program to run: any of them may be it, or be what it runs."""

_LAUNCHING_MODULES = _set(
    "bdb cProfile coverage debugpy memory_profiler pdb profile pyinstrument runpy timeit trace"
)
"""Python modules whose arguments are a script, a module or code to run."""

LOOKED_AT = (StateKind.GIT, StateKind.FILES)
"""Kinds of workspace state that were looked at; others stand for what an earlier approval left."""


@dataclass(frozen=True, slots=True)
class Terms:
    """What a grant covers. ``template`` is the plan's JSON with null for what is free.

    ``free`` are places in argv, counted from 0, the program. ``validation_seal`` is that of the step's own
    validation if the grant covers it too; it must be the very same.
    """

    template: Mapping[str, Any]
    free: tuple[int, ...]
    any_state: bool
    validation_seal: str | None = None

    @property
    def digest(self) -> str:
        """The digest that stands for the template: 64 hexadecimal digits."""
        return canonical_digest(self.template)


@dataclass(frozen=True, slots=True)
class Fit:
    """How a plan stands to a grant: the granted thing or not, what drifted, and the values of what is free.

    It is covered exactly if it is the granted thing and nothing drifted.
    """

    same_thing: bool
    drift: tuple[str, ...] = ()
    values: tuple[str, ...] = ()

    @property
    def covered(self) -> bool:
        """Whether the grant covers it."""
        return self.same_thing and not self.drift


def make_terms(plan: Plan, free: Sequence[int], any_state: bool, validation_seal: str | None = None) -> Terms:
    """The terms of a grant for this plan; `InvalidValue` if something may not be left free."""
    require_free(plan, free)
    if plan.state.kind not in LOOKED_AT:
        raise InvalidValue(
            "This step runs by the approval of another one; nothing can be granted from it.",
            do="Make the grant from the step that was looked at.",
        )
    chosen = tuple(sorted(free))
    return Terms(_blanked(plan.to_json(), chosen, any_state), chosen, any_state, validation_seal)


def fit(terms: Terms, plan: Mapping[str, Any], validation_seal: str | None) -> Fit:
    """Hold a plan, as its JSON, against the terms of a grant."""
    template = terms.template
    argv: list[str] = plan["argv"]
    wanted: list[str | None] = template["argv"]
    same = (
        all(plan[name] == template[name] for name in ("version", "purpose", "folder"))
        and plan["workspace"]["path"] == template["workspace"]["path"]
        and len(argv) == len(wanted)
        and all(
            is_plain_word(given) if place in terms.free else given == fixed
            for place, (given, fixed) in enumerate(zip(argv, wanted, strict=True))
        )
    )
    if not same:
        return Fit(False)
    drift: list[str] = []
    if canonical_digest(_blanked(plan, terms.free, terms.any_state)) != terms.digest:
        state = plan["state"] if terms.any_state else template["state"]
        granted = plan_from_json({**template, "argv": argv, "state": state})
        drift = [found.field for found in differences(granted, plan_from_json(plan))] or ["its seal"]
    if terms.validation_seal is not None and terms.validation_seal != validation_seal:
        drift.append("its validation")
    return Fit(True, tuple(drift), tuple(argv[place] for place in terms.free))


def free_places(plan: Plan) -> tuple[int, ...]:
    """The places in argv that may be left free: plain values behind the program and behind what it is to run.

    Never the program, a script or module that an interpreter is to run, or anything of an interpreter whose code
    stands in argv, or of a program that runs another one, such as ``timeout``; never a value that is not plain.
    """
    first = _first_free(plan)
    if first is None:
        return ()
    return tuple(place for place in range(first, len(plan.argv)) if is_plain_word(plan.argv[place]))


def require_free(plan: Plan, free: Sequence[int]) -> None:
    """Raise `InvalidValue` unless every place may be left free, each named once."""
    allowed = free_places(plan)
    for place in free:
        if type(place) is not int or place not in allowed:
            shown = (
                f" ({visible_text(plan.argv[place])})"
                if type(place) is int and 0 <= place < len(plan.argv)
                else ""
            )
            raise InvalidValue(
                f"Argument {place}{shown} cannot be left free.",
                means="It is the program, what the program is to run, an option, or no plain word.",
                do="Leave only plain words free that stand behind the program and its script.",
            )
    if len(set(free)) != len(free):
        raise InvalidValue("An argument is named twice.", do="Name each argument once.")


def is_plain_word(value: str) -> bool:
    """Whether a value may stand in a free place: it is one plain word and can be nothing else to any program.

    Letters, digits and ``_ . , + - /`` in ASCII, beginning with a letter, digit or underscore, so that it is no
    option, no response file, no absolute path and no drive; ``::`` between such words; no part ``..``.
    """
    return (
        len(value) <= LONGEST_FREE_VALUE
        and _PLAIN.fullmatch(value) is not None
        and ".." not in re.split(r"[/:]", value)
    )


def coverage(terms: Terms) -> tuple[str, ...]:
    """What a grant with these terms covers, in sentences: what is fixed, what is free."""
    state = terms.template["state"]
    said = [
        "Exactly this program, every argument that is not named as free, folder, environment, secrets, inputs, limits "
        "and criteria. If any of it is different when it is asked for, or when it would start, the grant is void.",
    ]
    if terms.free:
        names = ", ".join(str(place) for place in terms.free)
        said.append(
            f"Free: {'argument' if len(terms.free) == 1 else 'arguments'} {names}, each one plain word "
            "(letters, digits and _ . , + - /, no option, no absolute path, no ..)."
        )
    if terms.any_state:
        said.append(
            "Other files of the workspace may change, and its commit; only the program and the declared inputs are "
            "held to what they are now."
        )
    elif state["kind"] == StateKind.GIT:
        head = state["head"][:7] or "no commit"
        changed = state["changed"]
        dirty = f"{changed} changed {'file' if changed == 1 else 'files'}" if changed else "nothing changed"
        said.append(
            f"The workspace must be as it is now: commit {head}, {dirty}. Once anything in it is different, the grant "
            "is void, also by what the step itself does."
        )
    else:
        said.append(
            "Every file of the workspace must be as it is now. Once anything in it is different, the grant is void, "
            "also by what the step itself does."
        )
    said.append(
        "The step's own validation, exactly as shown, runs after it without asking again."
        if terms.validation_seal is not None
        else "Its validation is not covered."
    )
    return tuple(said)


def _blanked(plan: Mapping[str, Any], free: Sequence[int], any_state: bool) -> dict[str, Any]:
    argv = [None if place in free else argument for place, argument in enumerate(plan["argv"])]
    return {**plan, "argv": argv, "state": None if any_state else plan["state"]}


def _first_free(plan: Plan) -> int | None:
    """The first place behind what runs, None if nothing may be free."""
    argv = plan.argv
    behind = program_behind_env(argv)
    start = 0 if behind is None else behind[1]
    if behind is None and is_env(argv[0], plan.program.real_path):
        return None
    names = (plan.program.real_path,) if behind is None else ()
    if any(_program_name(name) in _LAUNCHERS for name in (argv[start], *names)):
        return None
    runs = what_runs(argv, *names)
    match runs:
        case Script(index=index, certain=True):
            return index + 1
        case Module(name=name) if name.partition(".")[0] not in _LAUNCHING_MODULES:
            named = [place for place in range(start + 1, len(argv)) if _names_module(argv, place, name)]
            return named[0] + 1 if named else None
        case None if not is_interpreter(argv[start], *names):
            return start + 1
    return None


def _program_name(path: str) -> str:
    return PureWindowsPath(path).name.casefold().removesuffix(".exe")


def _names_module(argv: Sequence[str], place: int, name: str) -> bool:
    """Whether the element at ``place`` is the module's name, alone behind ``-m`` or joined to it."""
    here, before = argv[place], argv[place - 1]
    joined = here.startswith("-") and not here.startswith("--") and here.endswith(f"m{name}")
    return joined or (here == name and before.startswith("-") and before.endswith("m"))
