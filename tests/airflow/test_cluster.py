"""The same DAGs on a Spark standalone cluster that loses executors, drivers and whole workers while they work."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from spark_jobs.pipeline import load
from spark_jobs.semantics import reference
from spark_jobs.tables.lake import Lake
from tests.airflow.clone import Clone
from tests.airflow.standalone import Standalone, standalone
from tests.airflow.waiting import until
from tests.airflow.whole import RUN_WITHIN_S, Whole, whole
from tests.faults import drivers
from tests.support import history
from tests.support.whole_run import assert_published

pytestmark = [pytest.mark.airflow, pytest.mark.spark, pytest.mark.soak]

BACKFILL = "tidemark_backfill"


@pytest.fixture(name="cluster")
def _cluster(tmp_path: Path) -> Iterator[Standalone]:
    with standalone(tmp_path / "cluster") as cluster:
        yield cluster


@pytest.fixture(name="clone")
def _clone(spark: SparkSession, tmp_path: Path) -> Clone:
    clone = Clone.make(tmp_path / "clone")
    table = history.land(spark, history.events(), clone.lake / "events")
    clone.write("readings.yaml", drivers.PIPELINE.format(table=table))
    return clone


@pytest.fixture(name="airflow")
def _airflow(clone: Clone, cluster: Standalone) -> Iterator[Whole]:
    with whole(clone, AIRFLOW_CONN_SPARK_DEFAULT=cluster.connection(), SPARK_LOCAL_IP="127.0.0.1") as airflow:
        until(lambda: airflow.knows(BACKFILL))
        yield airflow


def test_a_lost_executor_and_a_lost_worker_change_nothing(
    airflow: Whole, cluster: Standalone, clone: Clone, spark: SparkSession
) -> None:
    answer = airflow.trigger(BACKFILL, {"pipeline": "readings", "slices": 3})
    answer.raise_for_status()
    run = answer.json()["dag_run_id"]
    working(airflow, run, "replay", "slice 1 of 3 staged")
    assert len(cluster.executors()) == 2
    cluster.lose_executor()
    working(airflow, run, "replay", "checking what is staged")
    until(lambda: len(cluster.executors()) == 2)
    cluster.lose_worker()
    assert airflow.ended(BACKFILL, run) == "success"
    # One application takes the replay and the steps behind it; executors are lost in two of them.
    replayed, _, audited = airflow.log(BACKFILL, run, "replay").partition("checking what is staged")
    assert "Lost executor" in replayed
    assert "Lost executor" in audited
    expected = reference.replay(history.events(), load(clone.root / "dags/pipelines/readings.yaml"))
    assert_published(spark, Lake(str(clone.lake), "readings"), expected)
    state = cluster.state()
    assert state["aliveworkers"] == 1
    applications = {application["name"] for application in state["completedapps"]}
    assert applications == {f"tidemark {step} readings" for step in ("plan", "replay")}


def working(airflow: Whole, run: str, task: str, words: str) -> None:
    """Wait until a task runs, and its log contains some words."""
    until(lambda: airflow.tasks(BACKFILL, run).get(task) == "running", RUN_WITHIN_S, every_s=0.2)
    until(lambda: words in airflow.log(BACKFILL, run, task), RUN_WITHIN_S, every_s=0.2)


def test_a_lost_driver_on_the_cluster_and_a_lost_worker_change_nothing(
    clone: Clone, spark: SparkSession, tmp_path: Path
) -> None:
    with (
        standalone(tmp_path / "three", workers=3, cores=2, memory="3g") as cluster,
        whole(
            clone,
            AIRFLOW_CONN_SPARK_DEFAULT=cluster.connection("cluster"),
            SPARK_LOCAL_IP="127.0.0.1",
            TIDEMARK_DRIVER_MEMORY="1g",
        ) as airflow,
    ):
        until(lambda: airflow.knows(BACKFILL))
        answer = airflow.trigger(BACKFILL, {"pipeline": "readings", "slices": 3})
        answer.raise_for_status()
        run = answer.json()["dag_run_id"]
        lake = Lake(str(clone.lake), "readings")
        until(lambda: any(Path(lake.home).glob("panes/staged/*/_delta_log/*0.json")), RUN_WITHIN_S, every_s=0.2)
        cluster.lose_driver()
        until(lambda: len(cluster.drivers()) == 1, RUN_WITHIN_S, every_s=0.2)
        # The worker of the driver stays.
        (driver,) = cluster.drivers()
        cluster.workers.sort(key=lambda worker: driver in worker.children(recursive=True), reverse=True)
        until(lambda: len(cluster.executors()) > 1, RUN_WITHIN_S, every_s=0.2)
        cluster.lose_worker()
        assert airflow.ended(BACKFILL, run) == "success"
        expected = reference.replay(history.events(), load(clone.root / "dags/pipelines/readings.yaml"))
        assert_published(spark, lake, expected)
        assert not [path for path in clone.lake.glob("_jobs/**/*") if path.is_file()]
        assert cluster.state()["aliveworkers"] == 2
