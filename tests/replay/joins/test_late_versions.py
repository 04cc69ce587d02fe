"""Late left rows of an as-of join find what their key has kept, also where timers were lost and where rows emit."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from spark_jobs.pipeline.model import AsOf, Emit, EmitKind, Strategy, Watermark
from spark_jobs.replay.joins.as_of_join import as_of_join
from spark_jobs.replay.store import MemoryStore
from spark_jobs.semantics.joins.joining_job import JoinSource
from spark_jobs.session import SmallPlans
from tests.support.engine import rows_of
from tests.support.joining import inputs_of
from tests.vectors.spark_joins import joining

pytestmark = pytest.mark.spark

MARKED = JoinSource(Watermark(Strategy.PUNCTUATED, when="marker"))
BOUNDED = JoinSource(Watermark(out_of_orderness_ms=0))
TICKS, ROWS = Emit(EmitKind.EVERY, interval_ms=1), Emit(EmitKind.PER_EVENT)

Moment = tuple[str, int] | int


class CountingStore(MemoryStore):
    """A store that counts the rows of all joins by which late left rows are compared with late versions."""

    joined_rows = 0

    def keep(self, name: str, compute: Callable[[], DataFrame], plans: SmallPlans | None = None) -> DataFrame:
        if name == "late_versions":
            frame = compute()
            frame.collect()
            self.joined_rows += rows_of_joins(frame._jdf.queryExecution().executedPlan())
        return super().keep(name, compute, plans)


def rows_of_joins(plan: Any) -> int:
    """Return the rows of all joins of a plan that has run."""
    name = plan.nodeName()
    if name.startswith("AdaptiveSparkPlan"):
        return rows_of_joins(plan.executedPlan())
    if "QueryStage" in name:
        return rows_of_joins(plan.plan())
    metrics = plan.metrics() if "Join" in name else None
    counts = [
        metrics.apply(key).value() for key in ("numOutputRows", "output_rows") if metrics and metrics.contains(key)
    ]
    assert counts or metrics is None
    below = (rows_of_joins(plan.children().apply(n)) for n in range(plan.children().size()))
    return int(sum(map(int, counts)) + sum(below))


def versions(
    session: SparkSession,
    *moments: Moment,
    source: JoinSource = MARKED,
    emit: Emit = ROWS,
    store: MemoryStore | None = None,
) -> dict[int, int | None]:
    """Join rows of one key; return the event time of each left row's version.

    A moment is a side and an event time, or the time of a marked row of another key.
    """
    rows: list[dict[str, Any]] = []
    for index, moment in enumerate(moments):
        side, ts = ("left", moment) if isinstance(moment, int) else moment
        key, marker = ("z", True) if isinstance(moment, int) else ("k", False)
        place = {"index": index, "partition": "p", "arrival_us": index * 10_000}
        rows.append({**place, "side": side, "key": key, "ts": ts, "marker": marker})
    pipeline = joining(source, None, emit)
    joined = as_of_join(*inputs_of(session, rows, pipeline), pipeline, AsOf.LEFT_OUTER, store)
    pairs = [(row["left"], row["right"]) for row in rows_of(joined.pairs)]
    return {left["ts"]: None if right is None else right["ts"] for left, right in pairs if left["key"] == "k"}


LEFT, RIGHT = "left", "right"


@pytest.mark.soak
def test_a_version_without_a_timer_drops_nothing(session: SparkSession) -> None:
    moments: tuple[Moment, ...] = ((LEFT, 100), 50, (RIGHT, 80), (RIGHT, 60), 65, 90, (LEFT, 70), 91)
    assert versions(session, *moments) == {100: 80, 70: 60}


def test_a_version_with_a_timer_drops_older_ones(session: SparkSession) -> None:
    moments: tuple[Moment, ...] = ((LEFT, 100), 50, (RIGHT, 60), 65, (RIGHT, 80), 90, (LEFT, 70), 91)
    assert versions(session, *moments) == {100: 80, 70: None}


def test_many_late_rows_of_a_key_are_not_compared_with_all_of_its_late_versions(session: SparkSession) -> None:
    earlier, store = [(RIGHT, 2 * n) for n in range(40)], CountingStore()
    rows = [(side, 1000 + 2 * n + (side == LEFT)) for n in range(40) for side in (LEFT, RIGHT)]
    left = versions(session, 5000, *earlier, 5001, *rows, (LEFT, 500), 5002, store=store)
    assert left == {500: 78, **{1001 + 2 * n: 1000 + 2 * n for n in range(40)}}
    assert 0 < store.joined_rows < 400


@pytest.mark.soak
def test_a_late_version_of_the_same_advance_is_left(session: SparkSession) -> None:
    moments: tuple[Moment, ...] = ((RIGHT, 60), (RIGHT, 80), 90, (RIGHT, 65), (LEFT, 70), (RIGHT, 62), 91)
    assert versions(session, *moments) == {70: 65}


@pytest.mark.soak
def test_a_late_version_replaces_one_of_its_time(session: SparkSession) -> None:
    moments: tuple[Moment, ...] = ((RIGHT, 60), 90, (LEFT, 70), (RIGHT, 60), 91)
    assert versions(session, *moments) == {70: 60}


@pytest.mark.soak
@pytest.mark.parametrize("emit", [TICKS, ROWS], ids=str)
def test_a_key_that_fires_for_a_left_row_drops_versions(session: SparkSession, emit: Emit) -> None:
    moments = ((RIGHT, 10), (RIGHT, 20), (LEFT, 22), (RIGHT, 25), (LEFT, 15), (LEFT, 23), (RIGHT, 26))
    assert versions(session, *moments, source=BOUNDED, emit=emit) == {22: 20, 15: None, 23: 20}


@pytest.mark.soak
def test_a_key_that_has_not_fired_keeps_all(session: SparkSession) -> None:
    moments: tuple[Moment, ...] = (90, (RIGHT, 60), (RIGHT, 80), (LEFT, 70), 91)
    assert versions(session, *moments) == {70: 60}
