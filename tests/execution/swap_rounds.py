"""Swaps an approved script while commands that read it are started, and counts what got through (B-020).

    python -m tests.execution.swap_rounds 10000

Each round seals a script, starts ``sh SCRIPT`` and lets another thread change the script at a random moment in a
random way, sometimes putting the approved content back. A round is *undetected* when other content ran than was
sealed and neither the start was refused nor the run flagged. That number must be 0.
"""

from __future__ import annotations

import random
import shutil
import sys
import tempfile
import threading
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from engine.clock import SystemClock
from engine.execution.process import EndedBy, GuardedFile, Launch, Outcome, Stop, outcome_of, run
from tests.execution.conftest import sealed

APPROVED = b"echo approved\n"
SWAPPED = b"echo swapped!\n"


def write_in_place(script: Path, content: bytes) -> None:
    """Same file, same length, other bytes."""
    with script.open("r+b") as file:
        file.write(content)


def rename_over(script: Path, content: bytes) -> None:
    """Another file under the same name."""
    other = script.with_name("other")
    other.write_bytes(content)
    other.replace(script)


def link_over(script: Path, content: bytes) -> None:
    """A link to another file under the same name."""
    other = script.with_name("elsewhere")
    other.write_bytes(content)
    link = script.with_name("link")
    link.unlink(missing_ok=True)
    link.symlink_to(other)
    link.replace(script)


def set_aside_and_back(script: Path, content: bytes) -> None:
    """The approved file itself is moved away; a later call moves it back."""
    aside = script.with_name("aside")
    if content == APPROVED and aside.exists():
        aside.replace(script)
    else:
        if not aside.exists():
            script.replace(aside)
        rename_over(script, content)


WAYS: tuple[Callable[[Path, bytes], None], ...] = (write_in_place, rename_over, link_over, set_aside_and_back)


def swap_rounds(rounds: int, seed: int, folder: Path) -> Counter[str]:
    """Run so many rounds and count what became of them."""
    chance = random.Random(seed)
    shell = sealed(shutil.which("dash") or "/bin/sh")
    counts: Counter[str] = Counter()
    for number in range(rounds):
        place = folder / str(number)
        place.mkdir()
        counts[_round(chance, shell, place)] += 1
        shutil.rmtree(place)
    return counts


def _round(chance: random.Random, shell: GuardedFile, place: Path) -> str:
    script = place / "task.sh"
    script.write_bytes(APPROVED)
    launch = Launch(
        program=shell.path,
        argv=("sh", script.name),
        cwd=str(place),
        environment={},
        stdout=str(place / "stdout"),
        stderr=str(place / "stderr"),
        time_limit_ms=60_000,
        output_limit_bytes=1 << 20,
        guarded=(shell, sealed(script)),
    )
    way, back, pause = chance.choice(WAYS), chance.random() < 0.6, chance.uniform(0, 0.06)
    let_go = threading.Event()

    def swap() -> None:
        if chance.random() < 0.5:
            let_go.wait(5)
            threading.Event().wait(pause / 15)
        else:
            threading.Event().wait(pause)
        way(script, SWAPPED)
        if back:
            threading.Event().wait(pause / 10)
            way(script, APPROVED)

    swapper = threading.Thread(target=swap)
    swapper.start()
    report = run(launch, Stop(), SystemClock(), lambda _identity: let_go.set())
    swapper.join()
    if report.ended_by is EndedBy.NOT_STARTED:
        return "refused"
    approved_ran = Path(launch.stdout).read_bytes() == b"approved\n"
    if outcome_of(report)[0] is Outcome.SUCCEEDED:
        return "clean" if approved_ran else "undetected"
    if not report.drift:
        return "other"
    return "flagged, approved ran" if approved_ran else "flagged, other ran"


if __name__ == "__main__":
    wanted = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    with tempfile.TemporaryDirectory() as name:
        result = swap_rounds(wanted, random.randrange(1 << 30), Path(name))
    print(dict(result))
    sys.exit(1 if result["undetected"] else 0)
