"""`tidemark init` drafts a file that fits the table it was drafted from, passes the check, and replays."""

from __future__ import annotations

import json
import random
from datetime import timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession
from typer.testing import CliRunner

from spark_jobs.cli.app import app
from spark_jobs.jobs.advise.init import Drafted, draft, never_back, write
from spark_jobs.jobs.errors import InputError
from spark_jobs.jobs.plan.plan import checked
from spark_jobs.jobs.runs.runner import Runner
from spark_jobs.pipeline import load
from spark_jobs.pipeline.model import Order, TimeField, TimeUnit
from spark_jobs.tables.interval import Interval
from spark_jobs.tables.lake import Lake
from tests.support import history
from tests.support.engine import frame_of

pytestmark = pytest.mark.spark


@pytest.fixture(name="readings", scope="module")
def _readings(session: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> str:
    """The small history, landed in three commits, with every row's times usable or null."""
    rows = [row for row in history.events(600) if row["stored_at"] is not None]
    path = str(tmp_path_factory.mktemp("init") / "Site Readings")
    for first in range(0, len(rows), 200):
        history.land(session, rows[first : first + 200], path)
    return path


@pytest.fixture(name="drafted", scope="module")
def _drafted(session: SparkSession, readings: str) -> Drafted:
    return draft(session, readings)


def test_column_roles_follow_commit_order_values_and_names(drafted: Drafted) -> None:
    source, windows = drafted.pipeline.source, drafted.pipeline.windows
    assert (source.event_time, source.arrival_time) == (TimeField("happened_at"), TimeField("stored_at"))
    assert (source.source_partition.columns, windows.key, source.tie_break) == (("site",), ("device",), ("id",))
    assert "never goes back from one commit" in drafted.guesses["arrival_time"].why
    assert drafted.pipeline.name == "site_readings"


def test_the_bound_is_that_of_the_history(drafted: Drafted) -> None:
    """Rows of the history come up to 20,000 s behind."""
    pipeline = drafted.pipeline
    total = pipeline.watermark.out_of_orderness_ms + pipeline.windows.allowed_lateness_ms
    assert 900_000 < total <= 28_800_000
    assert "For 99.99% of the rows" in drafted.text.replace("\n  # ", " ")


def test_the_drafted_file_passes_the_check(session: SparkSession, drafted: Drafted, tmp_path: Path) -> None:
    write(drafted, tmp_path / "drafted.yaml", force=False)
    assert checked(session, load(tmp_path / "drafted.yaml")) == {"": 2}


@pytest.mark.soak
def test_the_drafted_file_replays(session: SparkSession, drafted: Drafted, lake: Lake, tmp_path: Path) -> None:
    write(drafted, tmp_path / "drafted.yaml", force=False)
    outcomes = Runner(session, load(tmp_path / "drafted.yaml"), lake).run(Interval())
    assert [outcome.state for outcome in outcomes] == ["done"] * 5


def test_existing_file_stays_without_force(drafted: Drafted, tmp_path: Path) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text("mine\n")
    with pytest.raises(InputError, match="--force"):
        write(drafted, file, force=False)
    assert file.read_text() == "mine\n"
    write(drafted, file, force=True)
    assert file.read_text() == drafted.text
    assert [p.name for p in tmp_path.iterdir()] == ["mine.yaml"]


def test_a_file_in_no_folder_is_refused(drafted: Drafted, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be written"):
        write(drafted, tmp_path / "nowhere" / "a.yaml", force=True)


@pytest.fixture(name="folder")
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_command_refuses_to_overwrite_before_it_looks_at_anything(folder: Path) -> None:
    (folder / "readings.yaml").write_text("mine\n")
    result = CliRunner().invoke(app, ["init", "/nowhere/readings"])
    assert (result.exit_code, result.stdout) == (2, "")
    assert "--force" in result.stderr
    assert (folder / "readings.yaml").read_text() == "mine\n"


def landed(session: SparkSession, path: Path, rows: list[dict[str, Any]], schema: list[tuple[str, pa.DataType]]) -> str:
    frame_of(session, rows, pa.schema(schema)).coalesce(1).write.format("delta").save(str(path))
    return str(path)


@pytest.mark.soak
def test_integers_are_read_in_their_unit_and_odd_names_are_quoted(session: SparkSession, tmp_path: Path) -> None:
    """Names that SQL and YAML would take for something else; no column is called a source partition or a key."""
    draw = random.Random(3)
    start = int(history.START.timestamp())
    rows = [
        {"event ts": start * 1000 + i * 1000, "on": start + i + draw.randrange(90), "window_start": "x"}
        for i in range(300)
    ]
    schema = [("event ts", pa.int64()), ("on", pa.int64()), ("window_start", pa.string())]
    path = tmp_path / "odd: #1"
    frame = frame_of(session, rows, pa.schema(schema)).coalesce(1)
    # Delta stores blanks in names only where it maps them.
    frame.write.format("delta").option("delta.columnMapping.mode", "name").save(str(path))
    drafted = draft(session, str(path))
    source = drafted.pipeline.source
    assert source.event_time == TimeField("`event ts`", TimeUnit.MILLISECONDS)
    assert source.arrival_time == TimeField("on", TimeUnit.SECONDS)
    assert drafted.pipeline.windows.key == ()
    assert source.table == str(path)


@pytest.mark.soak
def test_the_command_drafts_a_table_with_one_time_in_its_order(session: SparkSession, folder: Path) -> None:
    rows = [{"day": history.START + timedelta(days=i % 9), "n": i} for i in range(50)]
    table = landed(session, folder / "days", rows, [("day", pa.timestamp("us", tz="UTC")), ("n", pa.int64())])
    result = CliRunner().invoke(app, ["init", table, "--json"])
    assert result.exit_code == 0, result.output
    answer, pipeline = json.loads(result.stdout), load(folder / "days.yaml")
    assert (answer["file"], answer["guesses"]["event_time"]["column"]) == ("days.yaml", "day")
    assert (pipeline.replay.order, pipeline.source.arrival_time) == (Order.EVENT_TIME, None)
    assert pipeline.watermark.out_of_orderness_ms == 0


@pytest.mark.parametrize(
    ("rows", "kind", "message"),
    [([{"a": "x"}], pa.string(), "no column of a time.*a string"), ([], pa.timestamp("us", tz="UTC"), "no rows")],
    ids=["no time", "no row"],
)
def test_a_table_of_which_no_pipeline_can_be_made_is_refused(
    session: SparkSession, tmp_path: Path, rows: list[dict[str, Any]], kind: pa.DataType, message: str
) -> None:
    with pytest.raises(InputError, match=message):
        draft(session, landed(session, tmp_path / "table", rows, [("a", kind)]))


def test_folder_that_is_no_table_is_refused(session: SparkSession, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="is not a Delta table"):
        draft(session, str(tmp_path))


def test_ranges_never_go_back_if_each_begins_where_the_one_before_ended() -> None:
    assert never_back([(0, 5), (5, 9), (9, 9)])
    assert not never_back([(0, 5), (4, 9)])
