"""The command land: data files become a Delta table with an arrival time."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from spark_jobs.cli import live_line, printing
from spark_jobs.cli.command import Answer, AsJson, answering
from spark_jobs.job_protocol import StepName

if TYPE_CHECKING:
    from spark_jobs.jobs.land.land import Landed


def land(
    folder: Annotated[
        str,
        typer.Argument(help="A folder of Parquet, CSV or JSON files, a file, or an Iceberg table.", metavar="FOLDER"),
    ],
    table: Annotated[str, typer.Argument(help="The path of the Delta table.", metavar="TABLE")],
    format_: Annotated[
        str, typer.Option("--format", metavar="parquet|csv|json", help="The format, by default by the names of files.")
    ] = "",
    option: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=VALUE", help="An option of Spark's reader, such as sep=;. Repeat it for more."),
    ] = None,
    arrival_column: Annotated[
        str, typer.Option(metavar="NAME", help="The column for the time at which a file became known.")
    ] = "arrived_at",
    file_column: Annotated[str, typer.Option(metavar="NAME", help="The column for the file of a row.")] = "arrived_in",
    keep_broken: Annotated[
        bool, typer.Option("--keep-broken", help="Keep records that do not parse, in the column broken_record.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Append new files of a folder to a Delta table, with the time at which each became known."""
    with answering(as_json) as answer:
        from spark_jobs.jobs.land.land import Layout
        from spark_jobs.jobs.land.options import format_of, reader_options
        from spark_jobs.jobs.land.source import read_source

        source = read_source(Path(folder), format_of(format_))
        layout = Layout(arrival_column, file_column, reader_options(option or []), keep_broken)
        with live_line.displayed(StepName.LAND) as progress:
            from spark_jobs.cli.spark_session import open_session
            from spark_jobs.jobs.land.land import land as land_files

            landed = land_files(open_session("tidemark land", progress), source, table, layout, progress=progress)
        answer(Answer(asdict(landed), lambda: _show(landed)))


def _show(landed: Landed) -> None:
    """Print what was appended, and for a new table the next command."""
    if not landed.files:
        printing.print_line(f"{landed.table}: no new file, version {landed.version}")
        return
    broken = f", {landed.broken:,} of them broken" if landed.broken else ""
    files = f"{landed.files:,} file{'' if landed.files == 1 else 's'}"
    printing.print_line(f"{landed.table}: {landed.rows:,} rows of {files}{broken}, version {landed.version}")
    if landed.is_new:
        printing.print_line(f"next: tidemark init {landed.table}")
