"""The command explain prints the cause and cure of a code, and starts no Spark."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
from typer.testing import CliRunner

from spark_jobs.cli.app import app
from spark_jobs.error_codes import ErrorCode


@pytest.mark.parametrize("text", ["TM205", "tm205"])
def test_a_code_has_its_cause_and_cure(text: str) -> None:
    code = ErrorCode.RUN_UNKNOWN
    result = CliRunner().invoke(app, ["explain", text], env={"COLUMNS": "200"})
    lines = [f"TM205: {code.summary}", f"cause: {code.cause}", f"cure: {code.cure}", "exit code: 2"]
    assert (result.exit_code, result.stdout.splitlines()) == (0, lines)


def test_a_code_is_one_json_object() -> None:
    result = CliRunner().invoke(app, ["explain", "TM401", "--json"])
    content = json.loads(result.stdout)
    assert (content["code"], content["exit_code"]) == ("TM401", 3)
    assert content["title"] == ErrorCode.CHECKS_FAILED.summary


@pytest.mark.parametrize(("text", "hint"), [("TM25", "did you mean TM205"), ("hello", "codes are from TM101 to TM901")])
def test_an_unknown_code_is_refused_with_a_hint(text: str, hint: str) -> None:
    refused = CliRunner().invoke(app, ["explain", text])
    assert refused.exit_code == 2
    assert f"TARGET: found '{text}'" in refused.stderr
    assert hint in refused.stderr
    assert "code TM201: tidemark explain TM201" in refused.stderr


def test_no_spark_is_imported() -> None:
    program = "import sys; from spark_jobs.cli.explain_command import explain; explain('TM205'); "
    ended = subprocess.run([sys.executable, "-c", program + "sys.exit('pyspark' in sys.modules)"], check=False)
    assert ended.returncode == 0
