"""Window slices: an instant's windows on columns are the reference's, and a row is not multiplied by its windows."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from typing import Any

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from spark_jobs.pipeline.model import Aggregate, Windows
from spark_jobs.replay import replay
from spark_jobs.replay.rows import columns as c
from spark_jobs.replay.rows import window_assigners
from spark_jobs.replay.stages.pane_stages import PaneStages
from spark_jobs.replay.windows import window_slices
from spark_jobs.semantics.spec import WindowKind
from spark_jobs.semantics.windows.window_assigners import assigner
from tests.support import history
from tests.support.engine import frame_of

pytestmark = pytest.mark.spark

SHAPES = [
    Windows(kind=WindowKind.SLIDING, size_ms=size, slide_ms=slide, offset_ms=offset)
    for size, slide, offset in product((1, 5, 6, 7, 12), (1, 3, 4, 6, 9), (-2, 0, 2))
    if abs(offset) < slide
]


def test_windows_of_an_instant_and_its_slice_match_the_reference(session: SparkSession) -> None:
    instants, ts = session.range(-40, 41), F.col("id")
    columns = {"ts": ts}
    for i, spec in enumerate(SHAPES):
        at = window_assigners.slice_ms(ts, spec)
        columns[f"slice_{i}"] = at
        for name, instant in (("row", ts), ("slice", at)):
            columns[f"{name}_oldest_{i}"] = window_assigners.oldest_ms(instant, spec)
            columns[f"{name}_newest_{i}"] = window_assigners.start_ms(instant, spec)
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
    is_multiplied = False

    def single(node: Any) -> bool:
        nonlocal is_multiplied
        children = [node.children().apply(i) for i in range(node.children().size())]
        unaggregated = [single(child) for child in children]
        if node.nodeName() in ("Generate", "Expand") and any(unaggregated):
            is_multiplied = True
        return node.nodeName() != "Aggregate" and (not children or any(unaggregated))

    single(plan)
    return is_multiplied


@pytest.mark.parametrize(
    ("expression", "expected"), [("avg(reading)", False), ("collect_list(reading)", True)], ids=["continued", "not"]
)
def test_rows_are_aggregated_before_window_assignment(session: SparkSession, expression: str, expected: bool) -> None:
    pipeline = history.pipeline("nowhere", windows__kind="sliding", windows__slide="1 minute")
    aggregates = (Aggregate("readings", "count(*)"), Aggregate("value", expression))
    pipeline = replace(pipeline, windows=replace(pipeline.windows, aggregates=aggregates))
    replayed = replay(frame_of(session, history.events(200), history.SCHEMA), pipeline)
    stages = replayed.stages
    assert isinstance(stages, PaneStages)
    plan = stages.on_time_panes()._jdf.queryExecution().optimizedPlan()
    assert multiplies_rows(plan) is expected
    assert "Generate" in plan.toString()


def test_late_row_belongs_to_the_windows_that_dropped_it(session: SparkSession) -> None:
    shape = Windows(kind=WindowKind.SLIDING, size_ms=25, slide_ms=10, allowed_lateness_ms=2)
    pipeline = replace(history.pipeline("nowhere"), windows=shape)
    # The windows of 37 are [20, 45) and [30, 55); they close at 46 and 56.
    rows = [(37, 30, at, at >= 56, f"at {at}") for at in (44, 45, 46, 55, 56, 70)]
    names = f"{c.TS_MS} long, {c.WINDOW_MS} long, {c.WATERMARK_MS} long, {c.TOO_LATE} boolean, name string"
    late = session.createDataFrame(rows, names)
    dropped = window_slices.dropped_pairs(late, pipeline)
    windows = sorted((row["name"], row[c.WINDOW_MS]) for row in dropped.collect())
    assert windows == [("at 46", 20), ("at 55", 20), ("at 56", 20), ("at 56", 30), ("at 70", 20), ("at 70", 30)]


@pytest.mark.parametrize(("kind", "starts"), [("sliding", [20, 30]), ("tumbling", [30])])
def test_pairs_have_the_columns_of_the_source_and_the_window(
    session: SparkSession, kind: str, starts: list[int]
) -> None:
    slide = 10 if kind == "sliding" else 0
    pipeline = replace(history.pipeline("nowhere"), windows=Windows(kind=WindowKind(kind), size_ms=25, slide_ms=slide))
    rows = session.createDataFrame(
        [(37, 30, 5, "a", 1.5)], f"{c.TS_MS} long, {c.WINDOW_MS} long, {c.CLOCK_US} long, device string, reading double"
    )
    pairs = window_slices.pairs(rows, pipeline)
    assert set(pairs.columns) == {"device", "reading", c.WINDOW_MS}
    assert sorted(pairs.collect()) == [("a", 1.5, start) for start in starts]
