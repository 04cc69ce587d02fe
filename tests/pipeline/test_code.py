"""Code in pipeline files: allowed unless the installation forbids it, and then refused before anything is imported."""

from __future__ import annotations

import pytest

from spark_jobs.pipeline import PipelineError, parse
from spark_jobs.pipeline.code import is_allowed

CUSTOM = """
name: visits
source: {table: t, event_time: a, arrival_time: b}
watermark: {strategy: custom, class: "no.such:Class"}
windows: {size: 1 hour, key: [], aggregates: {n: count(*)}}
"""
UNITED = """
name: visits
sources:
  - {name: a, table: t, event_time: a, arrival_time: b, watermark: {out_of_orderness: 1 hour}}
  - {name: b, table: u, event_time: a, arrival_time: b, watermark: {strategy: custom, class: "no.such:Class"}}
windows: {size: 1 hour, key: [], aggregates: {n: count(*)}}
"""


@pytest.mark.parametrize("environ", [{}, {"TIDEMARK_ALLOW_CODE": ""}, {"TIDEMARK_ALLOW_CODE": "yes"}])
def test_the_author_of_a_file_may_name_a_class(environ: dict[str, str]) -> None:
    assert is_allowed(environ)
    assert parse(CUSTOM, environ=environ).watermark.generator == "no.such:Class"


@pytest.mark.parametrize(
    ("text", "key"), [(CUSTOM, "4:24: watermark.strategy"), (UNITED, "5:78: sources[1].watermark.strategy")]
)
@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ("no", "custom runs a class, and TIDEMARK_ALLOW_CODE is no; use another strategy"),
        ("false", "TIDEMARK_ALLOW_CODE is 'false'; write yes or no"),
    ],
)
def test_an_installation_forbids_classes(text: str, key: str, value: str, reason: str) -> None:
    with pytest.raises(PipelineError) as error:
        parse(text, environ={"TIDEMARK_ALLOW_CODE": value})
    (problem,) = error.value.problems
    assert problem.message == reason
    assert problem.key == key.partition(": ")[2]
    assert problem.place.line == int(key.partition(":")[0])


def test_without_code_everything_else_is_as_it_was() -> None:
    plain = CUSTOM.replace('strategy: custom, class: "no.such:Class"', "out_of_orderness: 1 hour")
    assert parse(plain, environ={"TIDEMARK_ALLOW_CODE": "no"}) == parse(plain, environ={})
