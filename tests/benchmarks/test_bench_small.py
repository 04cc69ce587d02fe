"""The benchmark on few events: the ways agree where they should, and differ in late rows."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from tests.benchmarks import alone, bench, events, figures
from tests.benchmarks.answers import Answer, answer, answers
from tests.benchmarks.limits import Measured, judge
from tests.benchmarks.pipelines import lake_of
from tests.benchmarks.process import TaskFailedError
from tests.benchmarks.shapes import Shape
from tests.benchmarks.spark_ways import SPARK_WAYS, audit
from tests.benchmarks.ways import WAYS

ROWS = 20_000
IN_SPARK, OPTIONAL = ("tuned", "ours", "plain", "streaming"), ("duckdb", "flink")
#: In these every event that is in a result is in one.
COUNTED_ONCE = (Shape.TUMBLING, Shape.SESSION)


def table(spark: SparkSession, path: Path) -> DataFrame:
    return spark.read.format("delta").load(str(path))


def checksum(rows: DataFrame) -> Any:
    return rows.agg(F.count("*"), F.sum(F.xxhash64(*sorted(rows.columns)).cast("decimal(38,0)"))).collect()[0]


@pytest.fixture(name="folder", scope="module")
def _folder(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Events."""
    folder = tmp_path_factory.mktemp("bench")
    events.generate(spark, events.path_of(folder, ROWS, 1), ROWS, seed=1)
    return folder


@pytest.fixture(name="shape", scope="module", params=list(Shape))
def _shape(request: pytest.FixtureRequest) -> Shape:
    return Shape(request.param)


@pytest.fixture(name="counts_by_way", scope="module")
def _counts_by_way(spark: SparkSession, folder: Path, shape: Shape) -> Mapping[str, Mapping[str, int]]:
    """What each way made of the events: those of Spark here, the others in their processes."""
    # Each shape in a separate folder: Spark remembers the files of a table by its path.
    table_path = events.path_of(folder, ROWS, 1)
    (folder / shape).mkdir()
    (folder / shape / table_path.name).symlink_to(table_path)
    for name in IN_SPARK:
        SPARK_WAYS[name].write(spark, table_path, folder / shape / "lake" / name, shape)
    for name in OPTIONAL:
        alone.run(name, folder / shape, rows=ROWS, seed=1, shape=shape)
    return answers(spark, folder / shape / "lake", ROWS, shape)


