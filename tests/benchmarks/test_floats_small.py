"""The benchmark of exact sums on few events: the ways differ in their sums, and their results only by rounding."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from spark_jobs.local_rows import local_rows
from tests.benchmarks import floats
from tests.benchmarks.floats_task import differing
from tests.benchmarks.limits import WARM_UP_TURNS

TURNS = WARM_UP_TURNS + 1


@pytest.mark.spark
@pytest.mark.soak
def test_runs_with_exact_and_plain_sums_take_turns(tmp_path: Path) -> None:
    target = tmp_path / "figures.json"
    options = ["--rows", "20000", "--turns", str(TURNS), "--shape", "tumbling"]
    assert floats.main([*options, "--folder", str(tmp_path), "--json", str(target)]) == 0
    figures: dict[str, Any] = json.loads(target.read_text(encoding="utf-8"))
    assert (figures["rows"], figures["repeat"]) == (20_000, 1)
    tumbling = figures["floats"]["tumbling"]
    assert len(tumbling["turns"]) == TURNS
    assert all(turn.keys() == {"exact", "plain"} and min(turn.values()) > 0 for turn in tumbling["turns"])
    assert tumbling["windows"] > 10_000
    assert tumbling["differing_rows"] == 0
    # Plain runs add as the pipeline file has it and measure nothing. Exact runs measure the value and add its parts.
    assert tumbling["sums"]["plain"] == [["sum(value)", 0]]
    ((exact, measured_values),) = tumbling["sums"]["exact"]
    assert exact.count("sum(") > 1
    assert measured_values == 1


@pytest.mark.parametrize("turns", ["0", str(WARM_UP_TURNS)])
def test_turns_that_only_warm_up_are_refused(turns: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        floats.main(["--turns", turns])
    assert f"found {turns}, expected more than the {WARM_UP_TURNS} turns that warm up" in capsys.readouterr().err


@pytest.mark.spark
@pytest.mark.soak
def test_results_differ_by_more_than_rounding(spark: SparkSession) -> None:
    exact = results(spark, ("a", 3, 0.3), ("b", 2, 0.1 + 0.2))
    assert differing(exact, results(spark, ("a", 3, 0.3), ("b", 2, 0.3))) == 0
    assert differing(exact, results(spark, ("a", 3, 0.3), ("b", 2, 0.3 + 1e-9))) == 1
    assert differing(exact, results(spark, ("a", 2, 0.3), ("b", 3, 0.3))) == 2
    assert differing(exact, results(spark, ("a", 3, 0.3), ("c", 2, 0.3))) == 2


def results(spark: SparkSession, *rows: tuple[str, int, float]) -> DataFrame:
    """Return results of keys, with events and a sum, in one window. Each call is another run."""
    window = {"window_start": F.timestamp_micros(F.lit(0)), "window_end": F.timestamp_micros(F.lit(1))}
    return local_rows(spark, rows, "key string, events bigint, total double").withColumns(
        {**window, "run_id": F.uuid()}
    )
