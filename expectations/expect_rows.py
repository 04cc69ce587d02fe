"""Expect every row of a batch to satisfy a SQL condition, which a pipeline may declare.

Importing this module imports Great Expectations, which takes seconds.

All conditions of a batch are counted by one Spark aggregation, whatever their number: each is a partial aggregate that
the execution engine bundles with the others. `UnexpectedRowsExpectation`, which says the same with a query, takes two
jobs for each; it is right for looking at the rows afterwards.
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

#: An aggregate, the rows that it is about, and what distinguishes it on them: nothing.
Partial = tuple[Column, dict[str, Any], dict[str, Any]]

_VIOLATIONS, _ROWS = "table.violating_rows", "table.row_count"


class ViolatingRows(TableMetricProvider):
    """How many rows do not satisfy `condition`. Null is not satisfied."""

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
        condition: a Spark SQL condition over the batch's columns; null counts as not satisfied.
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
