"""The form of a work order file, as pydantic models: what TOML and JSON files may say, and the JSON Schema."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Discriminator, Field, Tag
from pydantic_core import PydanticCustomError

from engine.durations import parse_duration, parse_size
from engine.errors import OutsideWorkspace, PraxisError
from engine.instants import Instant, parse_instant
from engine.work_order import DEFAULT_APPROVAL_LIFE_MS, DEFAULT_OUTPUT_LIMIT_BYTES, DEFAULT_TIME_LIMIT_MS
from engine.workspace.containment import parts_of

LARGEST_COST = 10**15
"""The most that a cost may be, so that sums of many stay exact in every program that reads them."""

_SURROGATE = re.compile("[\ud800-\udfff]")
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")


def problem(message: str) -> PydanticCustomError:
    """Make a validation error of one sentence; its text may hold braces."""
    return PydanticCustomError("praxis", "{sentence}", {"sentence": message})


def _text(value: object) -> object:
    if isinstance(value, str):
        if "\0" in value:
            raise problem("holds a NUL character, which no program can be given; remove it")
        if _SURROGATE.search(value):
            raise problem("holds half of a surrogate pair, which is no character; remove it")
    return value


def _line(value: object) -> object:
    if isinstance(value, str):
        if not value.strip():
            raise problem("is empty; write something a person will recognise")
        if _CONTROL.search(value):
            raise problem("holds a line break or control character; write it in one line")
        if len(value) > 200:
            raise problem(f"has {len(value):,} characters; keep it within 200")
    return value


def _written(value: object) -> object:
    if isinstance(value, str) and not value.strip():
        raise problem("is empty; write down how the result will be judged")
    return value


def _relative(*, pattern: bool = False, optional: bool = False) -> Callable[[object], object]:
    def check(value: object) -> object:
        if isinstance(value, str) and not (optional and value == ""):
            try:
                parts_of(value, pattern=pattern)
            except OutsideWorkspace as error:
                raise problem(_sentence(error)) from error
        return value

    return check


def _converted(convert: Callable[[object], object], name: str) -> Callable[[object], object]:
    def check(value: object) -> object:
        try:
            return convert(value)
        except PraxisError as error:
            raise problem(_sentence(error)) from error

    check.__name__ = name
    return check


def _cost(value: object) -> object:
    if type(value) is not int or not 0 <= value <= LARGEST_COST:
        raise problem("is no cost; write a whole number of budget units from 0 upwards, without quotes")
    return value


def _count(value: object) -> object:
    if type(value) is not int or not 0 <= value <= 1_000:
        raise problem("is no number of corrections; write a whole number from 0 to 1000")
    return value


def _instant(value: object) -> object:
    if not isinstance(value, str):
        raise problem('is not in quotes; write it as text, like "2026-09-10T00:00:00.000Z"')
    return parse_instant(value)


def _variable(value: object) -> object:
    if isinstance(value, str) and (not value or "=" in value or "\0" in value):
        raise problem("is no name for a variable; use a name without = and NUL")
    return value


def _sentence(error: PraxisError) -> str:
    return f"is not accepted: {_lower(error.what)}; {_lower(error.do)}"


def _lower(sentence: str) -> str:
    return sentence[:1].lower() + sentence[1:].removesuffix(".")


_DURATION_SCHEMA = Field(
    json_schema_extra={
        "type": ["string", "integer"],
        "description": "90s, 5m, 1h30m, or whole milliseconds",
        "exclusiveMinimum": 0,
    }
)

Text = Annotated[str, BeforeValidator(_text)]
Line = Annotated[str, BeforeValidator(_line), BeforeValidator(_text)]
Criteria = Annotated[str, BeforeValidator(_written), BeforeValidator(_text)]
RelativePath = Annotated[str, BeforeValidator(_relative()), BeforeValidator(_text)]
OptionalPath = Annotated[str, BeforeValidator(_relative(optional=True)), BeforeValidator(_text)]
Pattern = Annotated[str, BeforeValidator(_relative(pattern=True)), BeforeValidator(_text)]
Variable = Annotated[str, BeforeValidator(_variable), BeforeValidator(_text)]
Duration = Annotated[int, BeforeValidator(_converted(parse_duration, "duration")), _DURATION_SCHEMA]
Size = Annotated[
    int,
    BeforeValidator(_converted(parse_size, "size")),
    Field(json_schema_extra={"type": ["string", "integer"], "description": "64MiB, or whole bytes"}),
]
Cost = Annotated[
    int, BeforeValidator(_cost), Field(json_schema_extra={"minimum": 0, "maximum": LARGEST_COST})
]
Count = Annotated[int, BeforeValidator(_count), Field(json_schema_extra={"minimum": 0, "maximum": 1_000})]
DueAt = Annotated[
    Instant,
    BeforeValidator(_converted(_instant, "instant")),
    Field(
        json_schema_extra={"type": "string", "description": "canonical UTC, 2026-09-10T00:00:00.000Z"},
    ),
]


class _Form(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class SecretForm(_Form):
    """An environment value by reference to a variable of the console."""

    secret: Variable = Field(description="The console's variable that holds the value.")


def _kind_of_value(value: Any) -> str | None:
    if isinstance(value, str):
        return "text"
    return "secret" if isinstance(value, dict | SecretForm) else None


EnvironmentForm = Annotated[
    Annotated[Text, Tag("text")] | Annotated[SecretForm, Tag("secret")],
    Discriminator(
        _kind_of_value,
        custom_error_type="praxis",
        custom_error_message='is neither text nor a secret; write "value" or { secret = "VARIABLE" }',
    ),
]


class _CommandFields(_Form):
    folder: RelativePath = Field(default=".", description="Working folder, relative to the workspace.")
    environment: dict[Variable, EnvironmentForm] = Field(
        default={}, description="Values set for the command, on top of a small base."
    )
    inputs: list[RelativePath] = Field(
        default=[], description="Files and folders that are sealed with it, relative to the workspace."
    )
    artifacts: list[Pattern] = Field(
        default=[], description="Files to keep as evidence; * and ** are allowed."
    )
    report: OptionalPath = Field(default="", description="A JUnit XML file that it writes.")
    time_limit: Duration = DEFAULT_TIME_LIMIT_MS
    max_cost: Cost = 0
    output_limit: Size = DEFAULT_OUTPUT_LIMIT_BYTES


class CommandForm(_CommandFields):
    """A command: what runs, where, and within which limits."""

    argv: list[Text] = Field(
        min_length=1, description="Program and arguments, one element each; no shell reads them."
    )


class ValidationForm(_CommandFields):
    """How the result is judged: by a command's exit code, or by a person."""

    by: Literal["command", "person"] = "command"
    criteria: Criteria = Field(description="Fixed beforehand: what must be true of the result.")
    argv: list[Text] | None = Field(default=None, min_length=1, description="The command that judges.")


