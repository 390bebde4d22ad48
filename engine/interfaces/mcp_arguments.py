"""What the tools of an agent take: one form each, whose docstring is the tool's description (E-92)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from engine.errors import InvalidValue, InvalidWorkOrder
from engine.interfaces.work_order_file import parse_work_order
from engine.states import WorkOrderState
from engine.work_order import WorkOrderSpec

LARGEST_FILE = 256 << 10
LARGEST_PART = 32 << 10
LONGEST_WAIT_SECONDS = 60

_Text = Annotated[str, Field(max_length=10_000)]
_Line = Annotated[str, Field(min_length=1, max_length=200)]
_Argv = Annotated[list[_Text], Field(min_length=1, max_length=500)]
_Paths = Annotated[list[_Line], Field(max_length=500)]
_WorkOrder = Annotated[str, Field(min_length=1, max_length=40, description="Like WO-118.")]
_Attempt = Annotated[
    str,
    Field(
        min_length=1,
        max_length=60,
        description="WO-118/2/1 is the first attempt of the second task; WO-118 stands for the newest attempt.",
    ),
]


class ToolArguments(BaseModel):
    """The arguments of a tool: of exact types, and nothing unknown among them."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class SubmitArguments(ToolArguments):
    """Ask for a command to be run.

    It is sealed exactly as it is and shown to a person, who approves or rejects it; nothing runs before that.
    Give title, argv and criteria, or a whole work order file as toml.
    """

    title: _Line | None = Field(default=None, description="What it does, in a few words.")
    argv: _Argv | None = Field(
        default=None, description="Program and arguments, one element each. No shell reads them."
    )
    criteria: _Text | None = Field(
        default=None, description="What must be true of the result, fixed beforehand."
    )
    validation_argv: _Argv | None = Field(
        default=None, description="A command whose exit code judges the result. Without it a person judges."
    )
    workspace: _Line | None = Field(
        default=None, description="The folder to work in, below the one where this agent was started."
    )
    folder: _Line | None = Field(default=None, description="Working folder, relative to the workspace.")
    inputs: _Paths | None = Field(default=None, description="Files that are sealed with the command.")
    artifacts: _Paths | None = Field(default=None, description="Files to keep as evidence; * is allowed.")
    time_limit: _Line | None = Field(default=None, description="Like 90s, 10m or 2h.")
    max_cost: int | None = Field(default=None, ge=0, description="The most budget units that it may use.")
    project: _Line | None = Field(default=None, description="The budget above this work order's own.")
    reason: _Text | None = Field(default=None, description="Why. The person reads it beside the plan.")
    toml: Annotated[str, Field(max_length=LARGEST_FILE)] | None = Field(
        default=None, description="A whole work order file instead of everything else."
    )

    def spec(self, workspace: Path) -> WorkOrderSpec:
        """Give the work order, checked as a file would be; a relative folder is below ``workspace``."""
        given = self.model_dump(exclude_none=True)
        if self.toml is not None:
            if len(given) > 1:
                raise InvalidValue(
                    "Give toml alone, or title, argv and criteria.", means="Nothing was submitted."
                )
            data = self.toml.encode("utf-8", "surrogatepass")
            return parse_work_order(data, name="toml", folder=workspace)
        missing = [name for name in ("title", "argv", "criteria") if name not in given]
        if missing:
            raise InvalidValue(
                f"{' and '.join(missing)} {'is' if len(missing) == 1 else 'are'} missing.",
                means="Nothing was submitted.",
                do="Give title, argv and criteria, or a whole work order file as toml.",
            )
        command = {"time_limit", "max_cost"} & given.keys()
        limits = {name: given[name] for name in command}
        implementation = {"argv", "folder", "inputs", "artifacts"} & given.keys()
        judged = (
            {"by": "command", "argv": self.validation_argv, **limits}
            if self.validation_argv is not None
            else {"by": "person"}
        )
        document: dict[str, Any] = {
            "workspace": str(workspace),
            **{name: given[name] for name in ("title", "workspace", "project", "reason") if name in given},
            "implementation": {**{name: given[name] for name in implementation}, **limits},
            "validation": {"criteria": self.criteria, **judged},
        }
        try:
            return parse_work_order(
                json.dumps(document).encode(), form="json", name="the work order", folder=workspace
            )
        except InvalidWorkOrder as error:
            raise InvalidValue(error.what, means="Nothing was submitted.", do=error.do) from error


class ListArguments(ToolArguments):
    """List the work orders that you asked for, newest change first."""

    states: list[WorkOrderState] = Field(
        default=[], max_length=20, strict=False, description="Only those in one of these states."
    )
    limit: int = Field(default=20, ge=1, le=50)
    after: _WorkOrder | None = Field(default=None, description="Go on after this one of your work orders.")


class NameArguments(ToolArguments):
    """One of your work orders."""

    name: _WorkOrder


class ShowArguments(NameArguments):
    """Look at one of your work orders.

    Its state and what it waits for, its approval, its attempts, how they were judged, and what a person decided.
    """


class AskAgainArguments(NameArguments):
    """Ask a person once more to approve one of your work orders.

    For when the request for approval was rejected, was withdrawn or has expired. It is planned and sealed afresh.
    """


class WaitArguments(NameArguments):
    """Wait until something changes about one of your work orders, at most a minute, then look at it.

    Call it again as long as you want to wait; give after to miss nothing in between.
    """

    after: int | None = Field(default=None, ge=0, description="The sequence of the last answer.")
    seconds: int = Field(default=30, ge=1, le=LONGEST_WAIT_SECONDS)


class CancelArguments(NameArguments):
    """Take back one of your work orders.

    Only as long as nothing of it was authorised to run; later only a person can cancel it.
    """

    reason: Annotated[str, Field(min_length=1, max_length=2_000)] = Field(description="Why; it is kept.")


class AttemptArguments(ToolArguments):
    """Look at what was observed of an attempt.

    Outcome, exit code, times, changed files, artifacts with digests, and how it was judged. UNKNOWN means that
    nobody knows whether it took effect; a person decides about it.
    """

    name: _Attempt


class OutputArguments(ToolArguments):
    """Read a part of what an attempt wrote, while it runs as well.

    Values of its secrets are masked.
    """

    name: _Attempt
    role: Annotated[str, Field(pattern="^(stdout|stderr|result|artifact)$")] = "stdout"
    path: Annotated[str, Field(max_length=4_096)] = Field(default="", description="Of an artifact.")
    offset: int = Field(default=0, ge=0, description="In bytes; go on at the end of the last answer.")
    limit: int = Field(default=8 << 10, ge=1, le=LARGEST_PART, description="In bytes.")


class WakesArguments(ToolArguments):
    """Wait until something that you booked for later has come, at most a minute: a follow-up, an event, an answer.

    What came while you were away is given at once, oldest first. Remember the sequence of the last one and give it
    as after; without it you are given everything of the last days again.
    """

    after: int = Field(default=0, ge=0, description="The sequence of the last answer.")
    seconds: int = Field(default=30, ge=0, le=LONGEST_WAIT_SECONDS)


def read_arguments(form: type[ToolArguments], tool: str, arguments: Mapping[str, Any]) -> ToolArguments:
    """Check an agent's arguments for a tool; `InvalidValue` names the first that is wrong."""
    try:
        return form.model_validate(dict(arguments))
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        where = ".".join(str(part) for part in first["loc"])[:100]
        raise InvalidValue(
            f"{tool}: {where + ': ' if where else ''}{first['msg'].removeprefix('Value error, ')}.",
            means="Nothing was done.",
            do="Look at the schema of the tool.",
        ) from error
