"""Expect every row of a batch to satisfy a SQL condition. A pipeline may declare this expectation.

Importing this module imports Great Expectations, which takes seconds.

One Spark aggregation counts all conditions of a batch: each is a partial aggregate, and the execution engine bundles
them. The library's `UnexpectedRowsExpectation` has the same result, but takes two Spark jobs for each condition. It is
used to read the violating rows afterwards.
"""

from __future__ import annotations

from typing import Any, ClassVar

from great_expectations.core.metric_domain_types import MetricDomainTypes
from great_expectations.core.metric_function_types import MetricPartialFunctionTypes
from great_expectations.execution_engine.sparkdf_execution_engine import SparkDFExecutionEngine
from great_expectations.expectations.expectation import BatchExpectation
from great_expectations.expectations.metrics.metric_provider import metric_partial
from great_expectations.expectations.metrics.table_metric_provider import TableMetricProvider
from pyspark.sql import Column
from pyspark.sql import functions as F

#: An aggregate, its metric domain, and its further domain arguments (none).
Partial = tuple[Column, dict[str, Any], dict[str, Any]]

_VIOLATIONS, _ROWS = "table.violating_rows", "table.row_count"


class ViolatingRows(TableMetricProvider):
    """The number of rows that do not satisfy `condition`. Null does not satisfy it."""

    metric_name = _VIOLATIONS
    value_keys = ("condition",)

    @metric_partial(
        engine=SparkDFExecutionEngine,
        partial_fn_type=MetricPartialFunctionTypes.AGGREGATE_FN,
        domain_type=MetricDomainTypes.TABLE,
    )
    def _spark(
        cls,  # noqa: N805 - the library makes it a class method
        execution_engine: SparkDFExecutionEngine,
        metric_domain_kwargs: dict[str, Any],
        metric_value_kwargs: dict[str, Any],
        metrics: dict[str, Any],
        runtime_configuration: dict[str, Any],
    ) -> Partial:
        satisfied = F.coalesce(F.expr(metric_value_kwargs["condition"]), F.lit(False))
        return F.count_if(~satisfied), metric_domain_kwargs, {}


class ExpectRowsToSatisfy(BatchExpectation):
    """Expect `condition` to be true of every row of the batch.

    Args:
        condition: a Spark SQL condition over the batch's columns; null does not satisfy it.
    """

    condition: str

    metric_dependencies: ClassVar[tuple[str, ...]] = (_VIOLATIONS, _ROWS)
    success_keys: ClassVar[tuple[str, ...]] = ("condition",)

    def _validate(
        self, metrics: dict[str, Any], runtime_configuration: dict[str, Any] | None = None, execution_engine: Any = None
    ) -> dict[str, Any]:
        violations = metrics[_VIOLATIONS]
        result = {"unexpected_count": violations, "element_count": metrics[_ROWS], "observed_value": None}
        return {"success": violations == 0, "result": result}
