"""Evidence: everything that was observed of one execution, as one value with one identity (E-55).

It holds what was seen, not what it means: `Evidence.judge` derives the outcome from it, so that anybody who
has the record can derive it again. Its identity is the SHA-256 over its canonical JSON. Contents (outputs,
artifacts, manifests) stand in the blob store and are named here by digest.
"""

from __future__ import annotations

import json
import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

from engine.canonical import canonical_digest, canonical_json
from engine.clock import Clock
from engine.dispatch.soundness import LARGEST_AMOUNT
from engine.errors import InvalidValue
from engine.execution.blobs import Blob
from engine.execution.process import (
    Difference,
    DifferenceKind,
    EndedBy,
    EndedHow,
    EndedProcess,
    GoneProcess,
    GuardedFile,
    NotStarted,
    ProcessIdentity,
    ProcessReport,
    StopReason,
    Survivor,
    TreeReport,
    outcome_of,
)
from engine.instants import format_instant, parse_instant
from engine.states import Outcome
from engine.workspace.folders import Folder
from engine.workspace.manifest import Entry, EntryKind, Manifest, difference
from engine.workspace.repository import WorkspaceState, state_from_json

FORM = 1
"""The version of the JSON form."""

LISTED_CHANGES = 1_000
"""So many changes of each kind are listed in the evidence; the manifests hold all of them."""

RESULT_VARIABLE = "PRAXIS_RESULT"
"""The environment variable that names the file into which a command may write its result record."""

LARGEST_RESULT = 1 << 20


@dataclass(frozen=True, slots=True)
class Artifact:
    """A kept file that the command left in the workspace; ``path`` is relative to it, with ``/``."""

    path: str
    size: int
    sha256: str


@dataclass(frozen=True, slots=True)
class ArtifactProblem:
    """A pattern that matched nothing, or a matched file that could not be kept, and why."""

    path: str
    why: str


@dataclass(frozen=True, slots=True)
class FileFacts:
    """What stood at a path. ``sha256`` is empty for what is no file or was not read; ``note`` as in manifests."""

    kind: EntryKind
    size: int
    mode: int
    sha256: str = ""
    note: str = ""


@dataclass(frozen=True, slots=True)
class FileChange:
    """One path of the workspace that was added (no ``before``), changed, or removed (no ``after``)."""

    path: str
    before: FileFacts | None
    after: FileFacts | None


@dataclass(frozen=True, slots=True)
class WorkspaceChanges:
    """The difference between the workspace before and after.

    ``before`` and ``after`` are the digests of both manifests. At most `LISTED_CHANGES` of each kind are
    listed; ``counts`` are the whole numbers of added, changed and removed paths. ``shortcomings`` are
    sentences about what the manifests do not prove.
    """

    before: str
    after: str
    added: tuple[FileChange, ...] = ()
    changed: tuple[FileChange, ...] = ()
    removed: tuple[FileChange, ...] = ()
    counts: tuple[int, int, int] = (0, 0, 0)
    shortcomings: tuple[str, ...] = ()


class ChangeKind(StrEnum):
    """How a path changed."""

    ADDED = "added"
    CHANGED = "changed"
    REMOVED = "removed"


@dataclass(frozen=True, slots=True)
class OutsideChange:
    """A change below a declared root that is not the workspace (B-025); ``path`` is absolute."""

    path: str
    kind: ChangeKind


@dataclass(frozen=True, slots=True)
class ResultRecord:
    """What the command itself reported: its cost in budget units, a summary, open questions.

    It is a claim of the worker, shown beside what was observed. ``cost`` is None when it reported none.
    """

    cost: int | None = None
    summary: str = ""
    questions: tuple[str, ...] = ()


class ResultUnreadable(InvalidValue):
    """The command wrote a result record that cannot be read as one; its outcome is then UNKNOWN (B-035)."""

    code = "result_unreadable"


@dataclass(frozen=True, slots=True)
class HostFacts:
    """Where it ran: system and machine, the boot (`Clock.boot_id`), the version of this program."""

    platform: str
    boot: str
    version: str


