"""How far a long command of `praxis` is, shown on a terminal while it runs."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich import progress as bars
from rich.console import Console

from engine.backup import Progress as BackupProgress
from engine.interfaces.cli_session import Session
from engine.retention import Progress as RetentionProgress


@contextmanager
def progress_bar(session: Session) -> Iterator[Callable[[BackupProgress | RetentionProgress], None]]:
    """Show how far it is on a terminal; elsewhere, and with --json, nothing is shown."""
    if session.out.as_json or not sys.stderr.isatty():
        yield lambda _: None
        return
    columns = (
        bars.TextColumn("{task.description:<28}"),
        bars.BarColumn(),
        bars.TaskProgressColumn(),
        bars.TimeElapsedColumn(),
    )
    with bars.Progress(*columns, console=Console(stderr=True), transient=True) as shown_bar:
        task = shown_bar.add_task("", total=None)

        def tell(progress: BackupProgress | RetentionProgress) -> None:
            shown_bar.update(
                task, description=progress.stage.value, completed=progress.done, total=progress.total or None
            )

        yield tell
