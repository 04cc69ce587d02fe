"""The worked examples: each drawing happens as drawn, with the reference, on Spark and in Flink's answer.

`drawings` holds the examples, one a file (see `drawing`); `wrong` holds drawings with one wrong expectation each, for
which the comparison must fail with the text that the file names.
"""

from __future__ import annotations

from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from spark_jobs.cases.drawing import Drawing, DrawingError, differences, load, read, write
from spark_jobs.cases.drawing import table as table_of
from spark_jobs.cases.drawn_replay import replayed
from tests.sampling import sampled
from tests.worked import flink, page

if TYPE_CHECKING:
    from _pytest.mark import ParameterSet
    from pyspark.sql import SparkSession

HERE = Path(__file__).parent
DRAWINGS, WRONG = load(HERE / "drawings"), load(HERE / "wrong")
ANSWERS = flink.answers()
OF_FLINK = [drawing for drawing in DRAWINGS if drawing.answer == "flink"]


def name_of(drawing: Drawing) -> str:
    return drawing.name


def concept_of(drawing: Drawing) -> str:
    return drawing.concept


@pytest.mark.parametrize("drawing", DRAWINGS, ids=name_of)
def test_reference_replays_the_drawing(drawing: Drawing) -> None:
    assert differences(drawing.steps, replayed(drawing), drawing.unit) == []


def on_spark() -> list[ParameterSet]:
    """Every drawing; one of each concept is quick."""
    return [
        sampled(drawing, quick=place == 0, judges=place % 4 == 0, id=drawing.name)
        for _, drawings in groupby(sorted(DRAWINGS, key=concept_of), key=concept_of)
        for place, drawing in enumerate(drawings)
    ]


@pytest.mark.spark
@pytest.mark.parametrize("drawing", on_spark())
def test_spark_replays_the_drawing(session: SparkSession, drawing: Drawing) -> None:
    from spark_jobs.cases.drawn_on_spark import replayed_on_spark

    assert differences(drawing.steps, replayed_on_spark(session, drawing), drawing.unit) == []


@pytest.mark.spark
@pytest.mark.usefixtures("spark_alone")
@pytest.mark.parametrize("drawing", [sampled(drawing, quick=False, id=drawing.name) for drawing in DRAWINGS])
def test_spark_alone_replays_the_drawing(session: SparkSession, drawing: Drawing) -> None:
    test_spark_replays_the_drawing(session, drawing)


@pytest.mark.parametrize("drawing", OF_FLINK, ids=name_of)
def test_the_drawing_is_flinks_answer(drawing: Drawing) -> None:
    scenario, answer = ANSWERS[drawing.name]
    assert flink.scenario(drawing) == scenario
    assert table_of(flink.answered(drawing, answer)) == table_of(drawing)


@pytest.mark.parametrize(
    ("part", "setting", "values"),
    [
        ("windows", "kind", {"tumbling", "sliding", "session"}),
        ("windows", "accumulation", {"discarding", "retracting"}),
        ("windows", "trigger", {"continuous", "count"}),
        ("windows", "late_panes", {"per_epoch"}),
        ("windows", "late_data", {"update"}),
        ("watermark", "emit", {"every", "every_n"}),
        ("watermark", "placement", {"source", "after_where"}),
        ("watermark", "strategy",
         {"bounded_out_of_orderness", "monotonous", "punctuated", "time_lag", "none"}),
        ("replay", "mode", {"complete"}),
        ("replay", "end_of_input", {"keep_open"}),
    ],
)  # fmt: skip
def test_each_setting_is_drawn(part: str, setting: str, values: set[str]) -> None:
    drawn = [drawing.pipeline.get(part, {}).get(setting) for drawing in DRAWINGS]
    assert values == {next(iter(value)) if isinstance(value, dict) else value for value in drawn} - {None}


def test_no_answer_is_without_a_drawing() -> None:
    assert sorted(ANSWERS) == [drawing.name for drawing in OF_FLINK]


@pytest.mark.parametrize("drawing", [*DRAWINGS, *WRONG], ids=name_of)
def test_the_file_is_written_as_it_is_read(drawing: Drawing) -> None:
    folder = "wrong" if drawing.fails_with else "drawings"
    assert write(drawing) == (HERE / folder / f"{drawing.name}.yaml").read_text()


@pytest.mark.parametrize("drawing", DRAWINGS, ids=name_of)
def test_the_drawing_is_named_for_its_first_rule(drawing: Drawing) -> None:
    assert drawing.name.startswith(f"rule_{drawing.rules[0]}_")
    assert drawing.note


@pytest.mark.parametrize("drawing", WRONG, ids=name_of)
def test_a_wrong_drawing_fails_with_the_reference(drawing: Drawing) -> None:
    assert differences(drawing.steps, replayed(drawing), drawing.unit) == list(drawing.fails_with)


@pytest.mark.spark
@pytest.mark.parametrize("drawing", [sampled(d, quick=i % 4 == 0, id=d.name) for i, d in enumerate(WRONG)])
def test_a_wrong_drawing_fails_on_spark(session: SparkSession, drawing: Drawing) -> None:
    from spark_jobs.cases.drawn_on_spark import replayed_on_spark

    assert differences(drawing.steps, replayed_on_spark(session, drawing), drawing.unit) == list(drawing.fails_with)


def test_an_example_with_a_wrong_expectation_exists_for_each_kind() -> None:
    kinds = {"missing_pane", "surplus_pane", "wrong_content", "wrong_watermark", "missing_late_row", "wrong_pair"}
    assert kinds <= {drawing.name for drawing in WRONG}


def test_the_page_shows_the_drawings() -> None:
    """Run `python -m tests.worked.page` to write the page again."""
    assert page.PAGE.read_text() == page.text(DRAWINGS)


EXAMPLE = """\
title: One row
concept: Reading
answer: flink
unit: ms
pipeline:
  windows: {size: 10 ms}
drawing: |
  row  time | watermark | what happens
  0       5 |         4 |
  end       |       max | [0, 10) fires with 0
"""


@pytest.mark.parametrize(
    ("before", "after", "problem"),
    [
        ("concept: Reading", "concept: Reading\nspeed: 3", "unknown keys: speed"),
        ("title: One row\n", "", "missing keys: title"),
        ("unit: ms", "unit: min", "unit 'min'"),
        ("answer: flink", "answer: spark", "answer 'spark'"),
        ("row  time |", "row  tim  |", "found the header"),
        ("fires with 0", "fired with 0", "unknown entry"),
        ("0       5 |", "1       5 |", "row 0 is missing"),
        ("0       5 |", "0     5.5 |", "finer than a millisecond"),
        ("0       5 |", "0    soon |", "'soon' is no number"),
        ("|         4 |", "|           ", "found 2 cells"),
        ("  0       5 |         4 |\n  end       |       max | [0, 10) fires with 0\n",
         "  end       |       max | [0, 10) fires with 0\n  0       5 |         4 |\n", "behind the end"),
    ],
)  # fmt: skip
def test_what_a_drawing_cannot_hold_is_refused(before: str, after: str, problem: str) -> None:
    assert read(EXAMPLE, "example").rows
    assert before in EXAMPLE
    with pytest.raises(DrawingError, match="example"):
        read(EXAMPLE.replace(before, after), "example")
    with pytest.raises(DrawingError, match=problem):
        read(EXAMPLE.replace(before, after), "example")
