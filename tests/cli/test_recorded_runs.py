"""Answers and refusals that need no Spark: a command that gives them imports no PySpark."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from spark_jobs.cli import recorded_runs
from spark_jobs.cli.app import app
from spark_jobs.jobs.errors import InputError
from spark_jobs.tables.lake import Lake
from spark_jobs.tables.run import Run
from tests.support.fake_lake import add_rows, run_id, steps
from tests.support.sample_report_runs import FIGURES

FILE = """
name: sales
source: {{table: {table}, event_time: happened_at, arrival_time: stored_at}}
watermark: {{out_of_orderness: 10 seconds}}
windows: {{kind: tumbling, size: 10 minutes, key: [device], aggregates: {{n: count(*)}}}}
"""
#: Runs commands in one process, and prints how each ended and whether PySpark was imported.
RUN_ALL = """
import json, sys
from typer.testing import CliRunner
from spark_jobs.cli.app import app
for arguments in json.loads(sys.argv[1]):
    result = CliRunner().invoke(app, arguments, env={"TIDEMARK_LAKE": sys.argv[2], "COLUMNS": "200"})
    print(json.dumps([result.exit_code, result.output, "pyspark" in sys.modules]))
"""


@pytest.fixture(name="lake")
def _lake(tmp_path: Path) -> Lake:
    add_rows(tmp_path / "lake", "sales", [*steps(1), *steps(2, until="audit", state="blocked", failed=1)])
    return Lake(str(tmp_path / "lake"), "sales")


def test_status_has_what_spark_measured_of_each_step(lake: Lake, tmp_path: Path) -> None:
    file = tmp_path / "sales.yaml"
    file.write_text(FILE.format(table=tmp_path / "nowhere"))
    add_rows(tmp_path / "lake", "sales", steps(3, until="replay", figures=list(FIGURES.items())))
    result = CliRunner().invoke(app, ["status", str(file), "--json"], env={"TIDEMARK_LAKE": lake.root})
    assert result.exit_code == 0, result.output
    before, _, run = json.loads(result.stdout)["runs"]
    assert [(step["step"], step["figures"]) for step in run["steps"]] == [("plan", FIGURES), ("replay", FIGURES)]
    assert [(step["step"], step["figures"]) for step in before["steps"]] == [
        (step, {}) for step in ("plan", "replay", "audit", "publish", "report")
    ]
    assert all(step["started_at"] < step["finished_at"] for step in run["steps"])


def test_status_of_one_run_prints_its_figures(lake: Lake, tmp_path: Path) -> None:
    file = tmp_path / "sales.yaml"
    file.write_text(FILE.format(table=tmp_path / "nowhere"))
    add_rows(tmp_path / "lake", "sales", steps(3, until="replay", figures=list(FIGURES.items())))

    def status(number: int, *options: str) -> str:
        command = ["status", str(file), "--run", run_id(number), *options]
        result = CliRunner().invoke(app, command, env={"TIDEMARK_LAKE": lake.root, "COLUMNS": "100"})
        assert result.exit_code == 0, result.output
        return result.stdout

    lines = [line.split() for line in status(3).splitlines()]
    assert ["Spark's", "figures", "plan", "replay"] in lines
    assert ["rows", "per", "second", "60,000", "rows/s", "60,000", "rows/s"] in lines
    assert ["bytes", "read", "3.0", "GiB", "3.0", "GiB"] in lines
    assert run_id(1) not in status(3)
    assert [run["run_id"] for run in json.loads(status(3, "--json"))["runs"]] == [run_id(3)]
    assert "Spark's figures: none." in status(1)


def test_what_the_ledger_and_the_file_decide_needs_no_spark(lake: Lake, tmp_path: Path) -> None:
    file, other = tmp_path / "sales.yaml", tmp_path / "other.yaml"
    file.write_text(FILE.format(table=tmp_path / "nowhere"))
    other.write_text(FILE.format(table=tmp_path / "nowhere").replace("name: sales", "name: other"))
    unknown = ("--run", "r000000000000009")
    page = Path(lake.report_path(run_id(1)))
    page.parent.mkdir()
    page.touch()
    cases = {
        ("status", str(file)): (0, run_id(2)),
        ("status", str(other)): (0, "no run yet"),
        ("report", str(file)): (0, str(page)),
        ("report", str(file), *unknown): (2, f"Newest runs: {run_id(2)} (blocked), {run_id(1)} (published)"),
        ("status", str(file), *unknown): (2, "is not in"),
        ("rollback", str(file), *unknown): (2, "is not in"),
        ("accept", str(other), *unknown, "--because", "x"): (2, "Newest runs: none"),
        ("compare", str(file), "--before", "r0"): (2, "--before: run r0 is not in"),
        ("check", str(file)): (2, "nowhere' is not a Delta table"),
        ("advise", str(file)): (2, "nowhere' is not a Delta table"),
        ("replay", str(file)): (2, "nowhere' is not a Delta table"),
        ("replay", str(file), "--from", "2024-03-30T22:05Z"): (2, "cuts a window in two"),
        ("plan", str(file), "--from", "2024-03-30", "--to", "2024-03-29"): (2, "holds no window"),
        ("check", "nowhere.yaml"): (2, "nowhere.yaml"),
        ("--help",): (0, "rollback"),
        ("replay", "--help"): (0, "--arrived-to"),
        ("--version",): (0, "tidemark"),
    }
    command = [sys.executable, "-c", RUN_ALL, json.dumps([*cases]), lake.root]
    ended = subprocess.run(command, capture_output=True, text=True, check=True)
    for (arguments, (code, text)), answer in zip(cases.items(), ended.stdout.splitlines(), strict=True):
        exit_code, output, has_spark = json.loads(answer)
        assert (exit_code, has_spark) == (code, False), arguments
        assert text in output, arguments


def test_the_lake_of_the_project_is_found_from_another_folder(
    lake: Lake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "sales.yaml").write_text(FILE.format(table="'${TIDEMARK_LAKE}/nowhere'"))
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    monkeypatch.delenv("TIDEMARK_LAKE", raising=False)
    status = CliRunner().invoke(app, ["status", "../sales.yaml", "--json"])
    assert json.loads(status.stdout)["published_run"] == run_id(1)
    assert f"{tmp_path}/lake/nowhere" in CliRunner().invoke(app, ["check", "../sales.yaml"]).stderr
    assert "TIDEMARK_LAKE" not in os.environ


def test_a_run_of_the_ledger_is_accepted(lake: Lake) -> None:
    recorded_runs.require(lake, "--run", run_id(1))
    recorded_runs.require(lake, "--run", "")
    with pytest.raises(InputError, match="r000000000000003"):
        recorded_runs.require(lake, "--run", run_id(3))


def test_a_report_is_written_again_if_it_is_older_than_the_publishing(lake: Lake) -> None:
    page = Path(lake.report_path(run_id(1)))
    assert recorded_runs.written_report(lake, "") is None, "there is no page"
    page.parent.mkdir()
    page.touch()
    earlier = recorded_runs.written_report(lake, run_id(1))
    assert earlier is not None
    assert (earlier.run_id, earlier.state, earlier.report) == (run_id(1), "unchanged", str(page))
    assert recorded_runs.written_report(lake, run_id(2)) is None, "a blocked run is not published"
    os.utime(page, (0, 0))
    assert recorded_runs.written_report(lake, "") is None


def test_runs_come_in_the_order_of_their_publishing(lake: Lake) -> None:
    runs: list[Run] = recorded_runs.of(lake) or []
    assert [run.run_id for run in runs] == [run_id(1), run_id(2)]
