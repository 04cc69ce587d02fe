"""Run of a join: one row with the sums of all counts. Every row of an input is counted exactly once (semantics B8).

    rows read = invalid + filtered + on time + late + too late        for each input; + unassigned with window gaps

The replay counted the rows read, filtered and unassigned in the sources, and the on-time and late rows in the join. The
other terms are counted here, in the staged tables. Late rows that are dropped are in no table: then the too late term
is the count that the replay reported.
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
    """Return the one row.

    `pairs` is the number of pairs. Each other count has a column for each input, `<count>_of_<input>`. `reported_*` is
    the reported value of a count that is counted here, null if the replay did not report it.
    """

    def counted(table: DataFrame, count: str) -> DataFrame:
        return table.agg(*(F.count_if(F.col("source") == name).alias(f"{count}_of_{name}") for name in staged.names))

    counted_here = (
        staged.pairs.agg(F.count("*").alias("pairs"))
        .crossJoin(counted(staged.invalid_events, "invalid"))
        .crossJoin(counted(staged.late_events, "too_late"))
    )
    names = ["pairs", *(f"{count}_of_{name}" for count in _STAGED for name in staged.names)]
    reported_only = {f"{count}_of_{name}" for count in _REPORTED for name in staged.names}
    if staged.pipeline.windows.drops_late:
        reported_only |= {f"too_late_of_{name}" for name in staged.names}
    reported = {f"reported_{name}": F.lit(staged.counts.get(name)).cast("long") for name in names}
    counts = {name: F.lit(staged.counts[name]).cast("long") for name in reported_only}
    surrounding = {**ratios.columns(staged.earlier), **staged.context.columns()}
    return counted_here.withColumns({**counts, **reported, **surrounding})


def invariants(pipeline: Pipeline) -> tuple[Invariant, ...]:
    """Return the invariants of the sums."""
    if pipeline.join is None:
        return ()
    names = pipeline.join.names
    counts = ["pairs", *(f"{count}_of_{name}" for count in _STAGED for name in names)]
    differing = f"nullif(concat_ws('; ', {', '.join(_difference(name) for name in counts)}), '')"
    always = (
        *(_accounted(name, pipeline) for name in names),
        Invariant(
            "reported_counts_are_what_is_staged",
            "Every count that the replay reported equals the count in the staged tables.",
            f"{differing} IS NULL",
            observed=f"coalesce({differing}, 'all equal')",
        ),
    )
    as_of = (_emitted(pipeline),) if pipeline.join.is_as_of else ()
    return (*always, *as_of, *ratios.invariants(pipeline.quality, _ratios(names)))


def _emitted(pipeline: Pipeline) -> Invariant:
    """Return the invariant that an as-of join emits each first row once, or once at the most."""
    name = "" if pipeline.join is None else pipeline.join.names[0]
    rows = f"(on_time_of_{name} + too_late_of_{name})"
    if pipeline.join is not None and pipeline.join.keeps_unmatched and pipeline.replay.closes:
        return Invariant(
            "each_first_row_is_in_one_pair",
            f"Pairs = rows of {name} on time + late rows of {name}.",
            f"pairs = {rows}",
            observed=f"concat(pairs, ' pairs of ', {rows}, ' rows')",
        )
    return Invariant(
        "each_first_row_is_in_one_pair_at_the_most",
        f"Pairs are no more than rows of {name} on time and late rows of {name}.",
        f"pairs <= {rows}",
        observed=f"concat(pairs, ' pairs of ', {rows}, ' rows')",
    )


def _accounted(name: str, pipeline: Pipeline) -> Invariant:
    fates: tuple[str, ...] = ("invalid", "filtered", "on_time", "late", "too_late")
    if pipeline.windows.have_gaps:
        fates = (*fates, "unassigned")
    terms = {count: f"{count}_of_{name}" for count in fates}
    total = f"({' + '.join(terms.values())})"
    texts = ", ' + ', ".join(f"{column}, ' {count.replace('_', ' ')}'" for count, column in terms.items())
    return Invariant(
        f"every_row_of_{name}_is_accounted_for",
        f"Rows read of {name} = {' + '.join(count.replace('_', ' ') for count in fates)}.",
        f"rows_read_of_{name} = {total}",
        observed=f"concat(rows_read_of_{name}, ' read; ', {texts}, ' = ', {total})",
    )


def _ratios(names: tuple[str, ...]) -> tuple[ratios.Ratio, ...]:
    def over_inputs(*counts: str) -> str:
        return f"({' + '.join(f'{count}_of_{name}' for count in counts for name in names)})"

    could_join = over_inputs("on_time", "late", "too_late")
    remedy = "A larger out_of_orderness takes more of them in."
    return (
        *ratios.late_ratios(over_inputs("late"), over_inputs("too_late"), could_join, "could join", remedy),
        ratios.invalid_ratio(over_inputs("invalid"), over_inputs("rows_read")),
    )


def _difference(name: str) -> str:
    """Return SQL for the message about a count that differs from the reported count; null if it does not."""
    message = f"concat('{name}: ', reported_{name}, ' reported, ', {name}, ' staged')"
    return f"CASE WHEN reported_{name} <> {name} THEN {message} END"


SUITE = Suite("run", None, rows, invariants, shows=())
