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

from typing import TYPE_CHECKING

from spark_jobs.semantics.rows.clock import ArrivalClock
from spark_jobs.semantics.watermark import custom
from spark_jobs.semantics.watermark.generators import BoundedOutOfOrderness, NoWatermarks, WatermarkGenerator
from spark_jobs.semantics.watermark.idleness import IdlenessTimer, WithIdleness
from spark_jobs.semantics.watermark.punctuated import Punctuated
from spark_jobs.semantics.watermark.time_lag import TimeLag

if TYPE_CHECKING:
    from spark_jobs.pipeline.model import Watermark

KNOWN = ("bounded_out_of_orderness", "custom", "monotonous", "none", "punctuated", "time_lag")


def generator(declared: Watermark, clock: ArrivalClock) -> WatermarkGenerator:
    """Make a new partition's generator as the pipeline declares it.

    Raises ValueError for an unknown strategy, and its kind GeneratorError for a class of the user's that is not there.
    """
    made = _generator(declared, clock)
    if declared.idle_timeout_ms is None:
        return made
    return WithIdleness(made, IdlenessTimer(declared.idle_timeout_ms, clock))


def follows_clock(declared: Watermark) -> bool:
    """Say whether an emission may tell something new where no row has come since the last."""
    return declared.strategy.value in {"custom", "time_lag"} or declared.idle_timeout_ms is not None


def emits_at_rows(declared: Watermark) -> bool:
    """Say whether a row may emit, so that each row is an epoch of its own."""
    return declared.strategy.value in {"custom", "punctuated"}


def follows_rows(declared: Watermark) -> bool:
    """Say whether a partition's watermark is the highest that its rows have told, each alone."""
    return declared.strategy.value in {"bounded_out_of_orderness", "monotonous", "punctuated"}


def _generator(declared: Watermark, clock: ArrivalClock) -> WatermarkGenerator:
    strategy = declared.strategy.value
    if strategy == "bounded_out_of_orderness":
        return BoundedOutOfOrderness(declared.out_of_orderness_ms)
    if strategy == "monotonous":
        return BoundedOutOfOrderness(0)
    if strategy == "punctuated":
        return Punctuated(declared.when, declared.value)
    if strategy == "time_lag":
        return TimeLag(declared.lag_ms, clock)
    if strategy == "custom":
        return custom.new_generator(declared.generator, declared.arguments)
    if strategy == "none":
        return NoWatermarks()
    raise ValueError(f"found strategy '{strategy}', known: {', '.join(KNOWN)}")
