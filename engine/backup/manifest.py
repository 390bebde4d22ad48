"""The manifest of a backup: what it is, and the digest of every file in it (E-80).

The file has one form only: it equals, byte for byte, what `render` makes of its own content, and carries a
digest over that content. So any altered byte of it shows, like one of any other file of the backup.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from engine.canonical import canonical_digest
from engine.errors import BackupNotGood, InvalidValue
from engine.instants import Instant, parse_instant

MANIFEST_FILE = "manifest.json"
LONGEST_MANIFEST = 512 * 1024 * 1024

Digest = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
Count = Annotated[int, Field(ge=0)]
BackupPath = Annotated[str, Field(pattern=r"^(praxis\.sqlite|secret\.key|blobs/[0-9a-f]{2}/[0-9a-f]{64})$")]


class _Strict(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)


class FileEntry(_Strict):
    """One file of the backup, by its path with forward slashes."""

    path: BackupPath
    size: Count
    sha256: Digest


class Lacking(_Strict):
    """A kept file that the database refers to, and that was missing or altered already in the data folder."""

    sha256: Digest
    state: Literal["missing", "altered"]


class Manifest(_Strict):
    """What a backup says of itself. Instants are canonical UTC text, as in every file of ours."""

    format: Literal["praxis-backup"] = "praxis-backup"
    version: Literal[1] = 1
    program: str
    made_at: str
    instance_id: str
    schema_version: Count
    epoch: Count
    high_water: str | None
    journal_sequence: Count
    journal_hash: Digest
    counts: dict[str, Count]
    files: list[FileEntry]
    lacking: list[Lacking]

    @property
    def instant(self) -> Instant:
        """When the backup was made."""
        return parse_instant(self.made_at)

    @property
    def size(self) -> int:
        """Bytes of all files together."""
        return sum(entry.size for entry in self.files)

    def file(self, path: str) -> FileEntry | None:
        """The entry of one path."""
        return next((entry for entry in self.files if entry.path == path), None)


def render(manifest: Manifest) -> bytes:
    """Give the one form of a manifest's file."""
    content: dict[str, Any] = manifest.model_dump(mode="json")
    document = {"manifest": content, "sha256": canonical_digest(content)}
    return (json.dumps(document, indent=1, ensure_ascii=True) + "\n").encode("ascii")


def read_manifest(folder: Path) -> Manifest:
    """Read the manifest of a backup; `BackupNotGood` if it is missing, altered or of another version."""
    path = folder / MANIFEST_FILE
    try:
        if path.stat().st_size > LONGEST_MANIFEST:
            raise _not_good(path, "it is too long")
        data = path.read_bytes()
    except OSError as error:
        raise _not_good(path, error.strerror or str(error)) from error
    try:
        document = json.loads(data)
        content = document["manifest"]
        if isinstance(content, Mapping) and content.get("version") not in (None, 1):
            raise _not_good(path, "it was made by a newer version of the program")
        manifest = Manifest.model_validate(content)
        manifest.instant  # noqa: B018 - refused here rather than later
    except (ValueError, KeyError, TypeError, RecursionError, ValidationError, InvalidValue) as error:
        raise _not_good(path, "it is not a manifest, or was altered") from error
    if render(manifest) != data:
        raise _not_good(path, "it was altered")
    return manifest


def _not_good(path: Path, finding: str) -> BackupNotGood:
    return BackupNotGood(
        f"The manifest {path} cannot be used: {finding}.",
        means="Whether the rest of this backup is true cannot be said.",
        do="Choose another backup.",
        path=str(path),
    )