@dataclass(frozen=True, slots=True)
class Evidence:
    """One execution as it was observed.

    ``environment`` holds names only, sorted. ``stdout`` and ``stderr`` are None when the command never ran.
    ``result_file`` are the raw bytes of the result record, kept also when they are unreadable;
    ``result_problem`` says why they are, ``""`` when they are not. ``by_others`` are workspace paths that
    others changed meanwhile. ``workspace_problem`` says why the workspace could not be looked at afterwards,
    ``""`` when it could.
    """

    argv: tuple[str, ...]
    cwd: str
    environment: tuple[str, ...]
    program: GuardedFile
    inputs: tuple[GuardedFile, ...]
    report: ProcessReport
    host: HostFacts
    stdout: Blob | None = None
    stderr: Blob | None = None
    artifacts: tuple[Artifact, ...] = ()
    artifact_problems: tuple[ArtifactProblem, ...] = ()
    workspace: WorkspaceChanges | None = None
    repository_before: WorkspaceState | None = None
    repository_after: WorkspaceState | None = None
    outside: tuple[OutsideChange, ...] = ()
    by_others: tuple[str, ...] = ()
    result: ResultRecord | None = None
    result_file: Blob | None = None
    result_problem: str = ""
    workspace_problem: str = ""

    @property
    def sha256(self) -> str:
        """The identity of this evidence: the digest of its canonical JSON."""
        return canonical_digest(self.to_json())

    def canonical(self) -> str:
        """Give the canonical JSON text, whose UTF-8 bytes have the digest `sha256`."""
        return canonical_json(self.to_json()).decode("utf-8")

    def judge(self) -> tuple[Outcome, str, str]:
        """Give the outcome, a stable reason code and a sentence (E-54).

        As `outcome_of` says; but where a definite end came with a result record that cannot be read, what the
        command meant is not known, so it is UNKNOWN (B-035). It is UNKNOWN too where the workspace cannot be
        looked at afterwards: what it did there is not known (E-52).
        """
        outcome, code, sentence = outcome_of(self.report)
        if self.report.ended_by is not EndedBy.EXIT or outcome is Outcome.UNKNOWN:
            return outcome, code, sentence
        if self.workspace_problem:
            return Outcome.UNKNOWN, "workspace_lost", f"{sentence} {self.workspace_problem}"
        if self.result_problem:
            return (
                Outcome.UNKNOWN,
                "result_unreadable",
                f"{sentence} Its result is unreadable: {self.result_problem}",
            )
        return outcome, code, sentence

    def to_json(self) -> dict[str, Any]:
        """Give plain JSON values, instants as canonical UTC text; `evidence_from_json` is the inverse."""
        value: dict[str, Any] = {"form": FORM}
        value |= {name: _plain(getattr(self, name)) for name in self.__slots__ if name != "report"}
        value |= {name: _plain(getattr(self.report, name)) for name in self.report.__slots__}
        for name in ("started_at", "finished_at"):
            value[name] = format_instant(value[name])
        return value


def evidence_from_json(value: Mapping[str, Any]) -> Evidence:
    """Rebuild evidence from what `Evidence.to_json` gave; only the version of the form is checked."""
    if value["form"] != FORM:
        raise InvalidValue(
            f"This evidence has the form {value['form']!r}.", means=f"This version reads form {FORM}."
        )
    return Evidence(
        argv=tuple(value["argv"]),
        cwd=value["cwd"],
        environment=tuple(value["environment"]),
        program=GuardedFile(**value["program"]),
        inputs=tuple(GuardedFile(**one) for one in value["inputs"]),
        report=_report_from_json(value),
        host=HostFacts(**value["host"]),
        stdout=_blob_from_json(value["stdout"]),
        stderr=_blob_from_json(value["stderr"]),
        artifacts=tuple(Artifact(**one) for one in value["artifacts"]),
        artifact_problems=tuple(ArtifactProblem(**one) for one in value["artifact_problems"]),
        workspace=None if value["workspace"] is None else _workspace_from_json(value["workspace"]),
        repository_before=_state_from_json(value["repository_before"]),
        repository_after=_state_from_json(value["repository_after"]),
        outside=tuple(OutsideChange(one["path"], ChangeKind(one["kind"])) for one in value["outside"]),
        by_others=tuple(value["by_others"]),
        result=_result_from_json(value["result"]),
        result_file=_blob_from_json(value["result_file"]),
        result_problem=value["result_problem"],
        workspace_problem=value["workspace_problem"],
    )


def changes_between(before: Manifest, after: Manifest) -> WorkspaceChanges:
    """Compare two manifests of one workspace and give what changed, with digests."""
    found = difference(before, after)
    return WorkspaceChanges(
        before.digest(),
        after.digest(),
        _changes(found.added, before, after),
        _changes(found.changed, before, after),
        _changes(found.removed, before, after),
        (len(found.added), len(found.changed), len(found.removed)),
        tuple(dict.fromkeys((*before.shortcomings(), *after.shortcomings()))),
    )


def host_facts(clock: Clock, version: str) -> HostFacts:
    """Give the facts of this machine; ``version`` is this program's."""
    machine = f"{platform.system()} {platform.release()} {platform.machine()}"
    return HostFacts(machine, clock.boot_id(), version)


def read_result(path: Path) -> ResultRecord | None:
    """Read the result record of a command, None when it wrote none.

    The file holds one JSON object with no other fields than ``cost`` (a whole number from 0 to
    `LARGEST_AMOUNT`), ``summary`` (text) and ``questions`` (a list of texts), all optional, in UTF-8 with or
    without a byte order mark. Anything else, a link, a pipe, or more than `LARGEST_RESULT` bytes raises
    `ResultUnreadable` with the reason.
    """
    try:
        with Folder(path.parent.resolve()) as folder, folder.file(path.name) as file:
            content = file.read(LARGEST_RESULT + 1)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise _unreadable(f"the file cannot be read ({error.strerror or error})") from error
    if len(content) > LARGEST_RESULT:
        raise _unreadable(f"it is larger than {LARGEST_RESULT:,} bytes")
    try:
        value = json.loads(
            content.decode("utf-8-sig"), object_pairs_hook=_each_once, parse_constant=_no_number
        )
    except (ValueError, RecursionError) as error:
        raise _unreadable(f"it is not JSON in UTF-8 ({error})") from error
    return _checked_result(value)


