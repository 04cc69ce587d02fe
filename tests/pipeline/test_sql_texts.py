"""The SQL of a pipeline: every key that holds SQL is judged, under its name in the file."""

from __future__ import annotations

from spark_jobs.pipeline import parse
from spark_jobs.pipeline.sql_texts import SqlKind, of_checks, of_results

FILE = """
name: visits
source:
  table: /lake/visits
  event_time: {column: a1, unit: ms}
  arrival_time: a2
  where: a3
watermark: {strategy: punctuated, when: a4, value: a5}
windows:
  size: 1 hour
  key: []
  aggregates: {x: count(a6), y: sum(a7)}
quality:
  drift: {tolerance: 0.5, measures: {z: sum(b1)}}
  expectations:
    - {type: expect_rows_to_satisfy, condition: b2}
    - {type: expect_column_max_to_be_between, column: x, row_condition: b3, condition_parser: spark}
    - {type: expect_column_max_to_be_between, column: x, row_condition: b4}
    - {type: expect_column_max_to_be_between, column: x, row_condition: col("x") > 1,
       condition_parser: great_expectations}
    - type: expect_column_max_to_be_between
      column: x
      row_condition:
        type: and
        conditions: [{type: pass_through, pass_through_filter: b5}, {type: nullity, column: {name: x}, is_null: true}]
    - {type: unexpected_rows_expectation, unexpected_rows_query: "SELECT b6 FROM {batch}"}
    - {type: expect_column_values_to_match_regex, column: x, regex: "select"}
"""
UNITED = """
name: visits
sources:
  - {name: web, table: /lake/web, event_time: a1, arrival_time: a2, where: a3,
     watermark: {strategy: punctuated, when: a4, value: a5}}
  - {name: shop, table: /lake/shop, event_time: a6, arrival_time: a7, watermark: {out_of_orderness: 1 hour}}
join: {key: [id], between: [-1 hour, 1 hour]}
"""


def test_the_texts_that_decide_on_results_are_those_of_sources_watermarks_and_aggregates() -> None:
    texts = list(of_results(parse(FILE)))
    assert {text.key: text.text for text in texts} == {
        "source.event_time": "a1",
        "source.arrival_time": "a2",
        "source.where": "a3",
        "watermark.when": "a4",
        "watermark.value": "a5",
        "windows.aggregates.x": "count(a6)",
        "windows.aggregates.y": "sum(a7)",
    }
    assert {text.kind for text in texts} == {SqlKind.RESULT}


def test_the_texts_of_checks_are_measures_conditions_and_queries() -> None:
    assert [(text.key.removeprefix("quality."), text.text, text.kind) for text in of_checks(parse(FILE).quality)] == [
        ("drift.measures.z", "sum(b1)", SqlKind.CHECK),
        ("expectations[0].condition", "b2", SqlKind.CHECK),
        ("expectations[1].row_condition", "b3", SqlKind.CHECK),
        ("expectations[2].row_condition", "b4", SqlKind.CHECK),
        ("expectations[4].row_condition", "b5", SqlKind.CHECK),
        ("expectations[5].unexpected_rows_query", "SELECT b6 FROM {batch}", SqlKind.QUERY),
    ]


def test_each_of_several_sources_has_its_own_texts() -> None:
    assert {text.key: text.text for text in of_results(parse(UNITED))} == {
        "sources[0].event_time": "a1",
        "sources[0].arrival_time": "a2",
        "sources[0].where": "a3",
        "sources[0].watermark.when": "a4",
        "sources[0].watermark.value": "a5",
        "sources[1].event_time": "a6",
        "sources[1].arrival_time": "a7",
    }


def test_the_condition_that_splits_a_source_is_a_text() -> None:
    split = """
name: orders
source: {table: /lake/orders, event_time: a1, arrival_time: a2}
join: {key: [id], between: [-1 hour, 1 hour], second_when: a3}
watermark: {out_of_orderness: 1 hour}
"""
    assert [text.key for text in of_results(parse(split))][-1] == "join.second_when"
