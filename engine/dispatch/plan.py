"""The exact plan of one execution, and its seal: what a person approves (E-40, E-40a, E-42b).

A plan holds what runs and its limits, never the prose around it (B-023). Making it again just before the start
and comparing the seals is the check for drift; `engine.dispatch.differences` puts a difference into words.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

from engine.canonical import canonical_digest
from engine.dispatch.environment import ChildEnvironment, SealedSecret, SealedValue, child_environment
from engine.dispatch.inputs import InputKind, SealedFile, SealedInput, seal_inputs
from engine.dispatch.program import Program, resolve_program
from engine.errors import InvalidWorkOrder, NotFound
from engine.instants import Instant
from engine.states import Purpose
from engine.work_order import CommandSpec
from engine.workspace.containment import Root, find_root, open_folder_inside, parts_of, resolve_inside
from engine.workspace.digests import KnownContents
from engine.workspace.repository import WorkspaceState, find_git, state_from_json, workspace_state

PLAN_VERSION = 1


@dataclass(frozen=True, slots=True)
class PlanWorkspace:
    """The workspace folder: its absolute path with links resolved, and the identity of the folder there."""

    path: str
    identity: str


@dataclass(frozen=True, slots=True)
class PlanEnvironment:
    """What the child's environment holds: ``base`` from the console, ``own`` set by the command, secrets sealed."""

    base: Mapping[str, str]
    own: Mapping[str, SealedValue]


@dataclass(frozen=True, slots=True)
class PlanLimits:
    """The limits of one execution: active time in ms, cost in budget units, bytes of stdout and stderr together."""

    time_ms: int
    cost: int
    output_bytes: int


@dataclass(frozen=True, slots=True)
class Plan:
    """One execution, exactly.

    ``argv`` is passed as it is, ``program.path`` is the file that is started. ``folder``, ``artifacts`` and
    ``report`` are relative to the workspace; so are the paths of ``inputs`` that lie inside it. ``criteria`` are
    those by which the result will be judged. ``state`` is the workspace as it must be at the start.
    """

    purpose: Purpose
    argv: tuple[str, ...]
    program: Program
    folder: str
    workspace: PlanWorkspace
    environment: PlanEnvironment
    inputs: tuple[SealedInput, ...]
    limits: PlanLimits
    artifacts: tuple[str, ...]
    report: str
    criteria: str
    state: WorkspaceState

    def to_json(self) -> dict[str, Any]:
        """Give plain JSON values; `plan_from_json` is the inverse, and `seal_of` is taken over them."""
        return {
            "version": PLAN_VERSION,
            "purpose": self.purpose.value,
            "argv": list(self.argv),
            "program": {
                "path": self.program.path,
                "real_path": self.program.real_path,
                "sha256": self.program.sha256,
                "size": self.program.size,
                "searched": list(self.program.searched),
            },
            "folder": self.folder,
            "workspace": {"path": self.workspace.path, "identity": self.workspace.identity},
            "environment": {
                "base": dict(self.environment.base),
                "own": {name: _value_to_json(value) for name, value in self.environment.own.items()},
            },
            "inputs": [
                {"path": item.path, "kind": item.kind.value, "sha256": item.sha256, "size": item.size}
                for item in self.inputs
            ],
            "limits": {
                "time_ms": self.limits.time_ms,
                "cost": self.limits.cost,
                "output_bytes": self.limits.output_bytes,
            },
            "artifacts": list(self.artifacts),
            "report": self.report,
            "criteria": self.criteria,
            "state": self.state.to_json(),
        }


@dataclass(frozen=True, slots=True)
class Prepared:
    """A plan, and what is needed to start it but must not be in it.

    ``environment.values`` holds secrets in clear. ``folder`` is the absolute working folder, links resolved.
    ``files`` are the program and every sealed file by absolute path, to be checked again at the very start.
    """

    plan: Plan
    environment: ChildEnvironment
    folder: Path
    files: tuple[SealedFile, ...]


def seal_of(plan: Plan) -> str:
    """Give the seal of a plan: SHA-256 over its canonical JSON, 64 hexadecimal digits."""
    return canonical_digest(plan.to_json())


