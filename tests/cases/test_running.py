"""Cases of a pipeline: they pass where the replay has what they expect, and differ line by line where it has not."""

from __future__ import annotations

from pathlib import Path

import pytest

from spark_jobs.cases.case_file import Case, CaseError, load
from spark_jobs.cases.engines import Engine, OnSpark, Reference, Replayed
from spark_jobs.cases.running import CaseFailure, CaseOutcome, outcomes, results
from spark_jobs.pipeline import Pipeline

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


def test_sql_of_spark_alone_is_refused_where_a_case_needs_it(folder: Path) -> None:
    (folder / "clicks.yaml").write_text(PIPELINE.replace("count(*)", "skewness(click_id)"), encoding="utf-8")
    with pytest.raises(
        CaseError, match=r"case 'clicks': expect.panes: column clicks: found the aggregate 'skewness"
    ) as e:
        run(folder, RIGHT)
    assert str(e.value).endswith("give --spark, which reads all of Spark's SQL")
    without = RIGHT.replace(" | clicks", "")
    for number in ("2 ", "3 ", "2 ", "1 "):
        without = without.replace(f"| {number}     | [", "| [", 1)
    (outcome,) = run(folder, without)
    assert outcome.differences == []


def test_values_that_an_aggregate_does_not_take_matter_where_a_case_expects_it(folder: Path) -> None:
    (folder / "clicks.yaml").write_text(PIPELINE.replace("count(*)", "sum(page)"), encoding="utf-8")
    with pytest.raises(CaseError, match="column clicks: found 'home' in a sum or average, expected a number"):
        run(folder, RIGHT)


def test_times_in_lists_and_not_a_number_are_expected_as_they_are_shown(folder: Path) -> None:
    pipeline = PIPELINE.replace("count(*)", "collect_list(clicked_at)").replace(
        "collect_list(click_id)", "max(click_id)"
    )
    (folder / "clicks.yaml").write_text(pipeline, encoding="utf-8")
    text = RIGHT.replace("      1        |", "      .nan     |").replace(PANES, PANES.partition("      late_events")[0])
    (outcome,) = run(folder, text)
    replayed = [line[2:] for line in outcome.differences if line[:1] == "+"]
    assert (
        'home | 10:00        | on_time | ["2024-05-01 10:01", "2024-05-01 10:09"]                     | NaN' in replayed
    )
    lines = "".join(f"        {line}\n" for line in replayed)
    header = "        page | window_start | timing | clicks | ids\n"
    assert len(replayed) == 4
    (outcome,) = run(folder, text.partition("    expect:")[0] + f"    expect:\n      panes: |\n{header}{lines}")
    assert outcome.differences == []


def test_the_watermarks_of_partitions_are_expected_as_they_are_shown(folder: Path) -> None:
    text = f"cases:\n  a:{ROWS}    expect:\n      watermarks: |\n        window_start | partition_watermarks\n"
    (outcome,) = run(folder, text)
    lines = "".join(f"        {line[2:]}\n" for line in outcome.differences if line[:1] == "+")
    assert '"watermark": "2024-05-01 10:' in lines
    assert run(folder, text + lines)[0].differences == []
    assert run(folder, text + lines.replace('"2024-05-01 10:', '"2024-05-01 11:', 1))[0].differences != []


def test_rows_of_one_instant_may_lack_a_column(folder: Path) -> None:
    row = "clicked_at: 2024-05-01 10:01, stored_at: 2024-05-01 10:02, page: home"
    text = (
        f"cases: {{a: {{rows: [{{{row}, note: x}}, {{{row}}}], expect: {{panes: [{{clicks: 2}}], late_events: []}}}}}}"
    )
    (folder / "clicks.yaml").write_text(PIPELINE.replace(", ids: collect_list(click_id)", ""), encoding="utf-8")
    (outcome,) = run(folder, text)
    assert outcome.differences == []


def test_rows_and_only_fit_the_pipeline(folder: Path) -> None:
    with pytest.raises(CaseError, match="case 'a': rows: found tables of web, and the pipeline has one source"):
        run(folder, "cases: {a: {rows: {web: []}, expect: {panes: []}}}")
    with pytest.raises(CaseError, match="case 'clicks': only: found pge, expected columns of panes, late_events"):
        run(folder, f"cases:\n  clicks:{ROWS}    only: {{pge: home}}\n    expect:{PANES}")


def test_a_table_without_rows_has_columns(folder: Path) -> None:
    text = f"cases:\n  clicks:{ROWS}    expect:\n      invalid_events: |\n        click_id | reason"
    assert run(folder, text)[0].passed
    with pytest.raises(CaseError, match=r"expect\.invalid_events: found the columns raeson, expected click_id"):
        run(folder, text.replace("reason", "raeson"))


def test_an_error_of_one_case_affects_no_other(folder: Path) -> None:
    body = RIGHT.removeprefix("cases:\n  clicks:")
    wrong = "  second: {rows: [], expect: {}}\n  third: {rows: [{page: 1}], expect: {panes: []}}"
    texts = {
        "a": f"cases:\n  first:{body}{wrong}",
        "b": "cases: [",
        "c": RIGHT.replace("| late    | 3 ", "| late    | 4 "),
    }
    for name, text in texts.items():
        (folder / f"{name}.test.yaml").write_text(text, encoding="utf-8")
        (folder / f"{name}.yaml").write_text(PIPELINE, encoding="utf-8")
    ended = list(results([folder / f"{name}.test.yaml" for name in texts], Reference()))
    assert [(result.file.name[0], result.name, isinstance(result, CaseFailure)) for result in ended] == [
        ("a", "second", True),
        ("a", "first", False),
        ("a", "third", True),
        ("b", "", True),
        ("c", "clicks", False),
    ]
    failures = [result for result in ended if isinstance(result, CaseFailure)]
    assert all(failure.is_input and failure.problem.startswith(f"{failure.file}: ") for failure in failures)


def test_an_error_of_the_program_names_the_case(folder: Path) -> None:
    class Broken(Reference):
        def tables(self, case: Case, pipeline: Pipeline) -> Replayed:
            raise KeyError("end")

    (folder / "clicks.test.yaml").write_text(RIGHT, encoding="utf-8")
    (failure,) = results([folder / "clicks.test.yaml"], Broken())
    assert isinstance(failure, CaseFailure)
    assert (failure.is_input, failure.problem) == (False, f"{folder}/clicks.test.yaml: case 'clicks': 'end'")


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
