"""`praxis receipt` and `praxis verify-receipt`: the story of a work order as a file that proves itself (E-93)."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from engine.errors import InvalidValue, NotFound
from engine.interfaces.cli_common import ForceOption, command, require_new_file
from engine.interfaces.cli_names import find_work_order
from engine.interfaces.cli_output import counted, shown
from engine.interfaces.cli_session import Session
from engine.interfaces.receipts import (
    LARGEST_RECEIPT,
    ReceiptNotSound,
    ReceiptReport,
    check_receipt,
    make_receipt,
    receipt_digest,
    write_receipt,
)

_SHORTEST_DIGEST = 8


def add_receipt_commands(app: typer.Typer) -> None:
    """Add the commands of this module."""
    command(app, "receipt")(receipt)
    command(app, "verify-receipt")(verify_receipt)


async def receipt(
    session: Session,
    name: Annotated[str, typer.Argument(metavar="WO-118", help="The work order.")],
    out: Annotated[
        Path | None, typer.Option("--out", "-o", metavar="FILE", help="The file to write; stdout without it.")
    ] = None,
    force: ForceOption = False,
) -> None:
    """Write the receipt of a work order: seals, approvals, budget, outcomes, decisions, digests, its journal.

    It holds no values of secrets and no output. praxis verify-receipt checks it anywhere.
    """
    require_new_file(out, force=force)
    async with session.client(reading=True) as client:
        story = await find_work_order(client, name)
        made = make_receipt(await client.receipt(story.row.id))
    if out is None:
        sys.stdout.flush()
        sys.stdout.buffer.write(made)
        sys.stdout.buffer.flush()
        return
    write_receipt(made, out)
    digest = receipt_digest(made)
    session.out.result(
        {"file": str(out), "work_order": f"WO-{story.row.number}", "bytes": len(made), "digest": digest},
        lambda: [
            f"Wrote the receipt of WO-{story.row.number} to {shown(str(out))}.",
            f"Its digest is {digest}.",
        ],
    )


async def verify_receipt(
    session: Session,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A receipt.")],
    digest: Annotated[
        str | None,
        typer.Option(
            "--digest", metavar="PREFIX", help="The first 8 or more digits of the digest it must have."
        ),
    ] = None,
) -> None:
    """Check a receipt, with nothing but the file: no data folder is needed.

    Whatever was altered in it is named by its row. That it was not written anew as a whole is proven by its
    digest, if you have that from elsewhere.
    """
    report = check_receipt(_read(file))
    session.out.result(report, lambda: _lines(report))
    if not report.sound:
        raise ReceiptNotSound(
            f"The receipt is not sound: row {report.problems[0].row} is the first that is wrong.",
            means="It was altered after it was written, or it was cut off.",
            do="Ask for the receipt again.",
            row=report.problems[0].row,
            problems=report.problem_count,
        )
    if digest is not None:
        _require_digest(report, digest)


def _read(file: Path) -> bytes:
    try:
        with file.open("rb") as opened:
            return opened.read(LARGEST_RECEIPT + 1)
    except FileNotFoundError as error:
        raise NotFound(f"There is no file {file}.", do="Name a receipt.") from error
    except OSError as error:
        raise InvalidValue(
            f"{file} cannot be read: {error.strerror or error}.", do="Name a receipt that you may read."
        ) from error


def _require_digest(report: ReceiptReport, digest: str) -> None:
    if len(digest) < _SHORTEST_DIGEST:
        raise InvalidValue(
            f"{digest!r} is too short to name a receipt.", do="Give at least 8 digits of its digest."
        )
    if not report.digest.startswith(digest.lower()):
        raise ReceiptNotSound(
            f"The receipt has the digest {report.digest}, not {digest}.",
            means="It is sound in itself, but it is another one: of another time, or written by somebody else.",
            do="Compare both receipts.",
            digest=report.digest,
        )


def _lines(report: ReceiptReport) -> Iterator[str | Text]:
    if report.sound:
        yield f"The receipt is sound: {counted(report.rows, 'row')}, {report.journal_rows:,} of them of the journal."
        yield f"It is of {shown(report.work_order)}, {shown(report.title)}: {shown(report.state)}."
        yield f"Its digest is {report.digest}."
        return
    for problem in report.problems:
        yield Text(f"row {problem.row}: {shown(problem.text)}", "red")
    if report.problem_count > len(report.problems):
        yield f"… and {report.problem_count - len(report.problems)} more."
