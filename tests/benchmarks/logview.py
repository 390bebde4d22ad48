"""What the log view of the Evidence page costs: opening 700 MB at its end, and following a program that floods it.

``open_*_s`` is from the call to the painted last rows, in a window of 1280×800: lines of every kind in UTF-8 with
strange bytes between, the same in UTF-16, and a file that is one line of carriage returns; ``open_700mb_s`` is the
slowest of them (bar: 1). ``live_*``: a process of its own writes ``MB_A_SECOND`` while the view follows in the loop of
the console; ``gui_block_max_ms`` is the longest time in which the window could not have answered (bar: 50),
``gui_block_own_max_ms`` the longest of which this process can be the cause, ``machine_block_max_ms``
what an idle process saw at the same time, ``rss_growth_mb`` what the memory grew from
the first second to the last (bar: 40). Then the same while one reads further up, and while a search goes on.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import subprocess
import sys
from pathlib import Path
from time import perf_counter

from tests.benchmarks.common import percentile, scratch_folder
from tests.benchmarks.gui import MEGABYTE, Bystander, Heartbeat, Painted, Tasks, rss_mb

from PySide6.QtWidgets import QApplication  # isort: skip (after the platform has been chosen)

from app import event_loop
from app.memory import set_start_aside
from app.panels.evidence.log_view import LogView
from app.theme import Theme, ThemeChoice

FILE_MB = 700
MB_A_SECOND = 50
LIVE_SECONDS = 10.0
_AGAIN = ("gui_block_max_ms", "gui_block_own_max_ms", "machine_block_max_ms")
LAST = "the last line of the log"

WRITER = """
import sys, time
path, rate, seconds = sys.argv[1], float(sys.argv[2]), float(sys.argv[3])
block = open(sys.argv[4], "rb").read()
begin = time.perf_counter()
written = 0
with open(path, "ab", buffering=0) as file:
    while (passed := time.perf_counter() - begin) < seconds:
        due = int(passed * rate) - written
        while due > 0:
            written += file.write(block[: min(due, len(block))])
            due = int(passed * rate) - written
        time.sleep(0.005)
print(written, time.perf_counter() - begin)
"""


def mixed_block() -> bytes:
    """About a megabyte of what programs print: plain, coloured, overwritten, wide, in other code pages, long."""
    lines: list[bytes] = []
    size = 0
    number = 0
    while size < MEGABYTE:
        number += 1
        match number % 10:
            case 0:
                named = f"\x1b[38;5;208mtest_rounding\x1b[0m[\x1b[36m{number}\x1b[0m]"
                line = f"\x1b[1;32mok\x1b[0m {number:06} {named}\n".encode()
            case 1:
                line = "".join(f"\rcompiling {part:3} %" for part in range(0, 101, 10)).encode() + b"\r\n"
            case 2:
                line = f"\x1b[2Kdownloaded {number} of 700\x1b[1G\x1b[0Kdone\n".encode()
            case 3:
                line = f"{number} Prüfung: naïve façade, 測試 тест 🙂 e\u0301\n".encode()
            case 4:
                line = f"{number} caf\xe9 \x80 \xe4\xf6\xfc\n".encode("latin-1")
            case 5:
                line = b"x" * 180 + b"\n"
            case 6:
                line = (
                    f"\x1b[33mwarning\x1b[0m: {number} unused\n".encode()
                    if number % 50
                    else b"{" + b"0," * 3000 + b"}\n"
                )
            case _:
                line = (
                    f"03:50:00.{number % 1000:03} INFO  worker {number % 7} says that all is well\n".encode()
                )
        lines.append(line)
        size += len(line)
    return b"".join(lines)


def utf16_block() -> bytes:
    """The lines of `mixed_block` that are UTF-8, as UTF-16."""
    return mixed_block().decode("utf-8", "replace").encode("utf-16-le")


def one_line_block() -> bytes:
    """A progress bar that never ends its line."""
    return b"".join(
        f"\r\x1b[K{part % 101:3} % of everything, {part}".encode() for part in range(MEGABYTE // 30)
    )


def write_file(path: Path, block: bytes, end: bytes, head: bytes = b"") -> None:
    """Write `FILE_MB` of the block repeated, and an end that can be told from the rest."""
    with path.open("wb") as file:
        file.write(head)
        while file.tell() < FILE_MB * MEGABYTE:
            file.write(block)
        file.write(end)


def new_view(tasks: Tasks) -> LogView:
    """A log view as large as the page in the console's window."""
    view = LogView(tasks.spawn, "Standard output")
    view.resize(1000, 700)
    view.show()
    return view


def at_last_rows(view: LogView, words: str) -> bool:
    """Whether the rows are at their end and the last one says ``words``."""
    model, bar = view.table.model(), view.table.verticalScrollBar()
    rows = model.rowCount()
    return rows > 0 and bar.value() == bar.maximum() and words in str(model.index(rows - 1, 0).data())


