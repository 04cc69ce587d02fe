"""Published tables have comments in Delta's metadata, which the next commit of a run adds where they are missing."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from spark_jobs.pipeline.published_tables import LATE_EVENTS, PAIRS, PANES, RESULT_TABLES
from spark_jobs.tables import delta_log, ledger, table_metadata
from spark_jobs.tables.interval import Interval
from spark_jobs.tables.lake import Lake
from tests.support import history
from tests.support.runs import publish


def _action(**comments: str | None) -> dict[str, Any]:
    fields = [
        {"name": name, "type": "string", "nullable": True, "metadata": {} if text is None else {"comment": text}}
        for name, text in comments.items()
    ]
    return {"metaData": {"id": "7", "schemaString": json.dumps({"type": "struct", "fields": fields})}}


def _comments(action: dict[str, Any]) -> dict[str, str]:
    return {
        field["name"]: field["metadata"]["comment"]
        for field in json.loads(action["metaData"]["schemaString"])["fields"]
    }


def test_a_column_has_its_meaning_its_aggregate_or_its_own_comment() -> None:
    action = _action(device=None, site="where the device is", total=None, timing="old", run_id=None)
    commented = table_metadata.with_comments(action, PANES, {"total": "sum(reading)"})
    assert commented["metaData"]["description"] == PANES.row
    assert commented["metaData"]["id"] == "7"
    assert _comments(commented) == {
        "device": "column of the key, or aggregate",
        "site": "where the device is",
        "total": "`sum(reading)`",
        "timing": PANES.column("timing").comment,
        "run_id": "the run that wrote the row",
    }


def test_columns_of_the_source_keep_their_comments() -> None:
    action = _action(page=None, user="who clicked", late_by_ms=None)
    comments = _comments(table_metadata.with_comments(action, LATE_EVENTS, {}))
    assert comments == {
        "page": "column of the source",
        "user": "who clicked",
        "late_by_ms": "watermark less event time (milliseconds)",
    }
    assert _comments(table_metadata.with_comments(_action(orders=None), PAIRS, {})) == {
        "orders": "column of the key, or the joined row of an input"
    }


def test_other_actions_stay_as_they_are() -> None:
    assert table_metadata.with_comments({"protocol": {}}, PANES, {}) == {"protocol": {}}


@pytest.mark.soak
@pytest.mark.spark
@pytest.mark.usefixtures("session")
def test_a_table_without_comments_gets_them_in_the_commit_of_the_next_run(
    spark: SparkSession, tmp_path: Path, lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = history.land(spark, history.events(300), tmp_path / "events")
    with monkeypatch.context() as patch:
        patch.setattr(table_metadata, "with_comments", lambda action, *_: action)
        publish(spark, history.pipeline(table), lake, Interval())
    assert not any(field.metadata for field in delta_log.schema(spark, lake.path("panes")))
    history.land(spark, history.events(600)[300:], table)
    publish(spark, history.pipeline(table), lake, Interval())
    assert ledger.published(spark, lake)[-1].versions == dict.fromkeys(RESULT_TABLES, 1)
    for name in RESULT_TABLES:
        rows = spark.read.format("delta").load(lake.path(name))
        assert all(field.metadata["comment"] for field in rows.schema), name
        assert rows.count() >= 0
    panes = {
        field.name: field.metadata["comment"] for field in spark.read.format("delta").load(lake.path("panes")).schema
    }
    assert panes["total"] == "`sum(reading)`"
