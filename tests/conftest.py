"""What tests share: a Spark session as the jobs open it, small enough for many small replays."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from spark_jobs.tables.lake import Lake

# PySpark hands out timestamps in the machine's time zone; the tests read them as UTC.
os.environ["TZ"] = "UTC"
time.tzset()


@pytest.fixture(autouse=True)
def _no_values_of_other_tests(monkeypatch: pytest.MonkeyPatch) -> None:
    """The values of variables that a test has read do not hide texts of the next test."""
    from spark_jobs.pipeline import environment

    monkeypatch.setattr(environment, "_references", {})


@pytest.fixture(scope="session")
def short_stretches() -> Iterator[None]:
    """Group and number rows in many stretches of the clock, though the rows are few and lie close together."""
    from spark_jobs.replay.rows import arrival_order

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(arrival_order, "_GROUPING_STRETCH_US", 20_000)
        patch.setattr(arrival_order, "_NUMBERING_STRETCH_US", 50_000)
        yield


@pytest.fixture(scope="session")
def spark(short_stretches: None) -> Iterator[SparkSession]:
    """A local session on two cores."""
    os.environ.setdefault("TIDEMARK_SPARK_MASTER", "local[2]")
    os.environ.setdefault("TIDEMARK_DRIVER_MEMORY", "2g")
    from spark_jobs.session import open_session

    # A broadcast table takes a whole page, by default tens of MiB: those of many small replays fill the driver.
    os.environ["PYSPARK_SUBMIT_ARGS"] = "--conf spark.buffer.pageSize=1m pyspark-shell"
    session = open_session("tidemark tests", few_rows=True)
    del os.environ["PYSPARK_SUBMIT_ARGS"]
    session.conf.set("spark.sql.shuffle.partitions", "2")
    session.conf.set("spark.sql.adaptive.enabled", "false")
    yield session
    session.stop()


@pytest.fixture(name="session", scope="module")
def _session(spark: SparkSession) -> Iterator[SparkSession]:
    """Spark without compiled code, which takes longer to make than a scenario of a few dozen rows takes to run."""
    settings = {"spark.sql.codegen.wholeStage": "false", "spark.sql.codegen.factoryMode": "NO_CODEGEN"}
    before = {name: str(spark.conf.get(name)) for name in settings}
    for name, value in settings.items():
        spark.conf.set(name, value)
    yield spark
    for name, value in before.items():
        spark.conf.set(name, value)


@pytest.fixture(autouse=True)
def _engine_stays(request: pytest.FixtureRequest) -> Iterator[None]:
    """A test leaves the shared session with its engine: a plan that fails in Comet leaves it for Spark alone."""
    session = request.getfixturevalue("spark") if "spark" in request.fixturenames else None
    if not hasattr(session, "sparkContext"):
        yield
        return
    from spark_jobs.runtime.native_engine import COMET_ENABLED

    spark: SparkSession = session  # type: ignore[assignment]
    before = spark.sparkContext.getConf().get(COMET_ENABLED, "false")
    yield
    after = spark.conf.get(COMET_ENABLED, "false")
    spark.conf.set(COMET_ENABLED, before)
    assert after == before


@pytest.fixture
def as_of_many_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs over few rows compile their plans and use Comet, as runs over many rows do."""
    from spark_jobs import session

    monkeypatch.setattr(session, "_FEW_ROWS", -1)


@pytest.fixture
def comet(spark: SparkSession, as_of_many_rows: None) -> None:
    """The session uses Comet; the test is skipped on a machine that cannot run it."""
    from spark_jobs.runtime import native_engine

    if (reason := native_engine.obstacle()) is not None:
        pytest.skip(reason)
    assert spark.conf.get(native_engine.COMET_ENABLED) == "true"


@pytest.fixture
def spark_alone(spark: SparkSession) -> Iterator[None]:
    """Spark runs all plans itself in this test."""
    from spark_jobs.runtime.native_engine import COMET_ENABLED

    before = spark.conf.get(COMET_ENABLED, "false")
    spark.conf.set(COMET_ENABLED, "false")
    yield
    spark.conf.set(COMET_ENABLED, str(before))


@pytest.fixture(scope="module")
def table(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> str:
    """The source table with the small history."""
    from tests.support import history

    return history.land(spark, history.events(), tmp_path_factory.mktemp("source") / "readings")


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    """A lake for one test."""
    from spark_jobs.tables.lake import Lake

    return Lake(str(tmp_path / "lake"), "readings")
