"""Readers downstream of a planned run: which windows it reaches, and which readers are computed as a whole."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from spark_jobs.cli import downstream_command, print_downstream
from spark_jobs.job_protocol import StepName, StepState
from spark_jobs.jobs.graph import downstream
from spark_jobs.jobs.graph.pipeline_graph import PipelineGraph
from spark_jobs.jobs.graph.touched_windows import TouchedWindows, touched_windows
from spark_jobs.pipeline import Pipeline, from_mapping
from spark_jobs.tables.interval import Interval
from spark_jobs.tables.lake import GATE_TABLE
from spark_jobs.tables.run import FULL, Run, Step
from tests.support import history

AT = datetime(2024, 6, 1, tzinfo=UTC)
DAY = Interval(AT, AT + timedelta(days=1))
TREE = ("readings", "hours", "days")
Foreseen = list[tuple[str, object]]


def reader(name: str, table: str, order: str = "event_time", **source: str) -> Pipeline:
    return from_mapping(
        {
            "name": name,
            "source": {"table": table, "event_time": "window_start", **source},
            "replay": {"order": order},
            "watermark": {"out_of_orderness": "0 seconds"},
            "windows": {"size": "1 hour", "key": [], "aggregates": {"n": "count(*)"}},
        }
    )


@pytest.fixture(name="graph")
def _graph(tmp_path: Path) -> PipelineGraph:
    """Readings, hours that read them, and days that read the hours."""
    lake = str(tmp_path)
    hours = reader("hours", f"{lake}/readings/window_results")
    return PipelineGraph([history.pipeline("t"), hours, reader("days", f"{lake}/hours/window_results")], lake)


@pytest.fixture(name="ledger")
def _ledger(graph: PipelineGraph, monkeypatch: pytest.MonkeyPatch) -> dict[str, list[Run]]:
    """The published runs of each pipeline: a full one. Every reader has one window with rows of replaced windows."""
    step = Step(StepName.PUBLISH, StepState.DONE, AT, AT, versions={GATE_TABLE: 1})
    runs = {
        name: [Run(f"r_{name}", name, pipeline.fingerprint, FULL, 1, None, None, steps=(step,))]
        for name, pipeline in graph.pipelines.items()
    }
    monkeypatch.setattr("spark_jobs.tables.ledger.published", lambda _, lake: runs[lake.pipeline])
    monkeypatch.setattr(downstream, "touched_windows", lambda *_: TouchedWindows(1, DAY))
    return runs


def foreseen(graph: PipelineGraph, replaced: Interval | None) -> Foreseen:
    """Return the number of windows of each reader, or `whole` for a reader that is computed as a whole."""
    spark: Any = None
    readers = downstream.foresee(spark, graph, "readings", replaced)
    assert all(not reader.is_whole or reader.windows is None for reader in readers)
    return [(reader.pipeline, "whole" if reader.is_whole else reader.windows) for reader in readers]


@pytest.mark.usefixtures("ledger")
def test_a_run_that_replaces_nothing_reaches_nothing(graph: PipelineGraph) -> None:
    assert foreseen(graph, DAY) == [("hours", 1), ("days", 1)]
    for replaced in (None, Interval(AT, AT)):
        assert foreseen(graph, replaced) == [("hours", 0), ("days", 0)]


@pytest.mark.usefixtures("ledger")
@pytest.mark.parametrize(("state", "windows"), [("new", 1), ("blocked", 1), ("published", 0)])
def test_a_run_that_is_published_already_reaches_nothing(graph: PipelineGraph, state: str, windows: int) -> None:
    planned: dict[str, Any] = {"interval_start": AT, "interval_end": DAY.end, "stretches": [], "state": state}
    request: Any = type("Request", (), {"pipeline": graph.pipelines["readings"]})()
    spark: Any = None
    readers = downstream_command.foreseen_readers(spark, request, graph, planned)
    assert [reader.windows for reader in readers] == [windows, windows]


def test_a_reader_without_results_is_computed_as_a_whole(
    graph: PipelineGraph, ledger: dict[str, list[Run]], capsys: pytest.CaptureFixture[str]
) -> None:
    hours = ledger["hours"][0]
    ledger["hours"] = [replace(hours, fingerprint="of other settings")]
    assert foreseen(graph, None) == [("hours", "whole"), ("days", 1)]
    ledger["hours"] = []
    # The table that the days are read from does not exist yet.
    assert foreseen(graph, None) == foreseen(graph, DAY) == [("hours", "whole"), ("days", "whole")]
    ledger["hours"], ledger["readings"] = [hours], []
    assert foreseen(graph, Interval()) == [("hours", "whole"), ("days", 1)]
    spark: Any = None
    readers = downstream.foresee(spark, graph, "readings", Interval())
    assert readers[0].as_json() == {
        "pipeline": "hours",
        "reads": ["readings.window_results"],
        "windows": None,
        "from": None,
        "to": None,
        "whole": True,
    }
    print_downstream.show_foreseen(readers)
    assert capsys.readouterr().out.splitlines() == [
        "reaches hours: computed as a whole, by readings.window_results",
        "reaches days: 1 window from 2024-06-01 00:00 to 2024-06-02 00:00, by hours.window_results",
    ]


@pytest.mark.spark
@pytest.mark.usefixtures("session")
def test_a_reader_in_the_order_of_commits_is_foreseen(spark: SparkSession, tmp_path: Path) -> None:
    table = str(tmp_path / "window_results")
    starts = [(AT + timedelta(minutes=minutes),) for minutes in (0, 30, 90, 60 * 24)]
    spark.createDataFrame(starts, "window_start timestamp").write.format("delta").save(table)
    by_commit = reader("hours", table, order="commit")
    assert touched_windows(spark, by_commit, {"": DAY}) == TouchedWindows(2, Interval(AT, AT + timedelta(hours=2)))
    of_commits = reader("hours", table, order="commit", where="_commit_version > 0")
    assert touched_windows(spark, of_commits, {"": DAY}) is None
