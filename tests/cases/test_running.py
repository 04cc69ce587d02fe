"""Cases of a pipeline: they pass where the replay has what they expect, and differ line by line where it has not."""

from __future__ import annotations

from pathlib import Path

import pytest

from spark_jobs.cases.case_file import CaseError, load
from spark_jobs.cases.engines import Engine, OnSpark, Reference
from spark_jobs.cases.running import CaseOutcome, outcomes

PIPELINE = """
name: clicks
source:
  table: data/clicks
  event_time: clicked_at
  arrival_time: stored_at
watermark:
  out_of_orderness: 5 minutes
  emit: {every: 1 minute}
windows:
  size: 10 minutes
  key: [page]
  allowed_lateness: 10 minutes
  aggregates: {clicks: count(*), ids: collect_list(click_id)}
"""
ROWS = """
    day: 2024-05-01
    rows: |
      click_id | clicked_at | stored_at | page
      1        | 10:01      | 10:02     | home
      2        | 10:12      | 10:13     | home
      3        | 10:09      | 10:14     | home
      4        | 10:16      | 10:17     | home
      5        | 10:07      | 10:19     | home
      6        | 10:27      | 10:28     | home
      7        | 10:08      | 10:31     | home
"""
PANES = """
      panes: |
        page | window_start | timing  | clicks | ids
        home | 10:00        | on_time | 2      | [1, 3]
        home | 10:00        | late    | 3      | [1, 3, 5]
        home | 10:10        | on_time | 2      | [2, 4]
        home | 10:20        | on_time | 1      | [6]
      late_events: [{click_id: 7}]
"""
RIGHT = f"cases:\n  clicks:{ROWS}    expect:{PANES}"


@pytest.fixture(name="folder")
def _folder(tmp_path: Path) -> Path:
    (tmp_path / "clicks.yaml").write_text(PIPELINE, encoding="utf-8")
    return tmp_path


def run(folder: Path, text: str, engine: Engine | None = None) -> list[CaseOutcome]:
    file = folder / "clicks.test.yaml"
    file.write_text(text, encoding="utf-8")
    return list(outcomes(load(file), engine or Reference()))


@pytest.mark.parametrize("on_spark", [False, pytest.param(True, marks=pytest.mark.spark)], ids=["reference", "spark"])
def test_a_case_passes_and_a_wrong_one_has_a_diff(folder: Path, on_spark: bool, request: pytest.FixtureRequest) -> None:
    engine: Engine = OnSpark(lambda: request.getfixturevalue("session")) if on_spark else Reference()
    (outcome,) = run(folder, RIGHT, engine)
    assert outcome.passed
    wrong = RIGHT.replace("| late    | 3 ", "| late    | 4 ").replace("click_id: 7", "click_id: 5")
    (outcome,) = run(folder, wrong, engine)
    assert outcome.differences == [
        "panes",
        "  page | window_start | timing  | clicks | ids",
        "- home | 10:00        | late    | 4      | [1, 3, 5]",
        "+ home | 10:00        | late    | 3      | [1, 3, 5]",
        "  home | 10:00        | on_time | 2      | [1, 3]",
        "  home | 10:10        | on_time | 2      | [2, 4]",
        "  home | 10:20        | on_time | 1      | [6]",
        "late_events",
        "  click_id",
        "- 5",
        "+ 7",
    ]


def test_counts_settings_and_the_clock_belong_to_a_case(folder: Path) -> None:
    more = "    set: {windows.allowed_lateness: 1 hour}\n    until: 10:45\n"
    counts = "      counts: {late: 2, too_late: 0, rows_read: 7}\n"
    (outcome,) = run(folder, f"cases:\n  clicks:{ROWS}{more}    expect:\n{counts}")
    assert outcome.passed
    (outcome,) = run(folder, f"cases:\n  clicks:{ROWS}    expect:\n{counts}")
    assert outcome.differences == ["counts", "- late: 2", "+ late: 1", "- too_late: 0", "+ too_late: 1"]


