"""Keeps Python's collector of cyclic garbage from stopping the window.

A full collection looks at every object there is, in whichever thread happens to make the next one, and no other thread
runs meanwhile: with the whole program loaded that is 40 ms and more, several times a minute. What the start has
made (modules, classes, the window) stays to the end, so it is set aside once, and a collection looks only at what came
later. The same is done again when a full collection becomes long: pages that were visited and rows that were read stay,
too. What is set aside is still freed when nothing refers to it any more; only rings of it would stay.
"""

from __future__ import annotations

import gc
from time import thread_time
from typing import Literal

LONG_SECONDS = 0.008
"""A full collection that takes more processor time than half a frame has found too much that stays."""

_began = 0.0


def set_start_aside() -> None:
    """Leave everything that is there now out of later collections; a window from before a restore is freed first."""
    if gc.get_freeze_count():
        gc.unfreeze()
        gc.collect()
    gc.freeze()
    if _watch not in gc.callbacks:
        gc.callbacks.append(_watch)


def _watch(phase: Literal["start", "stop"], info: dict[str, int]) -> None:
    global _began
    if info["generation"] < 2:
        return
    if phase == "start":
        _began = thread_time()
    elif thread_time() - _began > LONG_SECONDS:
        gc.freeze()
