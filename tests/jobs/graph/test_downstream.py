"""A change of rows is taken through a tree of pipelines: each computes what it reaches, as a full run would."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from spark_jobs.jobs.graph.downstream import foresee, take_downstream, write_page
from spark_jobs.jobs.graph.pipeline_graph import PipelineGraph
from spark_jobs.jobs.plan.dry_run import foreseen
from spark_jobs.jobs.runs.runner import Runner
from spark_jobs.pipeline import Pipeline, from_mapping
from spark_jobs.tables.interval import Interval
from spark_jobs.tables.lake import Lake
from spark_jobs.tables.published import read_published
from spark_jobs.tables.run import CHANGED
from tests.support import history
from tests.support.edited_source import EditedSource
from tests.support.engine import in_order, rows_of
from tests.support.whole_run import published

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("session")]

TREE = ("readings", "hours", "days", "busy")


def reader(name: str, table: str, size: str, key: list[str], aggregates: dict[str, str], **source: Any) -> Pipeline:
    return from_mapping(
        {
            "name": name,
            "source": {"table": table, "event_time": "window_start", **source},
            "replay": {"order": "event_time", "end_of_input": "close"},
            "watermark": {"out_of_orderness": "0 seconds"},
            "windows": {"size": size, "key": key, "aggregates": aggregates},
        }
    )


def tree(rows: Path, lake: str) -> list[Pipeline]:
    """Ten minutes by device; hours of them; days of these hours, and busy devices of the hour."""
    of_root, of_hours = (f"{lake}/{name}/window_results" for name in ("readings", "hours"))
    own = {"select": ["device", "readings"]}
    return [
        history.pipeline(str(rows)),
        reader("hours", of_root, "1 hour", ["device"], {"readings": "sum(readings)"}, **own),
        reader("days", of_hours, "1 day", [], {"readings": "sum(readings)"}, **own),
        reader("busy", of_hours, "1 hour", [], {"devices": "count(*)"}, where="readings > 10", **own),
    ]


def results(spark: SparkSession, lake: str, name: str) -> list[Any]:
    return in_order(rows_of(read_published(spark, Lake(lake, name), "window_results").drop("run_id")))


def take(spark: SparkSession, pipelines: list[Pipeline], lake: str, *, changed: bool) -> dict[str, Any]:
    """Run the root and then its readers; the runs by pipeline."""
    graph = PipelineGraph(pipelines, lake)

    def runner_of(pipeline: Pipeline) -> Runner:
        return Runner(spark, pipeline, Lake(lake, pipeline.name))

    first = runner_of(pipelines[0]).run(Interval(), changed=changed)
    runs = take_downstream(spark, graph, pipelines[0].name, first, runner_of)
    page = write_page(Lake(lake, pipelines[0].name), pipelines[0].name, runs)
    text = Path(page).read_text()
    assert all(run.run.run_id in text for run in runs)
    assert "<script" not in text
    return {run.pipeline: run.run for run in runs}


@pytest.mark.soak
def test_a_late_file_at_the_root_of_a_tree(spark: SparkSession, tmp_path: Path) -> None:
    source = EditedSource(spark, tmp_path / "rows", history.events(3000))
    source.land()
    lake = str(tmp_path / "lake")
    pipelines = tree(source.path, lake)
    first = take(spark, pipelines, lake, changed=True)
    assert tuple(sorted(first)) == tuple(sorted(TREE))
    again = take(spark, pipelines, lake, changed=True)
    assert {name: run.run_id for name, run in again.items()} == {name: run.run_id for name, run in first.items()}

    like = source.rows[700]
    source.append([{**like, "id": 9_000 + n, "device": "a", "reading": 1.0} for n in range(8)])
    planned = foreseen(spark, pipelines[0], Lake(lake, "readings"), Interval(), changed=True)
    replaced = Interval(planned["interval_start"], planned["interval_end"])
    readers = {
        reader.pipeline: reader for reader in foresee(spark, PipelineGraph(pipelines, lake), "readings", replaced)
    }
    assert readers["hours"].windows == readers["busy"].windows == readers["days"].windows == 1

    second = take(spark, pipelines, lake, changed=True)
    assert {name: run.kind for name, run in second.items()} == dict.fromkeys(TREE, CHANGED)
    assert {name: run.counts["affected_windows"] for name, run in second.items()} == {
        "readings": 1,
        "hours": 1,
        "days": 1,
        "busy": 1,
    }
    anew = str(tmp_path / "anew")
    take(spark, tree(source.path, anew), anew, changed=False)
    for name in TREE:
        assert results(spark, lake, name) == results(spark, anew, name), name
    assert published(spark, Lake(lake, "readings")) == published(spark, Lake(anew, "readings"))


@pytest.mark.soak
def test_a_reader_that_nothing_reaches_stays_as_it_is(spark: SparkSession, tmp_path: Path) -> None:
    source = EditedSource(spark, tmp_path / "rows", history.events(400))
    source.land()
    lake = str(tmp_path / "lake")
    root, hours, *_ = tree(source.path, lake)
    before = take(spark, [root, hours], lake, changed=True)
    source.compact()
    after = take(spark, [root, hours], lake, changed=True)
    assert {name: run.run_id for name, run in after.items()} == {name: run.run_id for name, run in before.items()}
