"""Meanings: a sentence for each word that a pipeline file chooses from, such as each watermark strategy.

The meaning of a key is `records.Field.meaning`.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum

from spark_jobs.pipeline.expectations import RowFailure
from spark_jobs.pipeline.joins import Bound
from spark_jobs.pipeline.model import (
    Accumulation,
    AsOf,
    EmitKind,
    EndOfInput,
    Floats,
    LateData,
    LatePanes,
    Learned,
    Mode,
    OnFailure,
    Order,
    Placement,
    Strategy,
    TimeUnit,
    TriggerKind,
    WindowKind,
)

#: Each member of each enum of the pipeline file.
OF_MEMBERS: Mapping[type[Enum], Mapping[Enum, str]] = {
    Order: {
        Order.ARRIVAL: "Rows arrive in the order of `source.arrival_time`, then of `source.tie_break`.",
        Order.COMMIT: "Rows arrive in the order of the Delta commits that added them.",
        Order.EVENT_TIME: "Rows arrive in the order of their event time. Within one snapshot, none is late.",
        Order.OFFSET: "Rows arrive in rounds: each source partition reads its next rows by `source.offset`.",
    },
    Mode: {
        Mode.FAITHFUL: "Publish the results of the streaming job.",
        Mode.COMPLETE: "Also publish `complete_results`: the results over all rows, as if no row had been too late.",
    },
    EndOfInput: {
        EndOfInput.CLOSE: "The watermark moves to the end of time, and all windows close.",
        EndOfInput.KEEP_OPEN: "Open windows stay open, and a later run continues them.",
    },
    Placement: {
        Placement.SOURCE: "All rows move the watermark.",
        Placement.AFTER_WHERE: "Only rows that `source.where` keeps move the watermark.",
    },
    Strategy: {
        Strategy.BOUNDED_OUT_OF_ORDERNESS: (
            "At each emission: the newest event time less `out_of_orderness`, less 1 ms."
        ),
        Strategy.MONOTONOUS: "At each emission: the newest event time less 1 ms.",
        Strategy.PUNCTUATED: "At a row for which `when` is true, at once: `value`, or the event time of the row.",
        Strategy.TIME_LAG: "At each emission: the arrival clock less `lag`.",
        Strategy.CUSTOM: "The watermark that a Python class emits.",
        Strategy.NONE: "No watermark before the end of the input.",
    },
    EmitKind: {
        EmitKind.EVERY: "`{every: 1 minute}`: at each multiple of an interval, on the arrival clock.",
        EmitKind.PER_EVENT: "`per_event`: after each row.",
        EmitKind.EVERY_N: "`{every_n: 1000}`: after each n-th row.",
    },
    TriggerKind: {
        TriggerKind.EVENT_TIME: (
            "`event_time`: when the watermark reaches the window's last millisecond, then at each late row."
        ),
        TriggerKind.CONTINUOUS: (
            "`{continuous: 5 minutes}`: as `event_time`, and from the first row on at each multiple of the interval."
        ),
        TriggerKind.COUNT: (
            "`{count: 1000}`: at each n-th row. Neither the watermark nor the end of the input fires the window."
        ),
    },
    Accumulation: {
        Accumulation.ACCUMULATING: "A pane contains all rows of the window so far.",
        Accumulation.DISCARDING: "A pane contains the rows since the previous pane. Without new rows, no pane fires.",
        Accumulation.RETRACTING: (
            "As `accumulating`. Before each later pane, the previous pane appears again with `is_retraction` true."
        ),
    },
    LateData: {
        LateData.SIDE_OUTPUT: "The rows go to the table `late_events`.",
        LateData.DROP: "The rows are counted, and no table contains them.",
        LateData.UPDATE: "The rows fire late panes for ever: `allowed_lateness` has no effect.",
    },
    LatePanes: {
        LatePanes.PER_ROW: "Each late row fires a pane.",
        LatePanes.PER_EPOCH: "The late rows between two emissions fire one pane of their key and window together.",
    },
    Floats: {
        Floats.EXACT: "The real sum, rounded once: the same bits in every order.",
        Floats.ARRIVAL_ORDER: "One after the other in the order of arrival, each step rounded, as Flink adds "
        "doubles in tumbling and sliding windows.",
    },
    OnFailure: {
        OnFailure.BLOCK: "The run is blocked: nothing is published.",
        OnFailure.WARN: "The run is published, and its report shows the failed checks.",
        OnFailure.ASK: "In Airflow, a person decides whether the run is published. Anywhere else, the run is blocked.",
    },
    Learned: {
        Learned.LEARNED: "The limit follows the ratios of the pipeline's earlier runs.",
    },
    TimeUnit: {
        TimeUnit.SECONDS: "Seconds.",
        TimeUnit.MILLISECONDS: "Milliseconds.",
        TimeUnit.MICROSECONDS: "Microseconds.",
        TimeUnit.NANOSECONDS: "Nanoseconds.",
    },
    RowFailure: {
        RowFailure.QUARANTINE: "Set the row apart, in `invalid_events` with the name of the rule.",
    },
    Bound: {
        Bound.LOWER: "The lower bound does not belong to the interval.",
        Bound.UPPER: "The upper bound does not belong to the interval.",
    },
    AsOf: {
        AsOf.INNER: "Only first rows that have a version.",
        AsOf.LEFT_OUTER: "All first rows; the second row of a pair is null without a version.",
    },
    WindowKind: {
        WindowKind.TUMBLING: "Windows of one `size`, one after the other.",
        WindowKind.SLIDING: "Windows of one `size` that start every `slide`. They may overlap, or leave gaps.",
        WindowKind.SESSION: "A window for each run of rows of a key; it ends a `gap` after its last row.",
        WindowKind.NONE: "No windows: only for a join by interval or as of.",
    },
}
