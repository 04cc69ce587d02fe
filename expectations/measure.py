"""Count the rows of a run's staged tables that violate each invariant.

One Spark aggregation counts all invariants of the same rows. The aggregations run in parallel, because a small one
mostly waits for its start. Rows that a bulk check verifies are counted, but not checked one by one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Generic, TypeVar

from pyspark.errors import AnalysisException, PySparkException
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from expectations.errors import AuditError
from expectations.invariant import Invariant, Suite
from expectations.redaction import first_line
from expectations.staged_tables import StagedTables

S = TypeVar("S", bound=StagedTables)
_PARALLEL_AGGREGATIONS = 4


@dataclass(frozen=True)
class Measure(Generic[S]):
    """The counts of one invariant: `violations` of `rows` rows violate it. `observed` is its text, if it has one."""

    suite: Suite[S]
    invariant: Invariant
    rows: int
    violations: int
    observed: str | None


@contextmanager
def measuring(suites: Sequence[Suite[S]], staged: S) -> Iterator[Future[list[Measure[S]]]]:
    """Count all invariants of `suites` in the background. The `with` block ends when no count is running.

    The future returns the measures in the order of the suites. It raises AuditError for an invariant that cannot be
    computed.
    """
    batches: dict[object, list[Suite[S]]] = {}
    for suite in suites:
        if suite.invariants(staged.pipeline):
            batches.setdefault(suite.rows, []).append(suite)
    with (
        ThreadPoolExecutor(max_workers=_PARALLEL_AGGREGATIONS) as pool,
        ThreadPoolExecutor(max_workers=1) as gatherer,
    ):
        futures = [pool.submit(_measures, batch, staged) for batch in batches.values()]

        def all_measures() -> list[Measure[S]]:
            measures = [measure for future in futures for measure in future.result()]
            return sorted(measures, key=lambda measure: suites.index(measure.suite))

        try:
            yield gatherer.submit(all_measures)
        finally:
            for future in futures:
                future.cancel()


def _measures(batch: Sequence[Suite[S]], staged: S) -> list[Measure[S]]:
    """Return the measures of suites with the same rows."""
    invariants = [(suite, invariant) for suite in batch for invariant in suite.invariants(staged.pipeline)]
    bulk_check = batch[0].bulk_check
    try:
        verified, rows = (bulk_check(staged) if bulk_check else None) or (0, batch[0].rows(staged))
        columns = (column for _, invariant in invariants for column in _columns(invariant))
        counts = rows.agg(F.count("*"), *columns).collect()[0]
    except PySparkException as problem:
        raise AuditError(_uncomputable(invariants, batch[0].rows(staged), problem)) from problem
    values = iter(counts[1:])
    return [
        Measure(suite, invariant, verified + counts[0], next(values), next(values)) for suite, invariant in invariants
    ]


def _columns(invariant: Invariant) -> tuple[Column, Column]:
    observed = F.lit(None).cast("string") if invariant.observed is None else F.first(F.expr(invariant.observed))
    return F.count_if(~F.coalesce(F.expr(invariant.condition), F.lit(False))), observed


def _uncomputable(invariants: Sequence[tuple[Suite[S], Invariant]], rows: DataFrame, problem: PySparkException) -> str:
    """Return the message for a batch that failed. It names the invariant if Spark rejects it before reading a row."""
    for suite, invariant in invariants:
        try:
            rows.select(*_columns(invariant))
        except AnalysisException as error:
            return f"{suite.name}: {invariant.name} cannot be computed: {first_line(str(error))}"
    names = ", ".join(dict.fromkeys(suite.name for suite, _ in invariants))
    return f"{names}: the invariants cannot be computed: {first_line(str(problem))}"
