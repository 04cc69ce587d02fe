"""The page of the tables: every table that a run writes, as `spark_jobs.pipeline.published_tables` declares it."""

from __future__ import annotations

from collections.abc import Iterator

from docs.generate.markdown import anchor, block, code, link, sentence, table
from spark_jobs.pipeline.published_tables import ALL, Column, Part, Table, Use

_INTRODUCTION = """\
Each pipeline has a folder in the lake, `$TIDEMARK_LAKE/<pipeline>`, with one Delta table for each name below. All times
are UTC, and all intervals include their start and exclude their end. The column "null if" of each table below is the
only condition for null.

## Reading the tables

Tables of one run belong together. A run that publishes changes one table after the other, so do not read the folders
directly. For some seconds, or until the next run if a driver dies, the newest versions belong to two runs. Both
functions below read tables as of one published run:
"""
_READING = """\
from spark_jobs.session import open_session
from spark_jobs.tables.lake import Lake
from spark_jobs.tables.published import create_views, read_published

spark = open_session("reader")
lake = Lake.of("departures_by_carrier")

results = read_published(spark, lake, "window_results")  # of the newest published run, or of run_id=

create_views(spark, lake, prefix="departures_")  # a temporary view for each published table
spark.sql("select * from departures_window_results where too_late_count > 0")
"""
_READING_END = """\
A run may publish between two calls of `read_published`: pass the same `run_id`, or use `create_views`, which reads the
ledger once. Both raise [`NothingPublishedError`](errors.md#nothingpublishederror) if no run has published, or if
maintenance has removed the files of the run. The table [`runs`](#runs) lists the runs and the versions that each has
published.
"""


def page() -> str:
    """Return the page."""
    parts = [
        "# Tables\n",
        _INTRODUCTION,
        block(_READING, "python", not_run="it reads a lake with published tables"),
        _READING_END,
        "## Overview\n",
    ]
    rows = ((link(code(spec.name), f"#{spec.name}"), spec.use.value, sentence(spec.row)) for spec in ALL)
    parts.append(table(("table", "written by", "one row is"), rows))
    for spec in ALL:
        parts += _section(spec)
    return "\n".join(parts)


def _section(spec: Table) -> Iterator[str]:
    yield f"## {code(spec.name)}\n"
    yield f"One row is {spec.row.rstrip('.')}.\n"
    yield "\n".join(f"- {fact}" for fact in _facts(spec)) + "\n"
    yield table(("column", "type", "unit", "null if", "meaning"), (_row(spec, column) for column in spec.columns))


def _facts(spec: Table) -> Iterator[str]:
    yield f"Written by: {spec.use.value}."
    if spec.statistics:
        yield f"Delta skips files by: {', '.join(map(code, spec.statistics))}, if the table has the column."
    else:
        yield "Delta skips files by: the default of Delta."
    if spec.counted_as:
        yield f"The count {code(spec.counted_as)} of a full run equals its number of rows."
    if spec.timeless:
        yield "A run over a part of time does not change this table, because its rows belong to no window."
    if spec.derived:
        yield "The table describes rows of other tables of its run. A later run without it removes it."
    if spec.use is Use.WORKING:
        yield "The table is not published: only the steps of its run read it."


def _row(spec: Table, column: Column | Part) -> tuple[str, str, str, str, str]:
    if isinstance(column, Part):
        return f"*{_PARTS[column]}*", "several", "", "as the values are", sentence(column.value)
    name = f"{anchor(f'{spec.name}-{column.name}')}{code(column.name)}"
    only = f" Only for {column.when}." if column.when else ""
    return name, code(column.type), column.unit, column.null or "never", sentence(column.meaning) + only


_PARTS = {
    Part.KEY: "key columns",
    Part.AGGREGATES: "aggregates",
    Part.SOURCE: "source columns",
    Part.INPUTS: "rows of the inputs",
}
