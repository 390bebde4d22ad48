"""Reads a card into what is shown of it: words, facts and marks. No widget is made here."""

from __future__ import annotations

import posixpath
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import PureWindowsPath

from app.panels.inbox.row_text import one_line
from app.theme import Look, Shape, Tone, look_of, state_word
from app.widgets import Budget, Element, Times, duration_text, number, spoken
from engine.actors import ActorKind
from engine.dispatch.environment import ASKED_OF_PYTHON, SealedSecret, SealedValue
from engine.dispatch.inputs import SealedInput
from engine.dispatch.plan import Plan, plan_from_json
from engine.durations import size_text
from engine.instants import Instant
from engine.scheduling.gates import Gate
from engine.states import ApprovalState
from engine.views.values import ApprovalCard, BudgetLine, DifferenceLine
from engine.workspace.repository import StateKind, WorkspaceState

SHELLS = frozenset(
    {"sh", "bash", "dash", "zsh", "ksh", "fish", "busybox", "cmd", "powershell", "pwsh", "nu", "xonsh"}
)


class Act(StrEnum):
    """What a person can do with a card."""

    APPROVE = "approve"
    REJECT = "reject"
    GRANT = "grant"
    HOLD = "hold"
    RESUME = "resume"
    ASK_AGAIN = "ask again"
    WITHDRAW = "withdraw"
    SHOW_NEXT = "show the new request"
    SHOW_ORDER = "show the work order"
    SHOW_GRANT = "show the grant"


@dataclass(frozen=True, slots=True)
class Fact:
    """One named fact. ``code`` is set in monospace; ``tip`` has what is too long to show."""

    name: str
    value: str
    code: bool = False
    tip: str = ""
    tone: Tone | None = None


@dataclass(frozen=True, slots=True)
class CommandSheet:
    """One command as the card shows it. ``base`` is the environment that every child gets."""

    program: str
    program_note: str
    program_tip: str
    shell: str
    elements: tuple[Element, ...]
    where: tuple[Fact, ...]
    environment: tuple[Fact, ...]
    base: tuple[Fact, ...]
    inputs: tuple[Fact, ...]
    limits: tuple[Fact, ...]


def read_command(plan: Plan, *, marked: Collection[int] = ()) -> CommandSheet:
    """Read a plan; ``marked`` are the positions of arguments to be marked as different."""
    program = plan.program
    note = f"sha256 {short_digest(program.sha256)} · {size_text(program.size)}"
    tip = f"sha256 {program.sha256}\n{number(program.size)} bytes"
    if program.real_path != program.path:
        note = f"{note} · behind links {program.real_path}"
    if program.searched:
        tip = f"{tip}\nSearched in this order:\n" + "\n".join(map(spoken, program.searched))
    own, base = _environment(plan)
    return CommandSheet(
        program=program.path,
        program_note=note,
        program_tip=tip,
        shell=_shell_words(program.real_path, program.path),
        elements=tuple(
            Element(text, _input_note(text, plan), at in marked) for at, text in enumerate(plan.argv)
        ),
        where=(
            Fact("Workspace", plan.workspace.path, code=True),
            Fact("Folder", plan.folder, code=True, tip="The working folder, inside the workspace"),
            *_state_facts(plan.state),
        ),
        environment=own,
        base=base,
        inputs=tuple(_input_fact(item) for item in plan.inputs),
        limits=_limit_facts(plan),
    )


def read_plan(card: ApprovalCard) -> CommandSheet:
    """Read the command that the card asks for, with the arguments marked that changed."""
    plan = plan_from_json(card.plan)
    return read_command(plan, marked=_changed_arguments(card))


def read_validation(card: ApprovalCard) -> CommandSheet | None:
    """Read the step's own validation that one look may cover, if there is one."""
    return None if card.validation_plan is None else read_command(plan_from_json(card.validation_plan))


def criteria_of(card: ApprovalCard) -> str:
    """The criteria by which the result will be judged, as the plan holds them."""
    return str(card.plan.get("criteria", ""))


Drift = Sequence[DifferenceLine] | None
"""What a look at the disk found beside what is sealed; None while nobody has looked."""


def drift_words(drift: Drift) -> str:
    """What has changed on disk and what that means; "" if nothing has, or nobody has looked."""
    if not drift:
        return ""
    names = ", ".join(spoken(one.field) for one in drift[:3])
    more = f" and {number(len(drift) - 3)} more" if len(drift) > 3 else ""
    return (
        f"Changed on disk since it was asked: {names}{more}. What is sealed here would be refused at the start. "
        "Ask again to see it as it is now, with both side by side."
    )


