"""What all commands for a pipeline file share: their arguments, one answer, one message and exit code for an error."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Annotated, Any

import pytest
import typer
from typer.testing import CliRunner, Result

import spark_jobs
from spark_jobs.cli.app import COMMANDS, app
from spark_jobs.cli.command import Answer, Request, pipeline_command
from spark_jobs.cli.examples import EXAMPLES
from spark_jobs.error_codes import ErrorCode
from spark_jobs.job_protocol import ExitCode
from spark_jobs.jobs.errors import BlockedError, InputError
from spark_jobs.jobs.runs import either_engine

FILE = """
name: readings
source: {table: /events, event_time: happened_at, arrival_time: stored_at}
watermark: {out_of_orderness: 10 seconds}
windows: {kind: tumbling, size: 10 minutes, key: [device], aggregates: {n: count(*)}}
"""
ERRORS = {
    "input": InputError("--from: wrong", code=ErrorCode.OPTION_WRONG),
    "checks": BlockedError("1 failed", run_id="r1"),
    "ours": RuntimeError("no memory"),
}


@pipeline_command
def show(request: Request, error: Annotated[str, typer.Option(help="Which.")] = "") -> Answer:
    """Show the size of windows."""
    if error:
        raise ERRORS[error]
    size = request.pipeline.windows.size_ms
    return Answer.line({"size_ms": size, "command": request.command}, f"{request.pipeline.name}: {size} ms")


@pytest.fixture(name="file")
def _file(tmp_path: Path) -> str:
    file = tmp_path / "readings.yaml"
    file.write_text(FILE, encoding="utf-8")
    return str(file)


def run(*arguments: str) -> Result:
    program = typer.Typer(pretty_exceptions_enable=False)
    program.command()(show)
    return CliRunner().invoke(program, arguments)


def test_an_answer_is_a_line_or_one_json_object(file: str) -> None:
    assert run(file).stdout == "readings: 600000 ms\n"
    assert json.loads(run(file, "--json").stdout) == {"size_ms": 600_000, "command": "show"}


def test_a_part_of_the_name_of_a_key_is_enough_for_a_hint(file: str) -> None:
    refused = run(file, "--set", "windows.lateness=1 hour")
    assert "did you mean 'allowed_lateness'?" in refused.stderr


def test_settings_are_overridden_by_option(file: str) -> None:
    assert run(file, "--set", "windows.size=1 hour").stdout == "readings: 3600000 ms\n"
    refused = run(file, "--set", "windows.size")
    assert (refused.exit_code, refused.stdout) == (ExitCode.WRONG_INPUT, "")
    assert "--set: found 'windows.size'" in refused.stderr


@pytest.mark.parametrize(
    ("error", "code", "number"),
    [
        ("input", ExitCode.WRONG_INPUT, "TM201"),
        ("checks", ExitCode.BLOCKED, "TM401"),
        ("ours", ExitCode.FAILED, "TM901"),
    ],
)
def test_an_error_is_one_message_and_its_exit_code(file: str, error: str, code: ExitCode, number: str) -> None:
    failed = run(file, "--error", error, "--json")
    assert failed.exit_code == code
    message = str(ERRORS[error])
    more: dict[str, str | None] = {}
    if error == "checks":
        command = f"tidemark accept {file} --run r1 --because 'WHO AND WHY'"
        message += f"\nRun r1 is not published.\nTo publish it: {command}"
        more = {"run_id": "r1", "report": None}
    assert json.loads(failed.stdout) == {"error": message, "code": number, "exit_code": code, **more}
    assert failed.stderr.strip() == f"{message}\ncode {number}: tidemark explain {number}"


def test_every_command_has_a_help_text_and_answers_in_json() -> None:
    for command in COMMANDS:
        page = CliRunner().invoke(app, [command.__name__, "--help"], env={"COLUMNS": "200"})
        assert page.exit_code == 0
        assert str(command.__doc__).splitlines()[0] in page.stdout
        assert "--json" in page.stdout
        assert f"For example: tidemark {command.__name__} {EXAMPLES[command.__name__]}" in page.stdout
        assert "<bool>" not in page.stdout
        short = CliRunner().invoke(app, [command.__name__, "-h"], env={"COLUMNS": "200"})
        assert short.stdout == page.stdout


def test_help_has_the_commands_in_groups_and_the_folder_of_logs() -> None:
    page = CliRunner().invoke(app, ["-h"], env={"COLUMNS": "200", "XDG_STATE_HOME": ""}).stdout
    places = [page.index(text) for text in ("Write the pipeline file", "│ init", "Compute and publish", "│ replay")]
    assert places == sorted(places)
    assert "~/.local/state/tidemark/logs" in page
    assert "<bool>" not in page


def test_the_version_is_shown() -> None:
    assert CliRunner().invoke(app, ["--version"]).stdout == f"tidemark {spark_jobs.__version__}\n"


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_commands_are_completed(shell: str) -> None:
    environment = {
        **os.environ,
        "_TIDEMARK_COMPLETE": f"complete_{shell}",
        "COMP_WORDS": "tidemark re",
        "COMP_CWORD": "1",
        "_TYPER_COMPLETE_ARGS": "tidemark re",
        "_TYPER_COMPLETE_FISH_ACTION": "get-args",
    }
    program = [sys.executable, "-m", "spark_jobs.cli"]
    completed = subprocess.run(program, env=environment, capture_output=True, text=True, check=False).stdout
    assert all(name in completed for name in ("replay", "report", "repair"))
    assert "rollback" not in completed


@pytest.mark.parametrize(("leaves", "exit_code"), [(True, ExitCode.DONE), (False, ExitCode.FAILED)])
def test_a_command_is_done_again_by_spark_alone(
    file: str, monkeypatch: pytest.MonkeyPatch, exit_code: ExitCode, *, leaves: bool
) -> None:
    attempts: list[bool] = []

    def count(request: Request) -> Answer:
        """Count by a session."""
        session: Any = f"session {len(attempts)}"
        request.sessions.append(session)
        attempts.append(request.uses_spark_alone)
        if not request.uses_spark_alone:
            raise RuntimeError("[DIVIDE_BY_ZERO] Division by zero.")
        return Answer.line({}, "counted")

    left: list[object] = []

    def leave(session: object) -> bool:
        left.append(session)
        return leaves

    monkeypatch.setattr(either_engine, "leave_native_engine", leave)
    program = typer.Typer(pretty_exceptions_enable=False)
    program.command()(pipeline_command(count))
    result = CliRunner().invoke(program, [file])
    assert result.exit_code == exit_code
    assert left == ["session 0"]
    assert attempts == [False, True][: 1 + leaves]
    assert ("takes the step again" in result.stderr) is leaves
