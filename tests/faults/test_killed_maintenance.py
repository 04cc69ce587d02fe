"""Maintenance that dies anywhere: readers see the same rows, and the same command goes on."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from spark_jobs.jobs.operate.maintain import maintain
from spark_jobs.tables import delta_transaction, ledger
from spark_jobs.tables.objects import Objects
from tests.faults.drivers import PIPELINE, started
from tests.support.aged_lake import WornLake, WornLakes, strictly
from tests.support.killed_drivers import run_until

pytestmark = [pytest.mark.spark, pytest.mark.faults, pytest.mark.soak, pytest.mark.usefixtures("session")]

KEPT = 2
#: What happens so many times before the process ends where it would happen once more.
MOMENTS = {
    "the first folder of a dead run is removed": (Objects, "remove", 1),
    "a table is compacted": (delta_transaction.Transaction, "commit", 1),
    "all tables are compacted, and the ledger does not say so": (ledger, "record", 1),
    "the ledger names compacted tables": (ledger, "record", 2),
    "a published run is marked as lost": (ledger, "record", 3),
    "some of the files that nothing needs are removed": (Objects, "remove", 12),
}


class DeadError(BaseException):
    """The process ends here."""


@pytest.fixture(name="lakes", scope="module")
def _lakes(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> WornLakes:
    return WornLakes(spark, tmp_path_factory.mktemp("worn"))


def let_die(patch: pytest.MonkeyPatch, owner: Any, name: str, after: int) -> None:
    """Let something happen `after` times; the process dies where it would happen once more."""
    effect, left = getattr(owner, name), [after]

    def counted(*arguments: Any, **named: Any) -> Any:
        if not left[0]:
            raise DeadError
        left[0] -= 1
        return effect(*arguments, **named)

    patch.setattr(owner, name, counted)


def rows_by_run(worn: WornLake) -> dict[str, list[str]]:
    """The rows of every run that is kept."""
    return {run: worn.published_rows(run) for run in worn.runs[-KEPT:]}


@pytest.mark.parametrize("moment", MOMENTS)
def test_killed_maintenance_loses_no_row(
    spark: SparkSession, lakes: WornLakes, monkeypatch: pytest.MonkeyPatch, moment: str
) -> None:
    worn = lakes.copy(moment)
    before = rows_by_run(worn)
    with monkeypatch.context() as patch:
        let_die(patch, *MOMENTS[moment])
        with pytest.raises(DeadError):
            maintain(spark, worn.lake, strictly(KEPT))
    assert rows_by_run(worn) == before
    maintain(spark, worn.lake, strictly(KEPT))
    assert rows_by_run(worn) == before
    again = maintain(spark, worn.lake, strictly(KEPT), dry_run=True)
    assert (again.dead, again.compacted, again.lost, again.kept) == ([], [], [], worn.runs[-KEPT:])


def test_a_killed_process_is_followed_by_one_that_ends(spark: SparkSession, lakes: WornLakes, tmp_path: Path) -> None:
    worn = lakes.copy("killed")
    before, file = rows_by_run(worn), tmp_path / "readings.yaml"
    file.write_text(PIPELINE.format(table=worn.pipeline.source.table))
    command = [
        sys.executable,
        "-m",
        "spark_jobs.cli",
        "maintain",
        str(file),
        "--retain",
        "0s",
        "--keep-runs",
        str(KEPT),
    ]
    version = versions(worn)["panes"]
    compacted = Path(worn.lake.path("panes"), "_delta_log", f"{version + 1:020d}.json")
    killed = started(worn.lake, command)
    run_until(compacted.exists, killed)
    os.killpg(killed.pid, signal.SIGKILL)
    assert killed.wait() == -signal.SIGKILL, "it ended before it could be killed"
    assert versions(worn)["panes"] == version, "what is half done is named"
    assert rows_by_run(worn) == before
    again = started(worn.lake, command, subprocess.PIPE)
    _, errors = again.communicate()
    assert again.returncode == 0, errors
    assert rows_by_run(worn) == before
    assert versions(worn)["panes"] > version


def versions(worn: WornLake) -> dict[str, int]:
    """The version of every table that readers see."""
    return ledger.published(worn.spark, worn.lake)[-1].versions
