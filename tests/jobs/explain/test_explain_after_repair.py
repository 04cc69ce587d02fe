"""After a repair, explain judges each window by the settings of the run that has published it."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from spark_jobs.cases.engines import Reference
from spark_jobs.jobs.explain.explain import Request, explain
from spark_jobs.jobs.explain.record import record
from spark_jobs.jobs.runs.runner import Runner
from spark_jobs.pipeline import load
from spark_jobs.semantics.rows.instants import micros
from spark_jobs.tables.interval import Interval
from spark_jobs.tables.lake import Lake
from tests.cli.test_screens import FILE
from tests.inspection.test_holding_partitions import rows_of
from tests.support import history
from tests.support.runs import publish

pytestmark = pytest.mark.spark

# Rows 2 and 3 are too late for their windows; the window of row 2 is repaired.
ROWS = rows_of([("north", 1, 1), ("north", 60, 60), ("north", 5, 61), ("north", 25, 62)])


@pytest.mark.soak
def test_rows_outside_the_repaired_windows_are_explained_as_before(spark: SparkSession, tmp_path: Path) -> None:
    file, lake = tmp_path / "readings.yaml", Lake(str(tmp_path / "lake"), "readings")
    table = history.land(spark, ROWS, tmp_path / "rows")
    file.write_text(FILE.format(table=table).replace("ratio: 0.5", "ratio: 1"), encoding="utf-8")
    pipeline, start = load(file), history.START
    first = publish(spark, pipeline, lake, Interval())
    Runner(spark, pipeline, lake).run(
        Interval(start, start + timedelta(minutes=10)), repair={"repaired_windows": 1, "repaired_rows": 1}
    )
    start_ms = micros(start) // 1000
    request = Request(["id = 2", "id = 3"], window_start_ms=start_ms, key={"device": "a"})
    explained = explain(spark, pipeline, lake, request)
    ((of_repair,), (other,)) = explained.rows
    assert (of_repair.fate, of_repair.windows[0].is_repaired) == ("late", True)
    assert [pane.timing for pane in of_repair.windows[0].panes or ()] == ["late"]
    assert (other.fate, other.windows[0].is_repaired) == ("too_late", False)
    assert other.windows[0].closes_at_watermark == start + timedelta(minutes=40, milliseconds=-1)
    # The watermark before it is 22:59:49.999, and its window ends at 22:30.
    assert other.least_lateness_ms == (29 * 60 + 50) * 1000 + 1
    assert explained.window is not None
    assert [step.verdict for step in explained.window.steps or () if step.verdict] == ["on_time", "late"]
    earlier = explain(spark, pipeline, lake, Request(["id = 2"], run_id=first))
    assert [row.fate for (row,) in earlier.rows] == ["too_late"]
    case = record(spark, file, lake, Request(window_start_ms=start_ms, key={"device": "a"}), Reference())
    assert "windows.late_data: update" in case
