"""What people call things on the command line: ``WO-118``, ``WO-118/2`` for a task, ``WO-118/2/1`` for an attempt.

``118`` is as good as ``WO-118``, and an identity (26 characters) as good as a name where it is unique: of a work
order, an attempt or an approval.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from engine.control.holds import WHOLE_ENGINE, Node
from engine.errors import InvalidValue, NotFound
from engine.interfaces.channel_client import EngineClient
from engine.interfaces.channel_methods import MOST_ROWS
from engine.states import ApprovalState, NodeKind
from engine.views.values import AttemptRow, TaskRow, WorkOrderStory

_NAME = re.compile(r"(?:WO-)?(\d{1,15})(?:/(\d{1,6}))?(?:/(\d{1,6}))?", re.IGNORECASE | re.ASCII)
_IDENTITY = re.compile(r"[0-9A-HJKMNP-TV-Z]{26}", re.IGNORECASE | re.ASCII)

ENGINE_NAME = "engine"
PROJECT_PREFIX = "project:"


@dataclass(frozen=True, slots=True)
class Name:
    """A name that was read: the work order, and perhaps a task and an attempt of it by their ordinals."""

    text: str
    work_order: str
    task: int | None = None
    attempt: int | None = None


def read_name(text: str) -> Name:
    """Read ``WO-118``, ``118``, ``WO-118/2``, ``WO-118/2/1`` or an identity; `InvalidValue` for anything else."""
    text = text.strip()
    if match := _NAME.fullmatch(text):
        number, task, attempt = match.groups()
        return Name(text, f"WO-{int(number)}", int(task) if task else None, int(attempt) if attempt else None)
    if _IDENTITY.fullmatch(text):
        return Name(text, text.upper())
    raise InvalidValue(
        f"{text!r} is no name of a work order, task or attempt.",
        do="Write WO-118, WO-118/2 for its second task, WO-118/2/1 for that task's first attempt, or an id.",
    )


async def find_work_order(client: EngineClient, text: str) -> WorkOrderStory:
    """Give the work order of this name; a task or attempt is none."""
    name = read_name(text)
    if name.task is not None:
        raise InvalidValue(f"{text} names a task; a work order is meant.", do=f"Write {name.work_order}.")
    return await client.work_order(name.work_order)


async def find_task(client: EngineClient, text: str) -> tuple[WorkOrderStory, TaskRow]:
    """Give the task of this name; a work order stands for its newest task, an attempt for its own."""
    name = read_name(text)
    story = await _story(client, name)
    if name.task is None:
        return story, story.tasks[-1]
    found = [task for task in story.tasks if task.ordinal == name.task]
    if not found:
        raise NotFound(
            f"{name.work_order} has no task {name.task}; it has {len(story.tasks)}.",
            do=f"Look at them: praxis show {name.work_order}",
        )
    return story, found[0]


async def find_attempt(client: EngineClient, text: str) -> tuple[str, AttemptRow]:
    """Give the attempt of this name with its full name; a task or work order stands for its newest attempt."""
    name = read_name(text)
    story = await _story(client, name)
    found = [
        (f"WO-{story.row.number}/{task.ordinal}/{attempt.ordinal}", attempt)
        for task in story.tasks
        for attempt in task.attempts
        if name.task in (None, task.ordinal)
        and name.attempt in (None, attempt.ordinal)
        and name.work_order in (f"WO-{story.row.number}", story.row.id, attempt.id)
    ]
    if not found:
        raise NotFound(
            f"{text} has no {'such ' if name.attempt else ''}attempt.",
            means="Nothing was run yet." if name.attempt is None else "",
            do=f"Look at it: praxis show {name.work_order}",
        )
    return max(found, key=lambda named: named[1].authorized_at)


async def find_approval(client: EngineClient, text: str, *states: ApprovalState) -> str:
    """Give the id of the newest request for approval of a task; a work order stands for the one that is open.

    ``states`` are those that make a request of a work order the meant one.
    """
    name = read_name(text)
    if _IDENTITY.fullmatch(name.work_order) and name.task is None:
        try:
            return (await client.approvals.card(name.work_order)).approval_id
        except NotFound:
            pass
    if name.task is not None:
        _, task = await find_task(client, text)
        if task.approval_id is None:
            raise NotFound(f"No approval was asked for {text} yet.")
        return task.approval_id
    story = await _story(client, name)
    asked = [task for task in story.tasks if task.approval_id is not None]
    found = [task for task in asked if task.approval_state in states]
    if len(found) > 1:
        names = ", ".join(f"WO-{story.row.number}/{task.ordinal}" for task in found)
        raise InvalidValue(f"{text} has several requests for approval.", do=f"Name one: {names}")
    chosen = found or asked[-1:]
    if not chosen or chosen[0].approval_id is None:
        raise NotFound(f"No approval was asked for {text} yet.")
    return chosen[0].approval_id


async def find_node(client: EngineClient, text: str) -> tuple[Node, str]:
    """Give what a control command acts on, and what to call it.

    That is ``engine``, ``project:NAME``, a work order or a task.
    """
    if text.strip().lower() == ENGINE_NAME:
        return WHOLE_ENGINE, "the whole engine"
    if text.startswith(PROJECT_PREFIX):
        return await _project_node(client, text.removeprefix(PROJECT_PREFIX))
    try:
        name = read_name(text)
    except InvalidValue as error:
        raise InvalidValue(error.what, do="Write engine, project:NAME, WO-118 or WO-118/2.") from None
    if name.attempt is not None:
        raise InvalidValue(
            f"{text} names an attempt.",
            do=f'Name a task or a work order. To stop it: praxis stop {text} --reason "why"',
        )
    story, task = await find_task(client, text)
    if name.task is None:
        return Node(NodeKind.WORK_ORDER, story.row.id), f"WO-{story.row.number}"
    return Node(NodeKind.TASK, task.id), f"WO-{story.row.number}/{task.ordinal}"


async def own_scope(client: EngineClient, node: Node) -> Node | None:
    """Give the scope of a work order's own budget, on which an overrun puts its hold; None for other nodes."""
    if node.kind is not NodeKind.WORK_ORDER:
        return None
    return Node(NodeKind.SCOPE, (await client.work_order(node.id)).budget[-1].scope_id)


async def _project_node(client: EngineClient, project: str) -> tuple[Node, str]:
    rows = await client.work_orders(text=project, limit=MOST_ROWS)
    for row in rows:
        if row.project == project:
            *_, scope, _own = (await client.work_order(row.id)).budget
            return Node(NodeKind.SCOPE, scope.scope_id), f"project {project}"
    raise NotFound(f"There is no project {project}.", do="Look at the projects: praxis budget list")


async def _story(client: EngineClient, name: Name) -> WorkOrderStory:
    """The work order of a name; an attempt's identity stands for the work order that it is part of."""
    try:
        return await client.work_order(name.work_order)
    except NotFound:
        if not _IDENTITY.fullmatch(name.work_order):
            raise
        missing = NotFound(f"There is no work order, attempt or approval {name.text}.")
    try:
        return await client.work_order((await client.evidence.of(name.work_order)).attempt.work_order_id)
    except NotFound:
        raise missing from None
