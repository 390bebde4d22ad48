"""What a person asks for: the work order and its parts, as frozen values.

These are the engine's own values, already checked for form. Reading them from files with line-precise errors
is the matter of `engine.interfaces.work_order_file`; turning a step into an exact plan that of
`engine.dispatch.plan`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType
from typing import Any

DEFAULT_TIME_LIMIT_MS = 10 * 60_000
DEFAULT_OUTPUT_LIMIT_BYTES = 1 << 30
DEFAULT_APPROVAL_LIFE_MS = 24 * 3_600_000


@dataclass(frozen=True, slots=True)
class Secret:
    """An environment value by reference: read from the console's own environment variable ``variable``."""

    variable: str


EnvironmentValue = str | Secret


@dataclass(frozen=True, slots=True)
class CommandSpec:
    """One command: an argument vector run without a shell, and the limits it must keep.

    ``folder`` is relative to the workspace. ``inputs`` and ``artifacts`` are relative paths; artifacts may be
    glob patterns. ``report`` is a JUnit XML file that the command writes, or ``""``. ``max_cost`` is in
    budget units, ``time_limit_ms`` bounds active time.
    """

    argv: tuple[str, ...]
    folder: str = "."
    environment: Mapping[str, EnvironmentValue] = field(default_factory=lambda: MappingProxyType({}))
    inputs: tuple[str, ...] = ()
    artifacts: tuple[str, ...] = ()
    report: str = ""
    time_limit_ms: int = DEFAULT_TIME_LIMIT_MS
    max_cost: int = 0
    output_limit_bytes: int = DEFAULT_OUTPUT_LIMIT_BYTES


class ValidatedBy(StrEnum):
    """How an implementation is judged: by a command's exit code, or by a person."""

    COMMAND = "command"
    PERSON = "person"


@dataclass(frozen=True, slots=True)
class ValidationSpec:
    """The criteria, fixed beforehand, and who or what judges by them."""

    criteria: str
    by: ValidatedBy = ValidatedBy.COMMAND
    command: CommandSpec | None = None


@dataclass(frozen=True, slots=True)
class CorrectionRule:
    """How often a failed validation may start a correction (E-62).

    ``command`` None repeats the implementation's command.
    """

    max_corrections: int = 0
    reapproval_required: bool = True
    command: CommandSpec | None = None


@dataclass(frozen=True, slots=True)
class BudgetLimits:
    """Limits of one scope in both partitions: cost in units, active time in milliseconds."""

    execution_cost: int
    execution_active_ms: int
    handoff_cost: int = 0
    handoff_active_ms: int = 0


@dataclass(frozen=True, slots=True)
class WorkOrderSpec:
    """A whole work order.

    ``workspace`` is an absolute path as given; ``project`` names a scope under the root.
    ``due_at`` (an instant) makes its first task WAITING until then; None makes it READY at once.
    """

    title: str
    workspace: str
    implementation: CommandSpec
    validation: ValidationSpec
    limits: BudgetLimits
    project: str = "default"
    reason: str = ""
    correction: CorrectionRule = CorrectionRule()
    approval_life_ms: int = DEFAULT_APPROVAL_LIFE_MS
    due_at: int | None = None

    def to_json(self) -> dict[str, Any]:
        """Give plain JSON values; `work_order_from_json` is the inverse."""
        plain: dict[str, Any] = _plain(self)
        return plain


def work_order_from_json(value: Mapping[str, Any]) -> WorkOrderSpec:
    """Rebuild a work order from what `WorkOrderSpec.to_json` gave; the form is trusted."""
    validation = value["validation"]
    correction = value["correction"]
    return WorkOrderSpec(
        **{
            **value,
            "implementation": command_from_json(value["implementation"]),
            "validation": ValidationSpec(
                validation["criteria"],
                ValidatedBy(validation["by"]),
                _optional_command(validation["command"]),
            ),
            "correction": CorrectionRule(
                correction["max_corrections"],
                correction["reapproval_required"],
                _optional_command(correction["command"]),
            ),
            "limits": BudgetLimits(**value["limits"]),
        }
    )


def command_from_json(value: Mapping[str, Any]) -> CommandSpec:
    """Rebuild a command from its plain JSON values; the form is trusted."""
    environment = {
        name: Secret(item["variable"]) if isinstance(item, Mapping) else item
        for name, item in value["environment"].items()
    }
    return CommandSpec(
        **{
            **value,
            "argv": tuple(value["argv"]),
            "inputs": tuple(value["inputs"]),
            "artifacts": tuple(value["artifacts"]),
            "environment": MappingProxyType(environment),
        }
    )


def command_to_json(command: CommandSpec) -> dict[str, Any]:
    """Give a command's plain JSON values; `command_from_json` is the inverse."""
    plain: dict[str, Any] = _plain(command)
    return plain


def _optional_command(value: Mapping[str, Any] | None) -> CommandSpec | None:
    return None if value is None else command_from_json(value)


def _plain(value: object) -> Any:
    if isinstance(value, Mapping):
        return {name: _plain(item) for name, item in value.items()}
    if isinstance(value, tuple | list):
        return [_plain(item) for item in value]
    if isinstance(value, StrEnum):
        return value.value
    if hasattr(value, "__dataclass_fields__"):
        return {name: _plain(getattr(value, name)) for name in value.__dataclass_fields__}
    return value
