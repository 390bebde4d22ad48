"""What a command shows as proof: files are looked at here, and read by whoever owns the data folder.

A file travels by its absolute path and the digest of what this command saw, not by its bytes: the owner runs as the
same user on the same machine (nobody else can open the channel), a message of the channel stays small whatever is
attached, and content that changed in between, or another file under that path, is refused instead of kept.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path

from engine.control.proofs import MOST_PROOFS, Proof, require_size
from engine.errors import InvalidValue, NotFound


def shown_proofs(files: Sequence[Path], notes: Sequence[str]) -> tuple[Proof, ...]:
    """Look at every file and give what proves a decision; nothing is kept yet.

    Raises `NotFound` for a file that is not there or cannot be read, `InvalidValue` for what is no regular file, is too
    large, or for more than a decision takes.
    """
    if len(files) + len(notes) > MOST_PROOFS:
        raise InvalidValue(
            f"{len(files) + len(notes)} proofs are more than the {MOST_PROOFS} that one decision takes.",
            means="Nothing was decided.",
            do="Put them into one archive, or leave some out.",
        )
    return (*(Proof("what was seen", text=note) for note in notes), *map(_shown_file, files))


def _shown_file(path: Path) -> Proof:
    try:
        place = path.resolve(strict=True)
        if not place.is_file():
            raise InvalidValue(
                f"{path} is no file.",
                means="Nothing was decided.",
                do="Attach a file; put a folder into an archive first.",
            )
        require_size(place)
        with place.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise NotFound(
            f"The proof {path} cannot be read: {error.strerror or error}.",
            means="Nothing was decided.",
            do="Name a file that is there and that you may read.",
            path=str(path),
        ) from error
    return Proof(path.name, file=str(place), sha256=digest)
