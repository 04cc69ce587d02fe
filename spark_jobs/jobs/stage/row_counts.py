"""Counting: how many rows of a run met which fate, from its census and from its staged tables.

Law (semantics B8): rows read = invalid + filtered + on time + late + too late, and + unassigned where windows
leave gaps. Delta has counted the rows of tables already; only rows that lie between two tables are counted again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from spark_jobs.error_codes import ErrorCode
from spark_jobs.jobs.errors import InputError
from spark_jobs.jobs.stage import session_row_counts
from spark_jobs.jobs.stage.slices import whole
from spark_jobs.pipeline.model import Pipeline
from spark_jobs.replay.panes import per_epoch
from spark_jobs.replay.rows import columns as c
from spark_jobs.replay.rows import window_assigners
from spark_jobs.replay.sessions import session_panes
from spark_jobs.replay.windows import lateness
from spark_jobs.replay.windows.slice import Slice, oldest_window_ms
from spark_jobs.semantics.rows.event_time import IMPLAUSIBLE
from spark_jobs.semantics.rows.left_out import LeftOut
from spark_jobs.tables import staging
from spark_jobs.tables.interval_condition import holds
from spark_jobs.tables.lake import Lake
from spark_jobs.tables.ledger import CHANGED, Run


class Counting:
    """Counts the rows of one run; `prepared` are the source's rows, made ready."""

    def __init__(self, spark: SparkSession, pipeline: Pipeline, lake: Lake, run: Run, prepared: DataFrame) -> None:
        self._spark, self._pipeline, self._lake, self._run = spark, pipeline, lake, run
        self._interval = run.interval
        self._prepared = prepared

    @property
    def has_invalid(self) -> bool:
        """Whether the run replaces `invalid_events`: rows without a usable time belong to no part of time.

        A run over changes replaces the table if such a row has changed.
        """
        return self._interval.whole or self._run.counts.get("changed_invalid", 0) > 0

    def read(self, groups: DataFrame) -> dict[str, int]:
        """Count the rows of the census by their fate. Raises InputError for event times in the wrong unit."""
        valid = F.col("reason").isNull()
        # Which rows belong to an interval depends on its sessions, which come later.
        in_interval = valid if self._of_sessions else valid & holds(self._interval, "timestamp_millis(window_ms)")
        inside = self._whole_or(in_interval)
        invalid = ~valid & F.lit(self.has_invalid)
        replayed = inside & valid & F.col("kept")
        spec = self._pipeline.windows
        oldest = window_assigners.oldest_ms(F.col("slice_ms"), spec)
        sums = {
            "rows_read": inside | invalid,
            "invalid": invalid,
            **_left_out(groups, inside & valid & ~F.col("kept")),
            "unassigned": replayed & (oldest > F.col("window_ms")),
            "implausible": F.col("reason").isin(*IMPLAUSIBLE),
            "timed": valid | F.col("reason").isin(*IMPLAUSIBLE),
        }
        counts = {name: F.when(holds, F.col("row_count")) for name, holds in sums.items()}
        if spec.is_sliding:
            windows = whole(self._interval).windows_between(oldest, F.col("window_ms"), spec)
            counts["row_windows"] = F.when(valid & F.col("kept"), windows * F.col("row_count"))
        row = groups.agg(*(F.coalesce(F.sum(n), F.lit(0)).alias(name) for name, n in counts.items()))
        result = {name: int(n) for name, n in row.collect()[0].asDict().items()}
        implausible, timed = result.pop("implausible"), result.pop("timed")
        # The census of a run over changes has the rows around them, and the run before it has read the others.
        if self._run.kind != CHANGED:
            refuse_wrong_unit(self._prepared, self._pipeline, implausible, timed)
        return result

    @property
    def _of_sessions(self) -> bool:
        return self._pipeline.windows.is_session

    def _whole_or(self, condition: Column) -> Column:
        return F.lit(True) if self._interval.whole else condition

    def of_interval(self, read: Mapping[str, int]) -> dict[str, int]:
        """Return `read` with the rows that belong to the interval, which staged sessions decide."""
        if self._interval.whole:
            return dict(read)
        panes = staging.read_staged(self._spark, self._lake, self._run.run_id, "panes")
        results = staging.read_staged(self._spark, self._lake, self._run.run_id, "window_results")
        left_out = session_row_counts.left_out(self._prepared, self._pipeline, self._interval)
        accepted = session_row_counts.accepted(panes, results, self._pipeline)
        rows_read = read["invalid"] + sum(left_out.values()) + accepted + self._too_late([])
        return {**read, "rows_read": rows_read, **left_out}

    def staged(self, read: Mapping[str, int], parts: Sequence[Slice]) -> dict[str, int]:
        """Count the staged rows, from Delta's own count where a table holds them; sessions have no `parts`.

        The audit counts the rows themselves, and the rows that panes hold, and compares. Rows in windows that are still
        open are on time.
        """
        panes = staging.panes_by_timing(self._lake, self._run.run_id)
        counts = {"late": panes["late"], "too_late": self._too_late(parts)}
        if self._of_sessions and not self._pipeline.windows.trigger.is_default:
            counts["late"] = self._late_of_sessions()
        overlap = self._pipeline.windows.is_sliding
        is_counted = overlap or per_epoch.gathers(self._pipeline) or not self._pipeline.windows.trigger.is_default
        if parts and is_counted:
            counts |= self._behind(parts)
        if not overlap:
            counts.pop("row_windows_dropped", None)
        if self._pipeline.windows.retracts:
            counts["retractions"] = panes.pop(staging.RETRACTIONS, 0)
        # Some rows without a window are late events.
        unassigned = read["unassigned"] - counts.pop("reported", 0)
        left_out = sum(read.get(reason, 0) for reason in LeftOut)
        elsewhere = read["invalid"] + left_out + counts["late"] + counts["too_late"] + unassigned
        return {
            "on_time": read["rows_read"] - elsewhere,
            **counts,
            "unassigned": unassigned,
            "windows": staging.row_count(self._lake, self._run.run_id, "window_results"),
            "panes": panes.total(),
            "early_panes": panes["early"],
            "late_panes": panes["late"],
        }

    def _late_of_sessions(self) -> int:
        """How many rows were late for their session, where a late pane may not be a late row."""
        panes, scanned = self._read_work("panes_of_scan"), self._read_work("scan")
        return session_row_counts.late_rows(panes, scanned, self._interval, self._pipeline)

    def _too_late(self, parts: Sequence[Slice]) -> int:
        """How many rows of the interval no window took; dropped rows are in no table."""
        if not self._pipeline.windows.drops_late:
            return staging.row_count(self._lake, self._run.run_id, "late_events")
        if self._of_sessions:
            too_late = session_panes.too_late_rows(self._read_work("ranked"), self._read_work("scan"))
            return too_late.where(holds(self._interval, f"timestamp_millis({c.WINDOW_MS})")).count()
        dropped = (self._read_work(f"late_rows/{p.name}").where(p.holds(c.WINDOW_MS)) for p in parts)
        return sum(rows.where(c.TOO_LATE).count() for rows in dropped)

    def _read_work(self, name: str) -> DataFrame:
        return staging.read_work(self._spark, self._lake, self._run.run_id, name)

    def _behind(self, parts: Sequence[Slice]) -> dict[str, int]:
        """Count the late rows, the windows that have dropped a row, and late events without a window (`reported`).

        Where a row has one window and fires a pane alone, each late pane is a late row. Otherwise the rows behind one
        of their windows are counted.
        """
        spec = self._pipeline.windows
        oldest, newest = oldest_window_ms(spec), F.col(c.WINDOW_MS)
        watermark = F.col(c.WATERMARK_MS)
        dropping = F.least(newest, window_assigners.latest_with_cleanup_ms(watermark, spec))
        sums: Counter[str] = Counter()
        for part in parts:
            rows = self._read_work(f"late_rows/{part.name}")
            # The late rows of the first slice include those of windows that were closed before.
            rows, owned = rows.where(part.reaches_row(spec)), part.holds(c.WINDOW_MS)
            late = owned & ~F.col(c.TOO_LATE) & (newest < lateness.oldest_on_time_ms(watermark, spec))
            row = rows.agg(
                F.count_if(late).alias("late"),
                F.count_if(owned & (oldest > newest)).alias("reported"),
                F.coalesce(F.sum(part.windows_between(oldest, dropping, spec)), F.lit(0)).alias("row_windows_dropped"),
            )
            sums.update({name: int(n) for name, n in row.collect()[0].asDict().items()})
        return dict(sums)


