"""Commands before the first pipeline file: new makes a project, setup installs what Spark needs."""

from __future__ import annotations

import os
import shlex
from pathlib import Path
from typing import Annotated

import typer

from spark_jobs.cli import live_line, new_project, printing
from spark_jobs.cli.command import Answer, AsJson, answering


def new(
    folder: Annotated[str, typer.Argument(help="The folder of the project; new, or empty.", metavar="FOLDER")],
    as_json: AsJson = False,
) -> None:
    """Make a project: an example with its table, tests, and what Airflow needs."""
    with answering(as_json) as answer:
        paths = new_project.write(Path(folder))

        def show() -> None:
            printing.print_line(f"{folder}: {len(paths)} files written; README.md describes them")
            printing.print_line("next:")
            for command in _next_commands(folder):
                printing.print_line(f"  {command}")

        answer(Answer({"folder": folder, "files": paths}, show))


def _next_commands(folder: str) -> tuple[str, ...]:
    example = new_project.EXAMPLE
    return (
        f"cd {shlex.quote(folder)}",
        "python make_example_table.py",
        f"tidemark check {example}",
        f"tidemark replay {example}",
    )


def setup(
    jars: Annotated[
        str, typer.Option(metavar="FOLDER", help="Copy the jars from this folder in place of fetching them.")
    ] = "",
    as_json: AsJson = False,
) -> None:
    """Install what Spark needs: its jars for Delta and S3, and a Java if none fits.

    Commands do this at the first use of an environment made by pip.
    """
    with answering(as_json) as answer:
        from spark_jobs.runtime import installation
        from spark_jobs.runtime.installed import comet_jars_dir, jars_dir, s3_jars_dir

        with live_line.displayed("setup") as progress:

            def report(line: str) -> None:
                progress("setup", line)

            installation.install(os.environ, report, jars_from=Path(jars) if jars else None)
        places = {"jars": jars_dir(), "s3": s3_jars_dir(), "comet": comet_jars_dir()}
        folders = {name: str(folder) for name, folder in places.items() if folder.is_dir()}
        answer(Answer.line(folders, f"the jars are in {' and '.join(folders.values())}"))


def package(
    archive: Annotated[str, typer.Argument(help="The archive to write, such as tidemark.tar.gz.", metavar="FILE")],
    as_json: AsJson = False,
) -> None:
    """Pack this environment for the nodes of a Spark cluster.

    Put the archive where the cluster reads it, and name its address in TIDEMARK_PACKAGE.
    """
    with answering(as_json) as answer:
        from spark_jobs.runtime import package as packaging

        with live_line.displayed("package") as progress:
            size = packaging.make(Path(archive), lambda line: progress("package", line))
        text = f"{archive}: {size / 1024**2:,.0f} MiB; name its address in TIDEMARK_PACKAGE"
        answer(Answer.line({"archive": archive, "bytes": size}, text))
