"""The long forms of `praxis`: the sealed card of an approval, the story of a work order, one attempt's evidence."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rich.table import Table
from rich.text import Text

from engine.dispatch.display import command_line, length_in_words, visible_text
from engine.durations import format_duration, format_size
from engine.instants import Instant
from engine.interfaces.cli_output import (
    age,
    at,
    counted,
    heading,
    length,
    prose,
    shown,
    shown_lines,
    table,
    word,
)
from engine.scheduling.gates import Gate
from engine.states import ApprovalState, AttemptState
from engine.views.values import (
    ApprovalCard,
    AttemptRow,
    BudgetLine,
    EvidenceView,
    TaskRow,
    ValidationRow,
    WorkOrderStory,
)

Line = str | Text | Table
"""What a card is made of."""

_COMMANDS = {"reject": "reject-work", "validate": "judge"}
"""Decisions whose command is called otherwise."""

WITH_REASON = frozenset(
    {"hold", "resume", "cancel", "reject-work", "allow-correction", "validate-again", "judge", "replan"}
)
"""Commands that want a reason; resume only where a hold is ended."""

_WORDS = {
    "files": "the list of its files",
    "git": "the repository",
    "as_left_by_approved_step": "as the approved step leaves it",
    "as_left_by_failed_validation": "as the failed validation left it",
}


_ENDED = {
    "exit": "by itself",
    "signal": "by a signal",
    "time_limit": "at its time limit",
    "stopped": "stopped",
    "output_limit": "at its limit of output",
    "lost": "nobody saw it",
}

LONGEST_LINE = 200
"""What a command is cut to where it only says which one is meant; the card of its approval has it whole."""


def brief_command(argv: Sequence[str]) -> str:
    """A command as one line, cut if it is long, which is said."""
    whole = command_line(argv)
    return whole if len(whole) <= LONGEST_LINE else f"{whole[:LONGEST_LINE]} … ({length_in_words(whole)})"


def approval_lines(card: ApprovalCard, name: str, now: Instant) -> Iterator[Line]:
    """Everything that an approval covers, nothing shortened (B-008)."""
    yield Text.assemble(
        heading(f"{name} · {card.purpose.lower()} · {shown(card.title)}"), "  ", word(card.state.value)
    )
    yield _field(
        "asked", f"{at(card.asked_at)} by {shown(str(card.asked_by))} ({age(card.asked_at, now)} ago)"
    )
    yield _field("expires", at(card.expires_at))
    if card.reason:
        yield _field("reason", shown_lines(card.reason))
    if card.decided_at is not None:
        because = f": {shown(card.decision_reason)}" if card.decision_reason else ""
        yield _field("decided", f"{at(card.decided_at)} by {shown(card.decided_by or '')}{because}")
    yield from _changes(card)
    yield ""
    yield from plan_lines(card.plan)
    if card.validation_plan is not None:
        covered = "covered by this approval" if card.covers_validation else "covered only if you say so"
        yield ""
        yield heading(f"Its validation ({covered})")
        yield from plan_lines(card.validation_plan)
        yield _field("its seal", card.validation_seal or "")
    yield ""
    yield heading("Budget with this dispatch")
    yield budget_table(card.budget)
    yield ""
    yield heading("Gates")
    yield gate_table(card.gates)
    yield ""
    yield prose("guarantee", shown(card.guarantee))
    if len(card.alike) > 1:
        yield _field("alike", f"{counted(len(card.alike), 'request')} with this seal")
    yield Text.assemble("seal       ", (card.seal, "bold"))


def plan_lines(plan: Mapping[str, Any]) -> Iterator[Line]:
    """One sealed plan: program, every argument, folder, environment, inputs, limits, criteria, workspace."""
    program, limits, state = plan["program"], plan["limits"], plan["state"]
    yield _field("program", shown(program["path"]))
    if program["real_path"] != program["path"]:
        yield _field("", f"which is {shown(program['real_path'])}")
    yield _field("", f"sha256 {program['sha256']}, {program['size']:,} bytes")
    yield _field("arguments", f"{len(plan['argv'])}, one on each line, run without a shell")
    for index, argument in enumerate(plan["argv"]):
        yield Text(f"  {index:>3}  {visible_text(argument)}{_length(argument)}")
    yield _field("folder", shown(plan["folder"]))
    yield _field("workspace", f"{shown(plan['workspace']['path'])}, {_state(state)}")
    yield from _environment(plan["environment"])
    for item in plan["inputs"]:
        yield _field("input", f"{shown(item['path'])} ({item['kind']}) sha256 {item['sha256']}")
    yield _field(
        "limits",
        f"{format_duration(limits['time_ms'])} active time, {counted(limits['cost'], 'unit')}, "
        f"{format_size(limits['output_bytes'])} of output",
    )
    if plan["artifacts"]:
        yield _field("artifacts", ", ".join(map(shown, plan["artifacts"])))
    if plan["report"]:
        yield _field("report", shown(plan["report"]))
    yield _field("criteria", shown_lines(plan["criteria"]))


def story_lines(story: WorkOrderStory, now: Instant) -> Iterator[Line]:
    """A work order from request to acceptance."""
    row = story.row
    yield Text.assemble(heading(f"WO-{row.number} · {shown(row.title)}"), "  ", word(row.state.value))
    if row.why:
        yield _field("now", shown(row.why))
    yield _field("workspace", shown(row.workspace))
    yield _field("project", shown(row.project))
    asked_by = f"{at(row.created_at)} by {shown(str(row.requested_by))} ({age(row.created_at, now)} ago)"
    yield _field("asked", asked_by)
    if story.reason:
        yield _field("reason", shown_lines(story.reason))
    yield _field("criteria", shown_lines(story.criteria))
    yield _field("correction", f"{story.corrections_made} made, {story.corrections_allowed} allowed")
    for task in story.tasks:
        yield ""
        yield from task_lines(story.row.number, task)
    if story.validations:
        yield ""
        yield heading("Validations")
        yield table(
            ("outcome", "judged by", "recorded", "reason"),
            (
                [word(one.outcome), one.judged_by, at(one.recorded_at), shown(one.reason)]
                for one in story.validations
            ),
        )
    if story.decisions:
        yield ""
        yield heading("Decisions")
        yield table(
            ("decision", "by", "at", "reason"),
            (
                [_decision(one.kind), shown(str(one.actor)), at(one.decided_at), shown(one.reason)]
                for one in story.decisions
            ),
        )
        shows = [(_decision(one.kind), kept) for one in story.decisions for kept in one.proof]
        if shows:
            yield table(
                ("proof of", "name", "size", "sha256"),
                ([kind, shown(kept.name), f"{kept.size:,}", kept.sha256] for kind, kept in shows),
            )
    for hold in story.holds:
        yield _field(
            "hold",
            f"{hold.kind} on {shown(hold.node_name)} by {shown(str(hold.actor))}: {shown(hold.reason)}",
        )
    yield ""
    yield heading("Budget")
    yield budget_table(story.budget)
    if story.can:
        yield prose("possible", ", ".join(_possible(can) for can in story.can))


def _decision(kind: str) -> str:
    return kind.replace(".", ": ").replace("_", " ")


def _possible(can: str) -> str:
    name = _COMMANDS.get(can, can.replace("_", "-"))
    return f"{name} --reason" if name in WITH_REASON else name


def task_lines(number: int, task: TaskRow) -> Iterator[Line]:
    """One task with its attempts."""
    yield Text.assemble(
        heading(f"WO-{number}/{task.ordinal} · {task.purpose.lower()}"),
        "  ",
        word(task.state.value),
        *(("  approval ", word(task.approval_state.value)) if task.approval_state else ()),
    )
    yield Text(f"  {brief_command(task.argv)}")
    if task.why:
        yield _field("waits", shown(task.why))
    for attempt in task.attempts:
        yield from attempt_lines(attempt, f"WO-{number}/{task.ordinal}/{attempt.ordinal}")


def attempt_lines(attempt: AttemptRow, name: str) -> Iterator[Line]:
    """One attempt in a few lines."""
    alike = attempt.outcome is None or attempt.outcome.value == attempt.state.value
    outcome = () if alike or attempt.outcome is None else (" ", word(attempt.outcome.value))
    yield Text.assemble(f"  {name}  ", word(attempt.state.value), *outcome, f"  {attempt.id}")
    if attempt.reason:
        yield Text(f"    {shown(attempt.reason)}")
    yield Text(f"    authorised {at(attempt.authorized_at)}")
    if attempt.started_at is not None or attempt.ended_at is not None:
        yield Text(f"    started {at(attempt.started_at)}, ended {at(attempt.ended_at)}")
    if attempt.actual_active_ms is not None:
        overrun = ", more than was authorised" if attempt.overrun else ""
        cost = "an unknown part" if attempt.actual_cost is None else attempt.actual_cost
        yield Text(
            f"    used {cost} of {counted(attempt.max_cost, 'unit')}, {length(attempt.actual_active_ms)} of "
            f"{length(attempt.max_active_ms)}{overrun}"
        )
    if attempt.state is AttemptState.UNKNOWN:
        yield Text(
            f"    frozen until it is decided: {counted(attempt.max_cost, 'unit')} and "
            f"{format_duration(attempt.max_active_ms)} of active time",
            "magenta",
        )
        yield f'    decide: praxis reconcile {name} took-effect --reason "why"'
        yield "    or with did-not, or still-unknown, in place of took-effect"


def evidence_lines(view: EvidenceView, name: str) -> Iterator[Line]:
    """What was observed of an attempt, and how it was judged."""
    attempt, seen = view.attempt, view.evidence
    yield heading(f"{name} · {attempt.purpose.lower()} · {shown(attempt.title)}")
    yield from attempt_lines(attempt, name)
    if seen is None:
        yield _field("evidence", "none yet" if attempt.ended_at is None else "none was kept")
        for role, path in (("stdout", view.stdout_file), ("stderr", view.stderr_file)):
            if path is not None:
                is_in = "is being written to" if attempt.ended_at is None else "what there is of it is in"
                yield _field(role, f"{is_in} {shown(path)}")
    else:
        yield _field("evidence", f"{view.evidence_id} sha256 {view.evidence_sha256}")
        yield _field("command", command_line(seen["argv"]))
        yield _field("folder", shown(seen["cwd"]))
        ended = (
            f"exit code {seen['exit_code']}" if seen["exit_code"] is not None else f"signal {seen['signal']}"
        )
        by = _ENDED.get(seen["ended_by"], shown(str(seen["ended_by"])))
        yield _field("ended", f"{by}, {ended}" if seen["not_started"] is None else "never started")
        yield _field("time", f"{length(seen['active_ms'])} active")
        changes = seen["workspace"]
        counts = ", ".join(f"{len(changes[kind])} {kind}" for kind in ("added", "changed", "removed"))
        yield _field("workspace", counts)
        for survivor in seen["tree"]["survived"]:
            yield _field("survived", shown(str(survivor)))
    if view.blobs:
        yield ""
        yield table(
            ("kept", "path", "size", "sha256"),
            ([blob.role, shown(blob.path), f"{blob.size:,}", blob.sha256] for blob in view.blobs),
        )
    yield ""
    yield _field("criteria", shown_lines(view.criteria))
    yield from validation_lines(view.validation)


def validation_lines(validation: ValidationRow | None) -> Iterator[Line]:
    """How an attempt was judged."""
    if validation is None:
        yield _field("judged", "not yet")
        return
    yield Text.assemble(
        "judged     ",
        word(validation.outcome.value),
        f" by {validation.judged_by}, {at(validation.recorded_at)}",
    )
    if validation.reason:
        yield _field("", shown(validation.reason))


def gate_table(gates: Sequence[Gate]) -> Table:
    """Gates with open or closed and why."""
    return table(
        ("gate", "is", "why"),
        (
            [gate.name, Text("open", "green") if gate.open else Text("CLOSED", "yellow"), shown(gate.why)]
            for gate in gates
        ),
    )


def _time_left(milliseconds: int) -> str:
    return length(milliseconds) if milliseconds > 0 else "none"


def budget_table(lines: Sequence[BudgetLine]) -> Table:
    """The waterfall of scopes, root first; time that is frozen has a column where there is any."""
    frozen = any(line.frozen_ms for line in lines)
    return table(
        (
            *("scope", "units: limit", "spent", "reserved", "frozen", "this", "left"),
            *(("time frozen",) if frozen else ()),
            *("time left", ""),
        ),
        (
            [
                shown(line.name),
                str(line.cost_limit),
                str(line.spent_cost),
                str(line.reserved_cost),
                Text(str(line.frozen_cost), "magenta" if line.frozen_cost else ""),
                str(line.asked_cost),
                str(line.cost_left),
                *([Text(format_duration(line.frozen_ms), "magenta")] if frozen else []),
                _time_left(line.active_ms_left),
                "" if line.fits else Text("does not fit", "red"),
            ]
            for line in lines
        ),
    )


def _changes(card: ApprovalCard) -> Iterator[Line]:
    if card.state is ApprovalState.CHANGED:
        yield _field("", "What would run is no longer what was asked; ask again.")
    if card.differences:
        yield ""
        yield heading("Changed since the request before")
        yield table(
            ("field", "then", "now"),
            ([shown(one.field), shown(one.approved), shown(one.now)] for one in card.differences),
        )


def _environment(environment: Mapping[str, Any]) -> Iterator[Line]:
    own = environment["own"]
    base = ", ".join(sorted(environment["base"]))
    yield _field("variables", f"{len(own)} of its own; from the console: {shown(base) or 'none'}")
    for name, value in sorted(own.items()):
        if isinstance(value, Mapping):
            yield Text(f"       {shown(name)} = secret from {shown(value['secret'])}, sealed")
        else:
            yield Text(f"       {shown(name)} = {visible_text(value)}")


def _state(state: Mapping[str, Any]) -> str:
    words = [_WORDS.get(state["kind"], shown(state["kind"]))]
    if state["head"]:
        words.append(f"{shown(state['branch']) or 'detached'} at {state['head'][:12]}")
    if state["changed"]:
        words.append(f"{state['changed']} uncommitted change{'' if state['changed'] == 1 else 's'}")
    if state["kind"] == "git":
        words.append("without what Git ignores")
    if state["digest"]:
        words.append(f"digest {state['digest']}")
    if state["note"]:
        words.append(shown(state["note"]))
    return ", ".join(words)


def _length(argument: str) -> str:
    return (
        f"   ({length_in_words(argument)})"
        if len(argument) > 40 or visible_text(argument) != argument
        else ""
    )


def _field(name: str, text: str) -> Text:
    first, *more = text.split("\n")
    lines = [f"{name:<10} {first}", *(f"{'':<10} {line}" for line in more)]
    return Text("\n".join(lines))
