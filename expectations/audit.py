"""Checking: all suites about what one run has staged.

First every invariant is measured (`measuring`), and Great Expectations judges what was measured; then, of what fails, a few
rows are looked up. The library takes seconds to import: it is imported here when `check` is called, and nowhere before,
while Spark counts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from pyspark.sql import DataFrame

from expectations.check_result import Check
from expectations.errors import AuditError
from expectations.invariant import Invariant, Suite
from expectations.measure import Measure, S, measuring
from expectations.staged import Staged
from expectations.staged_join import StagedJoin
from expectations.suites import JOIN_SUITES, SUITES
from spark_jobs.pipeline.model import Pipeline

if TYPE_CHECKING:
    from great_expectations.core.expectation_validation_result import ExpectationValidationResult

    from expectations.validation import Validation


def check(
    tables: Mapping[str, DataFrame],
    pipeline: Pipeline,
    counts: Mapping[str, int],
    run_id: str | None = None,
    earlier: Sequence[Mapping[str, int]] = (),
) -> list[Check]:
    """Check what a run would publish: the built-in suites, then the pipeline's own expectations.

    `tables` are the staged tables by name, `counts` what the replay counted: `rows_read` and `filtered` at least;
    others that it names are compared with what is staged. `run_id` is the run that all rows have to name; None: they
    are not asked. `earlier` are the counts of the pipeline's runs before it, oldest first, from which limits are
    learned. Raises AuditError for a check that cannot be asked: an expectation of the pipeline's with a wrong
    type, argument or column, a table without the contract's columns.
    """
    if pipeline.join is None:
        return _checked(SUITES, Staged(tables, pipeline, counts, run_id, earlier), tables)
    return _checked(JOIN_SUITES, StagedJoin(tables, pipeline, counts, run_id, earlier), tables)


def _checked(suites: Sequence[Suite[S]], staged: S, tables: Mapping[str, DataFrame]) -> list[Check]:
    try:
        with measuring(suites, staged) as measured:
            from expectations import declared
            from expectations.validation import Validation

            asked = declared.resolve(staged.pipeline.quality.expectations, tables)
            on = Validation()
            measures = measured.result()
        found = _judged(measures, staged, on)
    finally:
        staged.release()
    return [*found, *declared.checks(asked, tables, on)]


def _judged(measures: Sequence[Measure[S]], staged: S, on: Validation) -> list[Check]:
    """A check for each measure, by the library's word."""
    from expectations import validation
    from expectations.expect_invariant import COLUMNS, ExpectInvariantToHold

    names = [f"{measure.suite.name}.{measure.invariant.name}" for measure in measures]
    told = [(name, m.rows, m.violations, m.observed) for name, m in zip(names, measures, strict=True)]
    results = on.validate_measures(told, COLUMNS, [ExpectInvariantToHold(invariant=name) for name in names])
    for name, result in zip(names, results, strict=True):
        if why := validation.problem(result):
            raise AuditError(f"{name} cannot be judged: {why}")
    failed = [
        m for m, result in zip(measures, results, strict=True) if not result.success and m.invariant.observed is None
    ]
    shown = _examples(failed, staged, on)
    return [_check(m, result, shown.get(m, "")) for m, result in zip(measures, results, strict=True)]


def _check(measure: Measure[S], answer: ExpectationValidationResult, examples: str) -> Check:
    suite, invariant, found = measure.suite, measure.invariant, answer.result
    violations, rows = int(found["unexpected_count"]), int(found["element_count"])
    observed: str = f"{violations:,} of {rows:,} rows" if invariant.observed is None else str(found["observed_value"])
    count = violations if invariant.observed is None else None
    return Check(
        suite.name,
        invariant.name,
        invariant.description,
        bool(answer.success),
        observed,
        count,
        examples,
        blocks=invariant.blocks,
    )


def _examples(failed: Sequence[Measure[S]], staged: S, on: Validation) -> dict[Measure[S], str]:
    """Some rows that break each invariant: one line of JSON a row."""
    by_suite: dict[Suite[S], list[Measure[S]]] = {}
    for measure in failed:
        by_suite.setdefault(measure.suite, []).append(measure)
    shown: dict[Measure[S], str] = {}
    for suite, measures in by_suite.items():
        rows = suite.rows(staged)
        texts = _breaking(suite, rows, [m.invariant for m in measures], on)
        shown |= dict(zip(measures, texts, strict=True))
    return shown


def _breaking(suite: Suite[S], rows: DataFrame, invariants: Sequence[Invariant], on: Validation) -> list[str]:
    from great_expectations.expectations.core.unexpected_rows_expectation import UnexpectedRowsExpectation

    from expectations import validation
    from expectations.declared import violating_rows

    # As text, made by Spark in UTC: Python would read timestamps in the time zone of this machine.
    as_json = f"to_json(struct({', '.join(suite.shows)}), map('timeZone', 'UTC')) AS example"
    queries = [
        UnexpectedRowsExpectation(unexpected_rows_query=violating_rows(as_json, invariant.condition))
        for invariant in invariants
    ]
    results = on.validate(rows, queries, validation.COMPLETE)
    return ["\n".join(row["example"] for row in result.result["details"]["unexpected_rows"]) for result in results]
