"""Audit: check the staged tables of one run with all suites.

First Spark counts the violations of every invariant (`measuring`), and Great Expectations judges the counts. Then some
violating rows are read for each invariant that fails. The import of Great Expectations takes seconds: at the latest it
happens within `check`, while Spark counts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from pyspark.sql import DataFrame

from expectations.check_result import Check
from expectations.errors import AuditError
from expectations.invariant import Invariant, Suite
from expectations.measure import Measure, S, measuring
from expectations.run_context import RunContext
from expectations.staged import Staged
from expectations.staged_join import StagedJoin
from expectations.suites import JOIN_SUITES, SUITES
from spark_jobs.error_codes import ErrorCode
from spark_jobs.pipeline.model import Pipeline
from spark_jobs.pipeline.sql_texts import of_checks
from spark_jobs.replay import allowed_sql

if TYPE_CHECKING:
    from great_expectations.core.expectation_validation_result import ExpectationValidationResult

    from expectations.validation import Validation


def check(
    tables: Mapping[str, DataFrame],
    pipeline: Pipeline,
    counts: Mapping[str, int],
    run_id: str | None = None,
    earlier: Sequence[Mapping[str, int]] = (),
    context: RunContext = RunContext(),  # noqa: B008
) -> list[Check]:
    """Check the staged tables of a run: the built-in suites, then the expectations of the pipeline.

    - `tables`: the staged tables by name;
    - `counts`: the counts that the replay reported, at least `rows_read` and `filtered`. Further counts are compared
      with the staged tables;
    - `run_id`: the run that every row must name; None skips this check;
    - `earlier`: the counts of the pipeline's earlier runs, oldest first, for limits that are learned;
    - `context`: what surrounds the run, for the suite `plausibility`. By default nothing is implausible.

    Raises AuditError for

    - a declared expectation with a wrong type, argument or column,
    - SQL that is not allowed,
    - a staged table that lacks a column.
    """
    _require_allowed(tables, pipeline)
    if pipeline.join is None:
        return _checks(SUITES, Staged(tables, pipeline, counts, run_id, earlier, context), tables)
    return _checks(JOIN_SUITES, StagedJoin(tables, pipeline, counts, run_id, earlier, context), tables)


def _require_allowed(tables: Mapping[str, DataFrame], pipeline: Pipeline) -> None:
    """Raise AuditError for SQL that reaches out of the staged rows: the plan may have been made of another file."""
    spark = next(iter(tables.values())).sparkSession
    if problems := list(allowed_sql.forbidden(spark, of_checks(pipeline.quality))):
        raise AuditError("\n".join(problems), code=ErrorCode.SQL_REFUSED)


def _checks(suites: Sequence[Suite[S]], staged: S, tables: Mapping[str, DataFrame]) -> list[Check]:
    try:
        with measuring(suites, staged) as future:
            from expectations import declared
            from expectations.validation import Validation

            expectations = declared.resolve(staged.pipeline.quality.expectations, tables)
            validator = Validation()
            measures = future.result()
        invariant_checks = _invariant_checks(measures, staged, validator)
    finally:
        staged.release()
    return [*invariant_checks, *declared.checks(expectations, tables, validator)]


def _invariant_checks(measures: Sequence[Measure[S]], staged: S, validator: Validation) -> list[Check]:
    """Return a check for each measure, judged by Great Expectations."""
    from expectations import validation
    from expectations.expect_invariant import COLUMNS, ExpectInvariantToHold

    names = [f"{measure.suite.name}.{measure.invariant.name}" for measure in measures]
    rows = [(name, m.rows, m.violations, m.observed) for name, m in zip(names, measures, strict=True)]
    expectations = [ExpectInvariantToHold(invariant=name) for name in names]
    results = validator.validate_measures(rows, COLUMNS, expectations)
    for name, result in zip(names, results, strict=True):
        if problem := validation.problem(result):
            raise AuditError(f"{name} cannot be computed: {problem}")
    failed = [m for m, result in zip(measures, results, strict=True) if not result.success]
    examples = _examples([m for m in failed if m.invariant.observed is None], staged, validator)
    for measure in failed:
        if measure.invariant.examples is not None:
            examples[measure] = "\n".join(measure.invariant.examples(staged))
    return [_check(m, result, examples.get(m, "")) for m, result in zip(measures, results, strict=True)]


def _check(measure: Measure[S], result: ExpectationValidationResult, examples: str) -> Check:
    suite, invariant, values = measure.suite, measure.invariant, result.result
    violations, rows = int(values["unexpected_count"]), int(values["element_count"])
    counts_rows = invariant.observed is None
    return Check(
        suite.name,
        invariant.name,
        invariant.description,
        bool(result.success),
        f"{violations:,} of {rows:,} rows" if counts_rows else str(values["observed_value"]),
        violations if counts_rows else None,
        examples,
        blocks=invariant.blocks,
        table=suite.table.name if suite.table else None,
    )


def _examples(failed: Sequence[Measure[S]], staged: S, validator: Validation) -> dict[Measure[S], str]:
    """Return some violating rows for each failed measure, one line of JSON a row."""
    by_suite: dict[Suite[S], list[Measure[S]]] = {}
    for measure in failed:
        by_suite.setdefault(measure.suite, []).append(measure)
    examples: dict[Measure[S], str] = {}
    for suite, measures in by_suite.items():
        texts = _violating_rows(suite, suite.rows(staged), [m.invariant for m in measures], validator)
        examples |= dict(zip(measures, texts, strict=True))
    return examples


def _violating_rows(
    suite: Suite[S], rows: DataFrame, invariants: Sequence[Invariant], validator: Validation
) -> list[str]:
    from great_expectations.expectations.core.unexpected_rows_expectation import UnexpectedRowsExpectation

    from expectations import validation
    from expectations.declared import violating_rows

    # Spark formats the rows in UTC. Python would read timestamps in the time zone of this machine.
    as_json = f"to_json(struct({', '.join(suite.shows)}), map('timeZone', 'UTC')) AS example"
    queries = [
        UnexpectedRowsExpectation(unexpected_rows_query=violating_rows(as_json, invariant.condition))
        for invariant in invariants
    ]
    results = validator.validate(rows, queries, validation.COMPLETE)
    return ["\n".join(row["example"] for row in result.result["details"]["unexpected_rows"]) for result in results]