def standing(card: ApprovalCard, now: Instant, drift: Drift = None) -> Look:
    """The badge of the card: a word, a tone, a shape. ``drift`` is what a look at the disk found, if one was taken."""
    if card.state is ApprovalState.PENDING:
        if now >= card.expires_at:
            return Look("expired", Tone.WARN, Shape.CLOCK)
        if drift:
            return Look("changed on disk", Tone.BAD, Shape.TRIANGLE)
        if card.differences:
            return Look("changed since asked", Tone.BAD, Shape.TRIANGLE)
        return Look("sealed" if drift is None else "sealed · unchanged", Tone.OK, Shape.SQUARE)
    if card.state is ApprovalState.CHANGED:
        return Look("changed since asked", Tone.BAD, Shape.TRIANGLE)
    return look_of(card.state)


def subtitle(card: ApprovalCard, times: Times) -> str:
    """Which step of what, who asked and when, and the beginning of the seal."""
    return " · ".join(
        (
            f"WO-{card.number}",
            state_word(card.purpose),
            f"asked by {_asker(card)} {times.age(card.asked_at)}",
            f"seal {card.seal[:4]} {card.seal[4:8]}",
        )
    )


def ending(card: ApprovalCard, times: Times) -> str:
    """How a request that does not wait any more has ended, in a sentence or two; "" while it waits."""
    by = f" by {spoken(card.decided_by)}" if card.decided_by else ""
    reason = f" Reason: {spoken(card.decision_reason)}" if card.decision_reason else ""
    if card.grant is not None:
        by = (
            f" by the standing grant of {spoken(card.grant.given_by)}"
            f" (use {card.grant.ordinal} of {card.grant.max_uses})"
        )
        reason = ""
    at = _at(card.decided_at or card.ended_at, times)
    match card.state:
        case ApprovalState.PENDING if times.judging() >= card.expires_at:
            return f"Expired {times.stamp(card.expires_at)}. Nobody decided in time; nothing runs."
        case ApprovalState.PENDING:
            return ""
        case ApprovalState.APPROVED:
            covered = " Its validation is approved too." if card.covers_validation else ""
            return f"Approved{by}{at}.{covered} It has not been used yet.{reason}"
        case ApprovalState.REJECTED:
            return f"Rejected{by}{at}. Nothing runs.{reason}"
        case ApprovalState.WITHDRAWN:
            return f"Withdrawn{_at(card.ended_at, times)}. Nothing runs.{reason}"
        case ApprovalState.EXPIRED:
            when = times.stamp(card.ended_at or card.expires_at)
            before = f"It had been approved{by}{_at(card.decided_at, times)}, but" if card.decided_at else ""
            why = f"{before} it was not used in time" if before else "Nobody decided in time"
            return f"Expired {when}. {why}; nothing runs."
        case ApprovalState.CHANGED:
            return (
                f"What would run changed{_at(card.ended_at, times)}, so this request ended. "
                "Nothing ran. A new request shows what is asked now."
            )
        case ApprovalState.CONSUMED:
            return f"Approved{by}{at}, and used: its run was authorised{_at(card.ended_at, times)}.{reason}"


def possible(
    card: ApprovalCard,
    now: Instant,
    *,
    held: bool,
    successor: bool,
    read_only: bool = False,
    drifted: bool = False,
) -> tuple[Act, ...]:
    """What can be done with the card now. What cannot work is not offered (B-016).

    ``drifted``: what would run now is not what the card has sealed, so approving it would come to nothing.
    ``read_only``: another console has taken over, so nothing can be decided here any more (E-20).
    """
    acts = _possible(card, now, held=held, successor=successor)
    if drifted and Act.APPROVE in acts:
        acts = (Act.ASK_AGAIN, Act.REJECT, Act.RESUME if held else Act.HOLD)
    return (
        tuple(act for act in acts if act in (Act.SHOW_NEXT, Act.SHOW_ORDER, Act.SHOW_GRANT))
        if read_only
        else acts
    )