def _left_out(groups: DataFrame, is_left_out: Column) -> dict[str, Column]:
    """Return by the name of the count whether the rows of a census group are left out for its reason."""
    if "left_out" not in groups.columns:
        return {LeftOut.FILTERED.value: is_left_out}
    reason = F.coalesce("left_out", F.lit(LeftOut.FILTERED.value))
    return {why.value: is_left_out & (reason == why.value) for why in LeftOut}


def refuse_wrong_unit(prepared: DataFrame, pipeline: Pipeline, implausible: int, timed: int) -> None:
    """Raise InputError if most event times of `prepared` are impossible: `implausible` of `timed`."""
    if implausible * 2 <= timed:
        return
    field = pipeline.source.event_time
    example = prepared.where(F.col(c.REASON).isin(*IMPLAUSIBLE)).select(c.EVENT_US).head()
    year = 1970 + (example[0] if example else 0) / (365.2425 * 86_400e6)
    raise InputError(
        (f"source.event_time: read '{field.expression}'" if field.expression else "sources: read their event times")
        + (f" in {field.unit.value}" if field.unit else "")
        + f", found {implausible:,} of {timed:,} event times in the future of their arrival or beyond any calendar "
        f"(the first in the year {year:,.0f}). The unit is probably finer than declared: "
        "give source.event_time as {column, unit: s|ms|us|ns}",
        code=ErrorCode.TIMES_UNUSABLE,
    )
