"""Each example of docs/examples computes what its `expected.csv` holds, with the reference and on Spark."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.examples import page
from tests.examples.engines import columns, of_reference, of_spark
from tests.examples.example import Example, field, load, read_csv, write_csv
from tests.sampling import sampled

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

EXAMPLES = load()


def name_of(example: Example) -> str:
    return example.name


@pytest.mark.parametrize("example", EXAMPLES, ids=name_of)
def test_the_reference_computes_the_example(example: Example) -> None:
    assert write_csv(of_reference(example).results, columns(example)) == example.expected


@pytest.mark.spark
@pytest.mark.parametrize("example", [sampled(e, quick=e.name == "sliding", id=e.name) for e in EXAMPLES])
def test_spark_computes_the_example(session: SparkSession, example: Example) -> None:
    assert sorted(write_csv(of_spark(session, example), columns(example)).splitlines()) == sorted(
        example.expected.splitlines()
    )


@pytest.mark.parametrize("example", EXAMPLES, ids=name_of)
def test_an_example_is_small_and_named_for_its_folder(example: Example) -> None:
    assert example.pipeline.name == example.name
    assert example.title
    assert example.note.endswith(".")
    assert 10 <= len(example.rows) <= 20


def test_each_kind_of_window_strategy_trigger_and_source_has_an_example() -> None:
    pipelines = [example.pipeline for example in EXAMPLES]
    windows = [pipeline.windows for pipeline in pipelines if pipeline.join is None]
    assert {declared.kind.value for declared in windows} == {"tumbling", "sliding", "session"}
    assert {declared.trigger.kind.value for declared in windows} == {"event_time", "continuous", "count"}
    strategies = {pipeline.watermark.strategy.value for pipeline in pipelines}
    assert strategies == {"bounded_out_of_orderness", "monotonous", "punctuated", "time_lag", "custom"}
    assert {pipeline.join.by_interval for pipeline in pipelines if pipeline.join} == {True, False}
    assert any(pipeline.sources and pipeline.join is None for pipeline in pipelines)
    assert any(pipeline.replay.in_rounds for pipeline in pipelines)


@pytest.mark.parametrize("fate", ["on time", "late", "too late", "accepted"])
def test_each_fate_of_a_row_is_shown(fate: str) -> None:
    assert any(judged.outcome == fate for example in EXAMPLES for judged in of_reference(example).judged)


def test_a_result_is_read_as_it_is_written() -> None:
    for example in EXAMPLES:
        rows = read_csv(example.expected)
        assert write_csv(rows) == example.expected
        assert field(rows[0]["fired_at"]).endswith("Z")


def test_the_page_shows_the_examples() -> None:
    """Run `python -m tests.examples.page` to write the page again."""
    assert page.PAGE.read_text() == page.text(EXAMPLES)
