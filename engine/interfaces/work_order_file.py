"""Reading a work order from a TOML or JSON file, and writing one.

Whatever the bytes, reading gives a whole work order or one `InvalidWorkOrder` that lists every problem found,
each with its line, its field and what to do. The form is that of `engine.interfaces.work_order_schema`.
"""

from __future__ import annotations

import difflib
import json
import os
import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal, TypeAlias

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from engine.dispatch.display import visible_text
from engine.durations import LONGEST_MS, format_duration, format_size
from engine.errors import InvalidWorkOrder, NotFound
from engine.instants import format_instant
from engine.interfaces.positions import (
    DEEPEST,
    KeyPath,
    NotScanned,
    Positions,
    TooDeep,
    json_positions,
    toml_positions,
)
from engine.interfaces.work_order_schema import (
    LARGEST_COST,
    CommandForm,
    CorrectionForm,
    LimitsForm,
    SecretForm,
    ValidationForm,
    WorkOrderForm,
    work_order_json_schema,
)
from engine.work_order import (
    BudgetLimits,
    CommandSpec,
    CorrectionRule,
    Secret,
    ValidatedBy,
    ValidationSpec,
    WorkOrderSpec,
)

__all__ = [
    "LARGEST_FILE",
    "Format",
    "Problem",
    "parse_work_order",
    "read_work_order",
    "to_toml",
    "work_order_json_schema",
]

LARGEST_FILE = 1 << 20
"""Bytes that a work order file may have."""

Format: TypeAlias = Literal["toml", "json"]

