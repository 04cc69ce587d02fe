"""Run: one row, the sums of everything; no row of the source is lost and none is told twice (semantics page, B8).

    rows read = invalid + filtered + on time + late + too late

`rows_read` and `filtered` are what the replay counted in the source. The other terms are counted here, in the staged
tables: an on-time pane holds its on-time rows, a late pane stands for one late row. A session's panes show again what
those of the sessions that it swallowed have shown: there on time are the rows that came with no late pane, each counted
in the one result that holds it, or with discarding accumulation in the one pane. Rows in windows that are still open
(`end_of_input: keep_open`) are in no table yet.

Late rows that are dropped are in no table: there too late is what the replay reported. Of gathered late rows several
fire one pane: late is what the results hold besides the rows on time, or the panes where they discard.

Where windows overlap, a row counts once, by what its newest window makes of it, and panes hold it once a window. Then
rows on time and late are what the replay reported, and it is pairs of a row and a window that are counted here:

    pairs = on time + late + dropped

Windows that fire by a count may keep rows that no pane shows. There too rows on time and late are what the replay
reported, and the rows that are shown, each counted once, are no more than those.
"""

from __future__ import annotations

from functools import reduce

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from expectations import ratios
from expectations.invariant import Invariant, Suite
from expectations.staged import Staged
from spark_jobs.pipeline.model import Pipeline
from spark_jobs.replay.panes.per_epoch import gathers

#: Counts that a replay may report, and that the staged tables hold too.
_COUNTED = ("invalid", "on_time", "late", "too_late", "windows", "panes", "early_panes", "late_panes")
#: What only the replay can count where windows overlap.
_REPORTED = ("on_time", "late", "unassigned", "row_windows", "row_windows_dropped")
_ACCOUNTED = "(invalid + filtered + on_time + late + too_late)"
# With those that came for windows closed before the run, and that wait in open windows.
_MISSED = "(too_late + too_late_behind)"
_IN_WINDOWS = f"(greatest(on_time, coalesce(reported_on_time, on_time)) + late + {_MISSED})"
_RATIOS = (
    *ratios.counted(
        "late",
        _MISSED,
        _IN_WINDOWS,
        "belong to a window",
        "A larger allowed_lateness or out_of_orderness takes more of them in.",
    ),
    ratios.invalid("invalid", "rows_read"),
)


def rows(staged: Staged) -> DataFrame:
    """The one row: `rows_read`, `filtered`, the counted terms, `open_windows`, `reported_*` (null: not reported).

    `open_windows` is null where nobody knows: of sessions that the input's end leaves open.
    """
    late = F.count_if(F.col("timing") == "late")
    discards = staged.pipeline.windows.discards
    in_time = F.col("timing").isin(["early", "on_time"] if discards else ["on_time"])
    on_time = F.sum(F.when(in_time, F.col("row_count")))
    shown = F.coalesce(F.sum("row_count"), F.lit(0))
    panes = staged.panes.agg(
        F.coalesce(on_time, F.lit(0)).alias("on_time"),
        shown.alias("in_panes"),
        late.alias("late"),
        late.alias("late_panes"),
        F.count_if(F.col("timing") == "early").alias("early_panes"),
        F.count("*").alias("panes"),
        _strangers(staged).alias("panes_of_another_run"),
    )
    missed = F.lit(staged.counts.get("too_late")).cast("long") if staged.pipeline.windows.drops_late else F.count("*")

    def counted(table: DataFrame, name: str, *sums: Column) -> DataFrame:
        return table.agg(*sums, _strangers(staged).alias(f"{name}_of_another_run"))

    found = (
        panes.crossJoin(
            counted(staged.window_results, "results", F.count("*").alias("windows"), shown.alias("in_results"))
        )
        .crossJoin(counted(staged.late_events, "late", missed.alias("too_late")))
        .crossJoin(counted(staged.invalid_events, "invalid", F.count("*").alias("invalid")))
        .crossJoin(counted(staged.watermarks, "calendar", F.count_if(F.col("fires_at").isNull()).alias("open_windows")))
    )
    found = found.withColumn("shown_once", F.col("in_panes" if discards else "in_results"))
    if not staged.pipeline.windows.trigger.is_default and staged.pipeline.windows.is_session:
        found = found.withColumn("late", F.lit(staged.counts.get("late")).cast("long"))
    if staged.pipeline.windows.is_session:
        found = _of_sessions(found, staged.pipeline)
    if gathers(staged.pipeline):
        found = _of_gathered(found, staged.pipeline)
    found = found.withColumn("late_pairs", F.col("late"))
    if staged.pipeline.windows.retracts:
        found = found.crossJoin(counted(staged.retractions, "retractions", F.count("*").alias("retractions")))
    strangers = [F.col(name) for name in found.columns if name.endswith("_of_another_run")]
    found = found.withColumn("of_another_run", reduce(Column.__add__, strangers))
    told = {name: F.lit(staged.counts[name]).cast("long") for name in ("rows_read", "filtered")}
    told["too_late_behind"] = F.lit(staged.counts.get("too_late_behind", 0)).cast("long")
    if staged.pipeline.windows.is_sliding:
        found = found.withColumn("on_time_pairs", F.col("on_time"))
        told |= {name: F.lit(staged.counts.get(name)).cast("long") for name in _REPORTED}
    if staged.pipeline.windows.trigger.counts_rows:
        told |= {name: F.lit(staged.counts.get(name)).cast("long") for name in ("on_time", "late")}
    reported = {f"reported_{name}": F.lit(staged.counts.get(name)).cast("long") for name in _COUNTED}
    return found.withColumns({**told, **reported, **ratios.columns(staged.earlier)})


