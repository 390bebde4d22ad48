"""What the benchmarks share: scratch folders, percentiles, interleaved rounds, one result as JSON or text.

The machine is never quiet, so cases that are to be compared run in turn, round after round, and what is judged
is the ratio of their medians.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import statistics
import tempfile
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from time import perf_counter
from typing import Any

from engine.storage.folder_place import these_surroundings


def percentile(samples: Sequence[float], share: float) -> float:
    """Give the nearest-rank percentile; ``share`` is 0 to 1."""
    ordered = sorted(samples)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


@contextmanager
def scratch_folder(parent: Path | None = None) -> Iterator[Path]:
    """Give an empty folder, below ``parent`` or where the system keeps temporary files, and remove it after."""
    with tempfile.TemporaryDirectory(prefix="praxis-benchmark-", dir=parent) as folder:
        yield Path(folder)


async def interleaved(
    cases: Mapping[str, Callable[[], Awaitable[Sequence[float]]]], rounds: int
) -> dict[str, list[float]]:
    """Run every case once a round and gather each one's samples over all rounds."""
    samples: dict[str, list[float]] = {name: [] for name in cases}
    for _ in range(rounds):
        for name, case in cases.items():
            samples[name].extend(await case())
    return samples


async def rate(once: Callable[[int], Awaitable[object]], operations: int, clients: int) -> float:
    """Give operations per second when ``clients`` at once share ``operations`` calls of ``once(number)``."""

    async def client(first: int) -> None:
        for number in range(first, operations, clients):
            await once(number)

    started = perf_counter()
    await asyncio.gather(*(client(first) for first in range(clients)))
    return operations / (perf_counter() - started)


async def latencies(once: Callable[[int], Awaitable[object]], operations: int) -> list[float]:
    """Give the seconds that each of ``operations`` calls took, one after the other."""
    taken = []
    for number in range(operations):
        started = perf_counter()
        await once(number)
        taken.append(perf_counter() - started)
    return taken


def microseconds(samples: Sequence[float], share: float = 0.5) -> float:
    """Give a percentile of seconds as microseconds."""
    return round(percentile(samples, share) * 1e6, 1)


def median(samples: Sequence[float]) -> float:
    """Give the median, rounded for show."""
    return round(statistics.median(samples), 1)


def run(measure: Callable[[Path], Coroutine[Any, Any, dict[str, object]]], description: str) -> None:
    """Parse the command line, measure in a scratch folder, print the result (with --json as the last line)."""
    options = argparse.ArgumentParser(description=description)
    options.add_argument("--json", action="store_true", help="print one JSON object as the last line")
    options.add_argument("--folder", type=Path, help="measure on the disk of this folder")
    arguments = options.parse_args()
    with scratch_folder(arguments.folder) as folder:
        started = perf_counter()
        results = asyncio.run(measure(folder))
        results["volume"] = these_surroundings().volume(folder.resolve()).name
        results["seconds"] = round(perf_counter() - started, 1)
    if arguments.json:
        print(json.dumps(results))
        return
    for name, value in results.items():
        print(f"{name:32} {value}")
