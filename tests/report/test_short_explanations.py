"""Short explanations of a report state the rule that made a row too late, and the least settings that save it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from spark_jobs.report import ReportData, render
from spark_jobs.report.data import JoinFacts, LateRow, TooLateWindow
from spark_jobs.report.short_explanations import of_row, of_window
from tests.report.conftest import Element
from tests.support.sample_report_runs import HOUR, START

Parsed = Callable[[str], Element]

# The window of an hour from 05:00 closes at 07:59:59.999 with two hours of allowed lateness.
LATE = LateRow(("UA",), START, START + 12 * HOUR, START + HOUR, START + 4 * HOUR)


def test_a_row_is_compared_with_the_watermark_that_ended_the_state_of_its_window(run: ReportData) -> None:
    assert of_row(LATE, run) == (
        "Its window closed at watermark 2013-01-01 07:59:59.999. The watermark before the row was 2013-01-01 09:00, "
        "1 hour past that (rule 51). It would have counted with an allowed lateness of 3 hours 2 ms, "
        "or with a bound of 1 hour 30 minutes 2 ms."
    )


def test_a_row_at_the_closing_watermark_is_just_too_late(run: ReportData) -> None:
    at_the_edge = replace(LATE, watermark_ms=START + 3 * HOUR - 1)
    words = of_row(at_the_edge, run)
    assert "was 2013-01-01 07:59:59.999, just that (rule 51)" in words
    # A millisecond more than the run allows.
    assert "an allowed lateness of 2 hours 1 ms, or with a bound of 30 minutes 1 ms." in words


def test_without_one_bound_no_bound_is_named(run: ReportData) -> None:
    for bounds in ((), (HOUR, 2 * HOUR)):
        words = of_row(LATE, replace(run, bounds_ms=bounds))
        assert words.endswith("with an allowed lateness of 3 hours 2 ms.")


def test_a_session_may_need_less(run: ReportData) -> None:
    words = of_row(LATE, replace(run, merging=True))
    assert "an allowed lateness of at most 3 hours 2 ms, or with a bound of at most 1 hour 30 minutes 2 ms." in words


def test_a_row_without_a_window_names_the_rule_about_it(run: ReportData) -> None:
    between = replace(LATE, window_end_ms=None)
    assert of_row(between, run) == (
        "The watermark before the row was 4 hours ahead of its event time, and no window contains that time (rule 53)."
    )
    join = JoinFacts(("a", "b"), "0s to 1 hour apart")
    assert of_row(between, replace(run, join=join)) == (
        "The watermark before the row was 4 hours ahead of its event time, so it joined nothing (rule 91). "
        "It would have counted with a bound of 4 hours 30 minutes."
    )


def test_a_window_has_its_rows_their_time_and_the_lateness_that_takes_them(run: ReportData) -> None:
    (window,) = run.too_late_windows
    assert of_window(window, run) == (
        "2 rows came behind watermark 2013-01-01 07:59:59.999, which ended the window's state, "
        "from 2013-01-01 17:00 to 2013-01-01 18:00. The watermark was at most 2013-01-01 09:00 then. "
        "An allowed lateness of 3 hours 2 ms takes all of them."
    )
    single = replace(window, rows=1, last_ms=window.first_ms)
    assert "1 row came behind" in of_window(single, run)
    assert "state, at 2013-01-01 17:00." in of_window(single, run)
    assert of_window(single, run).endswith("takes it.")
    of_earlier = TooLateWindow(START, START + HOUR, 2, HOUR)
    assert of_window(of_earlier, run).endswith("which ended the window's state.")


def test_the_page_has_a_section_with_each_explanation(run: ReportData, parsed: Parsed) -> None:
    page = parsed(render(run))
    (section,) = (s for s in page.all("section") if s.attributes.get("id") == "why-too-late")
    items = [item.words() for item in section.all("li")]
    assert len(items) == len(run.late_rows) + len(run.too_late_windows)
    assert "rule 51" in items[0]
    assert "UA" in items[0]
    without = parsed(render(replace(run, late_rows=(), too_late_windows=())))
    assert "why-too-late" not in [s.attributes.get("id") for s in without.all("section")]
    for half in (replace(run, late_rows=()), replace(run, too_late_windows=())):
        assert "why-too-late" in [s.attributes.get("id") for s in parsed(render(half)).all("section")]