_COMMAND_FIELDS = tuple(CommandForm.model_fields)
_FORMS: Mapping[str, type[BaseModel]] = {
    "": WorkOrderForm,
    "implementation": CommandForm,
    "validation": ValidationForm,
    "correction": CorrectionForm,
    "limits": LimitsForm,
}
_TOML_LINE = re.compile(r"\s*\(at (?:line (\d+), column \d+|end of document)\)\Z")
_FOREIGN_PATH = re.compile(r"[A-Za-z]:|\\|~")


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong: the line (from 1), the field such as ``implementation.argv[2]``, and a sentence.

    ``field`` is empty when the file as a whole is meant.
    """

    line: int
    field: str
    message: str

    def __str__(self) -> str:
        return f"Line {self.line}, {self.field} {self.message}." if self.field else f"{self.message}."


def read_work_order(path: Path | str) -> WorkOrderSpec:
    """Read a work order file: JSON if its name ends with ``.json``, else TOML.

    A relative workspace is relative to the file's folder. Raises `NotFound` if there is no such file, and
    `InvalidWorkOrder` for everything else; ``facts['problems']`` holds a tuple of `Problem`.
    """
    file = Path(path)
    try:
        with file.open("rb") as handle:
            data = handle.read(LARGEST_FILE + 1)
    except FileNotFoundError as error:
        raise NotFound(f"There is no file {file}.", do="Correct the path.") from error
    except (OSError, ValueError) as error:
        why = "it is a folder" if file.is_dir() else getattr(error, "strerror", None) or error
        raise _invalid(str(path), [Problem(1, "", f"It cannot be read: {why}")]) from error
    form: Format = "json" if file.suffix.lower() == ".json" else "toml"
    return parse_work_order(data, form=form, name=file.name, folder=file.absolute().parent)


def parse_work_order(
    data: bytes, *, form: Format = "toml", name: str = "the work order", folder: Path | None = None
) -> WorkOrderSpec:
    """Turn the bytes of a work order file into a work order.

    ``name`` is what errors call the file, ``folder`` where a relative workspace starts; without it the workspace
    must be a whole path. Raises `InvalidWorkOrder`; ``facts['problems']`` holds a tuple of `Problem`.
    """
    text = _decode(data, name)
    values, positions = _parse(text, form, name)
    problems = [
        Problem(line, _field(path), "is given twice; keep one of them") for path, line in positions.repeated
    ]
    model: WorkOrderForm | None = None
    try:
        model = WorkOrderForm.model_validate(values)
    except ValidationError as error:
        problems += [_problem(details, positions) for details in error.errors(include_url=False)]
    problems += _cross_checks(values, positions, folder)
    if model is None or problems:
        unique = sorted(set(problems), key=lambda problem: (problem.line, problem.field, problem.message))
        raise _invalid(name, unique)
    spec = _spec(model, folder)
    if too_much := list(_beyond(spec.limits, positions)):
        raise _invalid(name, too_much)
    return spec


def to_toml(spec: WorkOrderSpec) -> str:
    """Write a work order as TOML that `parse_work_order` reads back as an equal value."""
    lines = [f"title = {_quote(spec.title)}", f"workspace = {_quote(spec.workspace)}"]
    lines += [f"project = {_quote(spec.project)}"]
    if spec.reason:
        lines.append(f"reason = {_quote(spec.reason)}")
    if spec.due_at is not None:
        lines.append(f"due_at = {_quote(format_instant(spec.due_at))}")
    lines.append(f"approval_life = {_quote(format_duration(spec.approval_life_ms))}")
    lines += ["", "[implementation]", *_command_lines(spec.implementation)]
    lines += ["", "[validation]", f"by = {_quote(spec.validation.by.value)}"]
    lines += [f"criteria = {_quote(spec.validation.criteria)}"]
    if spec.validation.command is not None:
        lines += _command_lines(spec.validation.command)
    rule = spec.correction
    lines += ["", "[correction]", f"max = {rule.max_corrections}"]
    lines += [f"reapproval_required = {str(rule.reapproval_required).lower()}"]
    if rule.command is not None:
        lines += _command_lines(rule.command)
    limits = spec.limits
    lines += ["", "[limits]", f"cost = {limits.execution_cost}"]
    lines += [f"time = {_quote(format_duration(limits.execution_active_ms))}"]
    lines += [f"handoff_cost = {limits.handoff_cost}"]
    if limits.handoff_active_ms:
        lines.append(f"handoff_time = {_quote(format_duration(limits.handoff_active_ms))}")
    return "\n".join(lines) + "\n"


# ----------------------------------------------------------------------------------------------- from bytes


def _decode(data: bytes, name: str) -> str:
    if len(data) > LARGEST_FILE:
        raise _invalid(name, [Problem(1, "", f"It has more than {LARGEST_FILE:,} bytes; shorten it")])
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise _invalid(name, [Problem(1, "", "It is UTF-16 text; save it as UTF-8")])
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        message = f"Line {line} holds bytes that are not UTF-8; save the file as UTF-8"
        raise _invalid(name, [Problem(line, "", message)]) from error


def _parse(text: str, form: Format, name: str) -> tuple[dict[str, Any], Positions]:
    try:
        if form == "json":
            values, positions = json.loads(text), json_positions(text)
        else:
            values, positions = _parse_toml(text)
    except TooDeep as error:
        message = f"Line {error.line} is nested more than {DEEPEST} levels deep; a work order needs four"
        raise _invalid(name, [Problem(error.line, "", message)]) from error
    except RecursionError as error:
        message = f"It is nested more than {DEEPEST} levels deep; a work order needs four"
        raise _invalid(name, [Problem(1, "", message)]) from error
    except json.JSONDecodeError as error:
        message = f"Line {error.lineno} is not JSON: {_lower(error.msg)}"
        raise _invalid(name, [Problem(error.lineno, "", message)]) from error
    except NotScanned as error:
        line = int(error.args[0])
        raise _invalid(
            name, [Problem(line, "", f"Line {line} cannot be read; write it more plainly")]
        ) from error
    except ValueError as error:
        raise _invalid(name, [_syntax_problem(error, text)]) from error
    if not isinstance(values, dict):
        message = "It holds no table of fields; write one JSON object"
        raise _invalid(name, [Problem(1, "", message)])
    return values, positions


def _parse_toml(text: str) -> tuple[dict[str, Any], Positions]:
    # The scanner goes first: it bounds the nesting, on which the parser spends quadratic time.
    try:
        positions = toml_positions(text.replace("\r\n", "\n"))
    except NotScanned:
        tomllib.loads(text)
        raise
    return tomllib.loads(text), positions


def _syntax_problem(error: ValueError, text: str) -> Problem:
    message = str(error)
    if match := _TOML_LINE.search(message):
        line = int(match[1]) if match[1] else text.count("\n") + 1
        return Problem(line, "", f"Line {line} is not TOML: {_lower(message[: match.start()])}")
    if digits := re.search(r"\d{4000,}", text):
        line = text.count("\n", 0, digits.start()) + 1
        return Problem(line, "", f"Line {line} holds a number with far too many digits; shorten it")
    return Problem(1, "", f"It cannot be read: {_lower(message)}")


# ------------------------------------------------------------------------------------------------ problems


def _problem(details: ErrorDetails, positions: Positions) -> Problem:
    path = _known_path(details["loc"])
    kind, context = details["type"], details.get("ctx", {})
    if kind == "missing":
        message = f"is missing; add it{_where(path)}"
    elif kind == "extra_forbidden":
        message = _unknown(path)
    elif kind == "praxis":
        message = str(context["sentence"]) if "sentence" in context else details["msg"]
    elif kind == "too_short" or kind == "string_too_short":
        message = "is empty; name the program" if path[-1:] == ("argv",) else "is empty; write its value"
    else:
        message = _EXPECTED.get(kind, f"is not accepted ({_lower(details['msg'])})")
    return Problem(positions.line(path), _field(path), message)


_EXPECTED: Mapping[str, str] = {
    "string_type": "is no text; write it in quotes",
    "int_type": "is no whole number; write it without quotes and fractions",
    "bool_type": "is neither true nor false; write one of them without quotes",
    "list_type": 'is no list; write it like ["a", "b"]',
    "dict_type": "is no table; write it as a table of names and values",
    "model_type": "is no table; write it as a table of fields",
    "literal_error": 'is neither "command" nor "person"; write one of them',
}


def _known_path(location: tuple[int | str, ...]) -> KeyPath:
    """Turn pydantic's location into a path of keys: without the tags that it adds to environment values."""
    path = list(location)
    if "environment" in path[:2]:
        name = path.index("environment") + 1
        if len(path) > name + 1 and path[name + 1] in ("text", "secret", "[key]"):
            del path[name + 1]
    return tuple(path)


