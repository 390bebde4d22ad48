"""Keeps Python's collector of cyclic garbage from stopping the window.

A full collection looks at every object there is, in whichever thread happens to make the next one, and no other thread
runs meanwhile: with the whole program loaded that is 40 ms and more, several times a minute. What the start has
made (modules, classes, the window) stays to the end, so it is set aside once, and a collection looks only at what came
later.
"""

from __future__ import annotations

import gc


def set_start_aside() -> None:
    """Leave everything that is there now out of later collections; a window from before a restore is freed first."""
    if gc.get_freeze_count():
        gc.unfreeze()
        gc.collect()
    gc.freeze()
