"""The command test replays cases without Java, in time, and its exit code is 1 if a case fails."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from time import perf_counter

import pytest
from typer.testing import CliRunner

from spark_jobs.cli.app import app
from tests.cases.test_running import PIPELINE, RIGHT

ROOT = Path(__file__).parents[2]
#: The promise is 20 cases in 2 seconds.
CASES, WITHIN_S = 20, 2.0


@pytest.fixture(name="folder")
def _folder(tmp_path: Path) -> Path:
    (tmp_path / "clicks.yaml").write_text(PIPELINE, encoding="utf-8")
    (tmp_path / "clicks.test.yaml").write_text(RIGHT, encoding="utf-8")
    return tmp_path


def invoke(*arguments: object) -> tuple[int, str, str]:
    result = CliRunner().invoke(app, ["test", *map(str, arguments)], env={"COLUMNS": "200"})
    return result.exit_code, result.stdout, result.stderr


def test_a_folder_has_the_cases_of_its_files(folder: Path) -> None:
    inside = folder / "inside"
    inside.mkdir()
    wrong = RIGHT.replace("| late    | 3 ", "| late    | 4 ")
    (inside / "more.test.yaml").write_text(f"pipeline: ../clicks.yaml\n{wrong}", encoding="utf-8")
    code, out, _ = invoke(folder)
    assert code == 1
    assert out.splitlines()[:5] == [
        f"{inside}/more.test.yaml: clicks",
        "  panes",
        "    page | window_start | timing  | clicks | ids",
        "  - home | 10:00        | late    | 4      | [1, 3, 5]",
        "  + home | 10:00        | late    | 3      | [1, 3, 5]",
    ]
    assert out.splitlines()[-1].startswith("1 passed, 1 failed in ")
    code, out, _ = invoke(folder / "clicks.test.yaml")
    assert (code, out[:9]) == (0, "1 passed ")


def test_the_outcomes_are_one_json_object(folder: Path) -> None:
    code, out, _ = invoke(folder, "--json")
    content = json.loads(out)
    assert (code, content["passed"], content["failed"]) == (0, 1, 0)
    (case,) = content["cases"]
    assert (case["name"], case["passed"], case["differences"]) == ("clicks", True, [])


def test_an_error_in_one_file_hides_no_diff_of_another(folder: Path) -> None:
    (folder / "clicks.test.yaml").write_text(RIGHT.replace("| late    | 3 ", "| late    | 4 "), encoding="utf-8")
    misspelled = f"pipeline: clicks.yaml\n{RIGHT.replace('| clicks', '| cliks ')}"
    (folder / "more.test.yml").write_text(misspelled, encoding="utf-8")
    code, out, err = invoke(folder, folder / "nothing")
    assert code == 2
    assert "  - home | 10:00        | late    | 4      | [1, 3, 5]" in out.splitlines()
    assert out.splitlines()[-1].startswith("0 passed, 1 failed, 2 not replayed in ")
    problem = f"{folder}/more.test.yml: case 'clicks': expect.panes: found the columns cliks, expected page, "
    assert err.splitlines()[0].startswith(problem)
    assert err.splitlines()[1].startswith(f"{folder}/nothing: [Errno 2] No such file")
    assert err.splitlines()[2:] == ["code TM101: tidemark explain TM101"]
    code, out, _ = invoke(folder, "--json")
    content = json.loads(out)
    assert (code, content["exit_code"], content["failed"], content["code"]) == (2, 2, 1, "TM101")
    assert content["cases"][0]["differences"][0] == "panes"
    (error,) = content["errors"]
    assert (error["file"], error["name"], error["code"]) == (str(folder / "more.test.yml"), "clicks", "TM101")
    assert error["error"].startswith(problem)


def test_a_wrong_pipeline_file_is_one_error_for_all_of_its_cases(folder: Path) -> None:
    (folder / "clicks.yaml").write_text(PIPELINE.replace("size:", "seize:"), encoding="utf-8")
    again = RIGHT.removeprefix("cases:\n").replace("  clicks:", "  again:", 1)
    (folder / "clicks.test.yaml").write_text(RIGHT + again, encoding="utf-8")
    code, out, err = invoke(folder)
    assert (code, out[:25]) == (2, "0 passed, 1 not replayed ")
    assert "windows.seize" in err


def test_a_folder_without_cases_and_a_wrong_file_are_refused(folder: Path) -> None:
    (folder / "clicks.test.yaml").write_text("cases: 3", encoding="utf-8")
    code, _, err = invoke(folder / "clicks.test.yaml")
    assert code == 2
    assert "cases: expected a mapping with each case by its name" in err
    (folder / "clicks.test.yaml").unlink()
    code, _, err = invoke(folder)
    assert code == 2
    assert f"FILE: found no file *.test.yaml or *.test.yml in {folder}" in err


def test_twenty_cases_take_two_seconds_and_no_java(folder: Path) -> None:
    body = RIGHT.removeprefix("cases:\n").removeprefix("  clicks:")
    text = "cases:\n" + "".join(f"  case {number}:{body}" for number in range(CASES))
    (folder / "clicks.test.yaml").write_text(text, encoding="utf-8")
    program = (
        "import sys; from spark_jobs.cli.test_command import test; test(['clicks.test.yaml']); "
        "sys.exit('pyspark' in sys.modules)"
    )
    began = perf_counter()
    environ = {**os.environ, "PYTHONPATH": str(ROOT)}
    subprocess.run([sys.executable, "-c", program], cwd=folder, env=environ, check=True)
    assert perf_counter() - began < WITHIN_S