@pytest.mark.spark
@pytest.mark.soak
def test_the_number_of_tasks_does_not_change_the_events_and_the_seed_does(
    spark: SparkSession, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(events, "FILES", 3)
    events.generate(spark, tmp_path / "again", ROWS, seed=1)
    events.generate(spark, tmp_path / "other", ROWS, seed=2)
    assert checksum(table(spark, tmp_path / "again")) == checksum(table(spark, events.path_of(folder, ROWS, 1)))
    assert checksum(table(spark, tmp_path / "other")) != checksum(table(spark, events.path_of(folder, ROWS, 1)))


@pytest.mark.spark
@pytest.mark.soak
def test_events_are_stored_in_arrival_order_over_one_day(spark: SparkSession, folder: Path) -> None:
    files = table(spark, events.path_of(folder, ROWS, 1)).groupBy("_metadata.file_name")
    spans = files.agg(F.min("event_id").alias("first"), F.max("event_id").alias("last"), F.count("*").alias("rows"))
    assert all(row["last"] - row["first"] + 1 == row["rows"] for row in spans.collect())
    wrong = (
        table(spark, events.path_of(folder, ROWS, 1))
        .where("event_time > arrival_time or date(arrival_time) <> '2025-01-01'")
        .count()
    )
    assert wrong == 0


@pytest.mark.spark
@pytest.mark.soak
def test_plain_and_tuned_agree_and_count_every_row(
    counts_by_way: Mapping[str, Mapping[str, int]], shape: Shape
) -> None:
    assert counts_by_way["plain"] == counts_by_way["tuned"]
    assert counts_by_way["plain"]["in_no_result"] == (0 if shape in COUNTED_ONCE else None)


@pytest.mark.spark
@pytest.mark.soak
def test_ours_differs_from_plain_by_the_rows_that_it_reports_as_too_late(
    counts_by_way: Mapping[str, Mapping[str, int]], shape: Shape
) -> None:
    ours, plain = counts_by_way["ours"], counts_by_way["plain"]
    assert ours["in_no_result"] == (ours["reported"] if shape in COUNTED_ONCE else None)
    assert (ours["missing"], ours["extra"], ours["differing"]) == (0, 0, 0)
    assert ours["reported"] > 0
    if shape is Shape.TUMBLING:
        assert plain["missing"] == 0
        assert 0 < plain["extra"] + plain["differing"] <= ours["reported"]


@pytest.mark.spark
@pytest.mark.soak
def test_streaming_ends_without_its_last_windows_and_reports_no_row(
    counts_by_way: Mapping[str, Mapping[str, int]], shape: Shape
) -> None:
    streaming = counts_by_way["streaming"]
    # A pair is given out at once; only what waits for its window's end is lost.
    assert shape is Shape.JOIN or streaming["missing"] > 0
    assert streaming["reported"] == 0
    if shape in COUNTED_ONCE:
        assert streaming["in_no_result"] > 0


@pytest.mark.spark
@pytest.mark.soak
def test_duckdb_gives_what_plain_spark_gives(counts_by_way: Mapping[str, Mapping[str, int]]) -> None:
    assert counts_by_way["duckdb"] == counts_by_way["plain"]


@pytest.mark.spark
@pytest.mark.soak
def test_flink_gives_what_ours_gives(counts_by_way: Mapping[str, Mapping[str, int]], shape: Shape) -> None:
    flink, ours = counts_by_way["flink"], counts_by_way["ours"]
    if shape is Shape.JOIN:
        # A watermark that waits in the channel of one input lets late rows of the other pass: more rows, more pairs.
        assert flink["missing"] == flink["differing"] == 0
        assert 0 < flink["reported"] <= ours["reported"]
    else:
        assert flink == ours


@pytest.mark.spark
@pytest.mark.soak
@pytest.mark.parametrize("shape", [shape for shape in Shape if shape is not Shape.JOIN], indirect=True, scope="module")
def test_flink_fires_the_panes_that_ours_fires(
    spark: SparkSession, folder: Path, counts_by_way: Mapping[str, Mapping[str, int]], shape: Shape
) -> None:
    values = ("events", "total", "mean", "highest")
    fired = spark.read.parquet(str(folder / shape / "lake" / "flink" / "results"))
    by_flink = fired.select("key", F.timestamp_millis("start_ms"), F.timestamp_millis("end_ms"), *values)
    panes = table(spark, Path(lake_of(folder / shape / "lake" / "ours").path("panes")))
    ours = panes.select("key", "window_start", "window_end", *values)
    assert by_flink.count() == ours.count()
    assert by_flink.exceptAll(ours).count() == 0


@pytest.mark.spark
@pytest.mark.soak
def test_results_are_compared_by_key_and_window(spark: SparkSession) -> None:
    columns = "t(key, start, end, events)"
    ours = spark.sql(f"select * from values ('a', 1, 9, 2L), ('b', 1, 9, 3L), ('c', 1, 9, 1L) as {columns}")
    other = spark.sql(f"select * from values ('a', 1, 9, 2L), ('b', 1, 9, 5L), ('a', 2, 9, 1L) as {columns}")
    expected = Answer(3, 8, missing=1, extra=1, differing=1, in_no_result=2, reported=0)
    assert answer(other, ours, events=10, reported=0) == expected


@pytest.mark.spark
@pytest.mark.soak
def test_sessions_of_flink_that_a_late_row_has_replaced_are_no_results(spark: SparkSession, tmp_path: Path) -> None:
    fired = "('a', 1, 5, 1L), ('a', 1, 9, 2L), ('a', 4, 9, 1L), ('a', 10, 14, 1L), ('a', 12, 16, 1L), ('b', 4, 9, 1L)"
    spark.sql(f"select * from values {fired} as t(key, start_ms, end_ms, events)").write.parquet(
        str(tmp_path / "results")
    )
    results = WAYS["flink"].results(spark, tmp_path, Shape.SESSION)
    expected = {("a", 1, 9), ("a", 10, 14), ("a", 12, 16), ("b", 4, 9)}
    assert {(row.key, row.start, row.end) for row in results.collect()} == expected


@pytest.mark.spark
@pytest.mark.soak
def test_the_whole_command_publishes_what_replay_alone_publishes_and_its_audit_passes(
    spark: SparkSession, folder: Path
) -> None:
    for name in ("whole", "ours"):
        ran = alone.run(name, folder, rows=ROWS, seed=1)
        assert ran["process_seconds"] > ran["work_seconds"] > 0 < ran["peak_memory_bytes"]
        assert {"plan", "replay", "publish"} <= ran["steps"].keys()
    counts = answers(spark, folder / "lake", ROWS)
    assert counts["whole"] == counts["ours"]
    audited = audit(spark, events.path_of(folder, ROWS, 1), folder / "lake" / "ours")
    assert audited["checks_failed"] == 0 < audited["checks_passed"]


@pytest.mark.spark
@pytest.mark.soak
def test_warm_work_is_timed_each_time(folder: Path) -> None:
    each = alone.run("tuned", folder, rows=ROWS, seed=1, times=2)["each"]
    assert [sorted(times) for times in each] == [["work"], ["work"]]


def ran(work_seconds: float, **steps: float) -> dict[str, Any]:
    """Return the result of a way's process."""
    times = {"work_seconds": work_seconds, "process_seconds": work_seconds + 5}
    return {**times, "peak_memory_bytes": 2**30, "counts": {"rows_read": 100}, "steps": steps}


def results(rows: int, **ways: Any) -> Measured:
    return Measured({"rows": rows, "shapes": {Shape.TUMBLING: {"measured": ways}}})


def test_figures_are_medians_and_extremes_of_the_repeats() -> None:
    (tuned,) = figures.of_ways({"tuned": [ran(4.0), ran(2.0), ran(90.0)]}, 1_000)
    assert (tuned.work_seconds, tuned.process_seconds, tuned.rows_per_second) == (4.0, 9.0, 250.0)
    assert (tuned.least_process_seconds, tuned.most_process_seconds) == (7.0, 95.0)


@pytest.mark.parametrize(
    ("rows", "whole_seconds", "is_kept"), [(10_000_000, 12.5, True), (10_000_000, 12.6, False), (20_000, 12.6, None)]
)
def test_a_limit_is_judged_with_the_events_that_it_is_promised_for(
    rows: int, whole_seconds: float, is_kept: bool | None
) -> None:
    measured = results(rows, tuned=[ran(5.0)], whole=[ran(whole_seconds)])
    verdicts = {each.limit.line: each for each in judge(measured)}
    verdict = verdicts["whole process: Tidemark whole / tuned by hand, 10 million"]
    assert verdict.value == pytest.approx((whole_seconds + 5) / 10)
    assert verdict.is_kept is is_kept


def test_the_spread_of_a_ratio_is_that_of_the_turns() -> None:
    measured = results(10_000_000, tuned=[ran(5.0), ran(15.0), ran(5.0)], whole=[ran(5.0), ran(5.0), ran(15.0)])
    judged, *_ = judge(measured)
    assert (judged.value, list(judged.turns)) == (1.0, [1.0, 0.5, 2.0])


def test_a_limit_without_its_figure_is_left_out() -> None:
    lines = [each.limit.line for each in judge(results(10_000_000, tuned=[ran(5.0)]))]
    assert lines == []


@pytest.mark.parametrize(("audit_seconds", "differing", "code"), [(3.0, 0, 0), (3.1, 0, 1), (3.0, 1, 1)])
def test_the_benchmark_fails_when_a_limit_is_broken_or_an_answer_is_not_that_of_flink(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, audit_seconds: float, differing: int, code: int
) -> None:
    counts = dict.fromkeys(Answer.__dataclass_fields__, 0)
    ended = {
        "tuned": ran(4.0),
        "whole": ran(5.0, replay=10.0, audit=audit_seconds),
        "answers": {**ran(1.0), "counts": {"whole": counts, "flink": {**counts, "differing": differing}}},
    }
    monkeypatch.setattr(alone, "run", lambda task, *_, **__: ended.get(task, ran(1.0)))
    target = tmp_path / "figures.json"
    options = ["--ways", "tuned,whole", "--json", str(target), "--folder", str(tmp_path)]
    assert bench.main([*options, "--rows", "10000000", "--repeat", "2"]) == code
    assert len(json.loads(target.read_text(encoding="utf-8"))["shapes"]["tumbling"]["measured"]["whole"]) == 2


def test_error_of_a_failed_way_has_the_end_of_its_output(tmp_path: Path) -> None:
    with pytest.raises(TaskFailedError, match=r"no_such_way ended with exit code 1; the end of (?s:.*)KeyError"):
        alone.run("no_such_way", tmp_path, rows=10, seed=1)
