"""Validation: evaluate Great Expectations' expectations on a DataFrame.

Importing this module imports Great Expectations. The library's context is in memory only: it writes no documentation
sites, draws no progress bars and sends no analytics.
"""

from __future__ import annotations

import itertools
import logging
from collections.abc import Sequence
from typing import Any

import great_expectations as gx
import pandas as pd
from great_expectations.core.expectation_validation_result import ExpectationValidationResult
from great_expectations.data_context.types.base import (
    DataContextConfig,
    InMemoryStoreBackendDefaults,
    ProgressBarsConfig,
)
from great_expectations.datasource.fluent.interfaces import Batch
from great_expectations.expectations.expectation import Expectation
from pyspark.sql import DataFrame

from expectations import redaction

# An expectation that cannot be computed raises an error. These loggers would also log it, with a traceback.
for _name in ("great_expectations", "SQLQueryContextLogger"):
    logging.getLogger(_name).setLevel(logging.CRITICAL)

EXAMPLES = 5
#: Result format: counts, and a few unexpected values.
SUMMARY: dict[str, Any] = {"result_format": "SUMMARY", "partial_unexpected_count": EXAMPLES}
#: Result format: all rows that the expectation selects, for queries with a LIMIT.
COMPLETE: dict[str, Any] = {"result_format": "COMPLETE", "partial_unexpected_count": EXAMPLES}

_NUMBER = "tidemark_number"


class Validation:
    """A context of Great Expectations for DataFrames of a running Spark session."""

    def __init__(self) -> None:
        config = DataContextConfig(
            store_backend_defaults=InMemoryStoreBackendDefaults(init_temp_docs_sites=False),
            analytics_enabled=False,
            progress_bars=ProgressBarsConfig(globally=False),
        )
        context = gx.get_context(mode="ephemeral", project_config=config)
        # `Staged` already persists the tables that are read several times.
        self._source = context.data_sources.add_or_update_spark("staged", persist=False)
        self._measures = context.data_sources.add_or_update_pandas("measures")
        self._names = (f"batch_{n}" for n in itertools.count())

    def validate(
        self, rows: DataFrame, expectations: Sequence[Expectation], result_format: dict[str, Any]
    ) -> list[ExpectationValidationResult]:
        """Return the results of `expectations` for `rows`, in the order of `expectations`."""
        name = next(self._names)
        # The library registers the rows as a view in their session, and would query the view in the first session.
        self._source.get_execution_engine().spark = rows.sparkSession
        definition = self._source.add_dataframe_asset(name).add_batch_definition_whole_dataframe(name)
        batch = definition.get_batch(batch_parameters={"dataframe": rows})
        return _validated(name, batch, expectations, result_format)

    def validate_measures(
        self, rows: Sequence[tuple[Any, ...]], columns: Sequence[str], expectations: Sequence[Expectation]
    ) -> list[ExpectationValidationResult]:
        """Return the results of `expectations` for a few rows of this process, in the order of `expectations`."""
        name = next(self._names)
        definition = self._measures.add_dataframe_asset(name).add_batch_definition_whole_dataframe(name)
        batch = definition.get_batch(batch_parameters={"dataframe": pd.DataFrame(rows, columns=list(columns))})
        return _validated(name, batch, expectations, SUMMARY)


def _validated(
    name: str, batch: Batch, expectations: Sequence[Expectation], result_format: dict[str, Any]
) -> list[ExpectationValidationResult]:
    # The library returns the results in another order.
    numbered = [e.copy(update={"meta": {**(e.meta or {}), _NUMBER: i}}) for i, e in enumerate(expectations)]
    validated = batch.validate(gx.ExpectationSuite(name=name, expectations=numbered), result_format=result_format)
    by_number = {_meta(result)[_NUMBER]: result for result in validated.results}
    return [by_number[i] for i in range(len(expectations))]


def _meta(result: ExpectationValidationResult) -> dict[str, Any]:
    return (result.expectation_config and result.expectation_config.meta) or {}


def problem(result: ExpectationValidationResult) -> str | None:
    """Return why the expectation could not be computed, in one line; None if it could."""
    info = result.exception_info or {}
    # The library returns either one entry, or one for each metric that failed.
    entries = [info] if "raised_exception" in info else list(info.values())
    messages = [str(e["exception_message"]) for e in entries if e["raised_exception"]]
    return redaction.first_line(messages[0]) if messages else None