async def opened(path: Path, tasks: Tasks) -> tuple[float, float]:
    """Seconds to the painted end of ``path``, and the longest block meanwhile."""
    view = new_view(tasks)
    await asyncio.sleep(0.1)
    beat = Heartbeat()
    beat.start()
    painted = Painted(view.table.viewport(), lambda: at_last_rows(view, LAST))
    started = perf_counter()
    view.show_file(path, live=False)
    await painted.wait(30)
    taken = perf_counter() - started
    await tasks.settle()
    beat.stop()
    view.hide()
    view.deleteLater()
    return taken, beat.worst


async def measure_opening(folder: Path, tasks: Tasks) -> dict[str, object]:
    """Each kind of file, one after the other."""
    results: dict[str, object] = {}
    worst = block = 0.0
    path = folder / "stdout"
    for name, data, head, encoding in (
        ("mixed", mixed_block(), b"", "utf-8"),
        ("utf16", utf16_block(), b"\xff\xfe", "utf-16-le"),
        ("one_line", one_line_block(), b"", "utf-8"),
    ):
        await asyncio.to_thread(write_file, path, data, f"\r\x1b[K{LAST}".encode(encoding), head)
        rounds = [await opened(path, tasks) for _ in range(3)]
        path.unlink()
        slowest = max(seconds for seconds, _ in rounds)
        worst = max(worst, slowest)
        block = max(block, *(ms for _, ms in rounds))
        results[f"open_{name}_s"] = round(slowest, 3)
    return {"open_700mb_s": round(worst, 3), **results, "open_gui_block_max_ms": round(block, 1)}


async def followed(view: LogView, path: Path, seconds: float) -> dict[str, object]:
    """Let a process write into ``path`` for so long, and watch the window."""
    block = path.with_name("block")
    block.write_bytes(mixed_block())
    beat = Heartbeat()
    writer = await asyncio.to_thread(
        subprocess.Popen,
        [sys.executable, "-c", WRITER, str(path), str(MB_A_SECOND * MEGABYTE), str(seconds), str(block)],
        stdout=subprocess.PIPE,
    )
    bystander = Bystander()
    await asyncio.sleep(1.0)
    before = rss_mb()
    beat.start()
    written, taken = (await asyncio.to_thread(writer.communicate))[0].split()
    beat.stop()
    walls = [gap.wall for gap in beat.gaps]
    return {
        "mb_a_second": round(int(written) / float(taken) / MEGABYTE, 1),
        "gui_block_max_ms": round(beat.worst, 1),
        "gui_block_own_max_ms": round(beat.worst_own, 1),
        "machine_block_max_ms": round(bystander.worst(), 1),
        "gui_block_p99_ms": round(percentile(walls, 0.99), 1),
        "gui_blocks_over_50": beat.over(50),
        "rss_growth_mb": round(rss_mb() - before, 1),
        "rows_held": view.table.model().rowCount(),
    }


async def measure_following(folder: Path, tasks: Tasks, seconds: float) -> dict[str, object]:
    """Follow the end; then stand still further up; then search while it goes on."""
    path = folder / "live"
    path.write_bytes(b"")
    view = new_view(tasks)
    view.show_file(path, live=True)
    await asyncio.sleep(0.2)
    results = await followed(view, path, seconds)
    await asyncio.sleep(0.3)
    await tasks.settle()
    size = path.stat().st_size
    shown = view.following and view.detection is not None
    results["shows_the_end"] = shown and view._patch is not None and view._patch.end == size
    bar = view.table.verticalScrollBar()
    bar.setValue(bar.maximum() // 2)
    top = view._top_offset()
    reading = await followed(view, path, seconds / 3)
    results |= {f"reading_{name}": reading[name] for name in _AGAIN}
    results["reading_stays"] = top == view._top_offset()
    view.search_field.setText("no such words anywhere")
    view._step(1)
    searching = await followed(view, path, seconds / 3)
    results |= {f"searching_{name}": searching[name] for name in _AGAIN}
    view._stop_search()
    await tasks.settle()
    view.hide()
    view.deleteLater()
    return results


async def measure(folder: Path, seconds: float) -> dict[str, object]:
    """Open first, then follow."""
    app = QApplication.instance()
    assert isinstance(app, QApplication)
    look = Theme(app, ThemeChoice.LIGHT)
    tasks = Tasks()
    set_start_aside()
    started = perf_counter()
    results = await measure_opening(folder, tasks)
    results |= await measure_following(folder, tasks, seconds)
    results["seconds"] = round(perf_counter() - started, 1)
    look.deleteLater()
    return results


def main() -> None:
    """Parse the command line, measure in a scratch folder, print the result (with --json as the last line)."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--json", action="store_true", help="print one JSON object as the last line")
    options.add_argument("--folder", type=Path, help="measure on the disk of this folder")
    options.add_argument(
        "--seconds", type=float, default=LIVE_SECONDS, help="how long the program writes while followed"
    )
    arguments = options.parse_args()
    app = QApplication([])
    with scratch_folder(arguments.folder) as folder:
        results = event_loop.run(lambda: measure(folder, arguments.seconds), app)
    if arguments.json:
        print(json.dumps(results))
        return
    for name, value in results.items():
        print(f"{name:32} {value}")


if __name__ == "__main__":
    main()
