"""Settings of a session that a replay changes for its own time, and gives back."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from pyspark import SparkConf
from pyspark.sql import SparkSession

from spark_jobs.runtime import RuntimeSetupError, first_use
from spark_jobs.runtime.native_engine import COMET_ENABLED, obstacle
from spark_jobs.session import for_rows, interpreting, interpreting_few, open_session, planned_once, shuffling

pytestmark = pytest.mark.spark

SHUFFLE = "spark.sql.shuffle.partitions"


def test_shuffle_partitions_are_as_many_as_the_cores_and_more_for_many_rows(spark: SparkSession) -> None:
    before, cores = spark.conf.get(SHUFFLE), spark.sparkContext.defaultParallelism
    for rows, pieces in ((0, cores), (5_000_000 * cores, cores), (5_000_000 * cores + 1, cores + 1)):
        with shuffling(spark, rows):
            assert spark.conf.get(SHUFFLE) == str(pieces)
        assert spark.conf.get(SHUFFLE) == before


def test_a_number_of_pieces_that_the_user_has_set_stays(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    before = spark.conf.get(SHUFFLE)
    conf = SparkConf(loadDefaults=False).set(SHUFFLE, "17")
    monkeypatch.setattr(spark.sparkContext, "getConf", lambda: conf)
    with shuffling(spark, 10**9):
        assert spark.conf.get(SHUFFLE) == before


@pytest.mark.parametrize("before", ["true", "false"])
def test_queries_are_planned_once_for_a_time(spark: SparkSession, before: str) -> None:
    session = spark.newSession()
    session.conf.set("spark.sql.adaptive.enabled", before)

    def plan() -> str:
        return str(session.range(9).groupBy("id").count()._jdf.queryExecution().executedPlan().toString())

    with planned_once(session):
        assert "AdaptiveSparkPlan" not in plan()
    assert ("AdaptiveSparkPlan" in plan()) == (before == "true")


def test_a_plan_may_be_interpreted_beside_a_session_that_compiles(spark: SparkSession) -> None:
    name = "spark.sql.codegen.wholeStage"
    before = spark.conf.get(name)
    assert interpreting(spark).conf.get(name) == "false"
    assert interpreting(interpreting(spark)) is interpreting(spark), "one session beside, whoever asks"
    assert spark.conf.get(name) == before


def test_jars_are_fetched_before_a_session_is_opened(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise RuntimeSetupError.jars_unresolved(["no network"])

    monkeypatch.setattr(first_use, "provide", refuse)
    with pytest.raises(RuntimeSetupError, match="no network"):
        open_session("first use")


def test_few_rows_are_read_without_compiled_code(spark: SparkSession) -> None:
    assert for_rows(spark, 200_000) is interpreting(spark)
    assert for_rows(spark, 200_001) is spark


@pytest.mark.parametrize(
    ("settings", "engine", "interprets"),
    [
        ("", "auto", True),
        ("spark.sql.adaptive.enabled true\n", "auto", False),
        pytest.param(
            "", "comet", False, marks=pytest.mark.skipif(obstacle() is not None, reason="Comet cannot run here")
        ),
    ],
)
def test_a_session_compiles_no_plan_unless_the_user_wants_it(
    tmp_path: Path, settings: str, engine: str, interprets: bool
) -> None:
    (tmp_path / "spark-defaults.conf").write_text(settings)
    program = (
        "from spark_jobs.session import interpreting, open_session\n"
        "spark = open_session('few', compiles_plans=False)\n"
        "plan = spark.range(9).groupBy('id').count()._jdf.queryExecution().executedPlan().toString()\n"
        "print('interprets', interpreting(spark) is spark, 'AdaptiveSparkPlan' in plan)\n"
    )
    variables = {"SPARK_CONF_DIR": str(tmp_path), "TIDEMARK_DRIVER_MEMORY": "1g", "TIDEMARK_ENGINE": engine}
    environment = {**os.environ, **variables}
    ended = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True)
    assert f"interprets {interprets} {not interprets}" in ended.stdout


def test_a_running_session_compiles_as_before(spark: SparkSession) -> None:
    name = "spark.sql.codegen.wholeStage"
    before = spark.conf.get(name)
    assert open_session("few", compiles_plans=False).conf.get(name) == before


def test_plans_over_few_rows_of_small_files_are_interpreted_for_a_time(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = "spark.sql.codegen.wholeStage"
    before = dict(spark.conf.getAll)
    conf = SparkConf(loadDefaults=False)
    monkeypatch.setattr(spark.sparkContext, "getConf", lambda: conf)
    for rows, size, value in ((20_000, 2**24, "false"), (20_001, 2**24, "true"), (20_000, 2**24 + 1, "true")):
        with interpreting_few(spark, rows, size):
            assert spark.conf.get(name) == value
        assert dict(spark.conf.getAll) == before
    with pytest.raises(ValueError, match="a failure"), interpreting_few(spark, 1, 1):
        raise ValueError("a failure")
    assert dict(spark.conf.getAll) == before


def test_a_setting_of_the_user_about_plans_stays(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    before = dict(spark.conf.getAll)
    conf = SparkConf(loadDefaults=False).set("spark.sql.codegen.wholeStage", "true")
    monkeypatch.setattr(spark.sparkContext, "getConf", lambda: conf)
    with interpreting_few(spark, 1, 1):
        assert dict(spark.conf.getAll) == before
    monkeypatch.setattr(spark.sparkContext, "getConf", lambda: SparkConf(loadDefaults=False))
    monkeypatch.setenv("TIDEMARK_ENGINE", "comet")
    with interpreting_few(spark, 1, 1):
        assert dict(spark.conf.getAll) == before


def test_tests_of_comet_use_it_over_few_rows_too(spark: SparkSession, comet: None) -> None:
    with interpreting_few(spark, 1, 1):
        assert spark.conf.get(COMET_ENABLED) == "true"
        assert spark.conf.get("spark.sql.codegen.wholeStage") == "true"
