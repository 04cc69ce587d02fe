"""A wrong value outside source is met with what was found and what is allowed."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from spark_jobs.pipeline import Problem

# Each row: a change of one place in the file, and its only problem, as it is printed after 'flights.yaml:'.
WRONG = [
    (
        "name: departures_by_carrier",
        "name: Departures",
        (
            "1:7: name: found 'Departures', expected a name of lower-case letters, digits and _, a letter first, "
            "at most 100 characters"
        ),
    ),
    (
        "end_of_input: close",
        "end_of_input: closed",
        "12:17: replay.end_of_input: found 'closed', expected close or keep_open; did you mean 'close'?",
    ),
    (
        "out_of_orderness: 6 hours",
        "out_of_orderness: 6",
        (
            "16:21: watermark.out_of_orderness: found the number 6, expected a duration such as '6 hours' or "
            "'0s'; write the unit of 6: '6 hours', '6 minutes', '6 s'"
        ),
    ),
    (
        "out_of_orderness: 6 hours",
        "out_of_orderness: -6 hours",
        (
            "16:21: watermark.out_of_orderness: found '-6 hours', expected a duration such as '6 hours' or '0s'; "
            "a negative duration is not allowed here"
        ),
    ),
    (
        "out_of_orderness: 6 hours",
        "out_of_orderness: true",
        "16:21: watermark.out_of_orderness: found the YAML boolean true, expected a duration such as '6 hours' or '0s'",
    ),
    (
        "{every: 1 minute, phase: 10 s}",
        "per_evnt",
        (
            "17:9: watermark.emit: found 'per_evnt', expected {every: 1 minute}, {every_n: 1000} or per_event; "
            "did you mean 'per_event'?"
        ),
    ),
    (
        "{every: 1 minute, phase: 10 s}",
        "{every: 0s}",
        (
            "17:17: watermark.emit.every: found '0s', expected a duration longer than 0, such as '1 minute'; it "
            "must be at least 1 ms"
        ),
    ),
    (
        "{every: 1 minute, phase: 10 s}",
        "{every_n: 0}",
        "17:19: watermark.emit.every_n: found the number 0, expected a number of rows, at least 1",
    ),
    (
        "{every: 1 minute, phase: 10 s}",
        "{every_n: 1.5}",
        "17:19: watermark.emit.every_n: found the number 1.5, expected a number of rows, at least 1",
    ),
    (
        "phase: 10 s",
        "phase: -1 s",
        (
            "17:34: watermark.emit.phase: found '-1 s', expected a duration such as '6 hours' or '0s'; a negative"
            " duration is not allowed here"
        ),
    ),
    (
        "strategy: bounded_out_of_orderness\n  out_of_orderness: 6 hours",
        "strategy: custom\n  class: company.clocks.Device",
        "16:10: watermark.class: found 'company.clocks.Device', expected a class as package.module:Class",
    ),
    (
        "strategy: bounded_out_of_orderness\n  out_of_orderness: 6 hours",
        "strategy: custom\n  class: clocks:Device\n  arguments: {a b: 1}",
        "17:15: watermark.arguments.a b: found the name 'a b'; an argument is named by letters, digits and _",
    ),
    (
        "  placement: source",
        "  idle_timeout: 0s",
        (
            "14:17: watermark.idle_timeout: found '0s', expected a duration longer than 0, such as '12 hours'; it must "
            "be at least 1 ms"
        ),
    ),
    (
        "size: 1 hour",
        "size: 0s",
        "20:9: windows.size: found '0s', expected a duration longer than 0, such as '1 hour'; it must be at least 1 ms",
    ),
    (
        "size: 1 hour",
        "size: 1 month",
        (
            "20:9: windows.size: found '1 month', expected a duration longer than 0, such as '1 hour'; 'month' "
            "has no fixed length; write days ('m' is minutes)"
        ),
    ),
    (
        "key: [carrier]",
        "key: carrier",
        (
            "22:8: windows.key: found 'carrier', expected a list of columns such as [carrier], [] for one group "
            "of all, or {page: payload.page}; write [carrier]"
        ),
    ),
    (
        "allowed_lateness: 2 hours",
        "allowed_lateness: a while",
        (
            "23:21: windows.allowed_lateness: found 'a while', expected a duration such as '6 hours' or '0s'; no "
            "duration; write a number and a unit, such as '6 hours' (units: ms, s, min, h, days, weeks)"
        ),
    ),
    (
        "flights: count(*)",
        "flights:",
        "27:13: windows.aggregates.flights: found nothing, expected a SQL aggregate such as count(*)",
    ),
    (
        "quality:\n",
        "maintenance: {keep_runs: 0}\nquality:\n",
        "29:26: maintenance.keep_runs: found the number 0, expected a number of runs, at least 1",
    ),
    (
        "quality:\n",
        "maintenance: {retain: 30}\nquality:\n",
        (
            "29:23: maintenance.retain: found the number 30, expected a duration such as '30 days'; write the unit of "
            "30: '30 hours', '30 minutes', '30 s'"
        ),
    ),
    (
        "quality:\n",
        "repair: {max_too_late_rows: -1}\nquality:\n",
        "29:29: repair.max_too_late_rows: found the number -1, expected a number of rows, at least 0",
    ),
    (
        "quality:\n",
        "repair: {max_too_late_rows: 1, ask: yes}\nquality:\n",
        "29:37: repair.ask: found the YAML boolean yes, expected true or false",
    ),
    (
        "on_failure: block",
        "on_failure: stop",
        "30:15: quality.on_failure: found 'stop', expected block, warn or ask",
    ),
    (
        "ratio: 0.01",
        "ratio: 1%",
        (
            "31:23: quality.max_too_late_ratio: found '1%', expected a share between 0 and 1, such as 0.01, or learned"
            "; 1% is 0.01"
        ),
    ),
    (
        "ratio: 0.01",
        "ratio: 1.01",
        (
            "31:23: quality.max_too_late_ratio: found the number 1.01, expected a share between 0 and 1, such as 0.01, "
            "or learned"
        ),
    ),
    (
        "ratio: 0.01",
        "ratio: -0.01",
        (
            "31:23: quality.max_too_late_ratio: found the number -0.01, expected a share between 0 and 1, such as "
            "0.01, or learned"
        ),
    ),
    (
        "table: panes",
        "table: pane",
        (
            "34:14: quality.expectations[0].table: found 'pane', expected one of panes, window_results, "
            "late_events, invalid_events, watermarks; of a join pairs, late_events, invalid_events; with replay.mode "
            "complete complete_results; source with on_failure quarantine; did you mean 'panes'?"
        ),
    ),
    (
        "type: expect_column_values_to_be_between",
        "type: ExpectColumnValuesToBeBetween",
        (
            "33:13: quality.expectations[0].type: found 'ExpectColumnValuesToBeBetween', expected a type such as "
            "expect_column_values_to_be_between; did you mean 'expect_column_values_to_be_between'?"
        ),
    ),
    (
        "type: expect_column_values_to_be_between",
        "kind: x",
        "33:7: quality.expectations[0].type: missing, expected a type such as expect_column_values_to_be_between",
    ),
    (
        '"@daily"',
        '"@dayly"',
        (
            "37:11: schedule: found '@dayly', expected five cron fields such as '0 6 * * *', or one of @hourly, "
            "@daily, @weekly, @monthly, @quarterly, @yearly, or {cron, start, catchup, slices}, or "
            "{assets: [name or URI]}; did you mean '@daily'?"
        ),
    ),
    (
        '"@daily"',
        "0 6 * *",
        (
            "37:11: schedule: found '0 6 * *', expected five cron fields such as '0 6 * * *', or one of @hourly, "
            "@daily, @weekly, @monthly, @quarterly, @yearly, or {cron, start, catchup, slices}, or "
            "{assets: [name or URI]}; it has 4 fields instead of 5"
        ),
    ),
    (
        '"@daily"',
        "R 6 * * *",
        (
            "37:11: schedule: found 'R 6 * * *', expected five cron fields such as '0 6 * * *', or one of "
            "@hourly, @daily, @weekly, @monthly, @quarterly, @yearly, or {cron, start, catchup, slices}, or "
            "{assets: [name or URI]}; "
            "R and H stand for no fixed time"
        ),
    ),
    (
        '"@daily"',
        "0 6 31 2 *",
        (
            "37:11: schedule: found '0 6 31 2 *', expected five cron fields such as '0 6 * * *', or one of "
            "@hourly, @daily, @weekly, @monthly, @quarterly, @yearly, or {cron, start, catchup, slices}, or "
            "{assets: [name or URI]}; "
            "failed to find next date"
        ),
    ),
    (
        '"@daily"',
        "[s3://events]",
        (
            "37:11: schedule: found a list, expected five cron fields such as '0 6 * * *', or one of @hourly, @daily, "
            "@weekly, @monthly, @quarterly, @yearly, or {cron, start, catchup, slices}, or {assets: [name or URI]}"
        ),
    ),
    (
        '"@daily"',
        "{assets: s3://events}",
        (
            "37:20: schedule.assets: found 's3://events', expected a list of names or URIs of assets of Airflow; "
            "write [s3://events]"
        ),
    ),
    (
        '"@daily"',
        "{assets: []}",
        "37:12: schedule.assets: is empty: name an asset, or take schedule away to start the pipeline by hand",
    ),
    (
        '"@daily"',
        "{assets: [a, a]}",
        "37:24: schedule.assets[1]: found 'a' for the second time; keep one",
    ),
    (
        '"@daily"',
        "{assets: [self]}",
        (
            "37:21: schedule.assets[0]: found 'self', expected the name or URI of an asset of Airflow, such as "
            "s3://events/clicks; Airflow keeps this name for itself"
        ),
    ),
    (
        '"@daily"',
        "{}",
        "37:1: schedule: names neither cron nor assets: name one, or take schedule away to start the pipeline by hand",
    ),
    (
        '"@daily"',
        "{slices: 2}",
        "37:1: schedule: names neither cron nor assets: name one, or take schedule away to start the pipeline by hand",
    ),
    (
        '"@daily"',
        '{cron: "@dayly"}',
        (
            "37:18: schedule.cron: found '@dayly', expected five cron fields such as '0 6 * * *', or one of @hourly, "
            "@daily, @weekly, @monthly, @quarterly, @yearly; did you mean '@daily'?"
        ),
    ),
    (
        '"@daily"',
        '{cron: "@daily", start: 1.1.2026}',
        "37:35: schedule.start: found '1.1.2026', expected a time such as 2026-01-01 or 2026-01-01T06:00:00Z",
    ),
    (
        '"@daily"',
        '{cron: "@daily", slices: 0}',
        "37:36: schedule.slices: found the number 0, expected a number of tasks from 1 to 1000",
    ),
    (
        '"@daily"',
        '{cron: "@daily", slices: 1001}',
        "37:36: schedule.slices: found the number 1001, expected a number of tasks from 1 to 1000",
    ),
    (
        '"@daily"',
        '{cron: "@daily", start: 0001-01-01T00:00+05:00}',
        (
            "37:35: schedule.start: found '0001-01-01T00:00+05:00', expected a time such as 2026-01-01 or "
            "2026-01-01T06:00:00Z"
        ),
    ),
    (
        '"@daily"',
        '{cron: "@daily", catchup: often}',
        "37:37: schedule.catchup: found 'often', expected true, for a run of each interval since start, or false",
    ),
]


@pytest.mark.parametrize(("old", "new", "message"), WRONG)
def test_a_wrong_value_is_an_error_with_the_allowed_values(
    edit: Callable[..., str], problems_of: Callable[..., list[Problem]], old: str, new: str, message: str
) -> None:
    assert [str(problem) for problem in problems_of(edit((old, new)))] == [f"flights.yaml:{message}"]
