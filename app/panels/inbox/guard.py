"""The attention guard: when an approval may be sent at all (B-005, B-007, B-008).

It knows neither widgets nor the engine, only what is on the screen and how much elapsed time has passed, so
that every rule of it can be tried without a window and without waiting.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from enum import Enum, auto

ARMING_MS = 700
"""How long a card must have stood unchanged before it can be approved."""

ACTIVATION_MS = 300
"""A press this soon after the window became active is the press that activated it."""


class Block(Enum):
    """Why an approval cannot be sent now."""

    NOTHING_SHOWN = auto()
    NOT_DECIDABLE = auto()
    BUSY = auto()
    UNSEEN = auto()
    ARMING = auto()


@dataclass(frozen=True, slots=True)
class Readiness:
    """Whether an approval can be sent now; if not, why.

    ``remaining_ms`` counts down while arming; ``unseen`` names the commands whose end was not visible yet.
    """

    block: Block | None
    remaining_ms: int = 0
    unseen: tuple[str, ...] = ()

    @property
    def ready(self) -> bool:
        """Whether nothing stands against it."""
        return self.block is None


class AttentionGuard:
    """Decides from what was shown, for how long and how far, whether a press means approval.

    ``elapsed`` reads milliseconds of a clock that only goes forward. Content is known by an equality key: a
    different key means that something else is on the screen, and everything begins again.
    """

    def __init__(self, elapsed: Callable[[], int], arming_ms: int = ARMING_MS) -> None:
        self._elapsed = elapsed
        self._arming_ms = arming_ms
        self._content: Hashable = None
        self._decidable = False
        self._busy = False
        self._armed_from = 0
        self._must_see: tuple[str, ...] = ()
        self._seen: set[str] = set()
        self._watched = False
        self._looked_ms = 0
        self._looking_since: int | None = None
        self._activated_at: int | None = None

    def show(self, content: Hashable, *, decidable: bool, must_see: Sequence[str]) -> bool:
        """Say what is on the screen now; whether it differs from before.

        The same content keeps its arming, what was seen of it and its look time; other content loses all
        three.
        """
        same = content == self._content and self._content is not None
        self._decidable = decidable
        self._must_see = tuple(must_see)
        if same:
            return False
        self._content = content
        self._seen.clear()
        self._looked_ms = 0
        now = self._elapsed()
        self._armed_from = now
        self._looking_since = now if self._watched else None
        return True

    def clear(self) -> None:
        """Say that no card is shown."""
        self._content = None
        self._decidable = False
        self._must_see = ()
        self._seen.clear()
        self._looked_ms = 0
        self._looking_since = None

    def require(self, must_see: Sequence[str], *, decidable: bool = True) -> None:
        """Change what the decision covers, and whether there is one to make; what was seen stays seen."""
        self._must_see = tuple(must_see)
        self._decidable = decidable

    def saw_end(self, name: str) -> None:
        """Say that the end of this command's argv was visible."""
        self._seen.add(name)

    def watch(self, visible: bool) -> None:
        """Say whether the card is before a person's eyes: shown, in an active window. Look time counts so."""
        now = self._elapsed()
        if self._looking_since is not None:
            self._looked_ms += now - self._looking_since
            self._looking_since = None
        if visible and self._content is not None:
            self._looking_since = now
        self._watched = visible

    def disturb(self) -> None:
        """Say that what is shown may be changing: arming begins again."""
        self._armed_from = self._elapsed()

    def activate(self) -> None:
        """Say that the window just became active: that press decides nothing, and arming begins again."""
        self._activated_at = self._elapsed()
        self.disturb()

    def set_busy(self, busy: bool) -> None:
        """Say whether a decision is on its way to the engine; none is sent twice."""
        self._busy = busy

    def press_counts(self, window_active: bool) -> bool:
        """Whether a mouse press means anything beyond bringing the window to the front (B-007)."""
        if not window_active:
            return False
        return self._activated_at is None or self._elapsed() - self._activated_at >= ACTIVATION_MS

    def readiness(self) -> Readiness:
        """Tell whether an approval can be sent now, and the first thing against it."""
        if self._content is None:
            return Readiness(Block.NOTHING_SHOWN)
        if not self._decidable:
            return Readiness(Block.NOT_DECIDABLE)
        if self._busy:
            return Readiness(Block.BUSY)
        unseen = tuple(name for name in self._must_see if name not in self._seen)
        remaining = self._armed_from + self._arming_ms - self._elapsed()
        if unseen:
            return Readiness(Block.UNSEEN, max(remaining, 0), unseen)
        if remaining > 0:
            return Readiness(Block.ARMING, remaining)
        return Readiness(None)

    def allows_key(self, *, auto_repeat: bool) -> bool:
        """Whether the approval key counts now; a key held down never does."""
        return not auto_repeat and self.readiness().ready

    @property
    def content(self) -> Hashable:
        """The key of what is shown, None if nothing."""
        return self._content

    @property
    def look_ms(self) -> int:
        """How long the content has been before a person's eyes, in milliseconds of elapsed time."""
        if self._looking_since is None:
            return self._looked_ms
        return self._looked_ms + self._elapsed() - self._looking_since
