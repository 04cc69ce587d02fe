"""Candidates: the watermark that a row or a group of rows proposes, by strategy, on columns.

    bounded_out_of_orderness, monotonous   ts - B - 1; B = 0 for monotonous                        rules 10, 11
    punctuated                             the value of a marked row; other rows have no candidate rule 16
    time_lag                               clock - lag, equal for all partitions                   rule 18
    custom                                 no candidate: `watermark.custom` runs the user's class
    none                                   no candidate                                            rule 15
    several sources                        no common candidate: each has its own (`watermark.union`)

Milliseconds; null: no candidate.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import assert_never

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from spark_jobs.pipeline.model import Pipeline, Strategy
from spark_jobs.replay.rows import columns as c
from spark_jobs.replay.rows import event_time


def side_by_side(pipelines: Sequence[Pipeline]) -> list[Pipeline]:
    """Return the pipelines whose watermarks are merged.

    A pipeline that never emits holds the merged watermark at MIN. Then all are returned without a watermark.
    """
    if not any(pipeline.watermark.holds_at_min for pipeline in pipelines):
        return list(pipelines)
    return [
        replace(pipeline, watermark=replace(pipeline.watermark, strategy=Strategy.NONE, idle_timeout_ms=None))
        for pipeline in pipelines
    ]


def bounded_ms(ts_ms: Column, pipeline: Pipeline) -> Column:
    """Return the candidate of a highest event time: `ts - bound - 1 ms`; the bound of monotonous timestamps is 0."""
    return ts_ms - F.lit(delay_ms(pipeline))


def highest_ms(candidate_ms: Column, pipeline: Pipeline) -> Column:
    """Return the highest event time that has this candidate: the inverse of `bounded_ms`."""
    return candidate_ms + F.lit(delay_ms(pipeline))


def lagging_ms(clock_us: Column, pipeline: Pipeline) -> Column:
    """Return the candidate of a clock value: `clock - lag`."""
    return event_time.millis(clock_us) - F.lit(pipeline.watermark.lag_ms)


def carries(pipeline: Pipeline) -> bool:
    """Return whether rows carry candidates: prepared rows then have `CANDIDATE_MS`, census groups `candidate_ms`."""
    return any(watermark.is_punctuated for watermark in pipeline.watermarks)


def carried_ms(events: DataFrame, pipeline: Pipeline) -> Column:
    """Return the watermark that a source row with `TS_MS` carries; null if it is unmarked or its value is unreadable.

    Raises TimeFieldError for a value of the wrong type.
    """
    value = pipeline.watermark.value
    carried = F.col(c.TS_MS) if value is None else event_time.millis(event_time.micros(events, value))
    return F.when(F.expr(str(pipeline.watermark.when)), carried)


def without_clock(pipeline: Pipeline) -> Column:
    """Return the candidate of a prepared row without a clock; null where candidates depend on the clock."""
    return of_row(pipeline) if pipeline.watermark.follows_rows else F.lit(None).cast("long")


def of_row(pipeline: Pipeline) -> Column:
    """Return the candidate of a prepared row that moves the watermark."""
    return _candidate(pipeline, F.col(c.TS_MS), F.col(c.CLOCK_US), c.CANDIDATE_MS)


def of_group(pipeline: Pipeline) -> Column:
    """Return the highest candidate of a moving census group."""
    return _candidate(pipeline, F.col("max_ts_ms"), F.col("last_clock_us"), "candidate_ms")


def delay_ms(pipeline: Pipeline) -> int:
    """Return the delay of a bounded or monotonous watermark behind the highest event time (rules 10, 11)."""
    return pipeline.watermark.bound_ms + 1


def _candidate(pipeline: Pipeline, ts_ms: Column, clock_us: Column, carried: str) -> Column:
    no_candidate = F.lit(None).cast("long")
    if pipeline.is_united:
        return no_candidate
    strategy = pipeline.watermark.strategy
    match strategy:
        case Strategy.BOUNDED_OUT_OF_ORDERNESS | Strategy.MONOTONOUS:
            return bounded_ms(ts_ms, pipeline)
        case Strategy.PUNCTUATED:
            return F.col(carried)
        case Strategy.TIME_LAG:
            return lagging_ms(clock_us, pipeline)
        case Strategy.CUSTOM | Strategy.NONE:
            return no_candidate
        case _:
            assert_never(strategy)