def _checked_result(value: object) -> ResultRecord:
    if not isinstance(value, dict):
        raise _unreadable("it is not a JSON object")
    unknown = sorted(set(value) - {"cost", "summary", "questions"})
    if unknown:
        raise _unreadable(f"it has the unknown field {unknown[0]!r}")
    cost, summary, questions = value.get("cost"), value.get("summary", ""), value.get("questions", [])
    if "cost" in value and (type(cost) is not int or not 0 <= cost <= LARGEST_AMOUNT):
        raise _unreadable(f"cost is not a whole number from 0 to {LARGEST_AMOUNT}")
    if not _is_text(summary):
        raise _unreadable("summary is not text")
    if not isinstance(questions, list) or not all(_is_text(one) for one in questions):
        raise _unreadable("questions is not a list of texts")
    return ResultRecord(cost, summary, tuple(questions))


def _is_text(value: object) -> bool:
    if not isinstance(value, str):
        return False
    try:
        value.encode("utf-8")
    except UnicodeEncodeError:  # half of a surrogate pair, which nothing can store
        return False
    return True


def _each_once(pairs: Sequence[tuple[str, object]]) -> dict[str, object]:
    value = dict(pairs)
    if len(value) != len(pairs):
        raise ValueError("a field occurs twice")
    return value


def _no_number(text: str) -> object:
    raise ValueError(f"{text} is not a number of JSON")


def _unreadable(why: str) -> ResultUnreadable:
    return ResultUnreadable(
        f"The result is unreadable: {why}.",
        means="What the command meant to report is not known.",
        do="Look at the raw bytes that were kept.",
        why=why,
    )


def _changes(paths: Sequence[str], before: Manifest, after: Manifest) -> tuple[FileChange, ...]:
    return tuple(
        FileChange(path, _facts(before.entries.get(path)), _facts(after.entries.get(path)))
        for path in paths[:LISTED_CHANGES]
    )


def _facts(entry: Entry | None) -> FileFacts | None:
    return None if entry is None else FileFacts(entry.kind, entry.size, entry.mode, entry.sha256, entry.note)


def _plain(value: Any) -> Any:
    if isinstance(value, WorkspaceState):
        return value.to_json()
    if isinstance(value, StrEnum):
        return value.value
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    if hasattr(value, "__dataclass_fields__"):
        return {name: _plain(getattr(value, name)) for name in value.__dataclass_fields__}
    return value


def _report_from_json(value: Mapping[str, Any]) -> ProcessReport:
    tree = value["tree"]
    return ProcessReport(
        started_at=parse_instant(value["started_at"]),
        finished_at=parse_instant(value["finished_at"]),
        active_ms=value["active_ms"],
        slept_ms=value["slept_ms"],
        ended_by=EndedBy(value["ended_by"]),
        identity=None if value["identity"] is None else ProcessIdentity(**value["identity"]),
        exit_code=value["exit_code"],
        signal=value["signal"],
        stopped_by=None if value["stopped_by"] is None else StopReason(value["stopped_by"]),
        not_started=None if value["not_started"] is None else NotStarted(value["not_started"]),
        detail=value["detail"],
        output_bytes=value["output_bytes"],
        tree=TreeReport(
            tuple(EndedProcess(one["pid"], one["name"], EndedHow(one["how"])) for one in tree["ended"]),
            tuple(GoneProcess(**one) for one in tree["already_gone"]),
            tuple(Survivor(ProcessIdentity(**one["identity"]), one["name"]) for one in tree["survived"]),
        ),
        drift=tuple(Difference(**{**one, "kind": DifferenceKind(one["kind"])}) for one in value["drift"]),
    )


def _workspace_from_json(value: Mapping[str, Any]) -> WorkspaceChanges:
    added, changed, removed = (
        tuple(_change_from_json(one) for one in value[name]) for name in ("added", "changed", "removed")
    )
    counts = (value["counts"][0], value["counts"][1], value["counts"][2])
    return WorkspaceChanges(
        value["before"], value["after"], added, changed, removed, counts, tuple(value["shortcomings"])
    )


def _change_from_json(value: Mapping[str, Any]) -> FileChange:
    before, after = (
        None if facts is None else FileFacts(**{**facts, "kind": EntryKind(facts["kind"])})
        for facts in (value["before"], value["after"])
    )
    return FileChange(value["path"], before, after)


def _blob_from_json(value: Mapping[str, Any] | None) -> Blob | None:
    return None if value is None else Blob(**value)


def _state_from_json(value: Mapping[str, Any] | None) -> WorkspaceState | None:
    return None if value is None else state_from_json(value)


def _result_from_json(value: Mapping[str, Any] | None) -> ResultRecord | None:
    return None if value is None else ResultRecord(**{**value, "questions": tuple(value["questions"])})
