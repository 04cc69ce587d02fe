"""Groups of late rows count the rows of the published table, and their lateness is the least that takes all of them."""

from __future__ import annotations

import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from spark_jobs.jobs.errors import InputError
from spark_jobs.jobs.late.missed_rows import MissedRows, missed_rows
from spark_jobs.jobs.runs.runner import Runner
from spark_jobs.pipeline import Pipeline
from spark_jobs.semantics import reference
from spark_jobs.tables import run_history
from spark_jobs.tables.errors import LakeError
from spark_jobs.tables.interval import Interval
from spark_jobs.tables.lake import Lake
from tests.support import history

pytestmark = pytest.mark.spark

ROWS = history.events(900)
SETTINGS = {"quality__max_too_late_ratio": "1", "windows__allowed_lateness": "0s"}


@pytest.fixture(name="published", scope="module")
def _published(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> tuple[Pipeline, Lake]:
    root = tmp_path_factory.mktemp("late")
    pipeline = history.pipeline(history.land(spark, ROWS, root / "rows"), **SETTINGS)
    lake = Lake(str(root / "lake"), "readings")
    Runner(spark, pipeline, lake).run(Interval())
    return pipeline, lake


def browse(
    published: tuple[Pipeline, Lake], *by: str, invalid: bool = False, condition: str = "", most: int = 99
) -> MissedRows:
    pipeline, lake = published
    return missed_rows(pipeline, lake, run_history.every(lake)[-1], by, invalid=invalid, condition=condition, most=most)


def too_late(lateness: str) -> list[dict[str, Any]]:
    return reference.replay(
        ROWS, history.pipeline("rows", **{**SETTINGS, "windows__allowed_lateness": lateness})
    ).late_events


def test_groups_have_the_rows_of_the_table(published: tuple[Pipeline, Lake]) -> None:
    expected = too_late("0s")
    assert len(expected) > 10
    for by, names in (("partition", ["site"]), ("window", ["window_start", "window_end"]), ("device", ["device"])):
        rows = browse(published, by)
        counted = Counter(tuple(row[name] for name in names) for row in expected)
        assert {tuple(group.values.values()): group.rows for group in rows.groups} == counted
        assert (rows.rows, rows.groups_in_all) == (len(expected), len(counted))
        assert [group.rows for group in rows.groups] == sorted(counted.values(), reverse=True)


def test_the_lateness_of_a_group_is_the_least_that_takes_its_rows(published: tuple[Pipeline, Lake]) -> None:
    (everything,) = browse(published).groups
    assert everything.lateness_for_all_ms is not None
    assert everything.lateness_for_half_ms is not None
    assert too_late(f"{everything.lateness_for_all_ms} ms") == []
    assert len(too_late(f"{everything.lateness_for_all_ms - 1} ms")) >= 1
    assert len(too_late(f"{everything.lateness_for_half_ms} ms")) <= everything.rows / 2
    assert len(too_late(f"{everything.lateness_for_half_ms - 1} ms")) > everything.rows / 2


def test_lateness_has_ranges_and_a_condition_chooses_rows(published: tuple[Pipeline, Lake]) -> None:
    expected = Counter(row["late_by_ms"] < 60_000 for row in too_late("0s"))
    short = browse(published, "lateness", condition="late_by_ms < 60000")
    assert short.rows == expected[True]
    assert {group.values["late_by"] for group in short.groups} <= {"below 1 second", "below 1 minute"}
    assert browse(published, "hour", condition="late_by_ms < 0").groups == []


def test_invalid_rows_have_reasons(published: tuple[Pipeline, Lake]) -> None:
    expected = reference.replay(ROWS, published[0]).invalid_events
    reasons = browse(published, "reason", invalid=True)
    assert {group.values["reason"]: group.rows for group in reasons.groups} == Counter(r["reason"] for r in expected)


@pytest.mark.parametrize(
    ("by", "condition", "message"),
    [
        ("nothing", "", "--by nothing: the table lacks nothing; it has arrival_time, device"),
        ("site", "reeding = 3", "the query is refused: .*reeding"),
        ("site", "1 +", "the query is refused"),
    ],
)
def test_a_query_that_is_refused_names_the_columns(
    published: tuple[Pipeline, Lake], by: str, condition: str, message: str
) -> None:
    with pytest.raises(InputError, match=message):
        browse(published, by, condition=condition)


def test_a_missing_file_is_no_fault_of_the_query(published: tuple[Pipeline, Lake], tmp_path: Path) -> None:
    pipeline, lake = published
    shutil.copytree(lake.root, tmp_path / "lake")
    broken = Lake(str(tmp_path / "lake"), lake.pipeline)
    for file in Path(broken.path("late_events")).rglob("*.parquet"):
        file.unlink()
    with pytest.raises(LakeError, match="late_events cannot be read: "):
        browse((pipeline, broken), "site")
