"""An aggregate whose sum does not fit its type: Spark ends the run, where a sum in Flink would wrap around."""

from __future__ import annotations

import re

from spark_jobs.pipeline.model import Pipeline
from spark_jobs.tables import error_causes

_OVERFLOW = "ARITHMETIC_OVERFLOW"
_SUM = re.compile(r"\bsum\s*\(", re.IGNORECASE)


def explanation(pipeline: Pipeline, problem: BaseException) -> str | None:
    """Return the message for a `problem` that a sum caused; None if it has another cause.

    Spark names no aggregate, so the message names each that contains a sum.
    """
    sums = [aggregate for aggregate in pipeline.windows.aggregates if _SUM.search(aggregate.expression)]
    if not sums or not error_causes.mentions(problem, _OVERFLOW):
        return None
    keys = " or ".join(f"windows.aggregates.{aggregate.name} ('{aggregate.expression}')" for aggregate in sums)
    return (
        f"{keys}: a sum is greater than its type can hold. Sum a wider type, as in sum(cast(x as decimal(38, 0))), or "
        "use try_sum(x), which is null then"
    )