def make_plan(
    purpose: Purpose,
    command: CommandSpec,
    criteria: str,
    workspace: str,
    *,
    base_environment: Mapping[str, str],
    secret_key: bytes,
    state: WorkspaceState | None = None,
    git: Path | None = None,
    now: Instant | None = None,
    known: KnownContents | None = None,
) -> Prepared:
    """Look at everything that a command would run with, and give the exact plan.

    ``base_environment`` is the console's whole environment, ``secret_key`` the data folder's key for sealing
    secrets. ``state`` is given for a validation that is covered by the approval of its step
    (`engine.workspace.repository.AS_LEFT_BY_APPROVED_STEP`), else the workspace is looked at; ``git`` (found on
    PATH when None), ``now`` and ``known`` serve that look. Reads files and runs git: call it in a thread.

    Raises `InvalidWorkOrder` when the program, folder, an input or a secret is not there or cannot be sealed,
    and `OutsideWorkspace` for a path that does not stay inside.
    """
    root = find_root(workspace)
    folder = _working_folder(root, command.folder)
    for pattern in command.artifacts:
        parts_of(pattern, pattern=True)
    if command.report:
        resolve_inside(root, command.report, must_exist=False)
    environment = child_environment(command.environment, base_environment, secret_key)
    program = resolve_program(command.argv[0], root, folder, environment.values)
    inputs, files = seal_inputs(root, folder, command, program, environment.values)
    if state is None:
        found = git if git is not None else find_git(base_environment)
        state = workspace_state(root, found, base_environment, now=now, known=known)
    plan = Plan(
        purpose=purpose,
        argv=command.argv,
        program=program,
        folder=folder,
        workspace=PlanWorkspace(str(root.real), str(root.identity)),
        environment=PlanEnvironment(environment.base, environment.own),
        inputs=inputs,
        limits=PlanLimits(command.time_limit_ms, command.max_cost, command.output_limit_bytes),
        artifacts=command.artifacts,
        report=command.report,
        criteria=criteria,
        state=state,
    )
    working_folder = root.real if folder == "." else root.real / folder
    return Prepared(plan, environment, working_folder, (SealedFile(program.path, program.sha256), *files))


def plan_from_json(value: Mapping[str, Any]) -> Plan:
    """Rebuild a plan from what `Plan.to_json` gave; the form is trusted, an unknown version refused."""
    if value["version"] != PLAN_VERSION:
        raise InvalidWorkOrder(
            f"The plan has version {value['version']!r}; this program knows version {PLAN_VERSION}.",
            do="Open it with the version of Praxis Console that wrote it.",
        )
    environment = value["environment"]
    own = {name: _value_from_json(item) for name, item in environment["own"].items()}
    return Plan(
        purpose=Purpose(value["purpose"]),
        argv=tuple(value["argv"]),
        program=Program(**{**value["program"], "searched": tuple(value["program"]["searched"])}),
        folder=value["folder"],
        workspace=PlanWorkspace(**value["workspace"]),
        environment=PlanEnvironment(MappingProxyType(dict(environment["base"])), MappingProxyType(own)),
        inputs=tuple(SealedInput(**{**item, "kind": InputKind(item["kind"])}) for item in value["inputs"]),
        limits=PlanLimits(**value["limits"]),
        artifacts=tuple(value["artifacts"]),
        report=value["report"],
        criteria=value["criteria"],
        state=state_from_json(value["state"]),
    )


def _working_folder(root: Root, folder: str) -> str:
    try:
        contained = resolve_inside(root, folder)
        open_folder_inside(root, folder).close()
    except (NotFound, NotADirectoryError) as error:
        raise InvalidWorkOrder(
            f"The working folder {folder} is not a folder in the workspace {root.path}.",
            do="Make the folder, or correct the path.",
            field="folder",
        ) from error
    except OSError as error:
        raise InvalidWorkOrder(
            f"The working folder {folder} cannot be opened: {error.strerror or error}.",
            do="Give yourself access to it, or choose another.",
            field="folder",
        ) from error
    return contained.relative


def _value_to_json(value: SealedValue) -> object:
    return value if isinstance(value, str) else {"secret": value.variable, "seal": value.seal}


def _value_from_json(value: Any) -> SealedValue:
    return value if isinstance(value, str) else SealedSecret(value["secret"], value["seal"])