def test_rows_may_be_mappings_and_expected_rows_may_be_none(folder: Path) -> None:
    row = "[{click_id: 1, clicked_at: 2024-05-01 10:01:00, stored_at: '2024-05-01 10:02', page: home}]"
    (outcome,) = run(folder, f"cases:\n  clicks:\n    rows: {row}\n    expect: {{late_events: []}}\n")
    assert outcome.passed


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("cases: {}", "cases: expected a mapping with each case by its name"),
        ("case: {}", "the file: found case, expected pipeline, cases"),
        ("cases: {a: {rows: [], expekt: {}}}", "case 'a': the case: found expekt, expected rows, expect"),
        ("cases: {a: {rows: [], expect: {pane: []}}}", "case 'a': expect: found pane, expected panes"),
        ("cases: {a: {rows: 3, expect: {}}}", "case 'a': rows: found 3, expected a table as text"),
        ("cases: {a: {rows: [], expect: {}, day: monday}}", "case 'a': day: found 'monday', expected a day such as"),
        ("cases: {a: {rows: [], expect: {}, until: 7}}", "case 'a': until: found 7, expected a time such as"),
        ("cases: {a: {rows: [], expect: {counts: {late: many}}}}", "expect.counts: found late: 'many', expected whole"),
        (f"cases:\n  a:{ROWS}    expect: {{panes: [{{cliks: 1}}]}}", "found the columns cliks, expected page, window_"),
        (f"cases:\n  a:{ROWS}    expect: {{counts: {{lates: 1}}}}", "expect.counts: found lates, expected rows_read"),
        ("cases: {a: {rows: [{page: x}], expect: {panes: []}}}", "case 'a': rows: found no column 'clicked_at'"),
        ("cases: [", "while parsing a flow"),
    ],
)
def test_a_file_that_cannot_be_replayed_is_named(folder: Path, text: str, message: str) -> None:
    with pytest.raises(CaseError) as wrong:
        run(folder, text)
    assert message in str(wrong.value)
    assert str(wrong.value).startswith(f"{folder}/clicks.test.yaml: ")


def test_sql_of_spark_alone_needs_spark(folder: Path) -> None:
    (folder / "clicks.yaml").write_text(PIPELINE.replace("count(*)", "skewness(click_id)"), encoding="utf-8")
    with pytest.raises(CaseError, match=r"found the aggregate 'skewness\(click_id\)'.*give --spark"):
        run(folder, RIGHT)


def test_a_file_of_another_name_names_its_pipeline_file(folder: Path) -> None:
    file = folder / "other.yaml"
    file.write_text(RIGHT, encoding="utf-8")
    with pytest.raises(CaseError, match="pipeline: missing"):
        load(file)
    file.write_text(f"pipeline: clicks.yaml\n{RIGHT}", encoding="utf-8")
    (outcome,) = outcomes(load(file), Reference())
    assert outcome.passed


DRAWN = """
cases:
  drawn:
    unit: s
    set: {windows.size: 10 s, windows.allowed_lateness: 0 s, watermark: {out_of_orderness: 5 s, emit: per_event}}
    drawing: |
      row  time  key | watermark | what happens
      0       1    a |    -4.001 |
      end            |       max | a [0, 10) fires with 0
"""


def test_a_drawing_takes_the_windows_and_the_watermark_of_the_pipeline(folder: Path) -> None:
    (outcome,) = run(folder, DRAWN)
    assert outcome.differences == []
    (outcome,) = run(folder, DRAWN.replace("fires with 0", "fires with 0 1"))
    assert outcome.differences == [
        "end: drawn 'a [0, 10) fires with 0 1', not replayed",
        "end: replayed 'a [0, 10) fires with 0', not drawn",
    ]


def test_a_drawing_is_a_case(folder: Path) -> None:
    drawings = Path(__file__).parents[1] / "worked"
    for path, passes in (("drawings/rule_12_every_third_row.yaml", True), ("wrong/missing_pane.yaml", False)):
        (outcome,) = outcomes(load(drawings / path), Reference())
        assert outcome.passed is passes
