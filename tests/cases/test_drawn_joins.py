"""A row that `where` drops joins nothing in a drawing, and moves the watermark only with the placement `source`."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

from spark_jobs.cases.drawing import Drawing, differences, read
from spark_jobs.cases.drawn_replay import replayed
from tests.sampling import sampled

HEADER = """\
title: Dropped rows of a join
concept: Joins
answer: flink
unit: ms
"""
AS_OF = """\
pipeline:
  source: {where: kept}
  watermark: {strategy: monotonous}
  join: {as_of: left_outer, second_when: "side = 'right'"}
drawing: |
  row   side  kept  time | watermark | what happens
  0    right   yes    10 |         9 |
  1    right    no    12 |        11 |
  2     left   yes    15 |        14 |
  3     left    no    16 |        15 | 2 with version 0
  4    right    no     3 |        15 |
  5     left   yes    13 |        15 | late
  6    right   yes    20 |        19 | 5 with version 0
  end                    |       max |
"""
AS_OF_AFTER_WHERE = """\
pipeline:
  source: {where: kept}
  watermark: {strategy: monotonous, placement: after_where}
  join: {as_of: inner, second_when: "side = 'right'"}
drawing: |
  row   side  kept  time | watermark | what happens
  0    right   yes    10 |         9 |
  1    right    no    99 |         9 |
  2     left   yes    15 |        14 |
  3    right   yes    20 |        19 | 2 with version 0
  4     left    no    70 |        19 |
  end                    |       max |
"""
INTERVAL = """\
pipeline:
  source: {where: kept}
  watermark: {strategy: monotonous}
  join: {between: [-5 ms, 5 ms], second_when: "side = 'right'"}
drawing: |
  row   side  kept  time | watermark | what happens
  0    right   yes    10 |         9 |
  1    right    no    12 |        11 |
  2     left   yes    13 |        12 | 2 with 0 at 13
  3    right    no     2 |        12 |
  4    right   yes     2 |        12 | too late
  end                    |       max |
"""
WINDOW = """\
pipeline:
  sources:
    - {name: orders, where: kept, watermark: {strategy: monotonous}}
    - {name: payments, where: kept, watermark: {strategy: monotonous}}
  windows: {size: 10 ms}
  join: {}
drawing: |
  row   side  kept  time | watermark | what happens
  0    right   yes     3 |         - |
  1     left    no     4 |         2 |
  2     left   yes     5 |         2 |
  3     left   yes    15 |         2 |
  4    right    no    16 |        14 | [0, 10) groups 2 with 0
  5    right   yes    17 |        14 |
  6     left    no     6 |        14 |
  end                    |       max | [10, 20) groups 3 with 5
"""
WINDOW_AFTER_WHERE = """\
pipeline:
  sources:
    - {name: orders, where: kept, watermark: {strategy: monotonous}}
    - {name: payments, where: kept, watermark: {strategy: monotonous}}
  watermark: {placement: after_where}
  windows: {size: 10 ms}
  join: {}
drawing: |
  row   side  kept  time | watermark | what happens
  0    right   yes     3 |         - |
  1     left    no     4 |         - |
  2     left   yes     5 |         2 |
  3     left   yes    15 |         2 |
  4    right    no    16 |         2 |
  5    right   yes    17 |        14 | [0, 10) groups 2 with 0
  end                    |       max | [10, 20) groups 3 with 5
"""


def drawing(text: str) -> Drawing:
    return read(HEADER + text, "dropped_rows")


DRAWINGS = {
    "as_of": AS_OF,
    "as_of_after_where": AS_OF_AFTER_WHERE,
    "interval": INTERVAL,
    "window": WINDOW,
    "window_after_where": WINDOW_AFTER_WHERE,
}


@pytest.mark.parametrize("text", DRAWINGS.values(), ids=DRAWINGS)
def test_the_reference_joins_no_dropped_row(text: str) -> None:
    drawn = drawing(text)
    assert differences(drawn.steps, replayed(drawn), drawn.unit) == []


@pytest.mark.spark
@pytest.mark.parametrize("text", [sampled(text, quick=text is AS_OF, id=name) for name, text in DRAWINGS.items()])
def test_spark_joins_no_dropped_row(session: SparkSession, text: str) -> None:
    from spark_jobs.cases.drawn_on_spark import replayed_on_spark

    drawn = drawing(text)
    assert differences(drawn.steps, replayed_on_spark(session, drawn), drawn.unit) == []


def test_a_join_without_a_row_that_is_not_dropped_ends() -> None:
    rows = "  row   side  kept  time | watermark | what happens\n  0    right    no    10 |         - |\n"
    end = "  end                    |       max |\n"
    for text in (AS_OF_AFTER_WHERE, INTERVAL.replace("monotonous", "monotonous, placement: after_where")):
        drawn = drawing(text.partition("  row ")[0] + rows + end)
        assert differences(drawn.steps, replayed(drawn), drawn.unit) == []
