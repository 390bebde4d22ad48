"""Recording steps: every change of a wake is one entry of its history, in the transaction that made it."""

from __future__ import annotations

from engine.actors import ENGINE, Actor
from engine.instants import Instant
from engine.wakes.store import Transaction, WakeStore
from engine.wakes.values import Wake, WakeState

LONGEST_ERROR = 2_000
"""How much of an error's text is kept."""


def record_step(
    store: WakeStore,
    tx: Transaction,
    event: str,
    wake: Wake,
    now: Instant,
    *,
    before: WakeState | None = None,
    actor: Actor = ENGINE,
    why: str = "",
    **detail: object,
) -> None:
    """Record what happened to a wake, from which state into its present one; payloads are never recorded."""
    content: dict[str, object] = {"from": before, "to": wake.state, **detail}
    if why:
        content["why"] = why
    store.record(tx, event, "wake", wake.id, actor, now, content)


def error_text(error: BaseException) -> str:
    """What is kept of an error: its kind and its words, shortened, in a form that can be stored."""
    text = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    return text[:LONGEST_ERROR].encode("utf-8", "backslashreplace").decode()
