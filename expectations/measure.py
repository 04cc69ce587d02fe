"""Measuring: how many rows of what a run has staged break each law.

All laws about the same rows are counted by one Spark aggregation, whatever their number, and the aggregations run side
by side: most of a small one's time is its start. Rows that a glance at all of them together shows to be right are only
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
from expectations.invariant import Law, Suite
from expectations.redaction import first_line
from expectations.staged_tables import StagedTables

S = TypeVar("S", bound=StagedTables)
_AT_ONCE = 4


@dataclass(frozen=True)
class Measure(Generic[S]):
    """What was found about a law: of `rows` rows `breaking` do not obey; `observed` is its own text, if it has one."""

    suite: Suite[S]
    law: Law
    rows: int
    breaking: int
    observed: str | None


@contextmanager
def measuring(suites: Sequence[Suite[S]], staged: S) -> Iterator[Future[list[Measure[S]]]]:
    """Count all laws of `suites` while the caller does something else; leaves when nothing is being counted any more.

    Gives what will be the measures, in the suites' order. They raise AuditError for a law that cannot be computed.
    """
    batches: dict[object, list[Suite[S]]] = {}
    for suite in suites:
        if suite.laws(staged.pipeline):
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
    asked = [(suite, law) for suite in batch for law in suite.laws(staged.pipeline)]
    glance = batch[0].glance
    try:
        obeying, rows = (glance(staged) if glance else None) or (0, batch[0].rows(staged))
        found = rows.agg(F.count("*"), *(column for _, law in asked for column in _columns(law))).collect()[0]
    except PySparkException as problem:
        raise AuditError(_refused(asked, batch[0].rows(staged), problem)) from problem
    answers = iter(found[1:])
    return [Measure(suite, law, obeying + found[0], next(answers), next(answers)) for suite, law in asked]


def _columns(law: Law) -> tuple[Column, Column]:
    told = F.lit(None).cast("string") if law.observed is None else F.first(F.expr(law.observed))
    return F.count_if(~F.coalesce(F.expr(law.holds), F.lit(False))), told


def _refused(asked: Sequence[tuple[Suite[S], Law]], rows: DataFrame, problem: PySparkException) -> str:
    """What to say of laws of which one cannot be computed: which it is, if Spark knows before it reads any row."""
    for suite, law in asked:
        try:
            rows.select(*_columns(law))
        except AnalysisException as found:
            return f"{suite.name}: {law.name} cannot be computed: {first_line(str(found))}"
    names = ", ".join(dict.fromkeys(suite.name for suite, _ in asked))
    return f"{names}: the laws cannot be computed: {first_line(str(problem))}"
