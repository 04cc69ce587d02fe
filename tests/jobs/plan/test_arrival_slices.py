"""Arrival slices: after each slice the published tables are the results of one job over the same arrivals."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from delta.tables import DeltaTable
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from spark_jobs.jobs.errors import InputError, StaleError
from spark_jobs.jobs.plan.estimate import extent
from spark_jobs.jobs.plan.plan import plan
from spark_jobs.jobs.plan.spark_tables import SparkTables
from spark_jobs.jobs.publish.publish import publish
from spark_jobs.jobs.runs.runner import Runner
from spark_jobs.jobs.stage import stage as replaying
from spark_jobs.pipeline import Pipeline
from spark_jobs.tables import ledger, time_order
from spark_jobs.tables.interval import Interval
from spark_jobs.tables.lake import Lake
from spark_jobs.tables.published import read_published
from tests.sampling import sampled
from tests.support import history
from tests.support.arrivals import CUTS, assert_slices_follow, replay_until
from tests.support.engine import frame_of, in_order, rows_of
from tests.support.files_read import most_files_read
from tests.support.pipelines import SHAPES, detecting, sessions, sliding
from tests.support.runs import publish as unchecked
from tests.support.whole_run import assert_published, published, run_steps

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("session")]


KINDS: dict[str, Callable[[str], Pipeline]] = {
    "sliding": lambda table: sliding(table, **SHAPES["overlapping"]),
    "with gaps": lambda table: sliding(table, **SHAPES["with gaps"]),
    "sessions": sessions,
    "by row": lambda table: history.pipeline(table, watermark__emit="per_event"),
    "idle": lambda table: history.pipeline(table, watermark__idle_timeout="20 seconds"),
    "custom": detecting,
    "no lateness": lambda table: history.pipeline(table, windows__allowed_lateness="0s"),
    "retracting": lambda table: history.pipeline(table, windows__accumulation="retracting"),
    "gathered": lambda table: history.pipeline(table, windows__late_panes="per_epoch"),
    "early": lambda table: history.pipeline(table, windows__trigger="{count: 5}"),
}


@pytest.mark.soak
def test_consecutive_slices_publish_the_results_of_one_job(spark: SparkSession, table: str, lake: Lake) -> None:
    pipeline = history.pipeline(table)
    runs = assert_slices_follow(spark, pipeline, lake)
    assert [run.arrived_to for run in runs] == CUTS
    assert [run.arrived_from for run in runs] == [None, None, *CUTS[1:-1]]
    assert min(runs[-1].counts["late"], runs[-1].counts["too_late"]) > 0
    # What is covered is not done again; a part of time is replayed as of what is published.
    before = published(spark, lake)
    assert {outcome.state for outcome in run_steps(spark, pipeline, lake, arrived_to=CUTS[1])} == {"unchanged"}
    hour = Interval(history.START, history.START + timedelta(hours=1))
    assert [outcome.state for outcome in Runner(spark, pipeline, lake).run(hour)] == ["done"] * 5
    assert published(spark, lake) == before


@pytest.mark.soak
@pytest.mark.parametrize("kind", KINDS)
def test_slices_of_every_kind(spark: SparkSession, table: str, lake: Lake, kind: str) -> None:
    assert_slices_follow(spark, KINDS[kind](table), lake)


DAYS = 5


def a_row_a_minute(spark: SparkSession, path: Path) -> str:
    """Days of rows, a file a day; one row in fifty comes up to days late."""
    start = F.unix_micros(F.lit(history.START.replace(hour=0)))
    stored = start + F.col("id") * F.lit(60_000_000)
    delay = F.when(F.pmod("id", F.lit(50)) == 7, F.pmod(F.col("id") * 7919, F.lit(200_000))).otherwise(F.col("id") % 7)
    rows = spark.range(0, 1440 * DAYS, numPartitions=DAYS).select(
        "id",
        F.when(F.col("id") % 3 == 0, "north").otherwise("south").alias("site"),
        F.when(F.col("id") % 4 > 0, (F.col("id") % 4).cast("string")).alias("device"),
        F.timestamp_micros(stored - delay * F.lit(1_000_000)).alias("happened_at"),
        F.timestamp_micros(stored).alias("stored_at"),
        (F.col("id") % 50).cast("double").alias("reading"),
    )
    rows.write.format("delta").save(str(path))
    return str(path)


@pytest.mark.parametrize(
    "is_compared", [sampled(is_compared, quick=False, judges=not is_compared) for is_compared in (False, True)]
)
def test_run_reads_and_writes_its_day_and_the_open_windows(
    spark: SparkSession, tmp_path: Path, lake: Lake, monkeypatch: pytest.MonkeyPatch, *, is_compared: bool
) -> None:
    monkeypatch.setattr(replaying, "WORTH_A_SLICE", 1000)
    monkeypatch.setattr(time_order, "ROWS_OF_A_FILE", 20)
    path = a_row_a_minute(spark, tmp_path / "days")
    pipeline = history.pipeline(path, windows__size="1 hour", windows__allowed_lateness="2 hours")
    end = history.START.replace(hour=0) + timedelta(days=DAYS)
    yesterday = end - timedelta(days=1)
    behind, _ = Runner(spark, pipeline, lake).plan(Interval(), yesterday - timedelta(days=1))
    assert (
        most_files_read(spark, path, lambda: unchecked(spark, pipeline, lake, Interval(), arrived_to=yesterday))
        == DAYS - 1
    )
    # What another has published since the plan is not done.
    for step in ("replay", "audit", "publish", "report"):
        outcome = Runner(spark, pipeline, lake).step(step, behind.run)
        assert (outcome.state, outcome.run_id) == ("unchanged", ledger.published(spark, lake)[-1].run_id)
    planned = plan(SparkTables(spark, pipeline, lake), Interval(), end)
    assert extent(spark, pipeline, lake, planned).source_files == 2
    assert most_files_read(spark, path, lambda: unchecked(spark, pipeline, lake, Interval(), arrived_to=end)) == 2
    [*_, run] = ledger.published(spark, lake)
    assert (run.arrived_from, run.interval_start) == (yesterday, yesterday - timedelta(hours=3))
    assert run.counts["too_late_behind"] > 0
    # The windows that were open had separate files: nothing else is written anew with them.
    assert rows_written_anew(spark, lake, "panes") == 0
    # Rows that came too late change results of few files.
    anew = rows_written_anew(spark, lake, "window_results")
    assert 0 < anew < rows_published(spark, lake, "window_results") / 2
    if not is_compared:
        return
    # Rows for windows of earlier days get the results of a run that reads everything.
    other = Lake(lake.root + "-whole", "readings")
    unchecked(spark, pipeline, other, Interval(), arrived_to=end)
    assert published(spark, lake) == published(spark, other)
    advances = [read_published(spark, of, "advances").drop("run_id") for of in (lake, other)]
    assert in_order(rows_of(advances[0])) == in_order(rows_of(advances[1]))


def rows_published(spark: SparkSession, lake: Lake, table: str) -> int:
    return spark.read.format("delta").load(lake.path(table)).count()


def rows_written_anew(spark: SparkSession, lake: Lake, table: str) -> int:
    """Published rows that publishing has carried over from files that it has removed."""
    rows = spark.read.format("delta").load(lake.path(table))
    return rows.where(F.col("_metadata.file_path").contains("-carried-")).count()


@pytest.mark.soak
def test_run_does_not_continue_from_a_run_that_is_no_longer_published(
    spark: SparkSession, table: str, lake: Lake
) -> None:
    pipeline = history.pipeline(table)
    run_steps(spark, pipeline, lake, arrived_to=CUTS[1])
    runner = Runner(spark, pipeline, lake)
    stale, _ = runner.plan(Interval(), CUTS[2])
    staged, _ = runner.plan(Interval(), CUTS[2] + timedelta(minutes=1))
    for step in ("replay", "audit"):
        runner.step(step, runner.find(staged.run.run_id))
    hour = Interval(history.START, history.START + timedelta(hours=1))
    part, _ = runner.plan(hour)
    anew, _ = Runner(spark, pipeline, Lake(lake.root, "other")).plan(Interval(), CUTS[1] + timedelta(minutes=1))
    for step in ("replay", "audit"):
        runner.step(step, runner.find(part.run.run_id))
    run_steps(spark, pipeline, lake, arrived_to=CUTS[2] - timedelta(minutes=1))
    before = published(spark, lake)
    with pytest.raises(StaleError, match=r"which is not where the published tables of .* end any more .*: plan again"):
        runner.step("replay", runner.find(stale.run.run_id))
    with pytest.raises(StaleError, match=r"end any more .*: plan again"):
        runner.step("publish", runner.find(staged.run.run_id))
    with pytest.raises(StaleError, match=r"planned on arrivals until 2024-03-30 23:10:00 UTC, .*: plan again"):
        runner.step("publish", runner.find(part.run.run_id))
    with pytest.raises(StaleError, match=r"end any more .*: plan again"):
        publish(spark, lake, anew.run)
    assert published(spark, lake) == before


@pytest.mark.soak
def test_rows_that_come_after_their_time_are_read_with_all_others(
    spark: SparkSession, tmp_path: Path, lake: Lake
) -> None:
    rows, path = history.events(900), tmp_path / "rows"
    late, earlier = rows[100:110], rows[:100] + rows[110:]
    pipeline = history.pipeline(str(path))
    history.land(spark, earlier[:500], path)
    run_steps(spark, pipeline, lake, arrived_to=CUTS[0] + timedelta(minutes=30))
    history.land(spark, earlier[500:], path)
    run_steps(spark, pipeline, lake, arrived_to=CUTS[1])
    assert ledger.published(spark, lake)[-1].arrived_from is not None, "what came behind the cut is no change"
    history.land(spark, late, path)
    # Compaction writes them anew, among rows that were known.
    DeltaTable.forPath(spark, str(path)).optimize().executeCompaction()
    noted = plan(SparkTables(spark, pipeline, lake), Interval(), CUTS[2])
    assert noted.note.endswith("10 rows that arrived before 2024-03-30 23:10:00 UTC came later")
    run_steps(spark, pipeline, lake, arrived_to=CUTS[2])
    assert_published(spark, lake, replay_until(rows, pipeline, CUTS[2]))
    DeltaTable.forPath(spark, str(path)).optimize().executeCompaction()
    assert not plan(SparkTables(spark, pipeline, lake), Interval(), CUTS[3]).note, "compaction is no change"
    DeltaTable.forPath(spark, str(path)).delete("id = 5")
    assert (
        "files of version 3 have been rewritten" in plan(SparkTables(spark, pipeline, lake), Interval(), CUTS[3]).note
    )


@pytest.mark.soak
def test_a_column_more_is_read_with_all_rows(spark: SparkSession, tmp_path: Path, lake: Lake) -> None:
    path = tmp_path / "rows"
    pipeline = history.pipeline(history.land(spark, history.events(700), path))
    run_steps(spark, pipeline, lake, arrived_to=CUTS[0] + timedelta(minutes=30))
    more = spark.read.format("delta").load(str(path)).limit(0).withColumn("unit", F.lit("m"))
    more.write.format("delta").mode("append").option("mergeSchema", value=True).save(str(path))
    assert plan(SparkTables(spark, pipeline, lake), Interval(), CUTS[1]).note.endswith(
        "its columns are others than at version 0"
    )
    run_steps(spark, pipeline, lake, arrived_to=CUTS[1])
    assert "unit" in read_published(spark, lake, "late_events").columns


def test_a_row_without_an_arrival_is_published_once_whatever_its_types(
    spark: SparkSession, tmp_path: Path, lake: Lake
) -> None:
    table = str(tmp_path / "rows")
    undated = [{**row, "stored_at": None} for row in history.events(100)[:4]]

    def append(rows: list[dict[str, object]]) -> None:
        frame = frame_of(spark, rows, history.SCHEMA).withColumn("headers", F.create_map(F.lit("site"), F.col("site")))
        frame.write.format("delta").mode("append").save(table)

    append([*history.events(100), *undated[:2]])
    pipeline = history.pipeline(table, quality__max_too_late_ratio="1", replay__end_of_input="keep_open")
    invalid = []
    for cut in CUTS[:2]:
        run_steps(spark, pipeline, lake, arrived_to=cut)
        rows = read_published(spark, lake, "invalid_events").where("stored_at is null").collect()
        invalid.append(sorted(row["id"] for row in rows))
        append([undated[0], undated[3]])
    in_history = [row["id"] for row in history.events(100) if row["stored_at"] is None]
    assert invalid == [sorted([*in_history, 0, 1]), sorted([*in_history, 0, 1, 0, 3])]


def test_unsupported_arrival_slices_are_refused(spark: SparkSession, table: str, lake: Lake) -> None:
    by_event_time = Runner(spark, history.pipeline(table, replay__order="event_time"), lake)
    with pytest.raises(InputError, match=r"rows have no arrival in replay\.order event_time"):
        by_event_time.plan(Interval(), CUTS[0])
    runner = Runner(spark, history.pipeline(table), lake)
    with pytest.raises(InputError, match="lies in the future"):
        runner.plan(Interval(), datetime.now(UTC).replace(microsecond=0) + timedelta(hours=1))
    with pytest.raises(InputError, match="not in whole milliseconds"):
        runner.plan(Interval(), CUTS[0] + timedelta(microseconds=1))
    with pytest.raises(InputError, match="cannot be combined with --from or --to"):
        runner.plan(Interval(CUTS[1], None), CUTS[1])
