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
from tests.benchmarks.ways import DEFAULT_WAYS, WAYS, audit

ROWS = 20_000


def table(spark: SparkSession, path: Path) -> DataFrame:
    return spark.read.format("delta").load(str(path))


def checksum(rows: DataFrame) -> Any:
    return rows.agg(F.count("*"), F.sum(F.xxhash64(*sorted(rows.columns)).cast("decimal(38,0)"))).collect()[0]


@pytest.fixture(name="folder", scope="module")
def _folder(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Events, and what each way made of them."""
    folder = tmp_path_factory.mktemp("bench")
    events.generate(spark, folder / "events", ROWS, seed=1)
    for name in DEFAULT_WAYS:
        WAYS[name].write(spark, folder / "events", folder / "lake" / name)
    return folder


@pytest.fixture(name="counts_by_way", scope="module")
def _counts_by_way(spark: SparkSession, folder: Path) -> Mapping[str, Mapping[str, int]]:
    return answers(spark, folder / "lake", ROWS)


@pytest.mark.spark
@pytest.mark.soak
def test_the_number_of_tasks_does_not_change_the_events_and_the_seed_does(
    spark: SparkSession, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(events, "FILES", 3)
    events.generate(spark, tmp_path / "again", ROWS, seed=1)
    events.generate(spark, tmp_path / "other", ROWS, seed=2)
    assert checksum(table(spark, tmp_path / "again")) == checksum(table(spark, folder / "events"))
    assert checksum(table(spark, tmp_path / "other")) != checksum(table(spark, folder / "events"))


@pytest.mark.spark
@pytest.mark.soak
def test_events_are_stored_in_arrival_order_over_one_day(spark: SparkSession, folder: Path) -> None:
    files = table(spark, folder / "events").groupBy("_metadata.file_name")
    spans = files.agg(F.min("event_id").alias("first"), F.max("event_id").alias("last"), F.count("*").alias("rows"))
    assert all(row["last"] - row["first"] + 1 == row["rows"] for row in spans.collect())
    wrong = (
        table(spark, folder / "events").where("event_time > arrival_time or date(arrival_time) <> '2025-01-01'").count()
    )
    assert wrong == 0


@pytest.mark.spark
@pytest.mark.soak
def test_plain_and_tuned_count_every_row_and_agree(counts_by_way: Mapping[str, Mapping[str, int]]) -> None:
    assert counts_by_way["plain"] == counts_by_way["tuned"]
    assert counts_by_way["plain"]["rows_counted"] == ROWS


@pytest.mark.spark
@pytest.mark.soak
def test_ours_differs_from_plain_by_the_rows_that_it_reports_as_too_late(
    counts_by_way: Mapping[str, Mapping[str, int]],
) -> None:
    ours, plain = counts_by_way["ours"], counts_by_way["plain"]
    assert ours["in_no_result"] == ours["reported"] > 0
    assert plain["missing"] == 0
    assert 0 < plain["extra"] + plain["differing"] <= ours["reported"]


@pytest.mark.spark
@pytest.mark.soak
def test_streaming_ends_without_its_last_windows_and_reports_no_row(
    counts_by_way: Mapping[str, Mapping[str, int]],
) -> None:
    assert counts_by_way["streaming"]["missing"] > 0
    assert counts_by_way["streaming"]["in_no_result"] > counts_by_way["streaming"]["reported"] == 0


@pytest.mark.spark
@pytest.mark.soak
def test_results_are_compared_by_key_and_window(spark: SparkSession) -> None:
    ours = spark.sql("select * from values ('a', 1, 2L), ('b', 1, 3L), ('c', 1, 1L) as t(key, window_start, events)")
    other = spark.sql("select * from values ('a', 1, 2L), ('b', 1, 5L), ('a', 2, 1L) as t(key, window_start, events)")
    expected = Answer(3, 8, missing=1, extra=1, differing=1, in_no_result=2, reported=0)
    assert answer(other, ours, events=10, reported=0) == expected


@pytest.mark.spark
@pytest.mark.soak
def test_results_that_ours_writes_before_the_audit_pass_it(spark: SparkSession, folder: Path) -> None:
    counts = audit(spark, folder / "events", folder / "lake" / "ours")
    assert counts["checks_failed"] == 0 < counts["checks_passed"]


def measured(work_seconds: float, **counts: Any) -> dict[str, Any]:
    """The result of a way's process."""
    times = {"work_seconds": work_seconds, "process_seconds": work_seconds + 5}
    return {**times, "peak_memory_bytes": 2**30, "said": counts}


def test_figures_are_medians_of_the_repeats() -> None:
    runs = {"tuned": [measured(4.0), measured(2.0), measured(90.0)], "ours": [measured(6.0)]}
    tuned, ours = figures.medians(runs, rows=1_000)
    assert (tuned.work_seconds, tuned.process_seconds, tuned.rows_per_second) == (4.0, 9.0, 250.0)
    assert figures.ratio([tuned, ours], "ours") == pytest.approx(11 / 9)


@pytest.mark.parametrize(("ours_seconds", "limit", "code"), [(13.0, "2.0", 0), (13.1, "2.0", 1), (13.1, "none", 0)])
def test_the_benchmark_fails_when_ours_takes_more_than_the_limit(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, ours_seconds: float, limit: str, code: int
) -> None:
    counts = dict.fromkeys(Answer.__dataclass_fields__, 1)
    results = {
        "tuned": measured(4.0),
        "ours": measured(ours_seconds, rows_read=100),
        "answers": measured(1.0, ours=counts, tuned=counts),
    }
    monkeypatch.setattr(alone, "run", lambda task, *_, **__: results.get(task, measured(1.0)))
    target = tmp_path / "figures.json"
    options = ["--ways", "tuned,ours", "--limit", limit, "--json", str(target), "--folder", str(tmp_path)]
    assert bench.main([*options, "--rows", "100", "--repeat", "2"]) == code
    assert json.loads(target.read_text(encoding="utf-8"))["ratio"] == pytest.approx((ours_seconds + 5) / 9)


def test_error_of_a_failed_way_has_the_end_of_its_output(tmp_path: Path) -> None:
    with pytest.raises(alone.TaskFailedError, match=r"no_such_way ended with exit code 1; the end of (?s:.*)KeyError"):
        alone.run("no_such_way", tmp_path, rows=10, seed=1)
