"""Run of a join: one row, the sums of everything; no row of either input is lost and none is told twice (B8).

    rows read = invalid + filtered + on time + late + too late        for each input; + unassigned where there are gaps

Rows read, filtered and unassigned are what the replay counted in the sources, on time and late what the join has taken;
the other terms are counted here, in the staged tables. Late rows that are dropped are in no table: there too late is
what the replay reported.
"""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from expectations import ratios
from expectations.invariant import Invariant, Suite
from expectations.staged_join import StagedJoin
from spark_jobs.pipeline.model import Pipeline

_REPORTED = ("rows_read", "filtered", "on_time", "late", "unassigned")
_STAGED = ("invalid", "too_late")


def rows(staged: StagedJoin) -> DataFrame:
    """The one row: `pairs`, each count `of_` each input, and `reported_*` for what is counted here (null: not so)."""

    def counted(table: DataFrame, count: str) -> DataFrame:
        return table.agg(*(F.count_if(F.col("source") == name).alias(f"{count}_of_{name}") for name in staged.names))

    found = (
        staged.pairs.agg(F.count("*").alias("pairs"))
        .crossJoin(counted(staged.invalid_events, "invalid"))
        .crossJoin(counted(staged.late_events, "too_late"))
    )
    here = ["pairs", *(f"{count}_of_{name}" for count in _STAGED for name in staged.names)]
    told = {f"{count}_of_{name}" for count in _REPORTED for name in staged.names}
    if staged.pipeline.windows.drops_late:
        told |= {f"too_late_of_{name}" for name in staged.names}
    reported = {f"reported_{name}": F.lit(staged.counts.get(name)).cast("long") for name in here}
    counts = {name: F.lit(staged.counts[name]).cast("long") for name in told}
    return found.withColumns({**counts, **reported, **ratios.columns(staged.earlier)})


def invariants(pipeline: Pipeline) -> tuple[Invariant, ...]:
    """The invariants of the sums."""
    if pipeline.join is None:
        return ()
    names = pipeline.join.names
    here = ["pairs", *(f"{count}_of_{name}" for count in _STAGED for name in names)]
    differing = f"nullif(concat_ws('; ', {', '.join(_difference(name) for name in here)}), '')"
    always = (
        *(_accounted(name, pipeline) for name in names),
        Invariant(
            "reported_counts_are_what_is_staged",
            "Every number that the replay reported is the number that the staged tables hold.",
            f"{differing} IS NULL",
            observed=f"coalesce({differing}, 'all equal')",
        ),
    )
    return (*always, *ratios.invariants(pipeline.quality, _ratios(names)))


def _accounted(name: str, pipeline: Pipeline) -> Invariant:
    fates: tuple[str, ...] = ("invalid", "filtered", "on_time", "late", "too_late")
    if pipeline.windows.have_gaps:
        fates = (*fates, "unassigned")
    terms = {count: f"{count}_of_{name}" for count in fates}
    total = f"({' + '.join(terms.values())})"
    told = ", ' + ', ".join(f"{column}, ' {count.replace('_', ' ')}'" for count, column in terms.items())
    return Invariant(
        f"every_row_of_{name}_is_accounted_for",
        f"Rows read of {name} = {' + '.join(count.replace('_', ' ') for count in fates)}.",
        f"rows_read_of_{name} = {total}",
        observed=f"concat(rows_read_of_{name}, ' read; ', {told}, ' = ', {total})",
    )


def _ratios(names: tuple[str, ...]) -> tuple[ratios.Counted, ...]:
    def of_both(*counts: str) -> str:
        return f"({' + '.join(f'{count}_of_{name}' for count in counts for name in names)})"

    could_join = of_both("on_time", "late", "too_late")
    remedy = "A larger out_of_orderness takes more of them in."
    return (
        *ratios.counted(of_both("late"), of_both("too_late"), could_join, "could join", remedy),
        ratios.invalid(of_both("invalid"), of_both("rows_read")),
    )


def _difference(name: str) -> str:
    """SQL for what is said of a count that the replay reported otherwise; null if it did not."""
    said = f"concat('{name}: ', reported_{name}, ' reported, ', {name}, ' staged')"
    return f"CASE WHEN reported_{name} <> {name} THEN {said} END"


SUITE = Suite("run", rows, invariants, shows=())
