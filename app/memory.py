"""Keeps Python's collector of cyclic garbage where it does no harm: in the window's thread, and short.

Left alone, a collection happens in whichever thread makes the next object, and no other thread runs meanwhile. That
is wrong twice. A ring that holds a widget would be freed in a worker thread, where Qt may crash; and a full collection
looks at every object there is, which with the whole program loaded is 40 ms and more, several times a minute.

So collections are made by a timer of the window's thread. And what the start has made (modules, classes, the window)
stays to the end, so it is set aside once, and a collection looks only at what came later. The same is done again when a
full collection becomes long: pages that were visited and rows that were read stay, too. What is set aside is still
freed when nothing refers to it any more; only rings of it would stay.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from time import thread_time

from PySide6.QtCore import QTimer

LONG_SECONDS = 0.008
"""A full collection that takes more processor time than half a frame has found too much that stays."""

EVERY_MS = 100
"""How often it is looked whether a collection is due."""


def set_start_aside() -> None:
    """Leave everything that is there now out of later collections; a window from before a restore is freed first."""
    if gc.get_freeze_count():
        gc.unfreeze()
        gc.collect()
    gc.freeze()


@contextmanager
def collected_here() -> Iterator[None]:
    """While this lasts, cyclic garbage is collected in this thread only, whose Qt loop has to run."""
    was_enabled = gc.isenabled()
    timer = QTimer(interval=EVERY_MS)
    timer.timeout.connect(collect_what_is_due)
    gc.disable()
    timer.start()
    try:
        yield
    finally:
        timer.stop()
        if was_enabled:
            gc.enable()


def collect_what_is_due() -> None:
    """Collect the generation whose turn it is by Python's own thresholds, if any."""
    counts, thresholds = gc.get_count(), gc.get_threshold()
    due = [number for number in range(3) if counts[number] > thresholds[number] > 0]
    if 0 not in due:
        return
    began = thread_time()
    gc.collect(max(due))
    if max(due) == 2 and thread_time() - began > LONG_SECONDS:
        gc.freeze()
