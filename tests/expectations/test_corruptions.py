"""Each corruption of what a good run has staged fails the expectations about it, and no other."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

import pyarrow as pa
import pytest
from delta import DeltaTable
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import types as T
from pyspark.sql.pandas.types import to_arrow_schema

from expectations.staged import Staged
from expectations.suites import SUITES
from spark_jobs.jobs.errors import BlockedError, InputError
from spark_jobs.jobs.runs.runner import Runner
from spark_jobs.pipeline import Pipeline
from spark_jobs.semantics import reference
from spark_jobs.tables.interval import Interval
from spark_jobs.tables.lake import Lake
from tests.expectations.corruptions import CATALOGUE, Corruption
from tests.support import history
from tests.support.engine import frame_of
from tests.support.generated_run import SCHEMAS, Rows, failed_of, interpreted

pytestmark = pytest.mark.spark

ROWS = 900
SOURCE = "id bigint, site string, device string, happened_at timestamp, stored_at timestamp, reading double"
AGGREGATES = "readings bigint, total double, mean double, most double"
SAMPLE = {
    "a_pane_fired_early",
    "a_window_dropped_with_its_result",
    "an_aggregate_changed_in_the_result",
    "a_late_event_at_another_time",
    "an_invalid_event_with_usable_times",
    "firing_times_of_two_windows_swapped",
    "a_pane_of_another_run",
    "a_retraction_of_another_value",
    "an_early_pane_called_on_time",
}
# The pipeline declares how many rows may be too late; sessions have no calendar.
NOT_BY_ROWS = {"run.not_too_many_rows_are_too_late", "watermarks.sessions_are_no_shorter_than_the_gap"}
SETTINGS = {"windows__key": "[device, site]", "windows__allowed_lateness": "12 minutes"}
OVERRIDES: dict[str, dict[str, str]] = {
    "readings": {},
    "forecasts": {"windows__trigger": "{continuous: 2 minutes}"},
    "retracted": {"windows__accumulation": "retracting"},
    "sessions": {"windows__kind": "session", "windows__gap": "25 seconds", "windows__size": "null"},
}


@dataclass(frozen=True)
class GoodRun:
    """What a run would have staged, by the reference."""

    pipeline: Pipeline
    rows: Rows
    counts: Mapping[str, int]
    schemas: Mapping[str, pa.Schema]


@cache
def good(run: str) -> GoodRun:
    pipeline = history.pipeline("readings", **SETTINGS, **OVERRIDES[run])
    outcome = reference.replay(history.events(ROWS), pipeline)
    rows = {table: [{**row, "run_id": "r1"} for row in getattr(outcome, table)] for table in SCHEMAS}
    return GoodRun(pipeline, rows, outcome.counts, {table: schema_of(table, pipeline) for table in SCHEMAS})


def frames(spark: SparkSession, rows: Rows, run: GoodRun) -> dict[str, DataFrame]:
    return {table: frame_of(spark, table_rows, run.schemas[table]) for table, table_rows in rows.items()}


def schema_of(table: str, pipeline: Pipeline) -> pa.Schema:
    schema = SCHEMAS[table].replace("flights bigint", AGGREGATES).replace("carrier string, passenger string", SOURCE)
    if table == "panes" and pipeline.windows.accumulation.value == "retracting":
        schema += ", is_retraction boolean"
    ddl = schema.replace("carrier string", "device string, site string")
    columns = T.StructType.fromDDL(ddl)
    assert isinstance(columns, T.StructType)
    return to_arrow_schema(columns, timezone="UTC")


def broken(spark: SparkSession, run: GoodRun, rows: Rows) -> set[str]:
    with interpreted(spark):
        return failed_of(Staged(frames(spark, rows, run), run.pipeline, run.counts, "r1"))


def spoilt(corruption: Corruption) -> Rows:
    rows = copy.deepcopy(good(corruption.run).rows)
    corruption.how(rows)
    return rows


@pytest.mark.parametrize("run", OVERRIDES)
def test_a_good_run_fails_nothing(spark: SparkSession, run: str) -> None:
    assert broken(spark, good(run), good(run).rows) == set()


@pytest.mark.parametrize(
    "corruption",
    [pytest.param(c, id=c.name, marks=[] if c.name in SAMPLE else pytest.mark.soak) for c in CATALOGUE],
)
def test_a_corruption_fails_the_expectations_about_it_and_no_other(spark: SparkSession, corruption: Corruption) -> None:
    assert broken(spark, good(corruption.run), spoilt(corruption)) == corruption.breaks, corruption.why


def test_every_expectation_about_windows_has_a_corruption() -> None:
    pipelines = [good(run).pipeline for run in OVERRIDES]
    invariants = {
        f"{suite.name}.{invariant.name}"
        for pipeline in pipelines
        for suite in SUITES
        for invariant in suite.invariants(pipeline)
    }
    corrupted = frozenset().union(*(corruption.breaks for corruption in CATALOGUE))
    assert invariants - corrupted == NOT_BY_ROWS
    assert corrupted <= invariants


# Modules that Great Expectations imports.
@pytest.mark.filterwarnings("ignore:module 'sre_:DeprecationWarning")
def test_a_run_whose_staged_results_are_changed_is_not_published(spark: SparkSession, table: str, lake: Lake) -> None:
    runner = Runner(spark, history.pipeline(table), lake)
    run_id = runner.begin(Interval())[0].run.run_id
    runner.step("replay", runner.find(run_id))
    DeltaTable.forPath(spark, lake.staged("window_results", run_id)).update("device = 'a'", {"total": "total + 1"})
    with pytest.raises(BlockedError, match="results_show_what_the_latest_pane_shows"):
        runner.step("audit", runner.find(run_id))
    with pytest.raises(InputError, match="only a run that passed its audit, or was accepted, is published"):
        runner.step("publish", runner.find(run_id))
