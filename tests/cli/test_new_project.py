"""`tidemark new` writes a project whose files are good, and refuses a folder with content."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from typer.testing import CliRunner, Result

import spark_jobs
from spark_jobs.cli.app import app
from spark_jobs.pipeline import load

FILES = {
    *(".github/workflows/tidemark.yml", ".gitignore", "README.md", "requirements.txt", "tidemark.toml"),
    *("dags/broken_pipelines.py", "dags/tidemark.py", "plugins/tidemark_plugin.py"),
    *("make_example_table.py", "pipelines/clicks.yaml", "tests/test_example.py", "tests/test_pipeline_files.py"),
}


def new(folder: Path, *options: str) -> Result:
    return CliRunner().invoke(app, ["new", str(folder), *options])


@pytest.fixture(name="project", scope="module")
def _project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("projects") / "clickstream"
    assert new(folder).exit_code == 0
    return folder


def test_all_files_are_written_and_the_next_commands_are_shown(tmp_path: Path) -> None:
    folder = tmp_path / "a project"
    result = new(folder)
    assert {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()} == FILES
    first, _, *commands = result.stdout.splitlines()
    assert first == f"{folder}: 12 files written; README.md describes them"
    assert commands == [
        f"  cd '{folder}'",
        "  python make_example_table.py",
        "  tidemark check pipelines/clicks.yaml",
        "  tidemark replay pipelines/clicks.yaml",
    ]


def test_an_empty_folder_is_taken_and_json_names_the_files(tmp_path: Path) -> None:
    result = new(tmp_path, "--json")
    assert json.loads(result.stdout)["folder"] == str(tmp_path)
    assert set(json.loads(result.stdout)["files"]) == FILES


@pytest.mark.parametrize("name", ["notes.txt", ".git"])
def test_a_folder_with_content_is_refused_and_unchanged(tmp_path: Path, name: str) -> None:
    (tmp_path / name).touch()
    result = new(tmp_path)
    assert result.exit_code == 2
    assert f"is not empty, it contains {name}; name a new or an empty folder" in " ".join(result.stderr.split())
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_a_file_and_a_folder_below_a_file_are_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for folder, reason in ((tmp_path / "file", "is a file"), (tmp_path / "file" / "project", "Not a directory")):
        result = new(folder)
        assert (result.exit_code, reason in " ".join(result.stderr.split())) == (2, True)


def test_python_files_compile_and_pass_ruff(project: Path) -> None:
    for file in project.rglob("*.py"):
        compile(file.read_text(encoding="utf-8"), str(file), "exec")
    ruff = Path(sys.executable).with_name("ruff")
    for check in (["check", "--isolated"], ["format", "--isolated", "--check", "--line-length=120"]):
        ended = subprocess.run([ruff, *check, "--no-cache", project], capture_output=True, text=True, check=False)
        assert ended.returncode == 0, ended.stdout


def test_the_pipeline_file_is_valid_and_reads_the_lake_of_the_project(project: Path) -> None:
    pipeline = load(project / "pipelines" / "clicks.yaml", environ={"TIDEMARK_LAKE": "/lake"})
    assert (pipeline.name, pipeline.source.table) == ("clicks", "/lake/example_clicks")


def test_requirements_name_this_version_and_the_workflow_runs_set_up_and_the_tests(project: Path) -> None:
    assert f"tidemark[airflow]=={spark_jobs.__version__}\n" in (project / "requirements.txt").read_text()
    workflow = yaml.safe_load((project / ".github" / "workflows" / "tidemark.yml").read_text())
    commands = [step["run"] for step in workflow["jobs"]["test"]["steps"] if "run" in step]
    assert commands == ["pip install -r requirements.txt", "tidemark setup", "python -m pytest"]


@pytest.mark.soak
@pytest.mark.spark
def test_the_tests_of_the_project_pass(project: Path) -> None:
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "."]
    ended = subprocess.run(command, cwd=project, capture_output=True, text=True, check=False)
    assert "3 passed" in ended.stdout, ended.stdout + ended.stderr
