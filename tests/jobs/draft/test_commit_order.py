"""The order of commits: how often a time goes back from one commit to the next."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession
from pyspark.sql import types as T

from spark_jobs.jobs.draft.commit_order import never_back, rising
from spark_jobs.jobs.draft.leaves import Leaf
from tests.support import history
from tests.support.engine import frame_of


def test_ranges_never_go_back_if_each_begins_where_the_one_before_ended() -> None:
    assert never_back([(0, 5), (5, 9), (9, 9)]) == 1
    assert never_back([(0, 5), (4, 9), (9, 12)]) == 0.5


@pytest.mark.spark
def test_commits_count_as_far_back_as_their_log_and_through_structs_and_mapped_names(
    session: SparkSession, tmp_path: Path
) -> None:
    """The first commit goes back, and its log is deleted. The physical names are not those of the columns."""
    path = tmp_path / "table"
    instant = pa.timestamp("us", tz="UTC")
    schema = pa.schema([("meta", pa.struct([("at", instant)])), ("back", instant)])
    options = {"delta.columnMapping.mode": "name", "delta.checkpointInterval": "1"}
    for hour in (9, 1, 2, 3):
        at, back = history.START + timedelta(hours=hour), history.START - timedelta(hours=hour)
        frame = frame_of(session, [{"meta": {"at": at}, "back": back}], schema).coalesce(1)
        frame.write.format("delta").mode("append").options(**options).save(str(path))
    for file in (path / "_delta_log").glob("*0.json"):
        file.unlink()
    leaves = [Leaf(("meta", "at"), T.TimestampType()), Leaf(("back",), T.TimestampType())]
    assert rising(session, str(path), leaves) == {"meta.at": 1.0, "back": 0.0}
