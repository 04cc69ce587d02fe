"""The value of a variable may be a secret: people see `${NAME}`, as it was written, and the run uses the value."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from spark_jobs.job_protocol import StepName
from spark_jobs.jobs import progress
from spark_jobs.pipeline import PipelineError, parse
from spark_jobs.pipeline.environment import hide_values
from spark_jobs.pipeline.settings import settings

TABLE = "abfss://rows@account/flights?sig=${SAS}"
VARIABLES = {"SAS": 'sas-"secret"-é', "DB_PASSWORD": "hunter2", "TIDEMARK_LAKE": "/data/lake", "SHORT": "1 day"}


@pytest.fixture(name="text")
def _text(edit: Callable[..., str]) -> str:
    return edit(("${TIDEMARK_LAKE}/flights", TABLE), ("min_value: -60", "min_value: '${DB_PASSWORD}'"))


def test_settings_show_what_was_written(text: str) -> None:
    pipeline = parse(text, environ=VARIABLES)
    assert pipeline.source.table == TABLE.replace("${SAS}", VARIABLES["SAS"])
    lines = settings(pipeline)
    assert lines["source.table"] == TABLE
    assert "${DB_PASSWORD}" in lines["quality.expectations"]
    assert "hunter2" not in str(lines)


def test_the_fingerprint_is_that_of_the_value(text: str) -> None:
    direct = text.replace("${SAS}", "sas-key-1").replace("${DB_PASSWORD}", "hunter2")
    through = parse(text, environ={**VARIABLES, "SAS": "sas-key-1"})
    assert through.fingerprint == parse(direct, environ={}).fingerprint
    assert through.fingerprint != parse(text, environ={**VARIABLES, "SAS": "sas-key-2"}).fingerprint


def test_lines_of_progress_show_what_was_written(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    pipeline = parse(text, environ=VARIABLES)
    progress.to_stderr(StepName.PLAN, f"version 3 of {pipeline.source.table}")
    assert capsys.readouterr().err == f"[tidemark] plan: version 3 of {TABLE}\n"


@pytest.mark.parametrize(
    ("setting", "line"),
    [
        ("size: ${DB_PASSWORD}", "found '${DB_PASSWORD}', expected a duration"),
        ("size: ['${DB_PASSWORD}']", "found a list, expected a duration"),
        ("sise: ${DB_PASSWORD}", "unknown key"),
    ],
)
def test_an_error_shows_what_was_written(edit: Callable[..., str], setting: str, line: str) -> None:
    with pytest.raises(PipelineError) as error:
        parse(edit(("size: 1 hour", setting)), environ=VARIABLES)
    assert line in str(error.value)
    assert "hunter2" not in str(error.value)


def test_a_list_that_is_a_single_text_shows_what_was_written(edit: Callable[..., str]) -> None:
    with pytest.raises(PipelineError, match=r"write \[\$\{DB_PASSWORD\}\]"):
        parse(edit(("key: [carrier]", "key: ${DB_PASSWORD}")), environ=VARIABLES)


def test_the_lake_and_short_values_are_shown(edit: Callable[..., str]) -> None:
    pipeline = parse(edit(("size: 1 hour", "size: ${SHORT}")), environ=VARIABLES)
    assert hide_values(f"{pipeline.source.table} in windows of 1 day") == "/data/lake/flights in windows of 1 day"


def test_a_default_is_no_secret_and_a_value_in_its_place_is(edit: Callable[..., str]) -> None:
    text = edit(("${TIDEMARK_LAKE}/flights", "/${FOLDER:-standard}/flights"))
    assert hide_values(parse(text, environ={}).source.table) == "/standard/flights"
    assert hide_values(parse(text, environ={"FOLDER": "private"}).source.table) == "/${FOLDER}/flights"
