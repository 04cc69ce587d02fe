"""Measuring: how many rows of what a run has staged break each invariant.

All invariants about the same rows are counted by one Spark aggregation, whatever their number, and the aggregations run side
by side: most of a small one's time is its start. Rows that a bulk_check at all of them together shows to be right are only
counted.
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
_AT_ONCE = 4


@dataclass(frozen=True)
class Measure(Generic[S]):
    """What was found about an invariant: of `rows` rows `violations` do not obey; `observed` is its own text, if it has one."""

    suite: Suite[S]
    invariant: Invariant
    rows: int
    violations: int
    observed: str | None


@contextmanager
def measuring(suites: Sequence[Suite[S]], staged: S) -> Iterator[Future[list[Measure[S]]]]:
    """Count all invariants of `suites` while the caller does something else; leaves when nothing is being counted any more.

    Gives what will be the measures, in the suites' order. They raise AuditError for an invariant that cannot be computed.
    """
    batches: dict[object, list[Suite[S]]] = {}
    for suite in suites:
        if suite.invariants(staged.pipeline):
            batches.setdefault(suite.rows, []).append(suite)
    with ThreadPoolExecutor(max_workers=_AT_ONCE) as pool, ThreadPoolExecutor(max_workers=1) as gatherer:
        found = [pool.submit(_measures, batch, staged) for batch in batches.values()]

        def gathered() -> list[Measure[S]]:
            measures = [measure for future in found for measure in future.result()]
            return sorted(measures, key=lambda measure: suites.index(measure.suite))

        try:
            yield gatherer.submit(gathered)
        finally:
            for future in found:
                future.cancel()


def _measures(batch: Sequence[Suite[S]], staged: S) -> list[Measure[S]]:
    """The measures of suites with the same rows."""
    asked = [(suite, invariant) for suite in batch for invariant in suite.invariants(staged.pipeline)]
    bulk_check = batch[0].bulk_check
    try:
        obeying, rows = (bulk_check(staged) if bulk_check else None) or (0, batch[0].rows(staged))
        found = rows.agg(F.count("*"), *(column for _, invariant in asked for column in _columns(invariant))).collect()[
            0
        ]
    except PySparkException as problem:
        raise AuditError(_refused(asked, batch[0].rows(staged), problem)) from problem
    answers = iter(found[1:])
    return [Measure(suite, invariant, obeying + found[0], next(answers), next(answers)) for suite, invariant in asked]


def _columns(invariant: Invariant) -> tuple[Column, Column]:
    told = F.lit(None).cast("string") if invariant.observed is None else F.first(F.expr(invariant.observed))
    return F.count_if(~F.coalesce(F.expr(invariant.condition), F.lit(False))), told


def _refused(asked: Sequence[tuple[Suite[S], Invariant]], rows: DataFrame, problem: PySparkException) -> str:
    """What to say of invariants of which one cannot be computed: which it is, if Spark knows before it reads any row."""
    for suite, invariant in asked:
        try:
            rows.select(*_columns(invariant))
        except AnalysisException as found:
            return f"{suite.name}: {invariant.name} cannot be computed: {first_line(str(found))}"
    names = ", ".join(dict.fromkeys(suite.name for suite, _ in asked))
    return f"{names}: the invariants cannot be computed: {first_line(str(problem))}"
