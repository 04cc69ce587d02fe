"""A watermark strategy on columns: the candidate, what a row or a group of rows proposes as a watermark.

    bounded_out_of_orderness, monotonous   ts - B - 1; B = 0 for monotonous                        rules 10, 11
    punctuated                             the value of a marked row; no candidate of any other    rule 16
    time_lag                               clock - lag, for all partitions alike                   rule 18
    custom                                 no candidate: `generators` asks the user's own class
    none                                   no candidate                                            rule 15
    several sources                        no candidate of all: each has its own (`united`)

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
    """Pipelines whose watermarks are merged: one that is silent for ever holds all at MIN, as if no other had any."""
    if not any(one.watermark.holds_at_min for one in pipelines):
        return list(pipelines)
    return [
        replace(one, watermark=replace(one.watermark, strategy=Strategy.NONE, idle_timeout_ms=None))
        for one in pipelines
    ]


def bounded_ms(ts_ms: Column, pipeline: Pipeline) -> Column:
    """The candidate of a highest event time: itself less the bound less 1 ms; monotonous timestamps have no bound."""
    return ts_ms - F.lit(behind_ms(pipeline))


def highest_ms(candidate_ms: Column, pipeline: Pipeline) -> Column:
    """The highest event time whose candidate this is: the inverse of `bounded_ms`."""
    return candidate_ms + F.lit(behind_ms(pipeline))


def lagging_ms(clock_us: Column, pipeline: Pipeline) -> Column:
    """The candidate of a clock: itself less the lag."""
    return event_time.millis(clock_us) - F.lit(pipeline.watermark.lag_ms)


def carries(pipeline: Pipeline) -> bool:
    """Whether rows carry their candidates: prepared rows have `CANDIDATE_MS` then, census groups `candidate_ms`."""
    return any(watermark.is_punctuated for watermark in pipeline.watermarks)


def carried_ms(events: DataFrame, pipeline: Pipeline) -> Column:
    """The watermark that a source row with `TS_MS` carries; null if it is not marked, or its value cannot be read.

    Raises TimeFieldError for a value of the wrong type.
    """
    value = pipeline.watermark.value
    carried = F.col(c.TS_MS) if value is None else event_time.millis(event_time.micros(events, value))
    return F.when(F.expr(str(pipeline.watermark.when)), carried)


def told_by_row(pipeline: Pipeline) -> Column:
    """The candidate of a prepared row without a clock, where it follows from rows alone; else null."""
    return of_row(pipeline) if pipeline.watermark.follows_rows else F.lit(None).cast("long")


def of_row(pipeline: Pipeline) -> Column:
    """The candidate of a prepared row that moves the watermark."""
    return _candidate(pipeline, F.col(c.TS_MS), F.col(c.CLOCK_US), c.CANDIDATE_MS)


def of_group(pipeline: Pipeline) -> Column:
    """The highest candidate of a moving census group."""
    return _candidate(pipeline, F.col("max_ts_ms"), F.col("last_clock_us"), "candidate_ms")


def behind_ms(pipeline: Pipeline) -> int:
    """How many milliseconds a bounded or monotonous watermark is behind the highest event time (rules 10, 11)."""
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
