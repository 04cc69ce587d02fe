"""The `tidemark` command, each of its commands on a small history: what it answers, and with which exit code."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NoReturn

import pytest
from pyspark.sql import SparkSession
from typer.testing import CliRunner, Result

from spark_jobs.cli.app import app
from spark_jobs.cli.command import Request
from spark_jobs.jobs.plan import dry_run
from spark_jobs.jobs.plan.delta_rs_source import NeedsSparkError
from spark_jobs.tables import delta_log
from tests.support import history

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("session")]

FILE = """
name: readings
source:
  table: {table}
  event_time: happened_at
  arrival_time: stored_at
watermark: {{out_of_orderness: 10 seconds, emit: {{every: 30 seconds}}}}
windows: {{kind: tumbling, size: 10 minutes, key: [device], allowed_lateness: 20 minutes, aggregates: {{n: count(*)}}}}
quality: {{max_too_late_ratio: 0.5}}
"""


@pytest.fixture(name="file", scope="module")
def _file(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A pipeline file, and beside it the table of its source."""
    folder = tmp_path_factory.mktemp("cli")
    table = history.land(spark, history.events(200), folder / "events")
    file = folder / "readings.yaml"
    file.write_text(FILE.format(table=table))
    return file


@pytest.fixture(name="lake", scope="module")
def _lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("lake")


@pytest.fixture(name="replayed", scope="module")
def _replayed(file: Path, lake: Path) -> dict[str, Any]:
    """What the first replay answers."""
    return answer(run(lake, "replay", str(file)))


def run(lake: Path, *arguments: str) -> Result:
    return CliRunner().invoke(app, [*arguments, "--json"], env={"TIDEMARK_LAKE": str(lake)})


def answer(result: Result, code: int = 0) -> dict[str, Any]:
    """Return the JSON of the single line on standard output."""
    assert result.exit_code == code, result.output
    (line,) = result.stdout.splitlines()
    output: dict[str, Any] = json.loads(line)
    return output


@pytest.mark.soak
def test_check_names_the_version_that_the_file_fits(file: Path, lake: Path) -> None:
    output = answer(run(lake, "check", str(file)))
    assert (output["pipeline"], output["source_version"], output["valid"]) == ("readings", 0, True)


@pytest.mark.soak
def test_advise_weighs_the_settings_of_its_options_and_writes_none_that_the_file_has(
    file: Path, lake: Path, tmp_path: Path
) -> None:
    mine = tmp_path / "mine.yaml"
    mine.write_text(file.read_text())
    options = ("--bounds", "10s,1h", "--lateness", "20m", "--target", "50%", "--write")
    advice = answer(run(lake, "advise", str(mine), *options))
    settings = [(candidate["out_of_orderness"], candidate["allowed_lateness"]) for candidate in advice["candidates"]]
    assert settings == [(10_000, 1_200_000), (3_600_000, 1_200_000)]
    assert (advice["now"], advice["rows"], advice["written"]) == (advice["candidates"][0], 197, False)
    assert {spread["source_partition"] for spread in advice["spreads"]} == {None, ""}
    assert mine.read_text() == file.read_text()


@pytest.mark.soak
def test_advice_fits_into_80_columns(file: Path, lake: Path) -> None:
    arguments = ["advise", str(file), "--bounds", "10s", "--lateness", "20m"]
    result = CliRunner().invoke(app, arguments, env={"TIDEMARK_LAKE": str(lake), "COLUMNS": "80"})
    assert result.exit_code == 0
    assert max(map(len, result.stdout.splitlines())) <= 80
    assert "3 of 200 rows have no usable time" in result.stdout
    assert "too late" in result.stdout


def test_plan_counts_the_rows_to_read_and_writes_nothing(file: Path, tmp_path: Path) -> None:
    plan = answer(run(tmp_path, "plan", str(file), "--from", "2024-03-30T22:10:00Z"))
    assert (plan["kind"], plan["state"], plan["source_rows"]) == ("backfill", "new", 200)
    assert plan["interval_start"] == "2024-03-30T22:10:00+00:00"
    assert list(tmp_path.iterdir()) == []


