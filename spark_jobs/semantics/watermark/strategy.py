"""A watermark strategy is declared in a pipeline; it determines the generator of every source partition.

    bounded_out_of_orderness, monotonous   the newest row less the bound, at emissions; monotonous has the bound 0
    punctuated                             the values in marked rows, at once
    time_lag                               the arrival clock less the lag, at emissions
    custom                                 the watermarks of a user's class, at rows and at emissions
    none                                   no watermark before the end of the input
    with an idle timeout                   any of these, marked idle while its partition has no rows

Strategy, generator and output are three things. The strategy is data. The generator holds the state of one partition
and gets rows and emissions. The output takes the generator's watermarks. Rules 10-16, 30.
"""

from __future__ import annotations

from typing import assert_never

from spark_jobs.semantics.rows.clock import ArrivalClock
from spark_jobs.semantics.spec import Strategy, Watermark
from spark_jobs.semantics.watermark import custom
from spark_jobs.semantics.watermark.generators import BoundedOutOfOrderness, NoWatermarks, WatermarkGenerator
from spark_jobs.semantics.watermark.idleness import IdlenessTimer, WithIdleness
from spark_jobs.semantics.watermark.punctuated import Punctuated
from spark_jobs.semantics.watermark.time_lag import TimeLag


def generator(declared: Watermark, clock: ArrivalClock) -> WatermarkGenerator:
    """Return the declared generator for a new partition.

    Raises ValueError for a negative bound or lag, and GeneratorError for a user's class that cannot be made.
    """
    without_idleness = _generator(declared, clock)
    if declared.idle_timeout_ms is None:
        return without_idleness
    return WithIdleness(without_idleness, IdlenessTimer(declared.idle_timeout_ms, clock))


def _generator(declared: Watermark, clock: ArrivalClock) -> WatermarkGenerator:
    match declared.strategy:
        case Strategy.BOUNDED_OUT_OF_ORDERNESS | Strategy.MONOTONOUS:
            return BoundedOutOfOrderness(declared.bound_ms)
        case Strategy.PUNCTUATED:
            return Punctuated(declared.when, declared.value)
        case Strategy.TIME_LAG:
            return TimeLag(declared.lag_ms, clock)
        case Strategy.CUSTOM:
            return custom.new_generator(declared.generator, declared.arguments)
        case Strategy.NONE:
            return NoWatermarks()
        case _:
            assert_never(declared.strategy)
