"""`praxis`: the engine on the command line (E-91).

Each command works alone on the data folder, or through the process that owns it. Exit codes are those of
`engine.errors`; what they mean is in the help and the README. A person's mistake never ends in a traceback.
"""

from __future__ import annotations

import json
import os
import sys
import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from engine.errors import PraxisError
from engine.interfaces import cli_doctor, cli_journal, cli_serve
from engine.interfaces.cli_agent import add_agent_commands
from engine.interfaces.cli_backup import add_backup_commands
from engine.interfaces.cli_budget import add_budget_commands
from engine.interfaces.cli_common import (
    AgentOption,
    Common,
    DataOption,
    ForceOption,
    JsonOption,
    KeyFileOption,
    ScriptOption,
    command,
    require_new_file,
)
from engine.interfaces.cli_deciding import add_deciding_commands
from engine.interfaces.cli_docket import add_docket_commands
from engine.interfaces.cli_grant import add_grant_commands
from engine.interfaces.cli_looking import add_looking_commands
from engine.interfaces.cli_metrics import add_metrics_commands
from engine.interfaces.cli_output import Output, prepare_streams, shown
from engine.interfaces.cli_receipt import add_receipt_commands
from engine.interfaces.cli_retention import add_retention_commands
from engine.interfaces.cli_schedule import add_schedule_commands
from engine.interfaces.cli_session import EXIT_CODES, EXIT_INTERRUPTED, Session, Unexpected
from engine.interfaces.cli_wakes import add_wake_commands
from engine.interfaces.journal_export import ExportForm
from engine.version import VERSION

EXIT_UNEXPECTED = 1
EXIT_USAGE = 2

_HELP_COLUMNS = 76
"""What the list of exit codes is broken at: the help is no wider than 80 columns, and indents it by two."""

_EPILOG = "\b\nExit codes:\n" + "\n".join(
    textwrap.fill(meaning, _HELP_COLUMNS, initial_indent=f"  {code:>3}  ", subsequent_indent=" " * 7)
    for code, meaning in EXIT_CODES
)

app = typer.Typer(
    name="praxis",
    help="Look at, approve and steer work that machines do.",
    epilog=_EPILOG,
    add_completion=True,
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
journal_app = typer.Typer(
    help="Check the journal, or write it out.", no_args_is_help=True, rich_markup_mode=None
)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"praxis {VERSION}")
        raise typer.Exit


@app.callback()
def _before(
    ctx: typer.Context,
    data: DataOption = None,
    json: JsonOption = False,
    as_script: ScriptOption = None,
    as_agent: AgentOption = None,
    key_file: KeyFileOption = None,
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    ctx.obj = Common(data, json, as_script, as_agent, key_file)


@command(app, "serve")
async def serve(
    session: Session,
    until_idle: Annotated[
        bool, typer.Option("--until-idle", help="End when nothing runs and nothing can without a person.")
    ] = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="Do not print the journal as it grows.")] = False,
) -> None:
    """Own the data folder: run what is approved, and answer other commands and agents. Ctrl+C ends it."""
    await cli_serve.serve(session, until_idle=until_idle, quiet=quiet)


@command(app, "doctor")
async def doctor(
    session: Session,
    bundle: Annotated[
        Path | None,
        typer.Option(
            "--bundle",
            metavar="FILE",
            help="Also write what a report of a fault needs into this zip file: no commands, values or names.",
        ),
    ] = None,
    force: ForceOption = False,
) -> None:
    """Print versions, the data folder with its sizes, and who owns it. Nothing is changed."""
    require_new_file(bundle, force=force)
    await cli_doctor.diagnose(session, bundle)


@command(journal_app, "verify")
async def journal_verify(session: Session) -> None:
    """Check that no row of the journal was altered, removed or moved."""
    await cli_journal.verify(session)


@command(journal_app, "export")
async def journal_export(
    session: Session,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FILE", help="The file to write; stdout without it."),
    ] = None,
    form: Annotated[
        ExportForm,
        typer.Option("--form", help="JSON lines, or CSV with text kept from being a formula."),
    ] = ExportForm.JSONL,
    work_order: Annotated[
        str | None, typer.Option("--work-order", metavar="WO-118", help="Only what belongs to it.")
    ] = None,
    force: ForceOption = False,
) -> None:
    """Write the journal, oldest row first, one row a line."""
    require_new_file(output, force=force)
    await cli_journal.export(session, output, form, work_order)


add_looking_commands(app)
add_deciding_commands(app)
add_backup_commands(app)
add_receipt_commands(app)
add_agent_commands(app)
add_metrics_commands(app)
add_budget_commands(app)
add_grant_commands(app)
add_retention_commands(app)
add_wake_commands(app)
add_schedule_commands(app)
add_docket_commands(app)
app.add_typer(journal_app, name="journal")


def run(arguments: Sequence[str]) -> int:
    """Run one command and give its exit code; every error has been printed."""
    prepare_streams()
    usage_error: Any = typer.BadParameter.__bases__[0]
    as_json = "--json" in arguments
    try:
        done = typer.main.get_command(app)(args=list(arguments), prog_name="praxis", standalone_mode=False)
        return done if isinstance(done, int) else 0
    except PraxisError as error:
        Output(as_json=as_json).error(error)
        return error.exit_code
    except (KeyboardInterrupt, typer.Abort):
        sys.stderr.write("praxis: interrupted; look at the present state before you repeat a command.\n")
        return EXIT_INTERRUPTED
    except BrokenPipeError:
        # Whoever read the output has gone; nothing more can be said, not even by Python at its end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return EXIT_UNEXPECTED
    except usage_error as error:
        _print_usage_error(error, as_json)
        return EXIT_USAGE
    except Unexpected as error:
        _print_unexpected(error, as_json)
        return EXIT_UNEXPECTED


def _print_usage_error(error: Any, as_json: bool) -> None:
    if isinstance(getattr(error, "message", None), str):
        error.message = error.message.replace("Value error, ", "")
    if as_json:
        _print_json({"code": "usage", "what": error.format_message(), "exit_code": EXIT_USAGE})
        return
    error.show(sys.stderr)


def _print_unexpected(error: Unexpected, as_json: bool) -> None:
    what = f"An unexpected error: {shown(str(error))}"
    where = f"Details are in {error.place}." if error.place else "Its details could not be kept."
    if as_json:
        _print_json({"code": "unexpected", "what": what, "do": where, "exit_code": EXIT_UNEXPECTED})
        return
    sys.stderr.write(f"praxis: {what}. {where}\n")


def _print_json(value: dict[str, object]) -> None:
    sys.stderr.write(json.dumps(value, ensure_ascii=True) + "\n")


if __name__ == "__main__":
    sys.exit(run(sys.argv[1:]))
