"""Values that are right alone and wrong together."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from spark_jobs.pipeline import Problem

# Each row: a change of one place in the file, and its only problem, as it is printed after 'flights.yaml:'.
CONTRADICTIONS = [
    (
        "quality:\n",
        "repair: {ask: true}\nquality:\n",
        ("29:1: repair: has no limit of missed rows; set max_too_late_rows, max_too_late_ratio or both"),
    ),
    (
        "  kind: tumbling\n  size: 1 hour\n  offset: -15 min\n",
        "  kind: session\n",
        "18:1: windows.gap: missing, expected a duration longer than 0, such as '30 minutes'",
    ),
    (
        "  kind: tumbling\n  size: 1 hour\n  offset: -15 min\n",
        "  kind: session\n  gap: 0s\n",
        (
            "20:8: windows.gap: found '0s', expected a duration longer than 0, such as '30 minutes'; it must be at"
            " least 1 ms"
        ),
    ),
    (
        "  kind: tumbling\n  size: 1 hour\n  offset: -15 min\n",
        "  kind: session\n  gap: 30 min\n  size: 1 hour\n",
        ("21:3: windows.size: windows.kind session has no grid: a session ends a gap after its last row; take it away"),
    ),
    (
        "  kind: tumbling\n  size: 1 hour\n  offset: -15 min\n",
        "  kind: session\n  gap: 30 min\n  late_panes: per_epoch\n",
        (
            "21:3: windows.late_panes: windows.kind session has no late panes per_epoch: a late row may merge "
            "sessions; take it away"
        ),
    ),
    (
        "  kind: tumbling\n  size: 1 hour\n  offset: -15 min\n",
        "  kind: session\n  gap: 30 min\n  offset: 5 min\n",
        (
            "21:3: windows.offset: windows.kind session has no grid: a session ends a gap after its last row; "
            "take it away"
        ),
    ),
    (
        "  size: 1 hour\n",
        "  size: 1 hour\n  gap: 30 min\n",
        "21:3: windows.gap: belongs to windows.kind session; take it away, or set the kind to session",
    ),
    (
        (
            "  arrival_time: landed_at\n"
            "  source_partition: [origin]\n"
            "  tie_break: [flight_id]\n"
            "  where: tailnum is not null\n"
            "  future_guard: 1 day"
        ),
        "  future_guard: none",
        (
            "2:1: source.arrival_time: missing; replay.order arrival needs the time at which a row became known; "
            "without it, order by commit or event_time"
        ),
    ),
    (
        "  out_of_orderness: 6 hours\n",
        "",
        (
            "13:1: watermark.out_of_orderness: missing; watermark.strategy bounded_out_of_orderness needs the "
            "bound, such as '6 hours'"
        ),
    ),
    (
        "strategy: bounded_out_of_orderness",
        "strategy: monotonous",
        (
            "16:3: watermark.out_of_orderness: watermark.strategy monotonous has no bound; take it away, or set "
            "the strategy to bounded_out_of_orderness"
        ),
    ),
    (
        "strategy: bounded_out_of_orderness\n  out_of_orderness: 6 hours\n",
        "strategy: punctuated\n  value: carried_at\n",
        (
            "13:1: watermark.when: missing; watermark.strategy punctuated needs the condition that marks rows, such as "
            "'is_heartbeat'"
        ),
    ),
    (
        "strategy: bounded_out_of_orderness\n  out_of_orderness: 6 hours\n",
        "strategy: time_lag\n",
        "13:1: watermark.lag: missing; watermark.strategy time_lag needs the lag, such as '5 minutes'",
    ),
    (
        "out_of_orderness: 6 hours\n",
        "out_of_orderness: 6 hours\n  lag: 5 minutes\n",
        (
            "17:3: watermark.lag: watermark.strategy bounded_out_of_orderness has no lag; take it away, or set the "
            "strategy to time_lag"
        ),
    ),
    (
        "out_of_orderness: 6 hours\n",
        "out_of_orderness: 6 hours\n  value: carried_at\n",
        (
            "17:3: watermark.value: watermark.strategy bounded_out_of_orderness has no value in marked rows; take it "
            "away, or set the strategy to punctuated"
        ),
    ),
    (
        "strategy: bounded_out_of_orderness\n  out_of_orderness: 6 hours\n",
        "strategy: time_lag\n  lag: 5 minutes\n  when: is_heartbeat\n",
        (
            "17:3: watermark.when: watermark.strategy time_lag has no condition that marks rows; take it away, or set "
            "the strategy to punctuated"
        ),
    ),
    (
        "strategy: bounded_out_of_orderness\n  out_of_orderness: 6 hours\n",
        "strategy: custom\n  arguments: {rows: 5}\n",
        (
            "13:1: watermark.class: missing; watermark.strategy custom needs the generator's class, such as "
            "'my_company.watermarks:DeviceClock'"
        ),
    ),
    (
        "out_of_orderness: 6 hours\n",
        "out_of_orderness: 6 hours\n  arguments: {rows: 5}\n",
        (
            "17:3: watermark.arguments: watermark.strategy bounded_out_of_orderness has no class with arguments; take "
            "it away, or set the strategy to custom"
        ),
    ),
    (
        "strategy: bounded_out_of_orderness\n  out_of_orderness: 6 hours\n",
        "strategy: none\n  idle_timeout: 1 hour\n",
        (
            "16:3: watermark.idle_timeout: watermark.strategy none has no watermark that a silent partition could hold "
            "back; take it away"
        ),
    ),
    (
        "  order: arrival\n",
        "  order: offset\n",
        ("2:1: source.offset: missing; replay.order offset needs the row's place in its partition, such as 'offset'"),
    ),
    (
        "  order: arrival\n",
        "  order: arrival\n  rows_per_round: 10\n",
        (
            "12:3: replay.rows_per_round: replay.order arrival has no rounds by offset; take it away, or set the order "
            "to offset"
        ),
    ),
    (
        "  tie_break: [flight_id]\n",
        "  tie_break: [flight_id]\n  offset: position\n",
        "8:3: source.offset: replay.order arrival has no order by offset; take it away, or set the order to offset",
    ),
    (
        "  out_of_orderness: 6 hours\n",
        "  out_of_orderness: 6 hours\n  alignment: {max_drift: 1 hour}\n",
        (
            "17:3: watermark.alignment: changes only when rows are read, which replay.order arrival fixes; "
            "take it away, or set the order to offset"
        ),
    ),
    (
        "{every: 1 minute, phase: 10 s}",
        "{every: 1 minute, every_n: 3}",
        (
            "17:27: watermark.emit.every_n: contradicts every: the watermark moves by the clock or by the number "
            "of rows; keep one"
        ),
    ),
    (
        "{every: 1 minute, phase: 10 s}",
        "{every_n: 3, phase: 1 s}",
        "17:22: watermark.emit.phase: shifts the clock of every; every_n has no clock",
    ),
    (
        "{every: 1 minute, phase: 10 s}",
        "{phase: 1 s}",
        "17:3: watermark.emit: found neither every nor every_n; write {every: 1 minute}, {every_n: 1000} or per_event",
    ),
    (
        "phase: 10 s",
        "phase: 70 s",
        (
            "17:27: watermark.emit.phase: 1 minute 10 seconds is not shorter than every, 1 minute; 10 seconds "
            "gives the same clock"
        ),
    ),
    (
        "offset: -15 min",
        "offset: -1 hour",
        "21:3: windows.offset: -1 hour is not shorter than the size, 1 hour; 0s gives the same windows",
    ),
    (
        "offset: -15 min",
        "offset: 90 min",
        (
            "21:3: windows.offset: 1 hour 30 minutes is not shorter than the size, 1 hour; 30 minutes gives the "
            "same windows"
        ),
    ),
    (
        "size: 1 hour",
        "size: 1 hour\n  timezone: Europe/Berlin",
        (
            "20:3: windows.size: 1 hour is not a whole number of days; with timezone Europe/Berlin windows last whole "
            "days, such as '1 day', or shift them by offset"
        ),
    ),
    (
        "  kind: tumbling\n  size: 1 hour\n  offset: -15 min\n",
        "  kind: session\n  gap: 30 min\n  timezone: Asia/Kolkata\n",
        (
            "21:3: windows.timezone: windows.kind session has no grid: a session ends a gap after its last row; "
            "take it away"
        ),
    ),
    (
        "kind: tumbling",
        "kind: sliding",
        "18:1: windows.slide: missing; windows.kind sliding needs how far apart windows start, such as '15 minutes'",
    ),
    (
        "size: 1 hour",
        "size: 1 hour\n  slide: 20 min",
        "21:3: windows.slide: windows.kind tumbling has no slide; take it away, or set the kind to sliding",
    ),
    (
        "kind: tumbling\n  size: 1 hour",
        "kind: sliding\n  slide: 10 min\n  size: 1 hour",
        "22:3: windows.offset: -15 minutes is not shorter than the slide, 10 minutes; 5 minutes gives the same windows",
    ),
    (
        "kind: tumbling\n  size: 1 hour\n  offset: -15 min",
        "kind: sliding\n  size: 10000001 ms\n  slide: 1 ms",
        (
            "21:3: windows.slide: with 1 ms a row lies in 10,000,001 windows of 2 hours 46 minutes 40 seconds 1 ms, "
            "at most 10,000,000 are possible; make it longer"
        ),
    ),
    (
        "event_time: departed_at",
        "event_time: {column: ts, unit: ms, format: yyyy}",
        "4:38: source.event_time.format: contradicts unit: a number has a unit, text has a format; keep one",
    ),
    (
        "event_time: departed_at",
        "event_time: {column: ts, unit: ms, timezone: UTC}",
        ("4:38: source.event_time.timezone: belongs to text, TIMESTAMP_NTZ and DATE; numbers count from 1970 in UTC"),
    ),
    (
        "[origin]",
        "{columns: [a, b], declared: [x, [y, z]]}",
        "6:50: source.source_partition.declared[0]: found 1 value, expected one for each column of [a, b]",
    ),
    (
        "[origin]",
        "{columns: [], declared: [x]}",
        "6:46: source.source_partition.declared[0]: found 1 value, expected one for each column of []",
    ),
    (
        "  aggregates:\n    flights: count(*)\n    mean_delay: avg(dep_delay)",
        "  aggregates: {}",
        "26:3: windows.aggregates: found no aggregate, expected at least one, such as 'flights: count(*)'",
    ),
    (
        '"@daily"',
        '{cron: "@daily", assets: [a]}',
        "37:28: schedule.assets: contradicts cron: a pipeline runs by the time or by assets; keep one of the two",
    ),
    (
        '"@daily"',
        "{assets: [a], start: 2026-01-01}",
        "37:25: schedule.start: belongs to cron: a run that assets start has no interval; take it away",
    ),
    (
        '"@daily"',
        "{assets: [a], catchup: false}",
        "37:25: schedule.catchup: belongs to cron: a run that assets start has no interval; take it away",
    ),
    (
        '"@daily"',
        '{cron: "@daily", start: 2026-01-01, catchup: true}',
        (
            "37:47: schedule.catchup: each of these runs would read all that has arrived, and the first is enough; "
            "replay.end_of_input keep_open and replay.order arrival or commit have one go on from another, or take "
            "catchup away"
        ),
    ),
]


OF_A_GRID = [
    (
        ("  kind: tumbling\n  size: 1 hour\n  offset: -15 min\n", "  kind: session\n  gap: 30 min\n"),
        "29:3: quality.min_coverage: windows.kind session has no grid of which windows could be missing; take it away",
    ),
]


@pytest.mark.parametrize(("change", "message"), OF_A_GRID)
def test_coverage_needs_windows_on_a_grid(
    edit: Callable[..., str], problems_of: Callable[..., list[Problem]], change: tuple[str, str], message: str
) -> None:
    text = edit(change, ("  on_failure: block\n", "  min_coverage: 0.9\n"))
    assert [str(problem) for problem in problems_of(text)] == [f"flights.yaml:{message}"]


DRIFTS = [
    (
        ("  kind: tumbling\n  size: 1 hour\n  offset: -15 min\n", "  kind: session\n  gap: 30 min\n"),
        "tolerance: 1",
        "29:3: quality.drift: windows.kind session has no grid of which windows have earlier ones; take it away",
    ),
    (
        ("size: 1 hour", "size: 5 hours"),
        "tolerance: 1",
        "30:3: quality.drift.every: 7 days is no whole number of windows, which start 5 hours apart",
    ),
    (
        ("size: 1 hour", "size: 1 hour"),
        "tolerance: 1, every: 90 minutes",
        "30:25: quality.drift.every: 1 hour 30 minutes is no whole number of windows, which start 1 hour apart",
    ),
    (
        ("size: 1 hour", "size: 1 hour"),
        "tolerance: 1, measures: {}",
        "30:25: quality.drift.measures: found none, expected at least one, such as 'flights: sum(flights)'",
    ),
]


@pytest.mark.parametrize(("change", "drift", "message"), DRIFTS)
def test_drift_is_measured_from_window_to_window(
    edit: Callable[..., str],
    problems_of: Callable[..., list[Problem]],
    change: tuple[str, str],
    drift: str,
    message: str,
) -> None:
    text = edit(change, ("  on_failure: block\n", f"  drift: {{{drift}}}\n"))
    assert [str(problem) for problem in problems_of(text)] == [f"flights.yaml:{message}"]


@pytest.mark.parametrize("order", ["event_time", "offset"])
def test_silence_needs_an_order_with_arrival_times(
    edit: Callable[..., str], problems_of: Callable[..., list[Problem]], order: str
) -> None:
    text = edit(("  on_failure: block\n", "  max_silence: 2 hours\n"), ("order: arrival", f"order: {order}"))
    message = "is measured by the time of arrival, which only the orders arrival and commit have"
    assert f"30:3: quality.max_silence: {message}" in "\n".join(map(str, problems_of(text)))


REPAIRS = [
    (
        ("late_data: side_output", "late_data: update"),
        "29:1: repair: windows.late_data update takes every row, however late: no window misses one; take it away",
    ),
    (
        ("  kind: tumbling\n  size: 1 hour\n  offset: -15 min\n", "  kind: session\n  gap: 30 min\n"),
        (
            "28:1: repair: windows.kind session has none: a row that came too late may bridge sessions that no part of "
            "time holds alone; take it away"
        ),
    ),
]


@pytest.mark.parametrize(("change", "message"), REPAIRS)
def test_windows_that_cannot_be_repaired_alone_are_named(
    edit: Callable[..., str], problems_of: Callable[..., list[Problem]], change: tuple[str, str], message: str
) -> None:
    text = edit(change, ("quality:\n", "repair: {max_too_late_rows: 3}\nquality:\n"))
    assert [str(problem) for problem in problems_of(text)] == [f"flights.yaml:{message}"]


@pytest.mark.parametrize(("old", "new", "message"), CONTRADICTIONS)
def test_a_contradiction_names_the_key_to_change(
    edit: Callable[..., str], problems_of: Callable[..., list[Problem]], old: str, new: str, message: str
) -> None:
    assert [str(problem) for problem in problems_of(edit((old, new)))] == [f"flights.yaml:{message}"]
