"""Published tables have the columns, types and nulls that `published_tables` declares."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from spark_jobs.jobs.runs.runner import Runner
from spark_jobs.pipeline import Pipeline, from_mapping
from spark_jobs.pipeline.model import Accumulation
from spark_jobs.pipeline.published_tables import BY_NAME, RECORDS, Column, Part, Table
from spark_jobs.tables import ledger
from spark_jobs.tables.interval import Interval
from spark_jobs.tables.lake import Lake
from spark_jobs.tables.published import read_as_of
from tests.sampling import sampled
from tests.support import history

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("session")]

SOURCE = ["id", "site", "device", "happened_at", "stored_at", "reading"]


def windows(table: str) -> Pipeline:
    return history.pipeline(table, replay__mode="complete")


def retracting_sessions(table: str) -> Pipeline:
    spec: dict[str, object] = {"kind": "session", "gap": "3 minutes", "key": ["device"]}
    spec |= {"allowed_lateness": "5 minutes", "accumulation": "retracting", "aggregates": {"n": "count(*)"}}
    return from_mapping({**join_source(table), "name": "sessions", "windows": spec})


def interval_join(table: str) -> Pipeline:
    between = {"key": ["device"], "between": ["0s", "20 seconds"], "second_when": "site = 'east'"}
    return from_mapping({**join_source(table), "name": "near", "join": between})


def as_of_join(table: str) -> Pipeline:
    as_of = {"key": ["device"], "as_of": "left_outer", "second_when": "site = 'east'"}
    return from_mapping({**join_source(table), "name": "valid", "join": as_of})


def window_join(table: str) -> Pipeline:
    split = {"key": ["device"], "second_when": "site = 'east'", "names": ["west", "east"]}
    spec = {"size": "1 minute", "allowed_lateness": "2 minutes"}
    return from_mapping({**join_source(table), "name": "together", "join": split, "windows": spec})


def join_source(table: str) -> dict[str, object]:
    return {
        "source": {"table": table, "event_time": "happened_at", "arrival_time": "stored_at", "tie_break": ["id"]},
        "watermark": {"out_of_orderness": "10 seconds", "emit": {"every": "30 seconds"}},
    }


@pytest.mark.parametrize(
    "declare",
    [
        sampled(declare, quick=declare is windows)
        for declare in (windows, retracting_sessions, interval_join, as_of_join, window_join)
    ],
)
def test_a_run_publishes_the_declared_columns(
    declare: Callable[[str], Pipeline], spark: SparkSession, table: str, lake: Lake
) -> None:
    pipeline = declare(table)
    own = Lake(lake.root, pipeline.name)
    Runner(spark, pipeline, own).run(Interval())
    run = ledger.published(spark, own)[-1]
    tables = {name: read_as_of(spark, own, run, name) for name in run.versions}
    tables |= {name: spark.read.format("delta").load(own.path(name)) for name in RECORDS}
    for name, rows in tables.items():
        declared = BY_NAME[name]
        assert rows.columns == list(expected(declared, pipeline)), name
        assert_types(declared, rows)
        assert_nulls(declared, rows)


def expected(table: Table, pipeline: Pipeline) -> Iterator[str]:
    """Return the names of the columns of `table`, in order."""
    key = list(pipeline.windows.key if pipeline.join is None else pipeline.join.key[0])
    inputs: Sequence[str] = () if pipeline.join is None else pipeline.join.names
    by_window = pipeline.join is not None and pipeline.join.by_window
    by_time = pipeline.join is not None and not by_window
    parts: dict[Part, Sequence[str]] = {
        Part.KEY: key if pipeline.join is None or by_window else [],
        Part.AGGREGATES: [aggregate.name for aggregate in pipeline.windows.aggregates],
        Part.SOURCE: SOURCE,
        Part.INPUTS: inputs,
    }
    conditions = {
        "": True,
        "a join": pipeline.join is not None,
        "a join by window": by_window,
        "a join by interval or as of": by_time,
        "a join as of": pipeline.join is not None and pipeline.join.is_as_of,
        "`accumulation: retracting`": pipeline.windows.accumulation is Accumulation.RETRACTING,
    }
    columns = table.columns
    if by_time and Part.INPUTS in columns:
        # A join by interval or as of has the inputs before the times, a join by window behind them.
        columns = (Part.INPUTS, *(column for column in columns if column is not Part.INPUTS))
    for column in columns:
        if by_time and isinstance(column, Column) and column.name in ("window_start", "window_end"):
            continue
        if isinstance(column, Column):
            yield from [column.name] if conditions[column.when] else []
        else:
            yield from parts[column]


def assert_types(table: Table, rows: DataFrame) -> None:
    for column in table.own_columns:
        if column.name in rows.columns:
            actual = rows.schema[column.name].dataType.simpleString()
            assert actual.removeprefix("array<").startswith("struct") if column.type == "struct" else True
            assert column.type in {actual, "struct"}, (table.name, column.name, actual)


def assert_nulls(table: Table, rows: DataFrame) -> None:
    never = [column.name for column in table.own_columns if not column.null and column.name in rows.columns]
    counted = rows.agg(*(F.count_if(F.col(f"`{name}`").isNull()).alias(name) for name in never)).collect()[0]
    assert {name: counted[name] for name in never if counted[name]} == {}, table.name
