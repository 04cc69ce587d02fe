"""Quality is what results must fulfil before they are published: limits, comparisons, expectations."""

from __future__ import annotations

from collections.abc import Mapping

from spark_jobs.pipeline.document import Scalar
from spark_jobs.pipeline.expectations import EXPECTATIONS
from spark_jobs.pipeline.forms import Leaf, choice, duration, flag, ratio, text, whole_number
from spark_jobs.pipeline.model import Aggregate, Drift, Learned, LiveResults, OnFailure, Quality
from spark_jobs.pipeline.names import argument
from spark_jobs.pipeline.records import Field, Record, Rest

_SHARE = ratio("a share between 0 and 1, such as 0.01")


def _limit(node: Scalar) -> float | Learned:
    return Learned.LEARNED if node.value == Learned.LEARNED else _SHARE.parse(node)


_LIMIT = Leaf(f"{_SHARE.expected}, or {Learned.LEARNED}", _limit)

_LIVE = Record(
    LiveResults,
    fields=(
        Field("table", "table", text("a Delta path, or catalog.schema.table"), required=True),
        Field("tolerance", "tolerance", ratio("a share between 0 and 1, such as 1e-9")),
    ),
)


def _measures(expressions: Mapping[str, str]) -> tuple[Aggregate, ...]:
    return tuple(Aggregate(name, expression) for name, expression in expressions.items())


_MEASURES = Record(
    _measures,
    rest=Rest("expressions", text("a SQL aggregate over the results of a window, such as sum(flights)"), name=argument),
    what="a mapping of names to SQL aggregates over the results of a window, such as {flights: sum(flights)}",
)


_DRIFT = Record(
    Drift,
    fields=(
        Field("tolerance", "tolerance", ratio("a share between 0 and 1, such as 0.5"), required=True),
        Field("every", "every_ms", duration("a duration longer than 0, such as '7 days'", least_ms=1)),
        Field("seasons", "seasons", whole_number("a number of earlier windows, at least 1", least=1)),
        Field("measures", "measures", _MEASURES),
    ),
)

QUALITY = Record(
    Quality,
    fields=(
        Field("on_failure", "on_failure", choice(OnFailure)),
        Field("max_late_ratio", "max_late_ratio", _LIMIT),
        Field("max_too_late_ratio", "max_too_late_ratio", _LIMIT),
        Field("max_invalid_ratio", "max_invalid_ratio", _LIMIT),
        Field("min_coverage", "min_coverage", ratio("a share between 0 and 1, such as 0.95")),
        Field("max_silence", "max_silence_ms", duration()),
        Field("expectations", "expectations", EXPECTATIONS),
        Field("compare_with", "compare_with", _LIVE),
        Field("drift", "drift", _DRIFT),
        Field("data_docs", "data_docs", flag("true or false")),
    ),
)
