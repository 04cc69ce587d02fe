"""Window slices: an instant's windows on columns are the reference's, and a row is not multiplied by its windows."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from typing import Any

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from spark_jobs.pipeline.model import Aggregate, Windows
from spark_jobs.replay import replay, windows
from spark_jobs.semantics.windows import assigner
from tests.spark import history
from tests.spark.engine import frame_of

pytestmark = pytest.mark.spark

SHAPES = [
    Windows(kind="sliding", size_ms=size, slide_ms=slide, offset_ms=offset)
    for size, slide, offset in product((1, 5, 6, 7, 12), (1, 3, 4, 6, 9), (-2, 0, 2))
    if abs(offset) < slide
]


def test_windows_of_an_instant_and_of_its_slice_are_the_references(session: SparkSession) -> None:
    instants, ts = session.range(-40, 41), F.col("id")
    columns = {"ts": ts}
    for i, spec in enumerate(SHAPES):
        at = windows.slice_ms(ts, spec)
        columns[f"slice_{i}"] = at
        for name, instant in (("row", ts), ("slice", at)):
            columns[f"{name}_oldest_{i}"] = windows.oldest_ms(instant, spec)
            columns[f"{name}_newest_{i}"] = windows.start_ms(instant, spec)
    rows = instants.select(*(column.alias(name) for name, column in columns.items())).collect()
    for i, spec in enumerate(SHAPES):
        for row in rows:
            starts = [window.start for window in assigner(spec).assign(row.ts)][::-1]
            for name in ("row", "slice"):
                oldest, newest = row[f"{name}_oldest_{i}"], row[f"{name}_newest_{i}"]
                assert list(range(oldest, newest + 1, spec.slide_ms)) == starts, (spec, row.ts, name)
            assert row[f"slice_{i}"] <= row.ts
        slices = {row[f"slice_{i}"] for row in rows}
        sets = {tuple(assigner(spec).assign(row.ts)) or row[f"row_newest_{i}"] for row in rows}
        # The first slice may have begun before the first instant: it is still one.
        assert len(slices) == len(sets), spec


def multiplies_rows(plan: Any) -> bool:
    """Whether rows of a leaf are multiplied in the plan before they are aggregated."""
    found = False

    def single(node: Any) -> bool:
        nonlocal found
        children = [node.children().apply(i) for i in range(node.children().size())]
        unaggregated = [single(child) for child in children]
        if node.nodeName() in ("Generate", "Expand") and any(unaggregated):
            found = True
        return node.nodeName() != "Aggregate" and (not children or any(unaggregated))

    single(plan)
    return found


@pytest.mark.parametrize(
    ("expression", "expected"), [("avg(reading)", False), ("collect_list(reading)", True)], ids=["continued", "not"]
)
def test_rows_are_aggregated_before_they_are_given_to_windows(
    session: SparkSession, expression: str, expected: bool
) -> None:
    pipeline = history.pipeline("nowhere", windows__kind="sliding", windows__slide="1 minute")
    aggregates = (Aggregate("readings", "count(*)"), Aggregate("value", expression))
    pipeline = replace(pipeline, windows=replace(pipeline.windows, aggregates=aggregates))
    replayed = replay(frame_of(session, history.events(200), history.SCHEMA), pipeline)
    plan = replayed._on_time_panes._jdf.queryExecution().optimizedPlan()
    assert multiplies_rows(plan) is expected
    assert "Generate" in plan.toString()
