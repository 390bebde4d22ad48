"""What any work order must keep, wherever it comes from: a file, the console, or another process's message.

Files are read with line-precise errors by `engine.interfaces.work_order_file`; what reaches the engine on another
way has nobody else who looks at it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from engine.errors import InvalidValue, InvalidWorkOrder
from engine.instants import require_duration, require_instant
from engine.work_order import BudgetLimits, CommandSpec, Secret, ValidatedBy, WorkOrderSpec

LARGEST_AMOUNT = 10**15
"""The most units, milliseconds or bytes: thousands of them can still be added up in a 64-bit counter."""

LONGEST_LINE = 200
MOST_CORRECTIONS = 1_000

_NO_CHARACTER = re.compile("[\0\ud800-\udfff]")
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")


def require_sound(spec: WorkOrderSpec) -> None:
    """Raise `InvalidWorkOrder` with the field if a work order could not be stored, planned or concluded."""
    for field, text in (("title", spec.title), ("project", spec.project)):
        _require_text(field, text)
        if not text.strip() or _CONTROL.search(text) or len(text) > LONGEST_LINE:
            raise _invalid(field, f"is not one line of 1 to {LONGEST_LINE} characters")
    for field, text in (("workspace", spec.workspace), ("reason", spec.reason)):
        _require_text(field, text)
    _require_text("validation.criteria", spec.validation.criteria)
    if not spec.validation.criteria.strip():
        raise _invalid("validation.criteria", "is empty; write down how the result will be judged")
    if (spec.validation.by is ValidatedBy.COMMAND) != (spec.validation.command is not None):
        raise _invalid("validation.command", "is needed where a command judges, and only there")
    for field, command in _commands(spec):
        _require_command(field, command)
    _require_amount("correction.max_corrections", spec.correction.max_corrections, MOST_CORRECTIONS)
    for name in BudgetLimits.__dataclass_fields__:
        _require_amount(f"limits.{name}", getattr(spec.limits, name))
    try:
        require_duration(spec.approval_life_ms, "approval_life_ms")
        if spec.due_at is not None:
            require_instant(spec.due_at, "due_at")
    except InvalidValue as error:
        raise InvalidWorkOrder(error.what, do=error.do) from error


def _commands(spec: WorkOrderSpec) -> Iterator[tuple[str, CommandSpec]]:
    yield "implementation", spec.implementation
    if spec.validation.command is not None:
        yield "validation.command", spec.validation.command
    if spec.correction.command is not None:
        yield "correction.command", spec.correction.command


def _require_command(field: str, command: CommandSpec) -> None:
    if not command.argv:
        raise _invalid(f"{field}.argv", "is empty; it needs at least the program")
    for name in ("argv", "inputs", "artifacts"):
        for place, text in enumerate(getattr(command, name)):
            _require_text(f"{field}.{name}[{place}]", text)
    for name in ("folder", "report"):
        _require_text(f"{field}.{name}", getattr(command, name))
    for variable, value in command.environment.items():
        _require_text(f"{field}.environment", variable)
        _require_text(
            f"{field}.environment.{variable}", value.variable if isinstance(value, Secret) else value
        )
    _require_amount(f"{field}.max_cost", command.max_cost)
    _require_amount(f"{field}.time_limit_ms", command.time_limit_ms, least=1)
    _require_amount(f"{field}.output_limit_bytes", command.output_limit_bytes, least=1)


def _require_text(field: str, text: object) -> None:
    if not isinstance(text, str):
        raise _invalid(field, "is not text")
    if _NO_CHARACTER.search(text):
        raise _invalid(field, "holds a NUL character or half of a surrogate pair, which nothing can store")


def _require_amount(field: str, value: object, most: int = LARGEST_AMOUNT, *, least: int = 0) -> None:
    if type(value) is not int or not least <= value <= most:
        raise _invalid(field, f"is not a whole number from {least} to {most}")


def _invalid(field: str, what: str) -> InvalidWorkOrder:
    return InvalidWorkOrder(
        f"{field} {what}.", means="Nothing was saved.", do="Correct the work order.", field=field
    )
