"""What a person shows for a decision: files and notes, kept as blobs and named in the decision (E-72)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from engine.errors import InvalidValue
from engine.execution.blobs import Blob, BlobStore

MOST_PROOFS = 20
LARGEST_NOTE = 1 << 20
LARGEST_FILE = 256 << 20
"""Bytes of one file: proof is looked at by people; what is larger is named in the reason and kept elsewhere."""
LONGEST_NAME = 200
_UNDECIDED = "Nothing was decided."


@dataclass(frozen=True, slots=True)
class Proof:
    """One thing that is shown: a note (``text``), or the file at the absolute path ``file`` on this machine.

    ``name`` is what it is called; ``""`` takes the file's own name, or "note". ``sha256`` is the digest of the file as
    whoever shows it has seen it: any other content is refused. ``""`` takes what is there.
    """

    name: str = ""
    text: str = ""
    file: str = ""
    sha256: str = ""


@dataclass(frozen=True, slots=True)
class KeptProof:
    """A proof as it was kept: its name, the digest of its bytes, and their number."""

    name: str
    sha256: str
    size: int


def keep_proofs(proofs: Sequence[Proof], blobs: BlobStore) -> tuple[KeptProof, ...]:
    """Keep every proof before the decision that refers to it is written. Blocks; call it in a thread.

    Raises `InvalidValue` for what is neither a note nor a file, for an empty file, for too many, and what `BlobStore`
    raises for a file that is not there or cannot be kept. What was kept of a list that fails stays, unreferred to.
    """
    if len(proofs) > MOST_PROOFS:
        raise InvalidValue(
            f"{len(proofs)} proofs are more than the {MOST_PROOFS} that one decision takes.",
            do="Put them into one archive, or leave some out.",
        )
    for proof in proofs:
        _require_one(proof)
    return tuple(_keep(proof, blobs) for proof in proofs)


def _keep(proof: Proof, blobs: BlobStore) -> KeptProof:
    if proof.file:
        path = Path(proof.file)
        blob = blobs.put_file(path)
        _require_as_seen(proof, blob)
        if blob.size == 0:
            raise InvalidValue(
                f"{path.name} is empty.",
                means=f"{_UNDECIDED} An empty file shows nothing.",
                do="Attach a file with what you saw, or write it down.",
            )
        return KeptProof((proof.name or path.name)[:LONGEST_NAME], blob.sha256, blob.size)
    blob = blobs.put_bytes(proof.text.encode("utf-8", "surrogatepass"))
    return KeptProof((proof.name or "note")[:LONGEST_NAME], blob.sha256, blob.size)


def _require_one(proof: Proof) -> None:
    if bool(proof.file) == bool(proof.text.strip()):
        raise InvalidValue(
            "A proof is either a note or a file.", means=_UNDECIDED, do="Give one of the two, and not empty."
        )
    if len(proof.text) > LARGEST_NOTE:
        raise InvalidValue(
            f"The note is longer than {LARGEST_NOTE:,} characters.", do="Attach it as a file instead."
        )
    if proof.file and not Path(proof.file).is_absolute():
        raise InvalidValue(f"{proof.file!r} is not an absolute path.", do="Give the whole path of the file.")
    if proof.file:
        require_size(Path(proof.file))


def require_size(path: Path) -> None:
    """Raise `InvalidValue` for a file that is too large to be a proof; what is not there is told when it is kept."""
    try:
        size = path.stat().st_size
    except OSError:
        return
    if size > LARGEST_FILE:
        raise InvalidValue(
            f"{path.name} has {size:,} bytes; a proof has at most {LARGEST_FILE:,}.",
            means=_UNDECIDED,
            do="Attach the part that proves it, or name the place of the whole in the reason.",
        )


def _require_as_seen(proof: Proof, blob: Blob) -> None:
    if proof.sha256 and blob.sha256 != proof.sha256.lower():
        raise InvalidValue(
            f"{Path(proof.file).name} changed while it was being attached.",
            means="Nothing was decided: what would be kept is not what was shown.",
            do="Attach a copy that nothing writes to any more.",
            seen=proof.sha256,
            found=blob.sha256,
        )
