"""A key that this version does not know is refused by name, never ignored."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from spark_jobs.pipeline import Problem

# Each row: a change of one place in the file, and its only problem, as it is printed after 'flights.yaml:'.
UNKNOWN = [
    (
        "  tie_break: [flight_id]",
        "  tiebreak: [flight_id]",
        (
            "7:3: source.tiebreak: unknown key; did you mean 'tie_break'? known keys: table, event_time, "
            "arrival_time, source_partition, tie_break, offset, columns, select, exclude, deduplicate, where, "
            "future_guard"
        ),
    ),
    (
        "  size: 1 hour",
        "  sise: 1 hour",
        (
            "20:3: windows.sise: unknown key; did you mean 'size'? known keys: kind, size, slide, offset, "
            "timezone, gap, key, allowed_lateness, trigger, accumulation, late_data, late_panes, floats, aggregates"
        ),
    ),
    (
        "  on_failure: block",
        "  colour: red",
        (
            "30:3: quality.colour: unknown key; known keys: on_failure, max_late_ratio, "
            "max_too_late_ratio, max_invalid_ratio, min_windows, max_arrival_lag, max_removed_ratio, "
            "min_coverage, max_silence, expectations, compare_with, drift, "
            "data_docs"
        ),
    ),
    (
        "  order: arrival\n",
        "  out_of_orderness: 1 h\n",
        (
            "11:3: replay.out_of_orderness: unknown key here; it belongs to watermark; known keys: order, "
            "end_of_input, rows_per_round, mode"
        ),
    ),
    (
        "  on_failure: block",
        "  schedule: x",
        (
            "30:3: quality.schedule: unknown key here; it belongs to the top of the file; known keys: on_failure,"
            " max_late_ratio, max_too_late_ratio, max_invalid_ratio, min_windows, max_arrival_lag, max_removed_ratio,"
            " min_coverage, max_silence, expectations, "
            "compare_with, drift, data_docs"
        ),
    ),
    (
        "phase: 10 s",
        "phaze: 10 s",
        "17:27: watermark.emit.phaze: unknown key; did you mean 'phase'? known keys: every, phase, every_n",
    ),
]

LATER = [
    (
        "kind: tumbling",
        "kind: none",
        "19:3: windows.kind: none belongs to a join by interval or as of, expected tumbling, sliding or session",
    ),
    (
        "  order: arrival",
        "  order: ofset",
        ("11:10: replay.order: found 'ofset', expected arrival, commit, event_time or offset; did you mean 'offset'?"),
    ),
    (
        "  placement: source",
        "  idle_timeot: 12 hours",
        (
            "14:3: watermark.idle_timeot: unknown key; did you mean 'idle_timeout'? known keys: placement, strategy, "
            "out_of_orderness, when, value, lag, class, arguments, idle_timeout, alignment, emit"
        ),
    ),
    (
        "  kind: tumbling",
        "  triggers: {count: 3}",
        (
            "19:3: windows.triggers: unknown key; did you mean 'trigger'? known keys: kind, size, slide, offset, "
            "timezone, gap, key, allowed_lateness, trigger, accumulation, late_data, late_panes, floats, aggregates"
        ),
    ),
    (
        "  kind: tumbling",
        "  evictor: {count: 3}",
        (
            "19:3: windows.evictor: not supported by this version; known keys: kind, size, slide, offset, "
            "timezone, gap, key, allowed_lateness, trigger, accumulation, late_data, late_panes, floats, aggregates"
        ),
    ),
    (
        "  kind: tumbling",
        "  trigger: {delta: 3}",
        "19:13: windows.trigger.delta: not supported by this version; known keys: continuous, count",
    ),
    (
        "  kind: tumbling",
        "  kind: global",
        "19:9: windows.kind: 'global' is not supported by this version, expected tumbling, sliding or session",
    ),
    (
        'schedule: "@daily"',
        "joins: []",
        (
            "37:1: joins: unknown key; did you mean 'join'? known keys: name, source, sources, replay, watermark, "
            "join, windows, quality, repair, results, publish_to, maintenance, schedule"
        ),
    ),
    (
        'schedule: "@daily"',
        "trigger: {count: 3}",
        (
            "37:1: trigger: unknown key here; it belongs to windows; known keys: name, source, sources, replay, "
            "watermark, join, windows, quality, repair, results, publish_to, maintenance, schedule"
        ),
    ),
]


@pytest.mark.parametrize(("old", "new", "message"), UNKNOWN + LATER)
def test_a_key_or_word_outside_the_contract_is_refused(
    edit: Callable[..., str], problems_of: Callable[..., list[Problem]], old: str, new: str, message: str
) -> None:
    assert [str(problem) for problem in problems_of(edit((old, new)))] == [f"flights.yaml:{message}"]
