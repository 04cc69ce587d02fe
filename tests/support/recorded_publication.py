"""A run as its lake has it, written without Spark: the tables of the reference, and the rows of the ledger."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
from deltalake import DeltaTable, write_deltalake

from spark_jobs.inspection.publication import Publication
from spark_jobs.pipeline import Pipeline, settings
from spark_jobs.pipeline.published_tables import BY_NAME, RUNS
from spark_jobs.semantics import reference
from spark_jobs.tables import delta_rs_writes
from spark_jobs.tables.lake import Lake
from spark_jobs.tables.run import FULL, Run, Step

RUN_ID = "r0123456789abcde"
AT = datetime(2026, 1, 5, 7, tzinfo=UTC)
#: Tables that every run of windows publishes.
TABLES = ("panes", "window_results", "late_events", "invalid_events", "watermarks")

_INSTANT = pa.timestamp("us", tz="UTC")
_TYPES = {
    "timestamp": _INSTANT,
    "string": pa.string(),
    "int": pa.int32(),
    "bigint": pa.int64(),
    "boolean": pa.bool_(),
    "array<struct<source_partition:string,watermark:timestamp>>": pa.list_(
        pa.struct([("source_partition", pa.string()), ("watermark", _INSTANT)])
    ),
}


def land(path: Path, rows: Sequence[Mapping[str, Any]]) -> Path:
    """Write rows of a source as a Delta table; return its path."""
    write_deltalake(path, pa.Table.from_pylist([dict(row) for row in rows]))
    return path


def publish(lake: Lake, pipeline: Pipeline, rows: Sequence[Mapping[str, Any]], **more: Any) -> Publication:
    """Publish the tables of the reference over rows; `more` are fields of the run."""
    result = reference.replay(rows, pipeline)
    empty = pa.Table.from_pylist([dict(row) for row in rows]).schema
    versions = {}
    for name in TABLES:
        table: list[dict[str, Any]] = [{**row, "run_id": RUN_ID} for row in getattr(result, name)]
        write_deltalake(lake.path(name), _table(name, table, empty, pipeline), mode="append", schema_mode="merge")
        versions[name] = DeltaTable(lake.path(name)).version()
    run = Run(
        RUN_ID,
        pipeline.name,
        pipeline.fingerprint,
        FULL,
        0,
        None,
        None,
        settings=settings.of_results(pipeline),
        source_ids={} if not Path(pipeline.source.table).is_dir() else {"": _id(pipeline.source.table)},
    )
    run = Run(**{**vars(run), **more})
    for number, (step, counts, of_step) in enumerate(
        (("plan", {}, {}), ("replay", dict(result.counts), {}), ("publish", {}, versions))
    ):
        began = AT + timedelta(minutes=number)
        run = run.after(Step(step, "done", began, began + timedelta(seconds=30), counts=counts, versions=of_step))
    delta_rs_writes.append(lake.path(RUNS.name), RUNS, [run.entry(step) for step in run.steps])
    return Publication(lake, run)


def _id(table: str) -> str:
    return str(DeltaTable(table).metadata().id)


def _table(name: str, rows: list[dict[str, Any]], source: pa.Schema, pipeline: Pipeline) -> pa.Table:
    """Return rows with the types of the published table; a column of the source has the type of the source."""
    own = {column.name: _TYPES[column.type] for column in BY_NAME[name].own_columns}
    of_source = {field.name: field.type for field in source}
    of_source |= {f"source_{field.name}": field.type for field in source}
    aggregates = [aggregate.name for aggregate in pipeline.windows.aggregates]
    names = list(rows[0]) if rows else _names(name, list(source.names), pipeline, aggregates)
    fields = [pa.field(each, own.get(each) or of_source.get(each) or _inferred(rows, each)) for each in names]
    return pa.Table.from_pylist(rows, pa.schema(fields))


def _inferred(rows: Sequence[Mapping[str, Any]], name: str) -> pa.DataType:
    """Return the type of an aggregate by its values; a whole number without values."""
    kind = pa.array([row[name] for row in rows]).type
    return pa.int64() if pa.types.is_null(kind) else kind


def _names(name: str, of_source: list[str], pipeline: Pipeline, aggregates: list[str]) -> list[str]:
    """Return the columns of a table without rows."""
    own = [column.name for column in BY_NAME[name].own_columns if not column.when]
    if BY_NAME[name].holds_source_columns:
        return [*(each for each in of_source if each not in own), *own]
    results = [*pipeline.windows.key, *own, *aggregates]
    return own if name == "watermarks" else results
