"""Evidence in words: what was observed, and beside it what the command claims of itself."""

from __future__ import annotations

import signal

from app.panels.inbox.sheet import Fact, short_digest
from app.panels.words import span_words, units
from app.theme import Tone
from app.widgets import Times, number
from engine.durations import size_text
from engine.execution.evidence import Evidence
from engine.execution.process import EndedBy, EndedHow, NotStarted, StopReason
from engine.workspace.repository import StateKind, WorkspaceState

_ENDED_BY = {
    EndedBy.EXIT: "its own exit",
    EndedBy.SIGNAL: "a signal that it did not send itself",
    EndedBy.TIME_LIMIT: "its time limit",
    EndedBy.STOPPED: "a stop",
    EndedBy.OUTPUT_LIMIT: "its output limit",
    EndedBy.NOT_STARTED: "nothing: it never started",
    EndedBy.LOST: "the worker lost sight of it",
}
_STOPPED_BY = {StopReason.PERSON: "a person stopped it", StopReason.SHUTDOWN: "the console was closed"}
_LISTED = 12


def ended_facts(evidence: Evidence, times: Times) -> tuple[Fact, ...]:
    """How the execution ended and how long it took."""
    report = evidence.report
    ended = _ENDED_BY[report.ended_by]
    if report.stopped_by is not None:
        ended = _STOPPED_BY[report.stopped_by]
    facts = [Fact("Ended by", ended)]
    if report.exit_code is not None:
        facts.append(Fact("Exit code", str(report.exit_code), code=True))
    if report.signal is not None:
        facts.append(Fact("Signal", _signal_words(report.signal)))
    if report.not_started is not None:
        facts.append(Fact("Why not", _not_started(report.not_started)))
    if report.detail:
        facts.append(Fact("Detail", report.detail))
    facts += [
        Fact(
            "Started",
            times.stamp(report.started_at, seconds=True),
            tip=times.exact(report.started_at),
        ),
        Fact(
            "Finished",
            times.stamp(report.finished_at, seconds=True),
            tip=times.exact(report.finished_at),
        ),
        Fact("Active time", _active_words(report.active_ms, report.slept_ms)),
        Fact("Output", f"{size_text(report.output_bytes)} on stdout and stderr together"),
    ]
    if report.identity is not None:
        facts.append(Fact("Process", str(report.identity.pid), code=True, tip=f"boot {report.identity.boot}"))
    facts.append(Fact("Host", evidence.host.platform, tip=f"Praxis Console {evidence.host.version}"))
    return tuple(facts)


def tree_facts(evidence: Evidence) -> tuple[Fact, ...]:
    """What became of the process tree; survivors first and in red."""
    tree = evidence.report.tree
    facts = []
    if tree.survived:
        names = ", ".join(f"{one.name} ({one.identity.pid})" for one in tree.survived)
        facts.append(Fact("Still alive", f"{names}. The workspace stays locked.", tone=Tone.BAD))
    asked = [one for one in tree.ended if one.how is EndedHow.ASKED]
    killed = [one for one in tree.ended if one.how is EndedHow.KILLED]
    for head, found in (("Ended when asked", asked), ("Killed", killed), ("Gone already", tree.already_gone)):
        if found:
            names = ", ".join(f"{one.name} ({one.pid})" for one in found[:_LISTED])
            more = f" and {len(found) - _LISTED} more" if len(found) > _LISTED else ""
            facts.append(Fact(head, f"{names}{more}"))
    if not facts and evidence.report.ended_by is not EndedBy.NOT_STARTED:
        facts.append(Fact("Process tree", "Nothing was left over."))
    return tuple(facts)


def workspace_facts(evidence: Evidence) -> tuple[Fact, ...]:
    """What changed in the workspace in short, HEAD included (B-026), and what others did (B-025, B-029)."""
    facts = []
    changes = evidence.workspace
    if changes is not None:
        facts.append(Fact("Files", change_words(changes.counts)))
    head = head_words(evidence.repository_before, evidence.repository_after)
    if head:
        facts.append(Fact("Repository", head))
    if evidence.outside:
        facts.append(
            Fact(
                "Outside",
                f"{number(len(evidence.outside))} changed outside the workspace: see Changes",
                tone=Tone.BAD,
            )
        )
    if evidence.by_others:
        facts.append(
            Fact(
                "By others",
                f"{number(len(evidence.by_others))} changed by others during the run: see Changes",
                tone=Tone.WARN,
            )
        )
    return tuple(facts)


def drift_facts(evidence: Evidence) -> tuple[Fact, ...]:
    """What differed from what was approved when the process was to start."""
    facts = []
    for one in evidence.report.drift:
        now = short_digest(one.now) if one.now else one.kind.replace("_", " ")
        told = f"approved {short_digest(one.approved)}, now {now}"
        facts.append(Fact(one.path, f"{told}. {one.detail}" if one.detail else told, tone=Tone.BAD))
    return tuple(facts)


def claim_facts(evidence: Evidence) -> tuple[Fact, ...]:
    """What the command reported of itself; nobody has checked it."""
    result = evidence.result
    if result is None:
        if evidence.result_problem:
            return (Fact("Result", f"It cannot be read: {evidence.result_problem}", tone=Tone.UNKNOWN),)
        return (Fact("Result", "The command reported nothing of itself."),)
    facts = [Fact("Summary", result.summary or "none")]
    facts.append(Fact("Cost", units(result.cost) if result.cost is not None else "not reported"))
    facts += [Fact("Open question", question) for question in result.questions]
    return tuple(facts)


def change_words(counts: tuple[int, int, int]) -> str:
    """How many files changed, in words: "0 files changed" is said as such (B-026)."""
    added, changed, removed = counts
    if not any(counts):
        return "0 files changed"
    return f"{number(added)} added, {number(changed)} changed, {number(removed)} removed"


def head_words(before: WorkspaceState | None, after: WorkspaceState | None) -> str:
    """Whether the repository's commit moved; "" where there is no repository."""
    if before is None or after is None or StateKind.GIT not in (before.kind, after.kind):
        return ""
    if before.head == after.head:
        branch = f" on {after.branch}" if after.branch else ""
        dirty = f", {number(after.changed)} files differ from it" if after.changed else ""
        return f"HEAD unchanged, {after.head[:8] or 'no commit'}{branch}{dirty}"
    return f"HEAD moved from {before.head[:8] or 'no commit'} to {after.head[:8] or 'no commit'}"


def _signal_words(number_: int) -> str:
    try:
        return f"{signal.Signals(number_).name} ({number_})"
    except ValueError:
        return str(number_)


def _active_words(active_ms: int, slept_ms: int) -> str:
    slept = f"; the machine slept {span_words(slept_ms)}, which does not count" if slept_ms else ""
    return f"{span_words(active_ms)}{slept}"


def _not_started(why: NotStarted) -> str:
    return {
        NotStarted.NOT_FOUND: "the program was not found",
        NotStarted.NOT_A_FILE: "the program is not a file",
        NotStarted.NOT_EXECUTABLE: "the program is not executable",
        NotStarted.NO_PERMISSION: "no permission to run it",
        NotStarted.BATCH_FILE: "a batch file needs its interpreter named",
        NotStarted.DRIFTED: "what would run was not what had been approved",
        NotStarted.FOLDER: "its working folder could not be used",
        NotStarted.OUTPUT_FILE: "its output files could not be made",
        NotStarted.STOPPED_FIRST: "it was stopped before it started",
        NotStarted.REFUSED_BY_SYSTEM: "the system refused to start it",
    }[why]
