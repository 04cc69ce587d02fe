"""A window that was recorded as a case has the panes that its run published, and fails with other settings."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from spark_jobs.cases.case_file import Case, parse
from spark_jobs.cases.engines import Reference
from spark_jobs.cases.running import outcomes
from spark_jobs.jobs.errors import InputError
from spark_jobs.jobs.explain.explain import Request
from spark_jobs.jobs.explain.record import record
from spark_jobs.pipeline import load
from spark_jobs.semantics.rows.instants import micros
from spark_jobs.tables.interval import Interval
from spark_jobs.tables.lake import Lake
from spark_jobs.tables.published import read_published
from tests.cli.test_screens import FILE
from tests.sampling import sampled
from tests.support import history
from tests.support.engine import frame_of, rows_of
from tests.support.runs import publish

pytestmark = pytest.mark.spark

ROWS = history.events(400)
CUT = history.START + timedelta(minutes=20)
SIZE = "  kind: tumbling\n  size: 10 minutes\n"
TEXTS = {
    "tumbling": FILE,
    "sliding": FILE.replace(SIZE, "  kind: sliding\n  size: 10 minutes\n  slide: 5 minutes\n"),
    "session": FILE.replace(SIZE, "  kind: session\n  gap: 25 seconds\n"),
    "per_event": FILE.replace("emit: {{every: 30 seconds}}", "emit: per_event"),
}
KINDS = [sampled(name, quick=name == "tumbling", id=name) for name in TEXTS]


class Recorded:
    """A lake with two runs of a pipeline file: an increment, and what came behind it."""

    def __init__(self, spark: SparkSession, folder: Path, text: str) -> None:
        self.spark, self.file, self.lake = spark, folder / "readings.yaml", Lake(str(folder / "lake"), "readings")
        self.file.write_text(text.format(table=history.land(spark, ROWS, folder / "rows")), encoding="utf-8")
        pipeline = load(self.file)
        self.first = publish(spark, pipeline, self.lake, Interval(), arrived_to=CUT)
        publish(spark, pipeline, self.lake, Interval())

    def text(self, device: str | None, start: Any, run_id: str = "") -> str:
        request = Request(window_start_ms=micros(start) // 1000, key={"device": device or "null"}, run_id=run_id)
        return record(self.spark, self.file, self.lake, request, Reference())

    def case(self, text: str) -> Case:
        (case,) = parse(text, self.path).cases
        assert isinstance(case, Case)
        return case

    @property
    def path(self) -> Path:
        return self.file.with_name("readings.test.yaml")

    def panes(self, run_id: str | None = None) -> list[dict[str, Any]]:
        return rows_of(read_published(self.spark, self.lake, "panes", run_id=run_id))


@pytest.fixture(name="recorded", scope="module", params=KINDS)
def _recorded(
    request: pytest.FixtureRequest, spark: SparkSession, tmp_path_factory: pytest.TempPathFactory
) -> Recorded:
    text = TEXTS[request.param]
    assert request.param == "tumbling" or text != FILE
    return Recorded(spark, tmp_path_factory.mktemp("record"), text)


@pytest.mark.parametrize("run", [sampled(run, quick=run == "first") for run in ("first", "latest")])
def test_a_case_has_the_panes_of_its_run(recorded: Recorded, run: str) -> None:
    run_id = recorded.first if run == "first" else ""
    panes = recorded.panes(run_id or None)
    windows = sorted({(str(pane["device"]), pane["window_start"]) for pane in panes})
    for device, start in windows[len(windows) // 3 :: max(len(windows) // 2, 1)]:
        text = recorded.text(None if device == "None" else device, start, run_id)
        case = recorded.case(text)
        starts = case.only["window_start"]
        assert start in starts
        expected = [p for p in panes if str(p["device"]) == device and p["window_start"] in starts]
        names = case.tables["panes"].names
        assert sorted(case.tables["panes"].rows, key=str) == sorted(
            [{n: p[n] for n in names} for p in expected], key=str
        )
        assert len(case.rows) < len(ROWS) / 2
        recorded.path.write_text(text, encoding="utf-8")
        (outcome,) = outcomes(parse(text, recorded.path), Reference())
        assert outcome.passed, outcome.differences


@pytest.mark.soak
def test_a_row_with_nan_is_recorded_once(spark: SparkSession, tmp_path: Path) -> None:
    rows = frame_of(spark, ROWS, history.SCHEMA).withColumn("noise", F.array(F.lit(float("nan"))))
    rows.coalesce(1).write.format("delta").save(str(tmp_path / "rows"))
    file, lake = tmp_path / "readings.yaml", Lake(str(tmp_path / "lake"), "readings")
    file.write_text(FILE.format(table=tmp_path / "rows"), encoding="utf-8")
    publish(spark, load(file), lake, Interval())
    pane = next(row for row in rows_of(read_published(spark, lake, "panes")) if row["device"] == "a")
    request = Request(window_start_ms=micros(pane["window_start"]) // 1000, key={"device": "a"})
    assert "panes:" in record(spark, file, lake, request, Reference())


@pytest.mark.soak
def test_a_case_fails_with_other_settings(recorded: Recorded) -> None:
    late = next(pane for pane in recorded.panes() if pane["timing"] == "late")
    text = recorded.text(late["device"], late["window_start"])
    changed = text.replace("    rows: |", "    set: {windows.allowed_lateness: 0 s}\n    rows: |", 1)
    (outcome,) = outcomes(parse(changed, recorded.path), Reference())
    assert not outcome.passed


@pytest.mark.parametrize(
    ("request_of", "message"),
    [
        ({"key": {"device": "nobody"}}, "no row of this key with such an event time has arrived"),
        ({"key": {}}, "expected the columns of windows.key: --key device=VALUE"),
        ({"key": {"device": "a"}, "run_id": "r000000000000000"}, "run r000000000000000: not published"),
    ],
)
def test_a_window_that_cannot_be_recorded_is_refused(
    recorded: Recorded, request_of: dict[str, Any], message: str
) -> None:
    request = Request(window_start_ms=micros(history.START) // 1000, **request_of)
    with pytest.raises(InputError, match=message):
        record(recorded.spark, recorded.file, recorded.lake, request, Reference())


def test_a_watermark_without_witnesses_is_refused(recorded: Recorded) -> None:
    text = recorded.file.read_text(encoding="utf-8").replace("watermark: {", "watermark: {idle_timeout: 1 minute, ")
    idle = recorded.file.with_name("idle.yaml")
    idle.write_text(text, encoding="utf-8")
    request = Request(window_start_ms=micros(history.START) // 1000, key={"device": "a"})
    with pytest.raises(InputError, match="--record: the watermark depends on more than the highest event times"):
        record(recorded.spark, idle, recorded.lake, request, Reference())