def _possible(card: ApprovalCard, now: Instant, *, held: bool, successor: bool) -> tuple[Act, ...]:
    hold = Act.RESUME if held else Act.HOLD
    match card.state:
        case ApprovalState.PENDING if now < card.expires_at:
            return (Act.APPROVE, Act.GRANT, Act.REJECT, hold)
        case ApprovalState.APPROVED:
            return (Act.WITHDRAW, hold, *_to_grant(card), Act.SHOW_ORDER)
        case ApprovalState.CHANGED if successor:
            return (Act.SHOW_NEXT, Act.SHOW_ORDER)
        case ApprovalState.EXPIRED | ApprovalState.WITHDRAWN | ApprovalState.CHANGED:
            return (Act.SHOW_NEXT,) if successor else (Act.ASK_AGAIN, Act.SHOW_ORDER)
        case ApprovalState.PENDING:
            return ()
    return (*_to_grant(card), Act.SHOW_ORDER)


def _to_grant(card: ApprovalCard) -> tuple[Act, ...]:
    return () if card.grant is None else (Act.SHOW_GRANT,)


def content_key(card: ApprovalCard) -> tuple[object, ...]:
    """What must stay the same for a look to stay valid: all that is decided on, and the words around it."""
    return (
        card.approval_id,
        card.state,
        card.seal,
        card.validation_seal,
        card.differences,
        card.title,
        card.reason,
        card.expires_at,
    )


def cost_budgets(lines: Sequence[BudgetLine]) -> list[Budget]:
    """The waterfall of cost, root first."""
    return [
        Budget(
            one_line(line.name),
            line.cost_limit,
            line.spent_cost,
            line.reserved_cost,
            line.frozen_cost,
            line.asked_cost,
        )
        for line in lines
    ]


