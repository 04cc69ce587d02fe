"""The demo with its lake in an object store: the tables are those of the demo with its lake in a folder."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from rich.console import Console

from spark_jobs.tables.lake import Lake
from tests.airflow.clone import PROJECT
from tests.support.places import Kind, place
from tests.support.runs import published
from tidemark_airflow.embedded import demo
from tidemark_airflow.embedded.installation import Installation

pytestmark = [pytest.mark.airflow, pytest.mark.spark, pytest.mark.soak, pytest.mark.usefixtures("session")]

PIPELINE = "departures_by_carrier"


def test_tables_are_those_of_a_demo_in_a_folder(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TIDEMARK_DRIVER_MEMORY", "1g")
    tables = []
    with place(Kind.STORE, spark) as store:
        for name, root in (("folder", str(tmp_path / "lake")), ("store", store.root(tmp_path / "lake"))):
            monkeypatch.setenv("TIDEMARK_LAKE", root)
            assert demo.demo(Installation(PROJECT, tmp_path / name, port=8080), Console()) == 0
            tables.append(published(spark, Lake(root, PIPELINE)))
    in_folder, in_store = tables
    assert in_store == in_folder
    assert len(in_folder["window_results"]) > 50_000
    assert in_folder["late_events"]
