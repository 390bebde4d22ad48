"""The commands of `praxis` that look and ask: submit, list, show, explain, inbox, evidence."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from engine.clock import SystemClock
from engine.dispatch.display import command_line
from engine.errors import InvalidValue, NotFound
from engine.execution.blobs import BlobState
from engine.interfaces.channel_client import EngineClient
from engine.interfaces.cli_cards import (
    Line,
    approval_lines,
    attempt_lines,
    brief_command,
    evidence_lines,
    gate_table,
    plan_lines,
    story_lines,
    task_lines,
)
from engine.interfaces.cli_common import KeyOption, command
from engine.interfaces.cli_names import find_approval, find_attempt, find_task, read_name
from engine.interfaces.cli_output import NOBODY_WORKS, Output, age, shown, table, until, word
from engine.interfaces.cli_session import Session
from engine.interfaces.work_order_file import read_work_order
from engine.scheduling.gates import Gate
from engine.states import ApprovalState, TaskState, WorkOrderState
from engine.views.values import AttemptRow, DryCheck, EvidenceView, InboxRow, WorkOrderRow
from engine.work_order import WorkOrderSpec

_CHUNK = 1 << 16

Limit = Annotated[int, typer.Option("--limit", min=1, max=1000, help="At most this many rows.")]


def add_looking_commands(app: typer.Typer) -> None:
    """Add the commands of this module."""
    command(app, "submit")(submit)
    command(app, "ask-again")(ask_again)
    command(app, "list")(list_work_orders)
    command(app, "inbox")(inbox)
    command(app, "show")(show)
    command(app, "explain")(explain)
    command(app, "evidence")(evidence)


async def submit(
    session: Session,
    files: Annotated[list[Path], typer.Argument(metavar="FILE...", help="Work orders in TOML or JSON.")],
    check: Annotated[bool, typer.Option("--check", help="Plan and seal it, but submit nothing.")] = False,
    key: KeyOption = None,
) -> None:
    """Submit work orders. All files are read before the first is submitted; nothing runs before an approval."""
    specs = [read_work_order(path) for path in files]
    if key is not None and len(specs) > 1:
        raise InvalidValue("One key stands for one work order.", do="Submit the files one by one.")
    async with session.client(create=True) as client:
        if check:
            checks = tuple([await client.check(spec) for spec in specs])
            session.out.result(checks, lambda: _check_lines(specs, checks))
            return
        rows = tuple([await client.submit(spec, key=key) for spec in specs])
        asked = [(await client.work_order(row.id)).tasks[-1].approval_state for row in rows]
    waits = [state is ApprovalState.PENDING for state in asked]
    session.out.result(rows, lambda: _submitted_lines(rows, waits))


def _check_lines(specs: list[WorkOrderSpec], checks: tuple[DryCheck, ...]) -> Iterator[Line]:
    for spec, found in zip(specs, checks, strict=True):
        yield Text(f"{shown(spec.title)} would be sealed as {found.seal}. Nothing was saved.", "bold")
        yield from plan_lines(found.plan)
        for warning in found.warnings:
            yield Text(f"note       {shown(warning)}", "yellow")


def _submitted_lines(rows: tuple[WorkOrderRow, ...], waits: Sequence[bool]) -> Iterator[Line]:
    for row, waiting in zip(rows, waits, strict=True):
        yield f"WO-{row.number} “{shown(row.title)}”: {shown(row.why)}"
        if waiting:
            yield f"Look at what would run and approve it: praxis approve WO-{row.number}"


async def ask_again(
    session: Session, task: Annotated[str, typer.Argument(help="WO-118 or WO-118/2.")]
) -> None:
    """Plan a task afresh and ask for its approval again, after a request ended or what would run changed."""
    async with session.client() as client:
        _, row = await find_task(client, task)
        card = await client.approvals.ask_again(row.id)
    session.out.result(
        card,
        lambda: [
            f"Asked again for WO-{card.number}/{row.ordinal}: praxis approve WO-{card.number}/{row.ordinal}"
        ],
    )


async def list_work_orders(
    session: Session,
    state: Annotated[
        list[WorkOrderState] | None, typer.Option("--state", case_sensitive=False, help="Only in this state.")
    ] = None,
    text: Annotated[
        str, typer.Option("--text", help="Only with this in title, project, workspace or name.")
    ] = "",
    after: Annotated[
        str | None,
        typer.Option("--after", metavar="WO-118", help="Go on after this one, the last of a page."),
    ] = None,
    limit: Limit = 50,
) -> None:
    """List work orders, newest change first, with what each waits for."""
    async with session.client(reading=True) as client:
        last = (await client.work_order(read_name(after).work_order)).row.id if after else None
        rows = await client.work_orders(after=last, limit=limit, text=text, states=tuple(state or ()))
    session.out.result(rows, lambda: _list_lines(rows, limit))


def _list_lines(rows: tuple[WorkOrderRow, ...], limit: int) -> Iterator[Line]:
    now = SystemClock().now()
    if not rows:
        yield "No work orders."
        return
    yield table(
        ("name", "state", "step", "changed", "title", "why"),
        (
            [
                f"WO-{row.number}",
                word(row.state.value),
                row.purpose.lower() if row.purpose else "",
                f"{age(row.changed_at, now)} ago",
                shown(row.title),
                shown(row.why),
            ]
            for row in rows
        ),
    )
    if len(rows) == limit:
        yield f"There may be more: praxis list --after WO-{rows[-1].number}"


async def inbox(session: Session, limit: Limit = 50) -> None:
    """List the requests for approval that wait, oldest first."""
    async with session.client(reading=True) as client:
        rows = await client.approvals.inbox(limit=limit)
    session.out.result(rows, lambda: _inbox_lines(rows))


def _inbox_lines(rows: tuple[InboxRow, ...]) -> Iterator[Line]:
    now = SystemClock().now()
    if not rows:
        yield "Nothing waits for approval."
        return
    yield table(
        ("name", "step", "asked", "by", "expires", "seal", "command"),
        (
            [
                f"WO-{row.number}",
                row.purpose.lower() + (" (changed)" if row.changed else ""),
                f"{age(row.asked_at, now)} ago",
                shown(str(row.asked_by)),
                until(row.expires_at, now),
                row.seal[:12],
                brief_command(row.argv),
            ]
            for row in rows
        ),
    )


async def show(
    session: Session, name: Annotated[str, typer.Argument(help="WO-118, WO-118/2, WO-118/2/1 or an id.")]
) -> None:
    """Show a work order from request to acceptance, a task with its newest approval, or an attempt."""
    async with session.client(reading=True) as client:
        wanted = read_name(name)
        if wanted.attempt is not None:
            await _show_attempt(session, client, name)
        elif wanted.task is not None:
            await _show_task(session, client, name)
        else:
            await _show_work_order(session, client, name)


async def _show_work_order(session: Session, client: EngineClient, name: str) -> None:
    try:
        story = await client.work_order(read_name(name).work_order)
    except NotFound:
        await _show_attempt(session, client, name)
        return
    session.out.result(story, lambda: story_lines(story, SystemClock().now()))


async def _show_attempt(session: Session, client: EngineClient, name: str) -> None:
    full_name, attempt = await find_attempt(client, name)
    session.out.result(attempt, lambda: _attempt(attempt, full_name))


async def _show_task(session: Session, client: EngineClient, name: str) -> None:
    story, task = await find_task(client, name)
    card = (
        await client.approvals.card(await find_approval(client, name, *ApprovalState))
        if task.approval_id
        else None
    )

    def lines() -> Iterator[Line]:
        yield from task_lines(story.row.number, task)
        if card is not None:
            yield ""
            yield from approval_lines(card, f"WO-{card.number}/{task.ordinal}", SystemClock().now())

    session.out.result({"task": task, "approval": card}, lines)


def _attempt(attempt: AttemptRow, name: str) -> Iterator[Line]:
    yield from attempt_lines(attempt, name)
    yield Text(f"    {command_line(attempt.argv)}")
    yield f"    seal {attempt.seal}"
    yield f"What was observed: praxis evidence {attempt.id}"


async def explain(session: Session, name: Annotated[str, typer.Argument(help="WO-118 or WO-118/2.")]) -> None:
    """Say why a task is not running: every gate, open or closed. A work order stands for its newest task."""
    async with session.client(reading=True) as client:
        story, task = await find_task(client, name)
        gates = await client.explain(task.id)
        alone = client.alone
    name = f"WO-{story.row.number}/{task.ordinal}"
    session.out.result(gates, lambda: _gate_lines(name, task.state, gates, alone))


def _gate_lines(name: str, state: TaskState, gates: tuple[Gate, ...], alone: bool) -> Iterator[Line]:
    if state not in (TaskState.WAITING, TaskState.READY, TaskState.CLAIMED):
        yield f"{name} is {state}, so it does not wait. The gates are as another attempt would find them now."
        alone = False
    closed = [gate for gate in gates if not gate.open]
    yield f"{name}: {len(closed)} of {len(gates)} gates closed." if closed else f"{name}: every gate is open."
    yield gate_table(gates)
    if alone:
        yield NOBODY_WORKS


async def evidence(
    session: Session,
    name: Annotated[str, typer.Argument(help="WO-118/2/1, or WO-118 for its newest attempt, or an id.")],
    stdout: Annotated[bool, typer.Option("--stdout", help="Print what the command wrote to stdout.")] = False,
    stderr: Annotated[bool, typer.Option("--stderr", help="Print what the command wrote to stderr.")] = False,
    verify: Annotated[
        bool, typer.Option("--verify", help="Read every kept file again, compare digests.")
    ] = False,
) -> None:
    """Show what was observed of an attempt, or print its output.

    Into a pipe or file the output goes byte for byte. On a terminal everything hidden in it is spelled out.
    """
    if stdout and stderr:
        raise InvalidValue("One output at a time can be printed.", do="Give --stdout or --stderr.")
    if (stdout or stderr) and session.out.as_json:
        raise InvalidValue(
            "Output is bytes, not JSON.", do="Leave --json out, or read the file that the JSON names."
        )
    async with session.client(reading=True) as client:
        full_name, attempt = await find_attempt(client, name)
        view = await client.evidence.of(attempt.id)
        if stdout or stderr:
            _print_output(view, "stdout" if stdout else "stderr")
            return
        if verify:
            await _verify(session, client, view)
            return
    session.out.result(view, lambda: evidence_lines(view, full_name))


async def _verify(session: Session, client: EngineClient, view: EvidenceView) -> None:
    states = {blob.sha256: await client.evidence.verify_blob(blob.sha256) for blob in view.blobs}
    wrong = [blob for blob in view.blobs if states[blob.sha256] is not BlobState.TRUE]
    found = [
        {"role": blob.role, "path": blob.path, "sha256": blob.sha256, "state": states[blob.sha256]}
        for blob in view.blobs
    ]

    def lines() -> Iterator[Line]:
        yield table(
            ("kept", "path", "is", "sha256"),
            ([blob.role, shown(blob.path), states[blob.sha256].value, blob.sha256] for blob in view.blobs),
        )

    session.out.result(found, lines)
    if wrong:
        raise NotFound(
            f"{len(wrong)} of {len(view.blobs)} kept files are missing or not what they were.",
            means="They no longer prove what was observed.",
            do="Look for them in a backup.",
        )


def _print_output(view: EvidenceView, role: str) -> None:
    path = view.stdout_file if role == "stdout" else view.stderr_file
    if path is None:
        raise NotFound(f"No {role} was kept of attempt {view.attempt.id}.")
    try:
        with Path(path).open("rb") as file:
            if sys.stdout.isatty():
                out = Output(as_json=False)
                for line in file:
                    out.line(shown(line.decode("utf-8", "backslashreplace").rstrip("\r\n")))
            else:
                sys.stdout.flush()
                shutil.copyfileobj(file, sys.stdout.buffer, _CHUNK)
                sys.stdout.buffer.flush()
    except FileNotFoundError as error:
        raise NotFound(
            f"The {role} of attempt {view.attempt.id} is missing.",
            means=f"{path} was there once, or nothing was written yet.",
            do="Look for it in a backup if the attempt has ended.",
        ) from error
