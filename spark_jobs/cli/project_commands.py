"""Commands about the installation: setup. None needs a pipeline file."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from spark_jobs.cli import live_line
from spark_jobs.cli.command import Answer, AsJson, answering


def setup(
    jars: Annotated[
        str, typer.Option(metavar="FOLDER", help="Copy the jars from this folder in place of fetching them.")
    ] = "",
    s3: Annotated[bool, typer.Option("--s3", help="Fetch also the jars that read s3a://.")] = False,
    as_json: AsJson = False,
) -> None:
    """Install what Spark needs: the jars of Delta, and a Java if none fits.

    Commands do this at the first use of an environment made by pip.
    """
    with answering(as_json) as answer, live_line.displayed("setup") as progress:
        from spark_jobs.runtime import installation, jars_dir

        def report(line: str) -> None:
            progress("setup", line)

        installation.install(os.environ, report, s3=s3, jars_from=Path(jars) if jars else None)
        answer(Answer.line({"jars": str(jars_dir())}, f"the jars are in {jars_dir()}"))
