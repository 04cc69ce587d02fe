"""Complete results staged: a slice's, once its faithful results are staged, beside which they are told."""

from __future__ import annotations

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from spark_jobs.jobs.stage.slices import Slice
from spark_jobs.pipeline.model import Pipeline
from spark_jobs.pipeline.published_tables import COMPLETE_TABLE
from spark_jobs.replay.panes import complete_results, pane_contents
from spark_jobs.replay.rows import columns as c
from spark_jobs.replay.rows.prepare import source_columns
from spark_jobs.tables import staging
from spark_jobs.tables.lake import Lake
from spark_jobs.tables.staging import Keep, Part, Stage


class CompleteStaging:
    """Stages the complete results of one run's slices; `book` is its stored calendar."""

    def __init__(self, pipeline: Pipeline, book: DataFrame, keep: Keep, stage: Stage, part: Part) -> None:
        self._pipeline, self._book = pipeline, book
        self._keep, self._stage, self._part = keep, stage, part

    def write(self, part: Slice, rows: DataFrame, late: DataFrame, fired: DataFrame | None) -> None:
        """Stage the slice's.

        `rows` are the prepared rows that fill its windows, `late` its stored late rows, `fired` its panes where they
        have not been staged as those on time and late ones.
        """
        results = self._part("window_results", part.name)
        if complete_results.results_lack_only_dropped_rows(source_columns(rows), self._pipeline):
            owned = complete_results.dropping(late, self._pipeline).where(part.holds(F.col(c.WINDOW_MS)))
            dropping = self._keep(owned, f"dropping/{part.name}")
            found = complete_results.of_dropping(rows, dropping, results, self._book, self._pipeline)
        else:
            panes = self._panes(part, fired) if pane_contents.discards(self._pipeline) else None
            found = complete_results.of_all(rows, results, panes, self._book, self._pipeline)
        self._stage(found.where(part.holds(F.unix_millis("window_start"))), COMPLETE_TABLE, part.name)

    def _panes(self, part: Slice, fired: DataFrame | None) -> DataFrame:
        if fired is not None:
            return fired
        on_time, late = (self._part("panes", f"{part.name}/{timing}") for timing in ("on-time", "late"))
        return on_time.unionByName(late, allowMissingColumns=True)


def cost(spark: SparkSession, lake: Lake, run_id: str) -> dict[str, int]:
    """What the watermark has cost: the windows, how many lack rows or are not shown at all, the rows that they lack."""
    row = complete_results.totals(staging.read_staged(spark, lake, run_id, COMPLETE_TABLE)).collect()[0]
    return {
        "complete_windows": row.windows,
        "windows_missing_rows": row.lacking,
        "windows_not_shown": row.not_shown,
        "missed_rows": row.missed,
    }
