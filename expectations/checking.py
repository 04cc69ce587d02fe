"""Checking: all suites about what one run has staged.

First every law is counted, one Spark aggregation a suite; then, of what fails, a few rows are looked up.
Great Expectations takes seconds to import: it is imported here when `check` is called, and nowhere before.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from pyspark.sql import DataFrame

from expectations.check import Check
from expectations.errors import AuditError
from expectations.law import Law, Suite
from expectations.staged import Staged
from expectations.staged_join import StagedJoin
from expectations.suites import JOIN_SUITES, SUITES
from spark_jobs.pipeline.model import Pipeline

if TYPE_CHECKING:
    from expectations.validation import Validation

S = TypeVar("S", Staged, StagedJoin)


def check(tables: Mapping[str, DataFrame], pipeline: Pipeline, counts: Mapping[str, int]) -> list[Check]:
    """Check what a run would publish: the built-in suites, then the pipeline's own expectations.

    `tables` are the staged tables by name, `counts` what the replay counted: `rows_read` and `filtered` at least;
    others that it names are compared with what is staged. Raises AuditError for a check that cannot be asked: an
    expectation of the pipeline's with a wrong type, argument or column, a table without the contract's columns.
    """
    staged = Staged(tables, pipeline, counts) if pipeline.join is None else StagedJoin(tables, pipeline, counts)
    from expectations import declared
    from expectations.validation import Validation

    asked = declared.resolve(pipeline.quality.expectations, tables)
    on = Validation()
    try:
        if isinstance(staged, Staged):
            found = [one for suite in SUITES for one in _checks(suite, staged, on)]
        else:
            found = [one for suite in JOIN_SUITES for one in _checks(suite, staged, on)]
    finally:
        staged.release()
    return [*found, *declared.checks(asked, tables, on)]


def _checks(suite: Suite[S], staged: S, on: Validation) -> list[Check]:
    from expectations import validation
    from expectations.rows_expectation import NO_OBSERVATION, ExpectRowsToSatisfy

    laws = suite.laws(staged.pipeline)
    if not laws:
        return []
    rows = suite.rows(staged)
    results = on.validate(
        rows,
        [ExpectRowsToSatisfy(condition=law.holds, observed=law.observed or NO_OBSERVATION) for law in laws],
        validation.SUMMARY,
    )
    for law, result in zip(laws, results, strict=True):
        if why := validation.problem(result):
            raise AuditError(f"{suite.name}: {law.name} cannot be computed: {why}")
    broken = [law for law, result in zip(laws, results, strict=True) if not result.success and law.observed is None]
    shown = _examples(suite, rows, broken, on)
    return [
        _check(suite, law, result.result, shown.get(law.name, "")) for law, result in zip(laws, results, strict=True)
    ]


def _check(suite: Suite[S], law: Law, found: Mapping[str, Any], examples: str) -> Check:
    breaking, rows = int(found["unexpected_count"]), int(found["element_count"])
    if law.observed is not None:
        return Check(suite.name, law.name, law.description, breaking == 0, str(found["observed_value"]), None, examples)
    observed = f"{breaking:,} of {rows:,} rows"
    return Check(suite.name, law.name, law.description, breaking == 0, observed, breaking, examples)


def _examples(suite: Suite[S], rows: DataFrame, broken: Sequence[Law], on: Validation) -> dict[str, str]:
    """Some rows that break each law, by its name: one line of JSON a row."""
    if not broken:
        return {}
    from great_expectations.expectations.core.unexpected_rows_expectation import UnexpectedRowsExpectation

    from expectations import validation
    from expectations.declared import breaking_rows

    # As text, made by Spark in UTC: Python would read timestamps in the time zone of this machine.
    as_json = f"to_json(struct({', '.join(suite.shows)}), map('timeZone', 'UTC')) AS example"
    queries = [UnexpectedRowsExpectation(unexpected_rows_query=breaking_rows(as_json, law.holds)) for law in broken]
    results = on.validate(rows, queries, validation.COMPLETE)
    return {
        law.name: "\n".join(row["example"] for row in result.result["details"]["unexpected_rows"])
        for law, result in zip(broken, results, strict=True)
    }
