"""Planning tasks: from a work order's step to a sealed plan, now (E-40 to E-42b).

The planner reads files and runs git, so its methods are called in threads. It is asked twice for each attempt:
when approval is asked for, and again right before admission; equal seals mean that nothing has drifted.
"""

from __future__ import annotations

import logging
import os
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from engine.canonical import canonical_json
from engine.clock import Clock
from engine.dispatch.approvals import Sealed
from engine.dispatch.plan import Prepared, make_plan, seal_of
from engine.errors import InvalidWorkOrder, PraxisError, StorageError
from engine.states import Purpose
from engine.work_order import CommandSpec, ValidatedBy, WorkOrderSpec
from engine.workspace.repository import (
    AS_LEFT_BY_APPROVED_STEP,
    AS_LEFT_BY_FAILED_VALIDATION,
    WorkspaceState,
)

SECRET_KEY_FILE = "secret.key"
SECRET_KEY_BYTES = 32

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Step:
    """What is to be planned: one command of a work order for one purpose.

    ``covered`` says that its approval was given before: a validation's together with its step, so that the
    workspace is sealed as that step leaves it; a correction's by an earlier approval of its command, so that the
    workspace is sealed as the failed validation left it, if it is still so. ``left`` is that state, as it was
    recorded. ``own_validation`` is the validation that one look may cover with it.
    """

    purpose: Purpose
    command: CommandSpec
    spec: WorkOrderSpec
    covered: bool = False
    left: WorkspaceState | None = None

    @property
    def own_validation(self) -> CommandSpec | None:
        """The validation command that follows this step, if a command judges it."""
        if self.purpose is Purpose.VALIDATE or self.spec.validation.by is not ValidatedBy.COMMAND:
            return None
        return self.spec.validation.command


@dataclass(frozen=True, slots=True)
class PlannedStep:
    """A step as it would run now: what to start it with, and its sealed texts."""

    prepared: Prepared
    sealed: Sealed


class Planner:
    """Plans steps with one data folder's key and the console's environment, read afresh each time."""

    def __init__(
        self,
        data_folder: Path,
        secret_key: bytes,
        clock: Clock,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        self._data_folder = data_folder
        self._secret_key = secret_key
        self._clock = clock
        self._environment = environment

    def plan(self, step: Step) -> PlannedStep:
        """Look at everything the step would run with and seal it. Blocks; call it in a thread.

        Raises `InvalidWorkOrder` or `OutsideWorkspace` with what is missing. A validation that cannot be planned
        yet (the step before makes what it needs) is left out of the look; it is then asked for on its own.
        Whatever else goes wrong is an `InvalidWorkOrder` too: one odd step must not stop all others.
        """
        try:
            return self._plan(step)
        except PraxisError:
            raise
        except Exception as error:
            _log.exception("A step could not be planned.")
            raise InvalidWorkOrder(
                f"The step cannot be planned: {str(error) or type(error).__name__}.",
                do="Look at the log in the data folder for what is behind it.",
            ) from error

    def _plan(self, step: Step) -> PlannedStep:
        self._refuse_own_folder(step.spec.workspace)
        prepared = self._make(step.purpose, step.command, step.spec, _state_for(step))
        if step.covered and step.purpose is not Purpose.VALIDATE and prepared.plan.state == step.left:
            left = replace(prepared.plan, state=AS_LEFT_BY_FAILED_VALIDATION)
            prepared = replace(prepared, plan=left)
        validation = step.own_validation
        plan_text = canonical_json(prepared.plan.to_json()).decode()
        if validation is None:
            return PlannedStep(prepared, Sealed(plan_text, seal_of(prepared.plan)))
        try:
            after = self._make(Purpose.VALIDATE, validation, step.spec, AS_LEFT_BY_APPROVED_STEP).plan
        except InvalidWorkOrder:
            return PlannedStep(prepared, Sealed(plan_text, seal_of(prepared.plan)))
        sealed = Sealed(
            plan_text, seal_of(prepared.plan), canonical_json(after.to_json()).decode(), seal_of(after)
        )
        return PlannedStep(prepared, sealed)

    def _refuse_own_folder(self, workspace: str) -> None:
        """The engine writes into its data folder all the time; as part of a workspace it would be drift."""
        inside = os.path.realpath(self._data_folder)
        root = os.path.realpath(workspace)
        if Path(os.path.normcase(inside)).is_relative_to(os.path.normcase(root)):
            raise InvalidWorkOrder(
                f"The data folder {self._data_folder} lies inside the workspace {workspace}.",
                means="Every commit of the engine would change the workspace, and nothing approved could ever run.",
                do="Choose a workspace without it, or start with another data folder (--data FOLDER).",
                field="workspace",
            )

    def _make(
        self, purpose: Purpose, command: CommandSpec, spec: WorkOrderSpec, state: WorkspaceState | None
    ) -> Prepared:
        environment = dict(os.environ) if self._environment is None else self._environment
        return make_plan(
            purpose,
            command,
            spec.validation.criteria,
            spec.workspace,
            base_environment=environment,
            secret_key=self._secret_key,
            state=state,
            now=self._clock.now(),
        )


def reason_of(error: PraxisError) -> str:
    """An error as a reason that can be stored, whatever names of files it holds."""
    return str(error).encode("utf-8", "backslashreplace").decode("utf-8")


def lane_of(workspace: str) -> str:
    """The name of a workspace's lane: its absolute path with links resolved and, on Windows, case folded."""
    return os.path.normcase(os.path.realpath(workspace))


def read_secret_key(folder: Path) -> bytes:
    """The data folder's key under which secrets are sealed, made for this user only if it is not there."""
    path = folder / SECRET_KEY_FILE
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o600)
    except FileExistsError:
        key = path.read_bytes()
    except OSError as error:
        raise StorageError(
            f"The key file {path} cannot be made: {error.strerror}.",
            do="Give yourself access to the data folder.",
        ) from error
    else:
        with os.fdopen(descriptor, "wb") as file:
            key = secrets.token_bytes(SECRET_KEY_BYTES)
            file.write(key)
            file.flush()
            os.fsync(file.fileno())
    if len(key) != SECRET_KEY_BYTES:
        raise StorageError(
            f"The key file {path} holds {len(key)} bytes instead of {SECRET_KEY_BYTES}.",
            means="Secrets that were sealed before cannot be compared any more.",
            do="Restore it from a backup, or remove it: a new key is made, and plans with secrets are asked again.",
        )
    return key


def _state_for(step: Step) -> WorkspaceState | None:
    return AS_LEFT_BY_APPROVED_STEP if step.covered and step.purpose is Purpose.VALIDATE else None