def _where(path: KeyPath) -> str:
    if len(path) > 1:
        return f" to [{_field(path[:-1])}]"
    return " as a table of its own" if path[0] in _FORMS else " at the top of the file"


def _unknown(path: KeyPath) -> str:
    form = SecretForm if "environment" in path else _FORMS.get(str(path[0]) if len(path) > 1 else "")
    names = list(form.model_fields) if form is not None else []
    written = str(path[-1])
    close = difflib.get_close_matches(written.lower(), names, n=1, cutoff=0.6)
    if close:
        return f"is unknown; write {close[0]} if that is meant, or remove it"
    return f"is unknown; remove it, the fields here are {', '.join(names)}"


def _field(path: KeyPath) -> str:
    text = ""
    for part in path:
        if isinstance(part, int):
            text += f"[{part}]"
        else:
            plain = part if re.fullmatch(r"[A-Za-z0-9_-]{1,64}", part) else f'"{visible_text(part[:64])}"'
            text += f".{plain}" if text else plain
    return text


def _cross_checks(values: Mapping[str, Any], positions: Positions, folder: Path | None) -> Iterator[Problem]:
    """Find what no single field shows; ``values`` are raw, so that this is told along with everything else."""

    def found(path: KeyPath, message: str) -> Problem:
        return Problem(positions.line(path), _field(path), message)

    for step in ("implementation", "validation", "correction"):
        part = values.get(step)
        argv = part.get("argv") if isinstance(part, dict) else None
        if isinstance(argv, list) and argv and argv[0] == "":
            yield found((step, "argv", 0), "is empty; name the program")
    validation, correction = values.get("validation"), values.get("correction")
    if isinstance(validation, dict):
        by = validation.get("by", "command")
        if by == "command" and validation.get("argv") is None:
            yield found(
                ("validation", "argv"), 'is missing; name the command that judges, or write by = "person"'
            )
        if by == "person":
            for name in (name for name in _COMMAND_FIELDS if name in validation):
                yield found(("validation", name), "has no meaning when a person judges; remove it")
    if isinstance(correction, dict) and correction.get("argv") is None:
        for name in (name for name in _COMMAND_FIELDS if name in correction and name != "argv"):
            yield found(("correction", name), "needs a command of its own; add argv to [correction]")
    workspace = values.get("workspace")
    if isinstance(workspace, str) and workspace and not Path(workspace).is_absolute():
        if _FOREIGN_PATH.match(workspace):
            yield found(
                ("workspace",),
                "is no whole path on this machine; write it from the root or drive, or relative",
            )
        elif folder is None:
            yield found(
                ("workspace",), "is relative, and there is no file for it to be relative to; write it whole"
            )


def _beyond(limits: BudgetLimits, positions: Positions) -> Iterator[Problem]:
    """Find limits that were left out and whose sum over all steps is more than a limit may be."""
    for field, found, most in (
        ("cost", limits.execution_cost, LARGEST_COST),
        ("time", limits.execution_active_ms, LONGEST_MS),
    ):
        if found > most:
            path = ("limits", field)
            message = "is left out, and what all steps may use together is too much; add it, or lower theirs"
            yield Problem(positions.line(path), _field(path), message)


