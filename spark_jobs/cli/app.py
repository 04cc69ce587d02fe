"""The `tidemark` command: one pipeline, without Airflow.

Exit codes: 0 done, 1 failed, 2 wrong input, 3 blocked by quality. With `--json` the answer is one JSON object on
standard output; progress goes to standard error either way.
"""

from __future__ import annotations

import typer

from spark_jobs.cli.init_command import init
from spark_jobs.cli.lake_commands import compare, handover, maintain, status
from spark_jobs.cli.run_commands import accept, plan, repair, replay, report, rollback
from spark_jobs.cli.settings_commands import advise, check

#: In the order of the help text.
COMMANDS = (
    *(check, advise, init),
    *(plan, replay, report, rollback, repair, accept),
    *(compare, maintain, handover, status),
)

app = typer.Typer(
    help="Recompute a streaming job's event-time windows from its stored events.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
)
for command in COMMANDS:
    app.command()(command)


def main() -> None:
    """Run the command."""
    app()
