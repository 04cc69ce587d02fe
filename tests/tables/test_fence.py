"""The fence: after its lease was taken over, a process commits to no published table."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from pyspark.sql import SparkSession

from spark_jobs.tables import commit_files, delta_log, publishing
from spark_jobs.tables.interval import Interval
from spark_jobs.tables.lake import GATE_TABLE, Lake
from spark_jobs.tables.leases import Lease, LeaseLostError, Tenure
from spark_jobs.tables.objects import Objects
from spark_jobs.tables.owners import Owner
from spark_jobs.tables.publishing import Base, OvertakenError

pytestmark = pytest.mark.spark
OWN, OTHER = (
    Lease(run_id, Interval(), Owner("host", "", number, 0), datetime.now(UTC))
    for number, run_id in enumerate(("r000000000000001", "r000000000000002"))
)


@pytest.fixture(name="lake")
def _lake(spark: SparkSession, tmp_path: Path) -> Lake:
    """A lake with two versions of the gate."""
    lake = Lake(str(tmp_path), "readings")
    for rows in (3, 5):
        spark.range(rows).write.format("delta").mode("overwrite").save(lake.path(GATE_TABLE))
    return lake


def tenure_of(lease: Lease, *meanwhile: Callable[[], object]) -> Tenure:
    """Return a lease that seems to be valid. `meanwhile` happens between the reading of a table and its commit."""
    due = list(meanwhile)

    def read() -> SimpleNamespace:
        while due:
            due.pop()()
        return SimpleNamespace(leases=(lease,))

    registry: Any = SimpleNamespace(read=read)
    return Tenure(lease, waited=False, taken_over=(), _registry=registry)


def commit(spark: SparkSession, lake: Lake, tenure: Tenure) -> int:
    """Commit to the gate as a run that restores its first version."""
    return publishing.restore(spark, lake, tenure.lease.run_id, GATE_TABLE, 0, Base({GATE_TABLE: 1}, tenure=tenure))


def test_an_owner_commits_as_long_as_it_has_its_lease(spark: SparkSession, lake: Lake) -> None:
    publishing.fence(spark, lake, GATE_TABLE, OTHER)
    assert commit(spark, lake, tenure_of(OWN)) == 3
    assert spark.read.format("delta").load(lake.path(GATE_TABLE)).count() == 3


def test_an_owner_that_lost_its_lease_commits_nothing(spark: SparkSession, lake: Lake) -> None:
    publishing.fence(spark, lake, GATE_TABLE, OWN)
    with pytest.raises(LeaseLostError, match="another took over"):
        commit(spark, lake, tenure_of(OWN))
    assert delta_log.version(spark, lake.path(GATE_TABLE)) == 2


def test_an_owner_that_loses_its_lease_before_its_commit_commits_nothing(spark: SparkSession, lake: Lake) -> None:
    owner = tenure_of(OWN, lambda: publishing.fence(spark, lake, GATE_TABLE, OWN))
    with pytest.raises(LeaseLostError, match="another took over"):
        commit(spark, lake, owner)
    assert delta_log.version(spark, lake.path(GATE_TABLE)) == 2


def test_an_owner_does_not_commit_behind_the_run_that_took_over(spark: SparkSession, lake: Lake) -> None:
    owner = tenure_of(OWN, lambda: commit(spark, lake, tenure_of(OTHER)))
    with pytest.raises(OvertakenError, match=OTHER.run_id):
        commit(spark, lake, owner)


def test_a_table_that_does_not_exist_gets_no_mark(spark: SparkSession, tmp_path: Path) -> None:
    publishing.fence(spark, Lake(str(tmp_path), "readings"), GATE_TABLE, OWN)
    assert [*tmp_path.iterdir()] == []


def test_commits_have_checkpoints_and_are_read_by_every_program(spark: SparkSession, lake: Lake) -> None:
    from deltalake import DeltaTable

    path = lake.path(GATE_TABLE)
    for _ in range(10):
        publishing.fence(spark, lake, GATE_TABLE, OTHER)
    log = Path(path) / "_delta_log"
    assert [file.name for file in log.glob("*.checkpoint.parquet")] == [f"{10:020d}.checkpoint.parquet"]
    assert (log / "_last_checkpoint").is_file()
    assert DeltaTable(path).version() == delta_log.version(spark, path) == 11
    assert spark.sql(f"describe history delta.`{path}`").first().operation == "Manual Update"  # type: ignore[union-attr]


def test_commits_of_a_table_with_times_in_its_log_have_them(spark: SparkSession, lake: Lake) -> None:
    """Each commit of such a table has a time, later than that of the commit before it."""
    path = lake.path(GATE_TABLE)
    spark.sql(f"alter table delta.`{path}` set tblproperties ('delta.enableInCommitTimestamps' = 'true')")
    publishing.fence(spark, lake, GATE_TABLE, OTHER)
    publishing.fence(spark, lake, GATE_TABLE, OTHER)
    commits = [commit_files.read(Objects(path), version) or [] for version in (2, 3, 4)]
    times = [commit[0]["commitInfo"]["inCommitTimestamp"] for commit in commits]
    assert times == sorted({*times})
    state = delta_log.state(spark, path)
    assert state is not None
    assert state[1:] == (4, times[-1])
    assert spark.sql(f"describe history delta.`{path}`").count() == 5
