"""What others changed in the workspace around a run, as far as that can be proved (B-029).

No system says which process wrote a file, so a change during the run cannot be told from the command's own. What
can be proved: a difference between how the step before left the workspace and how this run found it, and, where
the system keeps a time of change that nobody can set (not on Windows), a change after the last process of the
command had ended.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from engine.execution.process import EndedBy, ProcessReport
from engine.workspace.containment import Root
from engine.workspace.manifest import EntryKind, Manifest, difference

LISTED_BY_OTHERS = 1_000

_ENDED_FILE = "ended"


def mark_end(run_folder: Path) -> os.stat_result:
    """Note in the file system's own time that the last process of a command has ended."""
    mark = run_folder / _ENDED_FILE
    mark.write_bytes(b"")
    return mark.stat()


def changed_by_others(
    left: Manifest | None,
    before: Manifest,
    after: Manifest,
    report: ProcessReport,
    root: Root,
    end: os.stat_result,
) -> tuple[str, ...]:
    """The paths that somebody else provably changed, in order, at most `LISTED_BY_OTHERS`.

    ``left`` is how the step before left the workspace, ``before`` and ``after`` are the looks around this run,
    ``end`` is what `mark_end` gave. Reads the times of the files that changed.
    """
    found: set[str] = set()
    if left is not None:
        gap = difference(left, before)
        found.update(gap.added, gap.changed, gap.removed)
    found.update(_after_the_end(before, after, report, root, end))
    return tuple(sorted(found)[:LISTED_BY_OTHERS])


def _after_the_end(
    before: Manifest, after: Manifest, report: ProcessReport, root: Root, end: os.stat_result
) -> list[str]:
    # Times of two file systems may come from two clocks, and then they prove nothing.
    if sys.platform == "win32" or root.identity.device != end.st_dev:
        return []
    if report.ended_by is EndedBy.LOST or report.tree.survived:
        return []
    changed = difference(before, after)
    found = []
    for path in (*changed.added, *changed.changed):
        if after.entries[path].kind is not EntryKind.FILE:
            continue
        try:
            status = (root.real / path).lstat()
        except OSError:
            continue
        if status.st_ctime_ns > end.st_ctime_ns:
            found.append(path)
    return found
