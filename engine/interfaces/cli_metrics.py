"""`praxis metrics`: the engine's figures for Prometheus."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from engine.errors import InvalidValue
from engine.files import write_whole
from engine.interfaces.cli_common import command
from engine.interfaces.cli_output import shown
from engine.interfaces.cli_session import Session
from engine.interfaces.metrics import prometheus_text


def add_metrics_commands(app: typer.Typer) -> None:
    """Add the commands of this module."""
    command(app, "metrics")(metrics)


async def metrics(
    session: Session,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", "-o", metavar="FILE", help="The file to replace as a whole; stdout without it."
        ),
    ] = None,
) -> None:
    """Print figures in Prometheus' text format: states, what waits, latency, budgets."""
    async with session.client(reading=True) as client:
        figures = await client.figures()
    if out is None:
        session.out.result(figures, lambda: prometheus_text(figures).splitlines())
        return
    try:
        write_whole(out, prometheus_text(figures).encode())
    except OSError as error:
        raise InvalidValue(
            f"{out} cannot be written: {error.strerror or error}.", do="Name another file.", file=str(out)
        ) from error
    session.out.result({"file": str(out)}, lambda: [f"Wrote the figures to {shown(str(out))}."])
