"""Run: one row with the sums of all counts. Every row of the source is counted exactly once (semantics B8).

    rows read = invalid + left out + on time + late + too late         left out = filtered + quarantined + duplicates

The replay counted the rows read and the rows left out in the source. The other terms are counted here, in the staged
tables: an on-time pane contains its on-time rows, a late pane stands for one late row. Rows in windows that are still
open (`end_of_input: keep_open`) are in no table yet.

Exceptions:

- sessions: the panes of a session repeat the rows of the sessions that were merged into it. On time are the rows of the
  results (with discarding accumulation, of the panes) minus the late rows;
- dropped late rows are in no table: too late is the count that the replay reported;
- late rows gathered per epoch: several late rows fire one pane. Late are the rows of the results (with discarding
  accumulation, of the panes) minus the on-time rows;
- overlapping windows: a row counts once, as what its newest window makes of it, and each of its windows has it in a
  pane. On time and late are the counts that the replay reported. The pairs of a row and a window are counted here:

      pairs = on time + late + dropped

- count triggers: a window may have rows that no pane shows yet. On time and late are the counts that the replay
  reported. The rows in panes, each counted once, are not more.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import reduce

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from expectations import ratios
from expectations.invariant import Invariant, Suite
from expectations.staged import Staged
from spark_jobs.pipeline import quarantine
from spark_jobs.pipeline.model import Pipeline
from spark_jobs.replay.panes.per_epoch import gathers
from spark_jobs.semantics.rows.left_out import LeftOut

#: Counts that a replay may report and that the staged tables also have.
_COUNTED = ("invalid", "on_time", "late", "too_late", "windows", "panes", "early_panes", "late_panes")
#: Counts of overlapping windows that only the replay can count.
_REPORTED = ("on_time", "late", "unassigned", "row_windows", "row_windows_dropped")
_LEFT_OUT = tuple(reason.value for reason in LeftOut)
_ACCOUNTED = f"(invalid + {' + '.join(_LEFT_OUT)} + on_time + late + too_late)"
# Includes the rows for windows that closed before the run. The denominator also includes rows in open windows.
_MISSED = "(too_late + too_late_behind)"
_IN_WINDOWS = f"(greatest(on_time, coalesce(reported_on_time, on_time)) + late + {_MISSED})"
_RATIOS = (
    *ratios.late_ratios(
        "late",
        _MISSED,
        _IN_WINDOWS,
        "belong to a window",
        "A larger allowed_lateness or out_of_orderness takes more of them in.",
    ),
    ratios.invalid_ratio("invalid", "rows_read"),
)


def rows(staged: Staged) -> DataFrame:
    """Return the one row: `rows_read`, the rows left out, the counted terms, `open_windows` and `reported_*`.

    `reported_*` is null if the replay did not report the count. `open_windows` is null if the number is not known:
    for sessions and gathered late rows, with `end_of_input: keep_open`.
    """
    late = F.count_if(F.col("timing") == "late")
    discards = staged.pipeline.windows.discards
    counts_as_on_time = F.col("timing").isin(["early", "on_time"] if discards else ["on_time"])
    on_time = F.sum(F.when(counts_as_on_time, F.col("row_count")))
    row_counts = F.coalesce(F.sum("row_count"), F.lit(0))
    panes = staged.panes.agg(
        F.coalesce(on_time, F.lit(0)).alias("on_time"),
        row_counts.alias("in_panes"),
        late.alias("late"),
        late.alias("late_panes"),
        F.count_if(F.col("timing") == "early").alias("early_panes"),
        F.count("*").alias("panes"),
        _rows_of_another_run(staged).alias("panes_of_another_run"),
    )
    too_late = F.lit(staged.counts.get("too_late")).cast("long") if staged.pipeline.windows.drops_late else F.count("*")

    def counted(table: DataFrame, name: str, *sums: Column) -> DataFrame:
        return table.agg(*sums, _rows_of_another_run(staged).alias(f"{name}_of_another_run"))

    sums = (
        panes.crossJoin(
            counted(staged.window_results, "results", F.count("*").alias("windows"), row_counts.alias("in_results"))
        )
        .crossJoin(counted(staged.late_events, "late", too_late.alias("too_late")))
        .crossJoin(counted(staged.invalid_events, "invalid", *_by_reason(staged)))
        .crossJoin(counted(staged.watermarks, "calendar", F.count_if(F.col("fires_at").isNull()).alias("open_windows")))
    )
    sums = sums.withColumn("shown_once", F.col("in_panes" if discards else "in_results"))
    if not staged.pipeline.windows.trigger.is_default and staged.pipeline.windows.is_session:
        sums = sums.withColumn("late", F.lit(staged.counts.get("late")).cast("long"))
    if staged.pipeline.windows.is_session:
        sums = _of_sessions(sums, staged.pipeline)
    if gathers(staged.pipeline):
        sums = _of_gathered(sums, staged.pipeline)
    sums = sums.withColumn("late_pairs", F.col("late"))
    if staged.pipeline.windows.retracts:
        sums = sums.crossJoin(counted(staged.retractions, "retractions", F.count("*").alias("retractions")))
    other_runs = [F.col(name) for name in sums.columns if name.endswith("_of_another_run")]
    sums = sums.withColumn("of_another_run", reduce(Column.__add__, other_runs))
    counts_of_replay = {name: F.lit(staged.counts.get(name, 0)).cast("long") for name in ("rows_read", *_LEFT_OUT)}
    counts_of_replay["too_late_behind"] = F.lit(staged.counts.get("too_late_behind", 0)).cast("long")
    if staged.pipeline.windows.is_sliding:
        sums = sums.withColumn("on_time_pairs", F.col("on_time"))
        counts_of_replay |= {name: F.lit(staged.counts.get(name)).cast("long") for name in _REPORTED}
    if staged.pipeline.windows.trigger.counts_rows:
        counts_of_replay |= {name: F.lit(staged.counts.get(name)).cast("long") for name in ("on_time", "late")}
    reported = {f"reported_{name}": F.lit(staged.counts.get(name)).cast("long") for name in _COUNTED}
    return sums.withColumns(
        {**counts_of_replay, **reported, **ratios.columns(staged.earlier), **staged.context.columns()}
    )


def _by_reason(staged: Staged) -> list[Column]:
    """Count the rows without a usable time, the rows in quarantine, and the rows that each rule has set apart."""
    names = [rule.name for rule in staged.pipeline.source.quarantine]
    is_quarantined = F.col("reason").isin(names)
    each = [F.count_if(F.col("reason") == name).alias(f"quarantined_by_{name}") for name in names]
    return [F.count_if(~is_quarantined).alias("invalid"), F.count_if(is_quarantined).alias("in_quarantine"), *each]


def _rows_of_another_run(staged: Staged) -> Column:
    """Count the rows of a table that do not name the run; 0 if the run is not known."""
    differs = F.lit(False) if staged.run_id is None else ~F.col("run_id").eqNullSafe(F.lit(staged.run_id))
    return F.count_if(differs)


def invariants(pipeline: Pipeline) -> tuple[Invariant, ...]:
    """Return the invariants of the sums."""
    counted = pipeline.windows.trigger.counts_rows
    if pipeline.windows.is_sliding:
        return (
            *(_of_shown("row_windows - row_windows_dropped") if counted else _of_pairs()),
            *_of_all(pipeline, f"({_ACCOUNTED} + unassigned)", "concat(' + ', unassigned, ' without')"),
        )
    shown_rows = _of_shown("on_time + late") if counted else ()
    return (*shown_rows, *_of_all(pipeline, _ACCOUNTED, "''"))


def _of_shown(accepted: str) -> tuple[Invariant, ...]:
    return (
        Invariant(
            "no_window_shows_a_row_twice",
            "The rows in panes, each counted once, are not more than the rows that windows accepted. Rows that are too "
            "few for a firing are in no pane.",
            f"shown_once <= {accepted}",
            observed=f"concat(shown_once, ' shown of ', {accepted}, ' taken')",
        ),
    )


def _of_pairs() -> tuple[Invariant, ...]:
    window_rows = "(on_time_pairs + late_pairs + row_windows_dropped)"
    return (
        Invariant(
            "every_row_is_in_each_of_its_windows",
            "Pairs of a row and one of its windows = on time + late + dropped by the window. Only pairs with a window "
            "that is still open may be missing.",
            f"CASE WHEN open_windows = 0 THEN row_windows = {window_rows} ELSE row_windows >= {window_rows} END",
            observed=(
                "concat(row_windows, ' pairs; ', on_time_pairs, ' on time + ', late_pairs, ' late + ', "
                f"row_windows_dropped, ' dropped = ', {window_rows})"
            ),
        ),
    )


def _of_all(pipeline: Pipeline, accounted: str, without: str) -> tuple[Invariant, ...]:
    differing = f"nullif(concat_ws('; ', {', '.join(_difference(name, pipeline) for name in _COUNTED)}), '')"
    always: tuple[Invariant, ...] = (
        Invariant(
            "every_row_is_accounted_for",
            "Rows read = invalid + filtered + quarantined + duplicates + on time + late + too late. Only rows in "
            "windows that are still open may be missing.",
            f"CASE WHEN open_windows = 0 THEN rows_read = {accounted} ELSE rows_read >= {accounted} END",
            observed=(
                "concat(rows_read, ' read; ', invalid, ' invalid + ', filtered, ' filtered + ', "
                f"{_more_left_out(pipeline)}on_time, ' on time + ', late, ' late + ', too_late, ' too late', "
                f"{without}, ' = ', {accounted}, "
                "if(open_windows = 0, '', "
                "coalesce(concat('; ', open_windows, ' windows open'), '; windows may be open')))"
            ),
        ),
        Invariant(
            "reported_counts_are_what_is_staged",
            "Every count that the replay reported equals the count in the staged tables. While windows are open, "
            "more rows may be on time than panes have.",
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
            "The number of retractions is the number of panes that are not the latest of their window.",
            "retractions = panes - windows",
            observed="concat(retractions, ' retractions of ', panes, ' panes of ', windows, ' windows')",
        )
        always = (*always, withdrawn)
    return (*always, *_of_quarantine(pipeline), *ratios.invariants(pipeline.quality, _RATIOS))


def _of_quarantine(pipeline: Pipeline) -> Iterator[Invariant]:
    """Yield the invariants of rows in quarantine, which only a run over all of time stages."""
    if not pipeline.source.quarantine:
        return
    yield Invariant(
        "every_row_in_quarantine_is_staged",
        "The rows that the replay has set apart are in invalid_events, with the rule as reason.",
        f"NOT is_whole OR {LeftOut.QUARANTINED} = in_quarantine",
        observed=f"concat({LeftOut.QUARANTINED}, ' set apart, ', in_quarantine, ' staged')",
    )
    for expectation in pipeline.quality.expectations:
        if not expectation.quarantines or not (least := quarantine.least_share(expectation)):
            continue
        name = quarantine.rule(expectation).name
        yield Invariant(
            f"not_too_many_rows_are_set_apart_by_{name}",
            f"At least {100 * least:g} % of the rows read meet {expectation.type} (mostly).",
            f"quarantined_by_{name} <= CAST({1 - least!r} AS DOUBLE) * rows_read",
            observed=f"concat(quarantined_by_{name}, ' of ', rows_read, ' rows')",
        )


def _more_left_out(pipeline: Pipeline) -> str:
    """Return SQL for the rows left out for another reason than `where`, to be continued."""
    if not any(source.leaves_out for source in pipeline.all_sources):
        return ""
    return "".join(f"{name}, ' {name} + ', " for name in _LEFT_OUT if name != LeftOut.FILTERED)


def _of_gathered(sums: DataFrame, pipeline: Pipeline) -> DataFrame:
    shown_once = F.col("in_panes" if pipeline.windows.discards else "in_results")
    return _may_be_open(sums.withColumn("late", shown_once - F.col("on_time")), pipeline)


def _of_sessions(sums: DataFrame, pipeline: Pipeline) -> DataFrame:
    return _may_be_open(sums.withColumn("on_time", F.col("shown_once") - F.col("late")), pipeline)


def _may_be_open(sums: DataFrame, pipeline: Pipeline) -> DataFrame:
    """Set `open_windows` to null if rows may wait in windows that the end of the input leaves open."""
    if pipeline.replay.closes:
        return sums
    return sums.withColumn("open_windows", F.lit(None).cast("long"))


def _difference(name: str, pipeline: Pipeline) -> str:
    """Return SQL for the message about a count that differs from the reported count; null if it does not."""
    waiting = " AND NOT (open_windows > 0 AND reported_on_time > on_time)" if name == "on_time" else ""
    if name == "late" and gathers(pipeline):
        # Gathered late rows wait for the end of their epoch.
        waiting = " AND NOT (open_windows IS NULL AND reported_late > late)"
    return (
        f"CASE WHEN reported_{name} <> {name}{waiting} "
        f"THEN concat('{name}: ', reported_{name}, ' reported, ', {name}, ' staged') END"
    )


SUITE = Suite("run", None, rows, invariants, shows=())