def test_a_plan_of_a_published_pipeline_opens_no_session_and_is_the_plan_of_spark(
    file: Path, lake: Path, replayed: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    arguments = ("plan", str(file), "--from", "2024-03-30T22:10:00Z")
    with monkeypatch.context() as patch:
        patch.setattr(Request, "open_session", lambda *_: pytest.fail("a session was opened"))
        without_spark = answer(run(lake, *arguments))
    assert without_spark["published_run"] == replayed["run_id"]
    monkeypatch.setattr(dry_run, "foreseen_without_spark", needs_spark)
    result = run(lake, *arguments)
    assert answer(result) == without_spark
    assert "Spark plans: a reason" in result.stderr


def needs_spark(*_: object, **__: object) -> NoReturn:
    raise NeedsSparkError("a reason")


def test_replay_publishes_and_outputs_its_counts(spark: SparkSession, replayed: dict[str, Any], lake: Path) -> None:
    counts = replayed["counts"]
    assert counts["rows_read"] == 200
    assert counts["invalid"] == 3
    fates = ("invalid", "filtered", "on_time", "late", "too_late")
    assert sum(counts[fate] for fate in fates) == counts["rows_read"]
    assert counts["late"] > 0
    assert [step["step"] for step in replayed["steps"]] == ["plan", "replay", "audit", "publish", "report"]
    panes = spark.read.format("delta").load(str(lake / "readings" / "panes"))
    assert panes.count() == counts["panes"]
    assert Path(replayed["report"]).is_file()


def test_the_same_replay_again_does_nothing_and_answers_the_same(
    replayed: dict[str, Any], file: Path, lake: Path
) -> None:
    again = answer(run(lake, "replay", str(file)))
    fields = ("run_id", "counts", "versions", "report")
    assert {name: again[name] for name in fields} == {name: replayed[name] for name in fields}
    assert {step["state"] for step in again["steps"][:-1]} == {"unchanged"}


def test_status_lists_the_run_and_what_is_published(replayed: dict[str, Any], file: Path, lake: Path) -> None:
    status = answer(run(lake, "status", str(file)))
    assert status["published_run"] == replayed["run_id"]
    assert [(entry["run_id"], entry["state"]) for entry in status["runs"]] == [(replayed["run_id"], "published")]


def test_status_is_readable_without_json(replayed: dict[str, Any], file: Path, lake: Path) -> None:
    result = CliRunner().invoke(app, ["status", str(file)], env={"TIDEMARK_LAKE": str(lake)})
    assert result.exit_code == 0
    assert f"{replayed['run_id']} *" in result.stdout


def test_report_writes_the_page_of_the_run_published_last(replayed: dict[str, Any], file: Path, lake: Path) -> None:
    page = Path(replayed["report"])
    page.unlink()
    assert answer(run(lake, "report", str(file)))["report"] == str(page)
    assert page.read_text().startswith("<!DOCTYPE html>")


@pytest.mark.soak
def test_a_replay_that_its_checks_refuse_exits_with_3_and_publishes_nothing(
    spark: SparkSession, file: Path, tmp_path: Path
) -> None:
    output = answer(run(tmp_path, "replay", str(file), "--set", "quality.max_too_late_ratio=0"), 3)
    assert output["exit_code"] == 3
    assert "too late" in output["error"]
    assert not delta_log.exists(spark, str(tmp_path / "readings" / "panes"))
    runs = answer(run(tmp_path, "status", str(file)))
    assert (runs["published_run"], runs["runs"][0]["state"]) == (None, "blocked")


@pytest.mark.parametrize(
    ("arguments", "value"),
    [
        (("check", "nowhere.yaml"), "nowhere.yaml"),
        (("plan", "{file}", "--from", "yesterday"), "yesterday"),
        (("replay", "{file}", "--from", "2024-03-30T23:00Z", "--to", "2024-03-30T22:00Z"), "holds no window"),
        (("replay", "{file}", "--from", "2024-03-30T22:05Z"), "cuts a window in two"),
        (("replay", "{file}", "--set", "windows.sise=1 hour"), "sise"),
        (("replay", "{file}", "--set", "source.table=/no/such/table"), "/no/such/table"),
        (("advise", "{file}", "--target", "most"), "--target"),
        (("advise", "{file}", "--set", "windows.late_data=update"), "windows.late_data: 'update' accepts every row"),
        (("init", "/no/such/table"), "/no/such/table"),
        (("report", "{file}"), "found none"),
        (("report", "{file}", "--run", "r0"), "r0"),
    ],
    ids=lambda value: " ".join(value[:3:2]) if isinstance(value, tuple) else None,
)
def test_wrong_input_exits_with_2_and_names_the_wrong_value(
    file: Path, tmp_path: Path, arguments: tuple[str, ...], value: str
) -> None:
    result = run(tmp_path, *(argument.format(file=file) for argument in arguments))
    assert value in answer(result, 2)["error"]
    assert value in result.stderr
    assert list(tmp_path.iterdir()) == []


def test_the_message_of_a_mistake_is_no_stack_of_calls(tmp_path: Path) -> None:
    result = CliRunner().invoke(app, ["check", "nowhere.yaml"], env={"TIDEMARK_LAKE": str(tmp_path)})
    assert (result.exit_code, result.stdout) == (2, "")
    assert "Traceback" not in result.stderr


def test_a_failure_of_ours_exits_with_1(file: Path, tmp_path: Path) -> None:
    (tmp_path / "readings").write_text("a file where the lake's folder should be")
    output = answer(run(tmp_path, "replay", str(file)), 1)
    assert output["exit_code"] == 1


@pytest.mark.soak
def test_maintenance_keeps_what_the_file_has_unless_an_option_is_given(
    replayed: dict[str, Any], file: Path, lake: Path, tmp_path: Path
) -> None:
    shorter = answer(run(lake, "replay", str(file), "--set", "windows.allowed_lateness=1 minute"))
    text = file.read_text(encoding="utf-8")
    kept_by_file = tmp_path / "readings.yaml"
    kept_by_file.write_text(f"{text}maintenance: {{retain: 0s, keep_runs: 1}}\n", encoding="utf-8")

    def lost_runs(pipeline: Path, *options: str) -> list[str]:
        maintained = answer(run(lake, "maintain", str(pipeline), "--dry-run", *options))
        return list(maintained["lost_runs"])

    assert lost_runs(file) == []
    assert replayed["run_id"] in lost_runs(kept_by_file)
    assert shorter["run_id"] not in lost_runs(kept_by_file)
    assert lost_runs(kept_by_file, "--keep-runs", "9") == lost_runs(kept_by_file, "--retain", "1 day") == []
