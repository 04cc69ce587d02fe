"""Quality is what results must fulfil before they are published: limits, comparisons, expectations."""

from __future__ import annotations

from collections.abc import Mapping

from spark_jobs.pipeline.document import Scalar
from spark_jobs.pipeline.expectations import EXPECTATIONS
from spark_jobs.pipeline.forms import Leaf, choice, duration, flag, or_none, ratio, text, whole_number
from spark_jobs.pipeline.model import Aggregate, Drift, Learned, LiveResults, OnFailure, Quality
from spark_jobs.pipeline.names import argument
from spark_jobs.pipeline.records import Field, Record, Rest

_SHARE = ratio("a share between 0 and 1, such as 0.01")


def _limit(node: Scalar) -> float | Learned:
    return Learned.LEARNED if node.value == Learned.LEARNED else _SHARE.parse(node)


_LIMIT = Leaf(f"{_SHARE.expected}, or {Learned.LEARNED}", _limit)
_INVALID_LIMIT = or_none(Leaf(f"{_SHARE.expected}, {Learned.LEARNED}", _limit))

_LIVE = Record(
    LiveResults,
    fields=(
        Field(
            "table",
            "table",
            text("a Delta path, or catalog.schema.table"),
            required=True,
            meaning="The Delta table that contains the results of a live job.",
        ),
        Field(
            "tolerance",
            "tolerance",
            ratio("a share between 0 and 1, such as 1e-9"),
            meaning="Largest difference of two numbers, as a share of the greater number.",
        ),
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
        Field(
            "tolerance",
            "tolerance",
            ratio("a share between 0 and 1, such as 0.5"),
            required=True,
            meaning="Largest difference from the mean of the earlier windows, as a share of the mean.",
        ),
        Field(
            "every",
            "every_ms",
            duration("a duration longer than 0, such as '7 days'", least_ms=1),
            meaning="Distance between a window and the earlier window that it is compared with.",
        ),
        Field(
            "seasons",
            "seasons",
            whole_number("a number of earlier windows, at least 1", least=1),
            meaning="Number of earlier windows that a window is compared with.",
        ),
        Field(
            "measures",
            "measures",
            _MEASURES,
            meaning="Values to compare: SQL aggregates over the results of one window, of all keys, by name.",
        ),
    ),
)

QUALITY = Record(
    Quality,
    fields=(
        Field(
            "on_failure",
            "on_failure",
            choice(OnFailure),
            meaning="What happens to the run if a check fails.",
        ),
        Field(
            "max_late_ratio",
            "max_late_ratio",
            _LIMIT,
            meaning="Largest share of late rows among the rows that belong to a window or could join. Without "
            "this key, any share.",
        ),
        Field(
            "max_too_late_ratio",
            "max_too_late_ratio",
            _LIMIT,
            meaning="Largest share of too late rows among the rows that belong to a window or could join. "
            "Without this key, any share.",
        ),
        Field(
            "max_invalid_ratio",
            "max_invalid_ratio",
            _INVALID_LIMIT,
            meaning="Largest share of invalid rows among the rows read. `none` allows any share.",
        ),
        Field(
            "min_windows",
            "min_windows",
            or_none(whole_number("a number of windows, at least 1", least=1)),
            meaning="Smallest number of results of a run over all of time; for a join, both inputs must have rows that "
            "can join. `none` allows a run without results.",
        ),
        Field(
            "max_arrival_lag",
            "max_arrival_lag_ms",
            or_none(duration("a duration such as '7300 days'", least_ms=1)),
            meaning="How long before its arrival an event may have happened. At most half of the rows may exceed it. "
            "`none` allows any time.",
        ),
        Field(
            "max_removed_ratio",
            "max_removed_ratio",
            or_none(_SHARE),
            meaning="Largest share of the rows in published results that a run may take away. For a join, of the "
            "pairs. `none` allows any share.",
        ),
        Field(
            "min_coverage",
            "min_coverage",
            ratio("a share between 0 and 1, such as 0.95"),
            meaning="Smallest share of the windows since its first for which a key has results. Without this "
            "key, any share is allowed.",
        ),
        Field(
            "max_silence",
            "max_silence_ms",
            duration(),
            meaning="How much older than the end of the input a source partition's newest event may be. Without "
            "this key, any age is allowed.",
        ),
        Field(
            "expectations",
            "expectations",
            EXPECTATIONS,
            meaning="Expectations of Great Expectations that staged tables must meet.",
        ),
        Field(
            "compare_with",
            "compare_with",
            _LIVE,
            meaning="Results of a live job that the results must equal.",
        ),
        Field(
            "drift",
            "drift",
            _DRIFT,
            meaning="How much results may differ from earlier windows. Without this key, results are not compared.",
        ),
        Field(
            "data_docs",
            "data_docs",
            flag("true or false"),
            meaning="Whether the report step also writes the Data Docs of Great Expectations.",
        ),
    ),
)
