"""The command init: what it refuses before Spark starts, what it writes, and what it prints."""

from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession
from typer.testing import CliRunner

from spark_jobs import session as sessions
from spark_jobs.cli.app import app
from spark_jobs.pipeline import load, parse
from spark_jobs.pipeline.model import Order
from tests.support import history
from tests.support.engine import frame_of


@pytest.fixture(name="folder")
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture(name="_no_session")
def _without_session(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_: str) -> None:
        raise AssertionError

    monkeypatch.setattr(sessions, "open_session", refuse)


@pytest.mark.usefixtures("_no_session")
def test_an_existing_file_stays_without_force(folder: Path) -> None:
    (folder / "readings.yaml").write_text("mine\n")
    result = CliRunner().invoke(app, ["init", "/nowhere/readings"])
    assert (result.exit_code, result.stdout) == (2, "")
    assert "--force" in result.stderr
    assert (folder / "readings.yaml").read_text() == "mine\n"


@pytest.mark.usefixtures("_no_session")
def test_a_folder_that_is_no_table_is_refused_without_spark(folder: Path) -> None:
    result = CliRunner().invoke(app, ["init", str(folder)])
    assert result.exit_code == 2
    assert "has no _delta_log" in result.stderr


@pytest.mark.usefixtures("_no_session")
def test_a_folder_that_cannot_be_written_is_refused_without_spark(folder: Path) -> None:
    result = CliRunner().invoke(app, ["init", "data/readings", str(folder / "nowhere" / "a.yaml")])
    assert result.exit_code == 2
    assert "cannot be written" in result.stderr
    assert "--stdout" in result.stderr


@pytest.fixture(name="days", scope="module")
def _days(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> str:
    """A table of one time with whole days."""
    rows = [{"day": history.START.replace(hour=0) + timedelta(days=i % 9), "n": i} for i in range(50)]
    schema = pa.schema([("day", pa.timestamp("us", tz="UTC")), ("n", pa.int64())])
    path = str(tmp_path_factory.mktemp("init") / "days")
    frame_of(spark, rows, schema).coalesce(1).write.format("delta").save(path)
    return path


@pytest.mark.spark
@pytest.mark.usefixtures("session")
def test_the_command_lists_what_to_choose_and_the_next_command(days: str, folder: Path) -> None:
    result = CliRunner().invoke(app, ["init", days, "--yes"])
    assert result.exit_code == 0, result.output
    assert result.stdout.splitlines() == [
        "days.yaml: written",
        "choose source.event_time: day",
        "choose source.arrival_time: none",
        "next: tidemark check days.yaml",
    ]
    pipeline = load(folder / "days.yaml")
    assert (pipeline.replay.order, pipeline.windows.size_ms) == (Order.EVENT_TIME, 86_400_000)


@pytest.mark.spark
@pytest.mark.usefixtures("session")
def test_stdout_has_the_file_alone_and_flags_are_answers(days: str, folder: Path) -> None:
    result = CliRunner().invoke(app, ["init", days, "--stdout", "--event-time", "day", "--size", "2d", "--key", "none"])
    assert result.exit_code == 0, result.output
    assert parse(result.stdout, origin="stdout").windows.size_ms == 2 * 86_400_000
    assert "CHOOSE: day" not in result.stdout
    assert list(folder.iterdir()) == []
    answer = json.loads(CliRunner().invoke(app, ["init", days, "--stdout", "--json"]).stdout)
    assert answer["guesses"]["event_time"]["column"] == "day"
    assert [choice["setting"] for choice in answer["choices"]] == ["source.event_time", "source.arrival_time"]
