"""A watermark strategy is what a pipeline declares; every source partition gets a generator of its own by it.

    bounded_out_of_orderness, monotonous   the newest row less the bound, at emissions; monotonous is a bound of 0
    punctuated                             what marked rows carry, at once
    time_lag                               the arrival clock less the lag, at emissions
    custom                                 what a class of the user's own says, at rows and at emissions
    none                                   no watermark before the end of the input
    with an idle timeout                   any of these, marked idle while its partition has no rows

Strategy, generator and output are three things: the strategy is data, the generator holds one partition's state and
is told of rows and emissions, the output takes what the generator says. Rules 10-16, 30.
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
    """Make a new partition's generator as the pipeline declares it.

    Raises ValueError for an unknown strategy, and its kind GeneratorError for a class of the user's that is not there.
    """
    made = _generator(declared, clock)
    if declared.idle_timeout_ms is None:
        return made
    return WithIdleness(made, IdlenessTimer(declared.idle_timeout_ms, clock))


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
