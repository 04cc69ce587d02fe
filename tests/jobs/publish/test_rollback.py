"""A preview of a rollback shows versions and undone runs, and refuses what a rollback refuses; without Spark."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import write_deltalake

from spark_jobs.jobs.errors import InputError
from spark_jobs.jobs.publish.rollback import Restored, preview
from spark_jobs.tables.lake import Lake
from spark_jobs.tables.run import FULL, Run, Step
from tests.support.fake_lake import AT, run_id


@pytest.fixture(name="lake")
def _lake(tmp_path: Path) -> Lake:
    """A lake whose `panes` have two versions, each with a separate file."""
    lake = Lake(str(tmp_path / "lake"), "sales")
    for number in (1, 2):
        write_deltalake(lake.path("panes"), pa.table({"n": [number]}), mode="overwrite")
    return lake


def published(number: int, **versions: int) -> Run:
    """Return a published run by its number."""
    at = AT + timedelta(hours=number)
    steps = (Step("publish", "done", at, at, versions=versions),)
    return Run(run_id(number), "sales", "f", FULL, 0, None, None, steps=steps)


RUNS = [published(1, panes=0), published(2, panes=1, late_events=0), published(3, panes=1, late_events=0)]


def test_tables_and_undone_runs_are_listed(lake: Lake) -> None:
    foreseen = preview(lake, RUNS, run_id(1))
    assert foreseen.tables == {"panes": Restored(1, 0), "late_events": Restored(0, None)}
    assert foreseen.undone_runs == [run_id(2), run_id(3)]
    assert foreseen.message == (
        f"would undo {run_id(2)}, {run_id(3)}: empty late_events, restore panes to version 0; nothing is written"
    )
    assert foreseen.as_json()["tables"]["panes"] == {"now": 1, "then": 0}


def test_the_published_run_changes_nothing(lake: Lake) -> None:
    assert preview(lake, RUNS, run_id(3)).message == f"run {run_id(3)} is what is published; nothing would change"


def test_an_unknown_run_is_refused(lake: Lake) -> None:
    with pytest.raises(InputError, match=f"{run_id(9)} is not published. Published runs: {run_id(1)}, {run_id(2)}"):
        preview(lake, RUNS, run_id(9))


def test_a_run_whose_files_are_deleted_is_refused(lake: Lake) -> None:
    for file in sorted(Path(lake.path("panes")).glob("*.parquet")):
        file.unlink()
    with pytest.raises(InputError, match=r"1 files of panes are deleted\. Runs that are kept"):
        preview(lake, RUNS, run_id(1))
