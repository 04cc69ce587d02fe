"""The columns that a published table of a case can have, whether or not the replay puts rows into it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from spark_jobs.cases.case_file import SOURCE, UNASSIGNED
from spark_jobs.cases.cells import Row
from spark_jobs.pipeline import Pipeline
from spark_jobs.pipeline.published_tables import BY_NAME, Column, Part, When, conditions_of
from spark_jobs.semantics.rows.carried_columns import carried_names

_OF_UNASSIGNED = (Part.SOURCE, "event_time", "arrival_time", "watermark")


def columns_of(table: str, pipeline: Pipeline, rows: Sequence[Row]) -> list[str] | None:
    """Return the columns of a table for the source rows of a case; None if there is no row to have its columns from."""
    declared = BY_NAME[table].columns if table != UNASSIGNED else _OF_UNASSIGNED
    if not rows and {Part.SOURCE, Part.INPUTS} & set(declared):
        return None
    conditions = {When.ALWAYS, *(conditions_of(pipeline.join) if pipeline.join is not None else ())}
    if pipeline.windows.retracts:
        conditions.add(When.RETRACTING)
    own = [
        part if isinstance(part, str) else part.name
        for part in declared
        if isinstance(part, str) or (isinstance(part, Column) and part.when in conditions)
    ]
    names = [name for part in declared if isinstance(part, Part) for name in _of_part(part, pipeline, rows, own)]
    return [name for name in (*names, *own) if name != "run_id"]


def source_columns(pipeline: Pipeline, rows: Sequence[Row]) -> list[str]:
    """Return the columns of source rows, with the computed ones."""
    names = dict.fromkeys(name for row in rows for name in row)
    computed = (column.name for source in pipeline.all_sources for column in source.columns)
    return [*names, *(name for name in computed if name not in names)]


def _of_part(part: Part, pipeline: Pipeline, rows: Sequence[Row], own: Sequence[str]) -> Iterator[str]:
    join = pipeline.join
    if part is Part.KEY:
        yield from pipeline.windows.key if join is None else join.key[0] if join.by_window else ()
    elif part is Part.AGGREGATES:
        yield from (aggregate.name for aggregate in pipeline.windows.aggregates)
    elif part is Part.SOURCE:
        carried = carried_names(source_columns(pipeline, rows), (*own, "run_id"))
        yield from carried.values()
    elif join is not None:
        for name in join.names:
            of_input = rows if join.second_when is not None else [row for row in rows if row.get(SOURCE) == name]
            yield from (f"{name}.{column}" for column in source_columns(pipeline, of_input) if column != SOURCE)
