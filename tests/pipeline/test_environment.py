"""Variables: `${VAR}` in text."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from spark_jobs.pipeline import Problem, lake_folder, parse


@pytest.mark.parametrize(
    ("table", "variables", "expected"),
    [
        ("${LAKE}/flights", {"LAKE": "/data"}, "/data/flights"),
        ("${A}${B}", {"A": "x", "B": "y"}, "xy"),
        ("${A:-/data}/flights", {}, "/data/flights"),
        ("${A:-/data}/flights", {"A": ""}, "/data/flights"),
        ("${A:-/data}/flights", {"A": "/lake"}, "/lake/flights"),
        ("x${A:-}", {}, "x"),
        ("x${A}", {"A": ""}, "x"),
        ("${A}", {"A": "${B}"}, "${B}"),
        ("$${A}", {}, "${A}"),
        ("a$b$", {}, "a$b$"),
        ("'${A}'", {"A": "1"}, "1"),
    ],
)
def test_a_variable_is_replaced_in_text(
    edit: Callable[..., str], table: str, variables: dict[str, str], expected: str
) -> None:
    assert parse(edit(("${TIDEMARK_LAKE}/flights", table)), environ=variables).source.table == expected


def test_a_variable_may_hold_a_number_or_a_duration(edit: Callable[..., str]) -> None:
    text = edit(("ratio: 0.01", "ratio: ${RATIO}"), ("size: 1 hour", "size: ${SIZE:-2 h}"))
    pipeline = parse(text, environ={"RATIO": "0.25"})
    assert pipeline.quality.max_too_late_ratio == 0.25
    assert pipeline.windows.size_ms == 7_200_000


def test_a_variable_is_replaced_in_lists_and_expectations(edit: Callable[..., str]) -> None:
    text = edit(("[carrier]", '["${KEY}"]'), ("min_value: -60", "min_value: ${LOW}"))
    pipeline = parse(text, environ={"KEY": "origin", "LOW": "-30"})
    assert pipeline.windows.key == ("origin",)
    assert pipeline.quality.expectations[0].arguments["min_value"] == -30


def test_the_lake_is_a_folder_of_the_working_directory_unless_it_is_set(
    flights: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert parse(flights, environ={}).source.table == f"{tmp_path}/lake/flights"
    assert parse(flights, environ={"TIDEMARK_LAKE": ""}).source.table == f"{tmp_path}/lake/flights"
    assert lake_folder({"TIDEMARK_LAKE": "s3://bucket"}) == "s3://bucket"


@pytest.mark.parametrize("mark", ["lake", "tidemark.toml"])
def test_the_lake_is_beside_or_above_the_file_if_the_working_directory_has_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mark: str
) -> None:
    project, start = tmp_path / "project", tmp_path / "project" / "pipelines"
    start.mkdir(parents=True)
    monkeypatch.chdir(tmp_path)
    assert lake_folder({}, start) == f"{tmp_path}/lake"
    (project / mark).touch() if mark.endswith(".toml") else (project / mark).mkdir()
    assert lake_folder({}, start) == f"{project}/lake"
    assert lake_folder({}) == f"{tmp_path}/lake"
    monkeypatch.chdir(start)
    assert lake_folder({}) == f"{project}/lake"
    assert lake_folder({"TIDEMARK_LAKE": "/elsewhere"}, start) == "/elsewhere"
    (start / "lake").mkdir()
    assert lake_folder({}, project) == f"{start}/lake"


def test_variables_come_from_the_process_unless_they_are_given(flights: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TIDEMARK_LAKE", "/elsewhere")
    assert parse(flights).source.table == "/elsewhere/flights"
    assert lake_folder() == "/elsewhere"


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ("${NONE}/x", "the environment variable NONE is not set; set it, or write ${NONE:-default}"),
        ("${1X}", "'${1X}' is no variable; write ${NAME} or ${NAME:-default}, or $${ for text"),
        ("${A-b}", "'${A-b}' is no variable; write ${NAME} or ${NAME:-default}, or $${ for text"),
        ("${}", "'${}' is no variable; write ${NAME} or ${NAME:-default}, or $${ for text"),
        ("${A", "'${' is no variable; write ${NAME} or ${NAME:-default}, or $${ for text"),
    ],
)
def test_a_variable_without_value_is_refused(
    edit: Callable[..., str], problems_of: Callable[..., list[Problem]], table: str, message: str
) -> None:
    text = edit(("${TIDEMARK_LAKE}/flights", table))
    assert [str(problem) for problem in problems_of(text)] == [f"flights.yaml:3:10: source.table: {message}"]
