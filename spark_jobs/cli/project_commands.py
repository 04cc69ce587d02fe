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
    s3: Annotated[bool, typer.Option("--s3", help="Install also the jars that read s3a://.")] = False,
    as_json: AsJson = False,
) -> None:
    """Install what Spark needs: the jars of Delta, and a Java if none fits.

    Commands do this at the first use of an environment made by pip.
    """
    with answering(as_json) as answer:
        from spark_jobs.runtime import installation
        from spark_jobs.runtime.installed import jars_dir, s3_jars_dir

        with live_line.displayed("setup") as progress:

            def report(line: str) -> None:
                progress("setup", line)

            installation.install(os.environ, report, s3=s3, jars_from=Path(jars) if jars else None)
        folders = {"jars": str(jars_dir()), **({"s3": str(s3_jars_dir())} if s3 else {})}
        answer(Answer.line(folders, f"the jars are in {' and '.join(folders.values())}"))