def _invalid(name: str, problems: list[Problem]) -> InvalidWorkOrder:
    first = problems[0]
    alone = len(problems) == 1
    return InvalidWorkOrder(
        f"{name}: {_lower_first(str(first))}" if alone else f"{name} has {len(problems)} problems.",
        do="" if alone else "\n".join(map(str, problems)),
        problems=tuple(problems),
        line=first.line,
        field=first.field,
    )


def _lower(text: str) -> str:
    return text[:1].lower() + text[1:].removesuffix(".")


def _lower_first(text: str) -> str:
    return text[:1].lower() + text[1:]


# ----------------------------------------------------------------------------------------------- to values


def _spec(model: WorkOrderForm, folder: Path | None) -> WorkOrderSpec:
    implementation = _command(model.implementation)
    judged_by_command = model.validation.by == "command"
    validation = ValidationSpec(
        model.validation.criteria,
        ValidatedBy(model.validation.by),
        _command(model.validation) if judged_by_command else None,
    )
    correction = CorrectionRule(
        model.correction.max,
        model.correction.reapproval_required,
        _command(model.correction) if model.correction.argv is not None else None,
    )
    workspace = model.workspace
    if folder is not None and not Path(workspace).is_absolute():
        workspace = os.path.normpath(folder / workspace)
    return WorkOrderSpec(
        title=model.title,
        workspace=workspace,
        implementation=implementation,
        validation=validation,
        limits=_limits(model.limits, implementation, validation, correction),
        project=model.project,
        reason=model.reason,
        correction=correction,
        approval_life_ms=model.approval_life,
        due_at=model.due_at,
    )


def _command(form: CommandForm | ValidationForm | CorrectionForm) -> CommandSpec:
    environment = {
        name: Secret(value.secret) if isinstance(value, SecretForm) else value
        for name, value in form.environment.items()
    }
    return CommandSpec(
        argv=tuple(form.argv or ()),
        folder=form.folder,
        environment=MappingProxyType(environment),
        inputs=tuple(form.inputs),
        artifacts=tuple(form.artifacts),
        report=form.report,
        time_limit_ms=form.time_limit,
        max_cost=form.max_cost,
        output_limit_bytes=form.output_limit,
    )


def _limits(
    form: LimitsForm, implementation: CommandSpec, validation: ValidationSpec, correction: CorrectionRule
) -> BudgetLimits:
    """Give the limits; what is left out is the sum of what every step may use, each correction judged again."""
    judging = validation.command
    mending = correction.command or implementation
    rounds = correction.max_corrections
    cost = implementation.max_cost + rounds * mending.max_cost
    time = implementation.time_limit_ms + rounds * mending.time_limit_ms
    if judging is not None:
        cost += (1 + rounds) * judging.max_cost
        time += (1 + rounds) * judging.time_limit_ms
    return BudgetLimits(
        execution_cost=form.cost if form.cost is not None else cost,
        execution_active_ms=form.time if form.time is not None else time,
        handoff_cost=form.handoff_cost,
        handoff_active_ms=form.handoff_time or 0,
    )


# ------------------------------------------------------------------------------------------------- to text


def _command_lines(command: CommandSpec) -> list[str]:
    plain = CommandSpec(command.argv)
    lines = [f"argv = {_list(command.argv)}"]
    if command.folder != plain.folder:
        lines.append(f"folder = {_quote(command.folder)}")
    if command.environment:
        values = (
            f"{_key(name)} = "
            + (f"{{ secret = {_quote(value.variable)} }}" if isinstance(value, Secret) else _quote(value))
            for name, value in command.environment.items()
        )
        lines.append(f"environment = {{ {', '.join(values)} }}")
    for name in ("inputs", "artifacts"):
        if items := getattr(command, name):
            lines.append(f"{name} = {_list(items)}")
    if command.report:
        lines.append(f"report = {_quote(command.report)}")
    lines.append(f"time_limit = {_quote(format_duration(command.time_limit_ms))}")
    lines.append(f"max_cost = {command.max_cost}")
    if command.output_limit_bytes != plain.output_limit_bytes:
        lines.append(f"output_limit = {_quote(format_size(command.output_limit_bytes))}")
    return lines


def _list(items: tuple[str, ...]) -> str:
    return f"[{', '.join(_quote(item) for item in items)}]"


def _key(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else _quote(name)


def _quote(text: str) -> str:
    """Write a TOML basic string: JSON's escapes are all valid in it, and only DEL needs one more."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
