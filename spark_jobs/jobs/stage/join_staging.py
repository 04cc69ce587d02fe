"""A join staged: the pairs, late events and invalid events of a run with two inputs, written in one piece.

A pair belongs to the part of time that holds its event time, the greater of its rows' or the first row's, or by window
its window; a late row to the part that holds its own, or where it lies between two windows itself. So each belongs to
exactly one of any intervals next to each other. `pairs` has a struct for each input, under the input's name; in the
other tables the column `source` has that name.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import cached_property

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from spark_jobs.job_protocol import StepName
from spark_jobs.jobs.plan.arrival_slices import arrived_inputs
from spark_jobs.jobs.plan.result_tables import rows_of_inputs
from spark_jobs.jobs.progress import Progress
from spark_jobs.jobs.stage import join_row_counts
from spark_jobs.jobs.stage.lake_store import LakeStore
from spark_jobs.pipeline.joining import bounds, joining
from spark_jobs.pipeline.model import Join, LateData, Pipeline, Windows
from spark_jobs.replay.joins.as_of_join import AsOfJoined, as_of_join
from spark_jobs.replay.joins.inputs import inputs
from spark_jobs.replay.joins.interval_join import IntervalJoined, interval_join
from spark_jobs.replay.joins.window_join import WindowJoined, window_join
from spark_jobs.replay.rows import columns as c
from spark_jobs.session import shuffling
from spark_jobs.tables import source, staging
from spark_jobs.tables.interval_condition import holds
from spark_jobs.tables.lake import Lake
from spark_jobs.tables.ledger import Run


class JoinStaging:
    """Stages the pairs, late events and invalid events of one run of a pipeline with a join."""

    def __init__(self, spark: SparkSession, pipeline: Pipeline, lake: Lake, run: Run, progress: Progress) -> None:
        if pipeline.join is None:
            raise ValueError(f"{pipeline.name}: cannot stage a join: the pipeline has none")
        self._spark, self._pipeline, self._lake, self._run = spark, pipeline, lake, run
        self._progress = progress
        self._join: Join = pipeline.join
        self._interval = run.interval
        self._joining = joining(pipeline)
        self._store = LakeStore(spark, lake, run.run_id)
        self._left, self._right = arrived_inputs(*source.inputs(spark, pipeline, run.pinned), pipeline, run)

    def write(self) -> dict[str, int]:
        """Stage everything; returns the run's counts.

        Raises InputError when most event times of an input are impossible, which means a wrong unit and not bad rows.
        """
        pinned = ", ".join(map(str, self._run.pinned.values()))
        self._progress(StepName.REPLAY, f"counting version {pinned} of {self._pipeline.source.table}")
        read = self._read()
        rows = sum(counts["rows_read"] for counts in read)
        # The number of pairs is unknown. It is seldom less than that of the rows.
        self._store.expect(rows)
        invalid = sum(counts["invalid"] for counts in read)
        self._progress(StepName.REPLAY, f"{rows:,} rows, {invalid:,} of them without a usable time")
        with shuffling(self._spark, rows):
            late, joined = self._late, self._joined
            dropped = self._store.keep("too_late", lambda: late) if self._drops else None
            without_time = rows_of_inputs(joined.invalid_left, joined.invalid_right, self._join.names)
            with ThreadPoolExecutor(max_workers=3) as pool:
                beside = [
                    pool.submit(self._stage, self._pairs, "pairs"),
                    pool.submit(self._stage, late.limit(0) if self._drops else late, "late_events"),
                    pool.submit(self._stage, without_time if invalid else without_time.limit(0), "invalid_events"),
                ]
                accepted_counts = join_row_counts.count_accepted(joined.accepted_rows, self._interval)
                for future in beside:
                    future.result()
        self._progress(StepName.REPLAY, "pairs staged")
        late_events = self._staged_late_events() if dropped is None else dropped
        too_late = join_row_counts.too_late(late_events, self._join.names)
        # The sessions decide which rows belong to a part of time.
        by_fate = self._pipeline.windows.is_session and not self._interval.whole
        fates = zip(read, accepted_counts, too_late, strict=True)
        by_input = [join_row_counts.accounted(*counts, by_fate=by_fate) for counts in fates]
        counts = join_row_counts.together(by_input, self._join.names)
        return {**counts, "pairs": staging.row_count(self._lake, self._run.run_id, "pairs")}

    def _staged_late_events(self) -> DataFrame:
        return staging.read_staged(self._spark, self._lake, self._run.run_id, "late_events")

    def _read(self) -> list[join_row_counts.Counts]:
        grid = self._pipeline.windows if self._join.by_window else Windows(size_ms=1)
        join_inputs = inputs(self._left, self._right, self._joining, grid)
        return join_row_counts.read(join_inputs.prepared, join_inputs.pipelines, self._interval, c.WINDOW_MS)

    @cached_property
    def _joined(self) -> IntervalJoined | AsOfJoined | WindowJoined:
        if self._join.as_of is not None:
            return as_of_join(
                self._left,
                self._right,
                self._joining,
                self._join.as_of,
                self._store,
                until=self._run.arrived_to,
            )
        if self._join.by_interval:
            return interval_join(self._left, self._right, self._joining, bounds(self._pipeline), self._store)
        # Dropped rows are counted by source, so they must be computed.
        late_data = LateData.SIDE_OUTPUT if self._drops else self._pipeline.windows.late_data
        windows = replace(self._pipeline.windows, late_data=late_data)
        return window_join(self._left, self._right, self._joining, windows, until=self._run.arrived_to)

    @property
    def _drops(self) -> bool:
        return self._pipeline.windows.drops_late

    @property
    def _pairs(self) -> DataFrame:
        named = dict(zip(("left", "right"), self._join.names, strict=True))
        pairs = self._joined.pairs
        return self._inside(pairs, "window_start").select(
            *(F.col(f"`{name}`").alias(named.get(name, name)) for name in pairs.columns)
        )

    @cached_property
    def _late(self) -> DataFrame:
        return self._inside(
            rows_of_inputs(self._joined.late_left, self._joined.late_right, self._join.names),
            "window_start",
            "event_time",
        )

    def _inside(self, rows: DataFrame, *at: str) -> DataFrame:
        """The rows that belong to the part of time by the first of these columns that is not null."""
        moment = at if self._join.by_window else ("event_time",)
        return rows.where(holds(self._interval, f"coalesce({', '.join(moment)})"))

    def _stage(self, rows: DataFrame, table: str) -> None:
        self._store.write(table, "all", rows)
