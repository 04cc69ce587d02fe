"""An invariant as an expectation of Great Expectations, over the table of measures.

Importing this module imports Great Expectations, which takes seconds. The batch has one row for each invariant:
`invariant`, the name of the suite and its name, `rows`, `violations` and `observed` (see `measure.Measure`).

Spark has already counted the rows, for all invariants of the same rows at once and for several suites in parallel.
Great Expectations would count them one invariant after the other.
"""

from __future__ import annotations

from typing import Any, ClassVar

import pandas as pd
from great_expectations.core.metric_domain_types import MetricDomainTypes
from great_expectations.execution_engine.pandas_execution_engine import PandasExecutionEngine
from great_expectations.expectations.expectation import BatchExpectation
from great_expectations.expectations.metrics.metric_provider import metric_value
from great_expectations.expectations.metrics.table_metric_provider import TableMetricProvider

#: The columns of the batch.
COLUMNS = ("invariant", "rows", "violations", "observed")
_MEASURE = "table.measure_of_invariant"


class MeasureOfInvariant(TableMetricProvider):
    """The row of the batch for `invariant`."""

    metric_name = _MEASURE
    value_keys = ("invariant",)

    @metric_value(engine=PandasExecutionEngine)
    def _pandas(
        cls,
        execution_engine: PandasExecutionEngine,
        metric_domain_kwargs: dict[str, Any],
        metric_value_kwargs: dict[str, Any],
        metrics: dict[str, Any],  # noqa: ARG003 - the library passes all of these
        runtime_configuration: dict[str, Any],  # noqa: ARG003
    ) -> dict[str, Any]:
        frame, _, _ = execution_engine.get_compute_domain(metric_domain_kwargs, MetricDomainTypes.TABLE)
        measured: pd.DataFrame = frame[frame["invariant"] == metric_value_kwargs["invariant"]]
        return dict(measured.iloc[0])


class ExpectInvariantToHold(BatchExpectation):
    """Expect no row to violate an invariant.

    Args:
        invariant: its name in the batch.
    """

    invariant: str

    metric_dependencies: ClassVar[tuple[str, ...]] = (_MEASURE,)
    success_keys: ClassVar[tuple[str, ...]] = ("invariant",)

    def _validate(
        self, metrics: dict[str, Any], runtime_configuration: dict[str, Any] | None = None, execution_engine: Any = None
    ) -> dict[str, Any]:
        measured = metrics[_MEASURE]
        violations = int(measured["violations"])
        result = {"unexpected_count": violations, "element_count": int(measured["rows"])}
        return {"success": violations == 0, "result": {**result, "observed_value": measured["observed"]}}