class CorrectionForm(_CommandFields):
    """What a failed validation may start. Without ``argv`` the implementation's command is repeated."""

    max: Count = Field(default=0, description="How many corrections may follow one another.")
    reapproval_required: bool = True
    argv: list[Text] | None = Field(default=None, min_length=1, description="The command that corrects.")


class LimitsForm(_Form):
    """The budget of the work order. What is left out is enough for all its steps once."""

    cost: Cost | None = None
    time: Duration | None = None
    handoff_cost: Cost = 0
    handoff_time: Duration | None = None


class WorkOrderForm(_Form):
    """A work order for Praxis Console."""

    model_config = ConfigDict(title="Work order")

    title: Line
    workspace: Text = Field(
        min_length=1, description="The folder to work in, whole or relative to this file."
    )
    implementation: CommandForm
    validation: ValidationForm
    project: Line = Field(default="default", description="The budget above this work order's own.")
    reason: Text = Field(default="", description="Why it is asked for; not part of what is sealed.")
    due_at: DueAt | None = Field(default=None, description="Not before this instant.")
    approval_life: Duration = DEFAULT_APPROVAL_LIFE_MS
    correction: CorrectionForm = CorrectionForm()
    limits: LimitsForm = LimitsForm()


def work_order_json_schema() -> dict[str, Any]:
    """Give the JSON Schema (draft 2020-12) of a work order file."""
    schema = WorkOrderForm.model_json_schema(mode="validation")
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}
