"""The `tidemark` command: one pipeline, without Airflow.

Exit codes: 0 done, 1 failed, 2 wrong input, 3 blocked by quality, 130 interrupted. With `--json` the answer is one JSON
object on standard output; progress goes to standard error either way.
"""

from __future__ import annotations

import os
from typing import Annotated

import typer

import spark_jobs
from spark_jobs.cli import interrupt, log_file
from spark_jobs.cli.examples import EXAMPLES
from spark_jobs.cli.explain_command import explain
from spark_jobs.cli.help_pages import HelpfulCommand, HelpfulGroup
from spark_jobs.cli.init_command import init
from spark_jobs.cli.lake_commands import compare, handover, maintain, status
from spark_jobs.cli.land_command import land
from spark_jobs.cli.late_command import late
from spark_jobs.cli.project_commands import new, package, setup
from spark_jobs.cli.run_commands import accept, plan, repair, replay, report, rollback
from spark_jobs.cli.settings_commands import advise, check
from spark_jobs.cli.test_command import test
from spark_jobs.pipeline.code import is_allowed
from spark_jobs.pipeline.errors import RefusedError
from spark_jobs.runtime import garbage, import_path

#: The commands in their groups, both in the order of their use.
GROUPS = {
    "Write the pipeline file": (new, land, init, check, test, advise),
    "Compute and publish": (plan, replay, status, report),
    "Decide and correct": (accept, compare, rollback, repair),
    "Ask why": (late, explain),
    "Operate": (maintain, handover, setup, package),
}
COMMANDS = tuple(command for commands in GROUPS.values() for command in commands)

_EPILOG = f"Spark and Java write to a log file in {log_file.shown_folder()}. A command that fails prints its path."

app = typer.Typer(
    cls=HelpfulGroup,
    help="Recompute a streaming job's event-time windows from its stored events.",
    epilog=_EPILOG,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["--help", "-h"]},
)
for group, commands in GROUPS.items():
    for command in commands:
        app.command(
            cls=HelpfulCommand,
            rich_help_panel=group,
            epilog=f"For example: tidemark {command.__name__} {EXAMPLES[command.__name__]}",
        )(command)


def _print_version(is_requested: bool) -> None:
    if is_requested:
        typer.echo(f"tidemark {spark_jobs.__version__}")
        raise typer.Exit


@app.callback()
def program(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_print_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    """Take the options of the program itself."""


def _code_is_allowed() -> bool:
    """Return whether pipeline files may name code; reading a file reports a wrong value of the setting."""
    try:
        return is_allowed(os.environ)
    except RefusedError:
        return False


def main() -> None:
    """Run the command."""
    garbage.collect_rarely()
    interrupt.end_at_once()
    import_path.demote_working_directory(code_is_allowed=_code_is_allowed())
    app(prog_name="tidemark")
