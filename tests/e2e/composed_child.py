"""The process that is killed on the way of the composed workflow in a real repository.

Run as ``python -m tests.e2e.composed_child FOLDER REPOSITORY POINT WHEN``: it submits the work order if that was not
done, approves what waits, and kills itself at the first time that it comes to the point.
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from engine.engine import Engine
from engine.interfaces.work_order_file import read_work_order
from tests.crash.child import PERSON, KillAt, drive


async def main(folder: Path, repository: Path, point: str, when: str) -> None:
    """Go on with the work order until the kill, or to its end if the point is never reached."""
    engine = await Engine.open(folder, boundary=KillAt(point, when))
    order = read_work_order(repository / "work-order-with-correction.toml")
    await engine.submit(order, PERSON, key="the one")
    await drive(engine)
    await engine.close()


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3], sys.argv[4]))
