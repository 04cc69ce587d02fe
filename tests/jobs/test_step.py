"""A step as a program: its exit code and its JSON result, with those of the steps that it takes behind its own."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from spark_jobs.job_protocol import ExitCode
from spark_jobs.jobs import step
from spark_jobs.jobs.runs import steps
from spark_jobs.tables import ledger
from spark_jobs.tables.lake import Lake
from tests.faults.drivers import PIPELINE
from tests.support import history

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("session")]

ALL = ("--then", "audit,publish,report")


def ended(folder: Path, name: str, file: Path, *options: str) -> tuple[int, dict[str, Any]]:
    """Return the exit code of a step, and its JSON."""
    result = folder / "result.json"
    code = step.main([name, str(file), *options, "--result", str(result)])
    return code, json.loads(result.read_text(encoding="utf-8"))


def test_a_step_that_fails_names_its_pipeline(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TIDEMARK_LAKE", str(tmp_path / "lake"))
    file = tmp_path / "of_the_north.yaml"
    file.write_text(PIPELINE.format(table=tmp_path / "events"), encoding="utf-8")
    code, result = ended(tmp_path, "audit", file)
    assert code == ExitCode.WRONG_INPUT
    assert (result["step"], result["pipeline"], result["state"]) == ("audit", "readings", "failed")
    assert "needs --run-id" in result["error"]


def test_of_a_file_that_cannot_be_read_no_name_is_known(tmp_path: Path) -> None:
    code, result = ended(tmp_path, "plan", tmp_path / "nowhere.yaml")
    assert code == ExitCode.WRONG_INPUT
    assert (result["pipeline"], result["run_id"]) == ("", "")
    assert "nowhere.yaml" in result["error"]


@pytest.fixture(name="file")
def _file(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A pipeline file, whose lake is beside it."""
    monkeypatch.setenv("TIDEMARK_LAKE", str(tmp_path / "lake"))
    file = tmp_path / "readings.yaml"
    table = history.land(spark, history.events(300), tmp_path / "events")
    file.write_text(PIPELINE.format(table=table), encoding="utf-8")
    return file


def replayed(folder: Path, file: Path, *options: str) -> tuple[int, dict[str, Any]]:
    """Return the exit code and the JSON of a replay behind its plan."""
    _, planned = ended(folder, "plan", file, *options)
    return ended(folder, "replay", file, "--run-id", planned["run_id"], *options, *ALL)


def states(result: dict[str, Any]) -> list[tuple[str, str]]:
    return [(following["step"], following["state"]) for following in result["following"]]


def test_a_step_goes_on_with_the_steps_behind_it(spark: SparkSession, file: Path, tmp_path: Path) -> None:
    code, result = replayed(tmp_path, file)
    assert (code, result["step"], result["state"]) == (ExitCode.DONE, "replay", "done")
    assert states(result) == [("audit", "done"), ("publish", "done"), ("report", "done")]
    audit, publish, report = result["following"]
    assert audit["counts"]["checks_failed"] == 0
    (run,) = ledger.published(spark, Lake(str(tmp_path / "lake"), "readings"))
    assert {following["run_id"] for following in result["following"]} == {run.run_id}
    assert publish["versions"] == run.versions
    assert Path(report["report"]).is_file()
    assert all(following["seconds"] > 0 for following in result["following"])
    assert all(following["figures"]["spark_jobs"] > 0 for following in (result, *result["following"]))
    again = ended(tmp_path, "replay", file, "--run-id", run.run_id, *ALL)[1]
    assert states(again) == [("audit", "unchanged"), ("publish", "unchanged"), ("report", "done")]


def test_a_step_whose_run_is_blocked_goes_on_to_its_report(spark: SparkSession, file: Path, tmp_path: Path) -> None:
    code, result = replayed(tmp_path, file, "--set", "quality.max_too_late_ratio=0")
    assert (code, result["state"]) == (ExitCode.DONE, "done")
    assert states(result) == [("audit", "blocked"), ("report", "done")]
    assert "not_too_many_rows_are_too_late" in result["following"][0]["error"]
    assert result["following"][0]["code"]
    assert result["following"][0]["figures"]["spark_jobs"] > 0
    assert ledger.published(spark, Lake(str(tmp_path / "lake"), "readings")) == []


@pytest.mark.soak
def test_a_question_ends_what_a_step_goes_on_with(file: Path, tmp_path: Path) -> None:
    ask = ("--set", "quality.max_too_late_ratio=0", "--set", "quality.on_failure=ask")
    assert states(replayed(tmp_path, file, *ask)[1]) == [("audit", "asks")]


