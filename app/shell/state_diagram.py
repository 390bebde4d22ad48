"""The diagram of the states, drawn from the engine's own tables, so that it can never say anything else.

``python -m app.shell.state_diagram`` prints it as SVG in the light colours; that is ``resources/docs/states.svg``.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from html import escape
from typing import Any

from app.theme.states import look_of, state_word
from app.theme.tokens import LIGHT, Tokens
from engine.states import (
    APPROVAL_TRANSITIONS,
    ATTEMPT_TRANSITIONS,
    CLAIM_TRANSITIONS,
    GRANT_TRANSITIONS,
    TASK_TRANSITIONS,
    WORK_ORDER_TRANSITIONS,
    ApprovalState,
    AttemptState,
    ClaimState,
    GrantState,
    TaskState,
    WorkOrderState,
)

_BOX_WIDTH, _BOX_HEIGHT = 138.0, 30.0
_ACROSS, _DOWN = 178.0, 62.0
_LEFT, _HEAD = 24.0, 58.0
_TWO_WAY = 5.0
"""How far the two arrows of a pair that goes both ways stand beside each other."""

Place = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Machine:
    """One kind of thing: its heading, its table, and where each state stands (column, row)."""

    title: str
    table: Mapping[Any, frozenset[Any]]
    places: Mapping[StrEnum, Place]


_W, _T, _C = WorkOrderState, TaskState, ClaimState
_P, _G, _A = ApprovalState, GrantState, AttemptState

MACHINES: tuple[Machine, ...] = (
    Machine(
        "Work order: what was asked for, from the request to the acceptance",
        WORK_ORDER_TRANSITIONS,
        {
            _W.ACTIVE: (0, 1),
            _W.AWAITING_ACCEPTANCE: (2, 0),
            _W.DECISION_NEEDED: (2, 1),
            _W.CANCELLING: (2, 2),
            _W.ACCEPTED: (5, 0),
            _W.REJECTED: (5, 1),
            _W.CANCELLED: (5, 2),
        },
    ),
    Machine(
        "Task: one step of it (implement, validate, correct, hand over)",
        TASK_TRANSITIONS,
        {
            _T.WAITING: (0, 0.4),
            _T.READY: (1, 0.4),
            _T.CLAIMED: (2, 0.4),
            _T.DISPATCHED: (3.1, 0.4),
            _T.SUCCEEDED: (5, 0),
            _T.UNKNOWN: (4, 1.7),
            _T.FAILED: (5, 0.8),
            _T.CANCELLED: (2.6, 2.6),
        },
    ),
    Machine(
        "Claim: a worker's word that it takes a task now",
        CLAIM_TRANSITIONS,
        {_C.LIVE: (0, 1), _C.CONSUMED: (2, 0), _C.RELEASED: (2, 1), _C.EXPIRED: (2, 2)},
    ),
    Machine(
        "Approval: a person's word for exactly one sealed plan",
        APPROVAL_TRANSITIONS,
        {
            _P.PENDING: (0, 1),
            _P.APPROVED: (2, 0.5),
            _P.REJECTED: (1.2, 2.4),
            _P.CONSUMED: (5, 0),
            _P.WITHDRAWN: (5, 0.8),
            _P.EXPIRED: (5, 1.6),
            _P.CHANGED: (5, 2.4),
        },
    ),
    Machine(
        "Standing grant: a person's word beforehand for identical plans, so many times, until an end",
        GRANT_TRANSITIONS,
        {
            _G.LIVE: (0, 0.9),
            _G.USED_UP: (2, 0.2),
            _G.EXPIRED: (2, 1.8),
            _G.REVOKED: (5, 0.6),
            _G.VOID: (5, 1.4),
        },
    ),
    Machine(
        "Attempt: one authorised run of a task",
        ATTEMPT_TRANSITIONS,
        {
            _A.DISPATCH_AUTHORIZED: (0, 0.4),
            _A.DELIVERED: (1, 0.4),
            _A.ACKNOWLEDGED: (2, 0.4),
            _A.RUNNING: (3, 0.4),
            _A.EXECUTED: (4, 0.4),
            _A.SETTLED: (5, 0.4),
            _A.UNKNOWN: (3.2, 1.5),
            _A.VOIDED: (1.2, 2.4),
        },
    ),
)


def state_diagram(colours: Tokens = LIGHT) -> str:
    """The whole diagram as SVG."""
    parts: list[str] = []
    top = 0.0
    width = _LEFT * 2 + 5 * _ACROSS + _BOX_WIDTH
    for machine in MACHINES:
        parts += _machine(machine, top, colours)
        rows = max(row for _, row in machine.places.values())
        top += _HEAD + rows * _DOWN + _BOX_HEIGHT + 26
    ink = colours.muted.name()
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:g}" height="{top:g}" viewBox="0 0 {width:g} {top:g}" '
        'font-family="Segoe UI, Inter, Noto Sans, DejaVu Sans, sans-serif" font-size="13">\n'
        f'<rect width="{width:g}" height="{top:g}" fill="{colours.surface.name()}"/>\n'
        f'<g fill="none" stroke="{ink}" stroke-width="1.3">\n'
    )
    lines = [part for part in parts if part.startswith(("<path", "<polygon"))]
    boxes = [part for part in parts if part not in lines]
    return head + "\n".join(lines) + "\n</g>\n" + "\n".join(boxes) + "\n</svg>\n"


def _machine(machine: Machine, top: float, colours: Tokens) -> list[str]:
    parts = [
        f'<text x="{_LEFT:g}" y="{top + 30:g}" font-weight="bold" fill="{colours.text.name()}">'
        f"{escape(machine.title)}</text>"
    ]
    centres = {state: _centre(place, top) for state, place in machine.places.items()}
    for state, targets in machine.table.items():
        for target in sorted(targets, key=list(machine.table).index):
            both = state in machine.table[target]
            parts += _arrow(centres[state], centres[target], list(centres.values()), colours, both=both)
    for state, (x, y) in centres.items():
        ink, ground = colours.tone(look_of(state).tone)
        final = not machine.table[state]
        parts.append(
            f'<rect x="{x - _BOX_WIDTH / 2:g}" y="{y - _BOX_HEIGHT / 2:g}" width="{_BOX_WIDTH:g}" '
            f'height="{_BOX_HEIGHT:g}" rx="5" fill="{ground.name()}" stroke="{ink.name()}" '
            f'stroke-width="{2.2 if final else 1}"/>'
        )
        parts.append(
            f'<text x="{x:g}" y="{y + 4.5:g}" text-anchor="middle" fill="{ink.name()}">'
            f"{escape(state_word(state))}</text>"
        )
    return parts


def _centre(place: Place, top: float) -> Place:
    return (
        _LEFT + place[0] * _ACROSS + _BOX_WIDTH / 2,
        top + _HEAD + place[1] * _DOWN + _BOX_HEIGHT / 2,
    )


def _arrow(start: Place, end: Place, others: list[Place], colours: Tokens, *, both: bool) -> list[str]:
    """A line from box to box; an arc over those that stand between in the same row."""
    between = [
        x for x, y in others if y == start[1] == end[1] and min(start[0], end[0]) < x < max(start[0], end[0])
    ]
    ink = colours.muted.name()
    if between:
        lift = 34.0
        sx, ex = start[0], end[0] + (12 if end[0] < start[0] else -12)
        sy, ey = start[1] - _BOX_HEIGHT / 2, end[1] - _BOX_HEIGHT / 2
        path = f'<path d="M {sx:.1f} {sy:.1f} C {sx:.1f} {sy - lift:.1f} {ex:.1f} {ey - lift:.1f} {ex:.1f} {ey:.1f}"/>'
        return [path, _tip((ex, ey), math.pi / 2, ink)]
    angle = math.atan2(end[1] - start[1], end[0] - start[0])
    if both:
        dx, dy = -math.sin(angle) * _TWO_WAY, math.cos(angle) * _TWO_WAY
        start, end = (start[0] + dx, start[1] + dy), (end[0] + dx, end[1] + dy)
    first, last = _edge(start, angle), _edge(end, angle + math.pi)
    path = f'<path d="M {first[0]:.1f} {first[1]:.1f} L {last[0]:.1f} {last[1]:.1f}"/>'
    return [path, _tip(last, angle, ink)]


def _edge(centre: Place, angle: float) -> Place:
    """Where a ray from a box's centre leaves the box."""
    across, down = math.cos(angle), math.sin(angle)
    reach = min(
        _BOX_WIDTH / 2 / abs(across) if across else math.inf,
        _BOX_HEIGHT / 2 / abs(down) if down else math.inf,
    )
    return centre[0] + across * reach, centre[1] + down * reach


def _tip(at: Place, angle: float, ink: str) -> str:
    points = [at]
    for side in (2.75, -2.75):
        points.append((at[0] + 9 * math.cos(angle + side), at[1] + 9 * math.sin(angle + side)))
    return '<polygon points="{}" fill="{}" stroke="none"/>'.format(
        " ".join(f"{x:.1f},{y:.1f}" for x, y in points), ink
    )


if __name__ == "__main__":
    print(state_diagram(), end="")
