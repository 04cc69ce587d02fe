"""Unstable aggregates: functions whose value may change with the files of a table, although its rows are the same.

Flink adds the rows of a key in the order of their arrival. Spark adds them in the order of its files and tasks.

    order       the value depends on which row comes first, as first() and collect_list()
    rounding    the value is a sum of doubles: another order rounds its last digits in another way

All other built-in aggregates give the same value in every order.
"""

from __future__ import annotations

from collections.abc import Iterator

from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from spark_jobs.pipeline.model import Pipeline
from spark_jobs.replay.allowed_sql import Function, functions_of

#: Functions whose value depends on the order of rows.
BY_ORDER = frozenset(
    (
        *("any_value", "approx_percentile", "array_agg", "collect_list", "first", "first_value", "histogram_numeric"),
        *("last", "last_value", "listagg", "max_by", "min_by", "percentile_approx", "string_agg"),
    )
)
#: Functions whose last digits depend on the order of rows, over doubles and floats.
BY_ROUNDING = frozenset(
    (
        *("avg", "corr", "covar_pop", "covar_samp", "kurtosis", "mean", "skewness", "std", "stddev", "stddev_pop"),
        *("stddev_samp", "sum", "try_avg", "try_sum", "var_pop", "var_samp", "variance"),
        *("regr_avgx", "regr_avgy", "regr_intercept", "regr_r2", "regr_slope", "regr_sxx", "regr_sxy", "regr_syy"),
    )
)
_LISTS = frozenset(("array_agg", "collect_list"))
_SORTS = frozenset(("array_sort", "sort_array"))


def warnings(events: DataFrame, pipeline: Pipeline) -> Iterator[str]:
    """Yield a warning for each aggregate whose value may change with the files of the source: `key: text`."""
    for aggregate in pipeline.windows.aggregates:
        key = f"windows.aggregates.{aggregate.name}"
        functions = list(functions_of(events.sparkSession, aggregate.expression))
        names = {function.name for function in functions}
        if unstable := sorted(names & BY_ORDER - (_LISTS if names & _SORTS else frozenset())):
            yield (
                f"{key}: {unstable[0]}() depends on the order in which Spark reads rows, which is not that of arrival. "
                "Use a function that does not, such as max, or array_sort(collect_list(...))"
            )
        elif rounded := sorted(f.name for f in functions if f.name in BY_ROUNDING and _is_inexact(events, f)):
            yield (
                f"{key}: the last digits of {rounded[0]}() over doubles depend on the order in which Spark adds rows. "
                "Cast to decimal for the same digits in every run"
            )


def _is_inexact(events: DataFrame, function: Function) -> bool:
    """Return whether an argument of the function is a double or a float."""
    try:
        kinds = events.select(*(F.expr(argument) for argument in function.arguments)).schema
    except AnalysisException:
        # The argument uses another aggregate, or a name of the pane.
        return False
    return any(isinstance(field.dataType, (T.DoubleType, T.FloatType)) for field in kinds)