@pytest.mark.soak
def test_a_step_behind_that_fails_is_left_to_its_own_job(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise OSError("the disk is full")

    with monkeypatch.context() as patch:
        patch.setattr(steps, "publish", refuse)
        code, result = replayed(tmp_path, file)
    assert (code, states(result)) == (ExitCode.DONE, [("audit", "done")])
    published = ended(tmp_path, "publish", file, "--run-id", result["run_id"], "--then", "report")[1]
    assert (published["state"], states(published)) == ("done", [("report", "done")])


def test_steps_behind_are_steps_of_a_planned_run(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        step.main(["replay", str(file), "--then", "audit,plan"])
    assert "found plan, expected replay, audit, publish, report" in capsys.readouterr().err


def test_a_plan_without_spark_is_the_plan_of_spark(spark: SparkSession, file: Path, tmp_path: Path) -> None:
    _, refused = ended(tmp_path, "plan", file, "--without-spark")
    assert (refused["state"], refused["message"]) == (
        "needs_spark",
        "Spark plans the run: the pipeline has no ledger yet",
    )
    _, first = ended(tmp_path, "plan", file)
    history.land(spark, history.events(350)[300:], tmp_path / "events")
    code, planned = ended(tmp_path, "plan", file, "--without-spark")
    assert (code, planned["state"]) == (ExitCode.DONE, "done")
    assert planned["run_id"] != first["run_id"]
    _, again = ended(tmp_path, "plan", file)
    assert (again["state"], again["run_id"]) == ("unchanged", planned["run_id"])
    runs = {run.run_id: run for run in ledger.runs(spark, Lake(str(tmp_path / "lake"), "readings"))}
    ours, of_spark = (runs[result["run_id"]] for result in (planned, first))
    assert (ours.source_version, ours.settings, ours.source_ids) == (1, of_spark.settings, of_spark.source_ids)
    assert ended(tmp_path, "replay", file, "--run-id", planned["run_id"])[1]["state"] == "done"


@pytest.mark.soak
def test_a_pipeline_is_maintained_by_its_file(spark: SparkSession, file: Path, tmp_path: Path) -> None:
    replayed(tmp_path, file)
    merged = ended(tmp_path, "maintain", file)[1]["counts"]
    assert merged["files_after"] < merged["files_before"]
    nothing = ended(tmp_path, "maintain", file)[1]
    assert (nothing["state"], nothing["message"]) == ("unchanged", "nothing to do")
    assert nothing["counts"]["runs_kept"] == 1
    # Other settings make another run, and the states before it are not kept.
    replayed(tmp_path, file, "--set", "windows.allowed_lateness=0s")
    text = file.read_text(encoding="utf-8")
    file.write_text(text + "maintenance: {retain: 0s}\n", encoding="utf-8")
    code, result = ended(tmp_path, "maintain", file)
    assert (code, result["state"]) == (ExitCode.DONE, "done")
    assert (result["counts"]["runs_lost"], result["counts"]["runs_kept"]) == (1, 1)
    assert result["counts"]["files_removed"] > 0
    assert result["counts"]["bytes_removed"] > 0


@pytest.mark.soak
def test_a_whole_run_whose_checks_a_person_decides_about_names_its_run(file: Path, tmp_path: Path) -> None:
    ask = ("--set", "quality.max_too_late_ratio=0", "--set", "quality.on_failure=ask")
    code, result = ended(tmp_path, "run", file, *ask)
    assert (code, result["state"]) == (ExitCode.BLOCKED, "asks")
    run_id = result["run_id"]
    published = ended(tmp_path, "publish", file, "--run-id", run_id, "--because", "seen by ada", *ask)[1]
    assert (published["state"], published["run_id"]) == ("done", run_id)


def test_intervals_are_cut_without_spark(
    file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(step, "open_session", None)
    bounds = ("--from", "2024-03-30T22:00", "--to", "2024-03-31T00:00")
    code, result = ended(tmp_path, "intervals", file, *bounds, "--every", "1 hour", "--only-missing", "--newest-first")
    assert (code, result["state"], result["message"]) == (ExitCode.DONE, "done", "2 intervals")
    assert result["slices"] == [
        "2024-03-30T23:00:00+00:00/2024-03-31T00:00:00+00:00",
        "2024-03-30T22:00:00+00:00/2024-03-30T23:00:00+00:00",
    ]
    assert "taken: from 2024-03-30 22:00 to 2024-03-30 23:00: no run has published all" in capsys.readouterr().err
    code, result = ended(tmp_path, "intervals", file, *bounds, "--every", "5 minutes")
    assert (code, result["code"]) == (ExitCode.WRONG_INPUT, "TM201")
    assert result["error"].startswith("--every: found 5 minutes, but windows begin every 10 minutes")
