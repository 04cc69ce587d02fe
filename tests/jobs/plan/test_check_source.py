"""A source whose columns the replay cannot use is refused before any computation."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from spark_jobs.jobs.errors import InputError
from spark_jobs.jobs.plan.check import checked
from spark_jobs.jobs.plan.check_join import check_join
from spark_jobs.jobs.plan.check_source import check_source
from spark_jobs.pipeline import Pipeline, from_mapping, load
from tests.support import history

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("session")]


@pytest.fixture(name="events", scope="module")
def _events(spark: SparkSession, table: str) -> DataFrame:
    return spark.read.format("delta").load(table)


@pytest.mark.parametrize("name", ["__tm_valid", "__TM_valid", "__Tmx"])
def test_the_prefix_of_working_columns_is_refused_in_any_case(events: DataFrame, table: str, name: str) -> None:
    with pytest.raises(InputError, match=f"its column '{name}' begins with '__tm'.*rename"):
        check_source(events.withColumn(name, F.lit(1)), history.pipeline(table))


@pytest.mark.parametrize("name", ["_change_type", "_Commit_Version", "_commit_timestamp"])
def test_a_name_of_the_change_data_feed_is_refused_with_the_feed(events: DataFrame, table: str, name: str) -> None:
    named = events.withColumn(name, F.lit("x"))
    check_source(named, history.pipeline(table))
    with pytest.raises(InputError, match=rf"results\.change_data_feed: found the column '{name}' of source\.table"):
        check_source(named, history.pipeline(table, results__change_data_feed="true"))
    check_source(named, history.pipeline(table, results__change_data_feed="true", source__exclude=f"[{name}]"))


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        ("map('a', 1)", "MAP<STRING,INT>"),
        ("array(struct(map('a', 1) as m))", "ARRAY<STRUCT<M:MAP<STRING,INT>>>"),
        ("parse_json('1')", "VARIANT"),
    ],
)
def test_a_key_without_an_order_is_refused(events: DataFrame, table: str, value: str, kind: str) -> None:
    rows = events.withColumn("device", F.expr(value))
    with pytest.raises(InputError) as refused:
        check_source(rows, history.pipeline(table))
    assert f"windows.key: the column 'device' is of type {kind}, and rows cannot be grouped" in str(refused.value)
    check_source(rows, history.pipeline(table, windows__key="[site]"))


def test_a_source_partition_without_a_clear_text_is_refused(events: DataFrame, table: str) -> None:
    rows = events.withColumn("device", F.lit(1.5))
    with pytest.raises(InputError, match=r"source\.source_partition: 'device' is DOUBLE: a source partition is"):
        check_source(rows, history.pipeline(table, source__source_partition="[site, device]"))


def test_the_key_of_a_join_without_an_order_is_refused(events: DataFrame, table: str) -> None:
    join = {"key": ["device"], "between": ["0s", "1 minute"], "second_when": "reading > 10"}
    source = {"table": table, "event_time": "happened_at", "arrival_time": "stored_at"}
    pipeline = from_mapping({"name": "pairs", "source": source, "watermark": {"out_of_orderness": "1s"}, "join": join})
    check_join(events, None, pipeline)
    with pytest.raises(InputError, match=r"join\.key: the column 'device' is of type MAP"):
        check_join(events.withColumn("device", F.expr("map('a', 1)")), None, pipeline)


@pytest.mark.parametrize(
    ("columns", "problem"),
    [
        ("{Device: '1'}", "source.columns.Device: .* has a column of this name already: use another name"),
        ("{x: nothing + 1}", "source.columns.x: the source has no column 'nothing'"),
        ("{x: '1', y: x + 1}", "source.columns.y: the source has no column 'x'"),
        ("{x: rand()}", "source.columns.x: 'rand\\(\\)' differs from one reading to the next"),
        ("{x: uuid()}", "source.columns.x: .* differs from one reading to the next"),
        ("{x: sum(id)}", "source.columns.x: "),
        ("{x: row_number() over (order by id)}", "source.columns.x: .* is no value of one row"),
        ("{x: 'explode(array(1, 2))'}", "source.columns.x: .* is no value of one row"),
    ],
)
def test_a_computed_column_is_a_new_value_of_one_row(events: DataFrame, table: str, columns: str, problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        check_source(events, history.pipeline(table, source__columns=columns))


@pytest.mark.parametrize(
    ("aggregate", "problem"),
    [
        ("max(happened_at) - min(happened_at)", "INTERVAL DAY TO SECOND, .* such as timestampdiff"),
        ("collect_list(happened_at - stored_at)", "ARRAY<INTERVAL DAY TO SECOND>, .* such as timestampdiff"),
        ("max(interval 1 month)", "INTERVAL MONTH, .* such as timestampdiff"),
        ("max(collate(site, 'utf8_lcase'))", "STRING COLLATE UTF8_LCASE, .* such as lower"),
        ("map('a', max(null))", "MAP<STRING,VOID>, .* such as cast"),
    ],
)
def test_results_that_no_delta_table_can_contain_are_refused(
    events: DataFrame, table: str, aggregate: str, problem: str
) -> None:
    pipeline = history.pipeline(table, windows__aggregates=json.dumps({"x": aggregate}))
    with pytest.raises(InputError, match=f"windows.aggregates.x: .* is of type {problem}"):
        check_source(events, pipeline)


def test_published_columns_that_no_delta_table_can_contain_are_refused(events: DataFrame, table: str) -> None:
    computed = {"source__columns": "{x: stored_at - happened_at}"}
    with pytest.raises(InputError, match=r"source\.columns\.x: .* is of type INTERVAL DAY TO SECOND"):
        check_source(events, history.pipeline(table, **computed))
    unpublished = {"source__exclude": "[x]", "source__where": "x < interval 1 hour"}
    check_source(events, history.pipeline(table, **computed, **unpublished))


def test_computed_columns_may_be_used_as_columns(events: DataFrame, table: str) -> None:
    computed = {"source__columns": "{x: id % 3, place: upper(site)}", "source__source_partition": "[place]"}
    check_source(events, history.pipeline(table, **computed, windows__key="[X]", source__where="x > 1"))
    with pytest.raises(InputError, match="has no column 'placee'; did you mean 'place'"):
        check_source(events, history.pipeline(table, **computed, windows__key="[placee, y]"))


@pytest.mark.parametrize("key", ["select", "exclude"])
def test_a_pattern_without_a_column_is_refused(events: DataFrame, table: str, key: str) -> None:
    check_source(events, history.pipeline(table, **{f"source__{key}": "['*_at', ID]"}))
    with pytest.raises(InputError, match=f"source.{key}: no column of .* matches 'redings'; did you mean 'reading'"):
        check_source(events, history.pipeline(table, **{f"source__{key}": "[redings]"}))


@pytest.mark.parametrize("pattern", ["yyyy", "dd.MM.yyyy HH:mm:ss", "yyyy-MM-dd'T'HH:mm:ssXXX", "yyyy-DDD"])
def test_a_pattern_of_spark_fits(events: DataFrame, table: str, pattern: str) -> None:
    check_source(events, timed(table, pattern))


@pytest.mark.parametrize("pattern", ["DD.MM.YYYY", "ddd", "yyyy-bb", "B"])
def test_a_pattern_that_spark_would_refuse_at_a_row_is_refused(events: DataFrame, table: str, pattern: str) -> None:
    with pytest.raises(InputError, match=f"source.event_time.format: '{pattern}' is no datetime pattern of Spark"):
        check_source(events, timed(table, pattern))


def timed(table: str, pattern: str) -> Pipeline:
    """Return a pipeline whose event time is text of a pattern."""
    return history.pipeline(table, source__event_time=f'{{column: cast(id as string), format: "{pattern}"}}')


@pytest.mark.parametrize(
    ("key", "line"),
    [("windows.key", "  key: [devise]"), ("source.where", "  where: (select true)")],
)
def test_a_problem_of_the_source_has_its_place_in_the_file(
    spark: SparkSession, table: str, tmp_path: Path, key: str, line: str
) -> None:
    lines = [
        "name: readings",
        "source:",
        f"  table: {table}",
        "  event_time: happened_at",
        "  arrival_time: stored_at",
        "watermark: {out_of_orderness: 1s}",
        "windows:",
        "  size: 1 minute",
        "  aggregates: {n: count(*)}",
    ]
    lines.insert(lines.index("watermark: {out_of_orderness: 1s}") if "where" in line else len(lines), line)
    if "where" in line:
        lines.append("  key: []")
    file = tmp_path / "readings.yaml"
    file.write_text("\n".join(lines))
    with pytest.raises(InputError, match=rf"readings\.yaml:{lines.index(line) + 1}:\d+: {key}"):
        checked(spark, load(file))
