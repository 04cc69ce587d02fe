"""Panes of sessions that are scanned: which rows they show."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

from spark_jobs.replay.rows import columns as c
from spark_jobs.replay.sessions import session_panes
from tests.support.pipelines import sessions

pytestmark = pytest.mark.spark


@pytest.mark.parametrize(
    ("accumulation", "names"),
    [("accumulating", ["first", "second", "second", "third"]), ("discarding", ["second", "third"])],
)
def test_a_pane_shows_the_rows_of_its_own_component_and_slots(
    session: SparkSession, accumulation: str, names: list[str]
) -> None:
    events = session.createDataFrame(
        [(1, 0, "first"), (1, 1, "second"), (1, 5, "later"), (2, 1, "third"), (3, 1, "of another component")],
        "component long, slot long, name string",
    )
    panes = session.createDataFrame(
        [(1, 0, 1), (1, 1, 3), (2, 1, 1)],
        f"{c.COMPONENT} long, {session_panes.FIRST_SLOT} long, {session_panes.SLOT} long",
    )
    pipeline = sessions("nowhere", windows__accumulation=accumulation)
    rows = session_panes.rows_in(panes, events, pipeline)
    assert sorted(row["name"] for row in rows.collect()) == names
