"""Late panes and panes of sessions: aggregates that can be continued cost rows and panes, not rows times panes."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from spark_jobs.replay import replay
from spark_jobs.replay.store import MemoryStore
from tests.sampling import sampled
from tests.support import history
from tests.support.engine import frame_of

pytestmark = pytest.mark.spark

#: A condition that lets a row join each of the panes that contain it.
_RANGE = re.compile(r"__tm_(rank|slot)#\d+L? (<=|>=) __tm_(of|first)_")
WINDOWS = {
    "tumbling": {},
    "sliding": {"windows__kind": "sliding", "windows__slide": "4 minutes"},
    "per epoch": {"windows__late_panes": "per_epoch"},
    "count": {"windows__trigger": "{count: 7}"},
    "session": {"windows__kind": "session", "windows__gap": "25 seconds", "windows__size": "null"},
}


def planned(session: SparkSession, patch: pytest.MonkeyPatch, windows: str, aggregate: str) -> list[str]:
    """Return the operators of all plans of a replay."""
    frames: list[DataFrame] = []
    keep = MemoryStore.keep

    def recording(self: MemoryStore, name: str, compute: Callable[[], DataFrame], *more: Any) -> DataFrame:
        def recorded() -> DataFrame:
            frames.append(compute())
            return frames[-1]

        return keep(self, name, recorded, *more)

    patch.setattr(MemoryStore, "keep", recording)
    pipeline = history.pipeline("t", windows__aggregates=json.dumps({"value": aggregate}), **WINDOWS[windows])
    panes = replay(frame_of(session, history.events(60), history.SCHEMA), pipeline).panes
    plans = [str(frame._jdf.queryExecution().optimizedPlan()) for frame in (*frames, panes)]
    return [line for plan in plans for line in plan.splitlines()]


def joins_of_ranges(operators: list[str]) -> list[str]:
    """Return the joins of rows with ranges of panes."""
    return [operator for operator in operators if "Join" in operator and _RANGE.search(operator)]


@pytest.mark.parametrize("windows", [sampled(name, quick=name in ("sliding", "session")) for name in WINDOWS])
def test_no_row_joins_the_panes_that_contain_it(
    session: SparkSession, monkeypatch: pytest.MonkeyPatch, windows: str
) -> None:
    around, of_rows = "round(avg(reading), 1)", "round(percentile(reading, 0.5), 1)"
    assert not joins_of_ranges(planned(session, monkeypatch, windows, around))
    assert joins_of_ranges(planned(session, monkeypatch, windows, of_rows))


@pytest.mark.parametrize(("aggregate", "runs"), [("percentile(reading, 0.5)", False), ("max_by(site, id)", True)])
def test_what_reads_all_rows_is_computed_for_panes_and_not_for_each_row(
    session: SparkSession, monkeypatch: pytest.MonkeyPatch, aggregate: str, *, runs: bool
) -> None:
    operators = planned(session, monkeypatch, "tumbling", aggregate)
    function = aggregate.partition("(")[0]
    assert any(function in line and "Window [" in line for line in operators) is runs
    assert bool(joins_of_ranges(operators)) is not runs
