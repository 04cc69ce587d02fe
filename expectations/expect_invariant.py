"""Expect a law to hold: a law as Great Expectations knows it, about the table of what was measured.

Importing this module imports Great Expectations, which takes seconds. The batch has one row a law: `law`, its name with
the suite's, `rows`, `breaking` and `observed` (see `measure.Measure`). Spark has counted the rows before, all laws
about the same rows at once and several suites side by side; the library would take them one after the other.
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
COLUMNS = ("law", "rows", "breaking", "observed")
_MEASURE = "table.measure_of_law"


class MeasureOfLaw(TableMetricProvider):
    """The row of the batch that is about `law`."""

    metric_name = _MEASURE
    value_keys = ("law",)

    @metric_value(engine=PandasExecutionEngine)
    def _pandas(
        cls,
        execution_engine: PandasExecutionEngine,
        metric_domain_kwargs: dict[str, Any],
        metric_value_kwargs: dict[str, Any],
        metrics: dict[str, Any],  # noqa: ARG003 - the library gives all of these
        runtime_configuration: dict[str, Any],  # noqa: ARG003
    ) -> dict[str, Any]:
        frame, _, _ = execution_engine.get_compute_domain(metric_domain_kwargs, MetricDomainTypes.TABLE)
        measured: pd.DataFrame = frame[frame["law"] == metric_value_kwargs["law"]]
        return dict(measured.iloc[0])


class ExpectLawToHold(BatchExpectation):
    """Expect no row to break a law.

    Args:
        law: its name in the batch.
    """

    law: str

    metric_dependencies: ClassVar[tuple[str, ...]] = (_MEASURE,)
    success_keys: ClassVar[tuple[str, ...]] = ("law",)

    def _validate(
        self, metrics: dict[str, Any], runtime_configuration: dict[str, Any] | None = None, execution_engine: Any = None
    ) -> dict[str, Any]:
        measured = metrics[_MEASURE]
        breaking = int(measured["breaking"])
        result = {"unexpected_count": breaking, "element_count": int(measured["rows"])}
        return {"success": breaking == 0, "result": {**result, "observed_value": measured["observed"]}}