def _strangers(staged: Staged) -> Column:
    """How many rows of a table do not name the run; none where the run is not known."""
    differs = F.lit(False) if staged.run_id is None else ~F.col("run_id").eqNullSafe(F.lit(staged.run_id))
    return F.count_if(differs)


def invariants(pipeline: Pipeline) -> tuple[Invariant, ...]:
    """The invariants of the sums."""
    counted = pipeline.windows.trigger.counts_rows
    if pipeline.windows.is_sliding:
        return (
            *(_of_shown("row_windows - row_windows_dropped") if counted else _of_pairs()),
            *_of_all(pipeline, f"({_ACCOUNTED} + unassigned)", "concat(' + ', unassigned, ' without')"),
        )
    shown = _of_shown("on_time + late") if counted else ()
    return (*shown, *_of_all(pipeline, _ACCOUNTED, "''"))


def _of_shown(accepted: str) -> tuple[Invariant, ...]:
    return (
        Invariant(
            "no_window_shows_a_row_twice",
            "The rows that panes show, each counted once, are no more than those that windows have taken; what has not "
            "been enough for a firing is shown by none.",
            f"shown_once <= {accepted}",
            observed=f"concat(shown_once, ' shown of ', {accepted}, ' taken')",
        ),
    )


def _of_pairs() -> tuple[Invariant, ...]:
    taken = "(on_time_pairs + late_pairs + row_windows_dropped)"
    return (
        Invariant(
            "every_row_is_in_each_of_its_windows",
            "Pairs of a row and a window of it = on time + late + dropped by the window. Only those of windows that "
            "are still open may be missing.",
            f"CASE WHEN open_windows = 0 THEN row_windows = {taken} ELSE row_windows >= {taken} END",
            observed=(
                "concat(row_windows, ' pairs; ', on_time_pairs, ' on time + ', late_pairs, ' late + ', "
                f"row_windows_dropped, ' dropped = ', {taken})"
            ),
        ),
    )


def _of_all(pipeline: Pipeline, accounted: str, without: str) -> tuple[Invariant, ...]:
    differing = f"nullif(concat_ws('; ', {', '.join(_difference(name, pipeline) for name in _COUNTED)}), '')"
    always: tuple[Invariant, ...] = (
        Invariant(
            "every_row_is_accounted_for",
            "Rows read = invalid + filtered + on time + late + too late. Only rows in windows that are still open may "
            "be missing.",
            f"CASE WHEN open_windows = 0 THEN rows_read = {accounted} ELSE rows_read >= {accounted} END",
            observed=(
                "concat(rows_read, ' read; ', invalid, ' invalid + ', filtered, ' filtered + ', "
                f"on_time, ' on time + ', late, ' late + ', too_late, ' too late', {without}, ' = ', {accounted}, "
                "if(open_windows = 0, '', "
                "coalesce(concat('; ', open_windows, ' windows open'), '; windows may be open')))"
            ),
        ),
        Invariant(
            "reported_counts_are_what_is_staged",
            "Every number that the replay reported is the number that the staged tables hold. While windows are open, "
            "more rows may be on time than panes hold.",
            f"{differing} IS NULL",
            observed=f"coalesce({differing}, 'all equal')",
        ),
        Invariant(
            "every_row_is_of_this_run",
            "Every row of every staged table names the run that has staged it.",
            "of_another_run = 0",
            observed="concat(of_another_run, ' rows of another run')",
        ),
    )
    if pipeline.windows.retracts:
        withdrawn = Invariant(
            "every_pane_but_the_latest_is_withdrawn",
            "There are as many retractions as panes that are not the latest of their window.",
            "retractions = panes - windows",
            observed="concat(retractions, ' retractions of ', panes, ' panes of ', windows, ' windows')",
        )
        always = (*always, withdrawn)
    return (*always, *ratios.invariants(pipeline.quality, _RATIOS))


def _of_gathered(found: DataFrame, pipeline: Pipeline) -> DataFrame:
    shown_once = F.col("in_panes" if pipeline.windows.discards else "in_results")
    return _may_be_open(found.withColumn("late", shown_once - F.col("on_time")), pipeline)


def _of_sessions(found: DataFrame, pipeline: Pipeline) -> DataFrame:
    return _may_be_open(found.withColumn("on_time", F.col("shown_once") - F.col("late")), pipeline)


def _may_be_open(found: DataFrame, pipeline: Pipeline) -> DataFrame:
    """`found` where nobody knows whether rows wait for a firing that the input's end leaves open."""
    if pipeline.replay.closes:
        return found
    return found.withColumn("open_windows", F.lit(None).cast("long"))


def _difference(name: str, pipeline: Pipeline) -> str:
    """SQL for what is said of a count that the replay reported otherwise; null if it did not."""
    waiting = " AND NOT (open_windows > 0 AND reported_on_time > on_time)" if name == "on_time" else ""
    if name == "late" and gathers(pipeline):
        # Late rows that are gathered wait for the end of their epoch.
        waiting = " AND NOT (open_windows IS NULL AND reported_late > late)"
    return (
        f"CASE WHEN reported_{name} <> {name}{waiting} "
        f"THEN concat('{name}: ', reported_{name}, ' reported, ', {name}, ' staged') END"
    )


SUITE = Suite("run", rows, invariants, shows=())
