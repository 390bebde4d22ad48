"""Who does something: every decision and every journal row names an actor."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class ActorKind(StrEnum):
    """The kinds of actor; rights are given by kind (E-90)."""

    PERSON = "person"
    AGENT = "agent"
    SCRIPT = "script"
    WORKER = "worker"
    ENGINE = "engine"


@dataclass(frozen=True, slots=True)
class Actor:
    """One actor: its kind and the name it is known by."""

    kind: ActorKind
    name: str

    def __str__(self) -> str:
        return self.name if self.kind is ActorKind.PERSON else f"{self.kind} “{self.name}”"


ENGINE = Actor(ActorKind.ENGINE, "engine")
"""The engine itself, for what follows from rules and not from anybody's decision."""
