"""Key and aggregate columns have names that no other column has."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from spark_jobs.pipeline import PipelineError, Problem, parse

# Each row: a change of one place in the file, and its only problem, as it is printed after 'flights.yaml:'.
NAMES = [
    (
        "key: [carrier]",
        "key: [carrier, CARRIER]",
        "22:18: windows.key[1]: found 'CARRIER' for the second time; keep one",
    ),
    (
        "key: [carrier]",
        "key: [Window_Start]",
        (
            "22:9: windows.key[0]: found 'Window_Start', expected a column; the result tables have a column "
            "window_start already; use another name"
        ),
    ),
    (
        "    flights:",
        "    carrier:",
        (
            "27:5: windows.aggregates.carrier: found the name 'carrier', which is also the key column 'carrier', "
            "whatever the letter case"
        ),
    ),
    (
        "    flights:",
        "    Mean_Delay:",
        (
            "28:5: windows.aggregates.mean_delay: found the name 'mean_delay', which is also the aggregate "
            "'Mean_Delay', whatever the letter case"
        ),
    ),
    (
        "    flights:",
        "    __TM_n:",
        "27:5: windows.aggregates.__TM_n: found the name '__TM_n'; names that begin with __tm are Tidemark's own",
    ),
    (
        "    flights:",
        "    number of flights:",
        (
            "27:5: windows.aggregates.number of flights: found the name 'number of flights'; a column name holds "
            "no ' '; use letters, digits and _"
        ),
    ),
    (
        "    flights:",
        "    a.b:",
        "27:5: windows.aggregates.a.b: found the name 'a.b'; a column name holds no '.'; use letters, digits and _",
    ),
    (
        "    flights:",
        "    '':",
        "27:5: windows.aggregates: found the name ''; a column needs a name",
    ),
]


@pytest.mark.parametrize(("old", "new", "message"), NAMES)
def test_a_name_that_is_taken_or_impossible_is_refused(
    edit: Callable[..., str], problems_of: Callable[..., list[Problem]], old: str, new: str, message: str
) -> None:
    assert [str(problem) for problem in problems_of(edit((old, new)))] == [f"flights.yaml:{message}"]


def test_a_key_and_an_aggregate_whose_names_differ_in_letter_case_alone_collide(
    edit: Callable[..., str], problems_of: Callable[..., list[Problem]]
) -> None:
    text = edit(("[carrier]", "[Carrier]"), ("    flights:", "    carrier:"))
    assert [problem.key for problem in problems_of(text)] == ["windows.aggregates.carrier"]


@pytest.mark.parametrize(
    "name",
    [
        "window_start",
        "window_end",
        "pane_index",
        "timing",
        "fired_at",
        "watermark",
        "row_count",
        "run_id",
        "pane_count",
        "too_late_count",
        "last_fired_at",
    ],
)
def test_every_column_that_the_tables_have_anyway_is_taken(
    edit: Callable[..., str], problems_of: Callable[..., list[Problem]], name: str
) -> None:
    text = edit(("[carrier]", f"[{name}]"), ("    flights:", f"    {name.upper()}:"))
    reason = f"the result tables have a column {name} already; use another name"
    assert [str(problem) for problem in problems_of(text)] == [
        f"flights.yaml:22:9: windows.key[0]: found '{name}', expected a column; {reason}",
        f"flights.yaml:27:5: windows.aggregates.{name.upper()}: found the name '{name.upper()}'; {reason}",
    ]


def test_complete_results_reserve_names_in_the_complete_mode_alone(flights: str, environ: dict[str, str]) -> None:
    named = flights.replace("    flights:", "    Missed_Rows:")
    assert parse(named, environ=environ).windows.aggregates[0].name == "Missed_Rows"
    with pytest.raises(
        PipelineError, match=r"aggregates.Missed_Rows: .* complete_results has a column of it; use anoth"
    ):
        parse(named, environ=environ, overrides={"replay.mode": "complete"})
    checked = flights.replace("table: panes", "table: complete_results")
    with pytest.raises(PipelineError, match=r"found complete_results, and replay.mode faithful has panes"):
        parse(checked, environ=environ)
    pipeline = parse(checked, environ=environ, overrides={"replay.mode": "complete"})
    assert "complete_results" in {expectation.table for expectation in pipeline.quality.expectations}
