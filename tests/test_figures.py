"""The table of Spark's figures: every figure with its unit, and a column for each step that ran on Spark."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from spark_jobs.figures import FIGURES, Unit, figures_table, size, with_unit
from spark_jobs.report.data import StepFacts
from tests.support import sample_report_runs

AT = datetime(2026, 1, 5, tzinfo=UTC)


@pytest.mark.parametrize(
    ("unit", "value", "expected"),
    [
        (Unit.SECONDS, 4.25, "4.25 s"),
        (Unit.BYTES, 1536, "1.5 KiB"),
        (Unit.ROWS, 3_000_000, "3,000,000 rows"),
        (Unit.ROWS_PER_SECOND, 1234.56, "1,235 rows/s"),
        (Unit.JOBS, 31, "31 jobs"),
        (Unit.RATIO, 1.75, "1.75"),
        (Unit.SHARE, 0.625, "62.5%"),
        (Unit.SHARE, 1.0, "100%"),
        (Unit.SHARE, 0.0, "0%"),
        (Unit.BYTES, None, "—"),
    ],
)
def test_a_figure_is_written_with_its_unit(unit: Unit, value: float | None, expected: str) -> None:
    assert with_unit(unit, value) == expected


@pytest.mark.parametrize(
    ("size_bytes", "expected"),
    [(0, "0 B"), (1023, "1,023 B"), (1024, "1.0 KiB"), (1.5 * 1024**3, "1.5 GiB"), (3000 * 1024**4, "3,000.0 TiB")],
)
def test_sizes_are_written_in_the_largest_unit_that_they_reach(size_bytes: float, expected: str) -> None:
    assert size(size_bytes) == expected


def test_a_step_without_spark_has_no_column_and_a_figure_that_no_step_has_no_line() -> None:
    audit = StepFacts("audit", "blocked", AT, 1.0, {"seconds": 1.0, "skew": 2.0})
    table = figures_table([*sample_report_runs.published().steps, audit])
    assert table is not None
    assert table.steps == ("replay", "audit, blocked")
    lines = {line.label: line.values for line in table.lines}
    assert list(lines) == [figure.label for figure in FIGURES if figure.name != "jobs_not_measured"]
    assert lines["skew"] == ("1.75", "2")
    assert lines["bytes read"] == ("3.0 GiB", "—")


def test_without_figures_no_table_exists() -> None:
    assert figures_table([StepFacts("plan", "done", AT, 1.0)]) is None


def test_every_figure_has_a_name_of_its_own_a_unit_and_a_meaning() -> None:
    assert len({figure.name for figure in FIGURES}) == len(FIGURES)
    assert all(figure.unit in Unit and figure.meaning for figure in FIGURES)