def time_budgets(lines: Sequence[BudgetLine]) -> list[Budget]:
    """The waterfall of active time in whole seconds, root first; parts are rounded up, the limit down."""
    return [
        Budget(
            one_line(line.name),
            line.active_ms_limit // 1000,
            *(-(-part // 1000) for part in (line.spent_ms, line.reserved_ms, line.frozen_ms, line.asked_ms)),
        )
        for line in lines
    ]


def refusals(lines: Sequence[BudgetLine]) -> list[str]:
    """A sentence for each scope that would refuse the dispatch now."""
    said = []
    for line in lines:
        name = one_line(line.name)
        if line.cost_left < 0:
            free = max(line.cost_left + line.asked_cost, 0)
            said.append(f"{name} would refuse: {number(line.asked_cost)} units asked, {number(free)} left.")
        if line.active_ms_left < 0:
            rest = duration_text(max(line.active_ms_left + line.asked_ms, 0))
            said.append(f"{name} would refuse: {duration_text(line.asked_ms)} asked, {rest} left.")
    return said


def tightest_time(lines: Sequence[BudgetLine]) -> str:
    """The active time that would remain in the scope with the least of it."""
    if not lines:
        return ""
    line = min(lines, key=lambda one: one.active_ms_left)
    left = duration_text(max(line.active_ms_left, 0))
    return (
        f"{left} of {duration_text(line.active_ms_limit)} active time would be left in {one_line(line.name)}"
    )


def gates_summary(gates: Sequence[Gate]) -> str:
    """How many gates are open: "5 of 6 open"."""
    return f"{sum(gate.open for gate in gates)} of {len(gates)} open"


def spoken_card(card: ApprovalCard, times: Times) -> str:
    """The card for a screen reader: what is asked, and every element of the command (B-118)."""
    argv: Sequence[str] = card.plan.get("argv", ())
    elements = "\n".join(f"{at}: {spoken(element)}" for at, element in enumerate(argv))
    return "\n".join(
        part
        for part in (
            f"{one_line(card.title)}. {subtitle(card, times)}. {standing(card, times.judging()).word}.",
            ending(card, times),
            f"Command with {len(argv)} elements:",
            elements,
        )
        if part
    )


def short_digest(digest: str) -> str:
    """The two ends of a digest."""
    return f"{digest[:4]}…{digest[-4:]}" if len(digest) > 12 else digest


def _at(instant: Instant | None, times: Times) -> str:
    return "" if instant is None else f" {times.stamp(instant)}"


def _changed_arguments(card: ApprovalCard) -> frozenset[int]:
    """Which arguments differ, from the field names of `engine.dispatch.differences`."""
    found = set()
    for difference in card.differences:
        if difference.field == "program as written":
            found.add(0)
        name, _, index = difference.field.partition(" ")
        if name == "argument" and index.isdecimal():
            found.add(int(index))
    return frozenset(found)


def _shell_words(*paths: str) -> str:
    for path in paths:
        name = PureWindowsPath(path).name.lower().removesuffix(".exe")
        if name in SHELLS:
            return (
                f"The program is a shell ({name}): it reads text among its arguments as commands, with pipes, "
                "redirections and expansions of its own."
            )
    return ""


def _input_note(text: str, plan: Plan) -> str:
    if not text or text.startswith("-"):
        return ""
    plain = text.replace("\\", "/")
    names = {text, posixpath.normpath(plain), posixpath.normpath(posixpath.join(plan.folder, plain))}
    found = next((item for item in plan.inputs if item.path in names), None)
    return "" if found is None else f"sha256 {short_digest(found.sha256)}"


def _input_fact(item: SealedInput) -> Fact:
    kind = "" if item.kind == "file" else "whole folder · "
    return Fact(
        spoken(item.path),
        f"{kind}sha256 {short_digest(item.sha256)} · {size_text(item.size)}",
        code=True,
        tip=f"sha256 {item.sha256}\n{number(item.size)} bytes",
    )


def _state_facts(state: WorkspaceState) -> tuple[Fact, ...]:
    facts: list[Fact] = []
    match state.kind:
        case StateKind.GIT:
            at = state.branch or "detached"
            head = state.head[:7] or "no commit yet"
            dirty = _count(state.changed, "file changed", "files changed") if state.changed else "clean"
            facts.append(
                Fact(
                    "Repository",
                    f"{at} {head} · {dirty}",
                    code=True,
                    tip=f"commit {state.head or 'none'}\ncontent {state.digest}",
                    tone=Tone.WARN if state.changed else None,
                )
            )
            facts.append(Fact("Not sealed", "files that Git ignores, unless they are declared as inputs"))
        case StateKind.FILES:
            facts.append(
                Fact(
                    "Repository",
                    f"none · {_count(state.files, 'file', 'files')}, content {short_digest(state.digest)}",
                    tip=f"content {state.digest}",
                )
            )
        case StateKind.AS_LEFT_BY_APPROVED_STEP:
            facts.append(Fact("Repository", "as the approved step leaves it"))
        case StateKind.AS_LEFT_BY_FAILED_VALIDATION:
            facts.append(Fact("Repository", "as the failed validation left it"))
    if state.unread:
        facts.append(Fact("Not read", f"{number(state.unread)} files judged by size and time alone"))
    if state.note:
        facts.append(Fact("Remark", state.note))
    return tuple(facts)


def _environment(plan: Plan) -> tuple[tuple[Fact, ...], tuple[Fact, ...]]:
    """What the command sets itself, and what every child gets: the console's base and UTF-8 for Python."""
    own = dict(plan.environment.own)
    usual = dict(plan.environment.base)
    for name, value in ASKED_OF_PYTHON.items():
        if own.get(name) == value:
            usual[name] = value
            del own[name]
    return (
        tuple(_variable(name, value) for name, value in sorted(own.items())),
        tuple(_variable(name, value) for name, value in sorted(usual.items())),
    )


def _variable(name: str, value: SealedValue) -> Fact:
    if isinstance(value, SealedSecret):
        return Fact(
            spoken(name),
            f"•••• secret from {value.variable}",
            tip=f"Sealed by a keyed digest of its value, never shown: {short_digest(value.seal)}",
        )
    return Fact(spoken(name), value, code=True)


def _limit_facts(plan: Plan) -> tuple[Fact, ...]:
    limits = plan.limits
    facts = [
        Fact("Time", f"{duration_text(limits.time_ms)}, then stopped → UNKNOWN"),
        Fact("Cost", f"at most {_count(limits.cost, 'unit', 'units')}" if limits.cost else "none"),
        Fact("Output", f"at most {size_text(limits.output_bytes)}, then stopped → UNKNOWN"),
    ]
    if plan.artifacts:
        facts.append(Fact("Keeps", ", ".join(plan.artifacts), code=True))
    if plan.report:
        facts.append(Fact("Report", plan.report, code=True))
    return tuple(facts)


def _count(value: int, one: str, many: str) -> str:
    return f"{number(value)} {one if value == 1 else many}"


def _asker(card: ApprovalCard) -> str:
    """Who asked; where the engine did, also for whom."""
    asked, requested = spoken(str(card.asked_by)), spoken(str(card.requested_by))
    return f"the engine for {requested}" if card.asked_by.kind is ActorKind.ENGINE else asked
