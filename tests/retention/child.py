"""The process that is killed: a retention run over a prepared folder.

Run as ``python -m tests.retention.child FOLDER NOW POINT WHEN``: it kills itself at the named point of a transaction,
``before_commit`` or ``after_commit``.
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from engine.clock import ManualClock
from tests.crash.child import KillAt
from tests.retention.conftest import Attic


async def main(folder: Path, now: int, point: str, when: str) -> None:
    """Run, and do not come to the end."""
    attic = await Attic.open(folder, ManualClock(now), KillAt(point, when))
    await attic.run()
    print("survived")
    await attic.close()


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3], sys.argv[4]))
