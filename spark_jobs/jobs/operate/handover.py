"""The handover to a live job: the end of the published results, and the rows that a job has to read to continue.

    backfill   owns the windows before the oldest open window, and the late and invalid rows that arrived before A
    live       owns all later windows, also published ones, and the rows that arrive at A or later

A is the moment until which arrivals are covered. `continuation.handover` computes the rows that a live job reads again.
If they cannot be computed exactly, the handover has only A and the source's versions, with the reason.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from spark_jobs.error_codes import ErrorCode
from spark_jobs.jobs.errors import InputError
from spark_jobs.jobs.operate.handover_file import Handover, Versions
from spark_jobs.jobs.plan import arrival_slices
from spark_jobs.pipeline.model import Pipeline
from spark_jobs.pipeline.settings import differences
from spark_jobs.replay.continuation import resume
from spark_jobs.replay.continuation.handover import LiveStart, live_start, state_from_ms
from spark_jobs.replay.rows import columns as c
from spark_jobs.replay.rows.prepare import prepare
from spark_jobs.semantics.rows.instants import EPOCH
from spark_jobs.tables import ledger, source
from spark_jobs.tables.effective_runs import effective_runs
from spark_jobs.tables.errors import SourceError
from spark_jobs.tables.lake import Lake
from spark_jobs.tables.ledger import Run
from spark_jobs.tables.published import read_published


def handover(spark: SparkSession, pipeline: Pipeline, lake: Lake) -> Handover:
    """Return the handover to a live job. Raises InputError if no published results can be continued."""
    standing = effective_runs(ledger.published(spark, lake))
    latest, whole = standing.latest, standing.base
    if latest is None or whole is None:
        raise InputError(
            f"handover: nothing is published in {lake.home}. Replay the pipeline first",
            code=ErrorCode.NOT_ENOUGH_PUBLISHED,
        )
    if latest.fingerprint != pipeline.fingerprint:
        raise InputError(
            f"handover: run {latest.run_id} has published results of other settings "
            f"({differences(latest.settings, latest.fingerprint, pipeline)}). Replay the pipeline first",
            code=ErrorCode.OTHER_RESULTS_PUBLISHED,
        )
    if latest.arrived_to is None and pipeline.replay.closes:
        raise InputError(
            f"handover: run {latest.run_id} has closed all windows at the end of its input, also windows with rows "
            "still to come. Replay with --arrived-to",
            code=ErrorCode.WINDOWS_STILL_OPEN,
        )
    try:
        return _Handing(spark, pipeline, lake, whole, latest).over()
    except SourceError as problem:
        raise InputError(f"handover: {problem}", code=problem.code) from problem


class _Handing:
    """`read` is the last run over all of time, `latest` the run published last."""

    def __init__(self, spark: SparkSession, pipeline: Pipeline, lake: Lake, read: Run, latest: Run) -> None:
        self._spark, self._pipeline, self._lake = spark, pipeline, lake
        self._read, self._latest = read, latest

    def over(self) -> Handover:
        reason = resume.obstacle(self._pipeline)
        if reason is not None:
            return self._inexact(f"the open windows are not known with {reason}")
        if self._pipeline.deduplicates:
            return self._inexact("source.deduplicate needs the rows of all of time: a later row may repeat any of them")
        if self._latest.arrived_to is None:
            return self._inexact("the run has read all rows, and has no moment to end at: replay with --arrived-to")
        return self._exact(self._latest.arrived_to)

    def _inexact(self, reason: str) -> Handover:
        """Return a handover with the source's versions and A alone: open windows need all rows from the beginning."""
        versions = {name: Versions(version, version + 1, None) for name, version in self._read.pinned.items()}
        offsets = self._offsets() if self._pipeline.replay.in_rounds else {}
        return Handover(
            self._pipeline.name,
            self._latest.run_id,
            exact=False,
            reason=reason,
            covered_until=self._latest.arrived_to,
            versions=versions,
            broker_offsets=offsets,
        )

    def _exact(self, covered: datetime) -> Handover:
        covered_us = (covered - EPOCH) // timedelta(microseconds=1)
        kept_emissions = read_published(self._spark, self._lake, "advances", run_id=self._latest.run_id)
        resumed = resume.resumption(kept_emissions, covered_us, self._pipeline)
        if resumed is None:
            start = LiveStart(0, None, (), None, ())
        else:
            # A row that closes the previous window may lie in the gap between two windows.
            wider = replace(resumed, oldest_ms=state_from_ms(resumed.oldest_ms, self._pipeline))
            arrived = arrival_slices.read(self._spark, self._pipeline, replace(self._read, arrived_to=covered))
            rows = arrival_slices.mattering(arrived, self._pipeline, wider)
            start = live_start(prepare(rows, self._pipeline), kept_emissions, resumed, self._pipeline)
        oldest = None if resumed is None else _at_ms(resumed.oldest_ms)
        read_from = None if start.read_from_us is None else EPOCH + timedelta(microseconds=start.read_from_us)
        waiting, fired = self._windows(oldest)
        return Handover(
            pipeline=self._pipeline.name,
            run_id=self._latest.run_id,
            exact=True,
            reason=None,
            covered_until=covered,
            versions=self._versions(read_from),
            watermark=_at_ms(start.watermark_ms),
            partition_watermarks={name: _at_ms(reached) for name, reached in start.partitions},
            live_from_window=oldest,
            open_windows=waiting,
            fired_windows=fired,
            state_from_event_time=None if resumed is None else _at_ms(start.state_from_ms),
            read_from_arrival=read_from,
            partitions_to_wait_for=start.partitions_before,
        )

    def _versions(self, read_from: datetime | None) -> dict[str, Versions]:
        table, version = self._pipeline.source.table, self._read.source_version
        starting: int | None = 0
        if read_from is not None:
            rows = source.read(self._spark, table, version)
            starting = source.first_version_with(
                self._spark, table, version, arrival_slices.arrived_from(rows, self._pipeline, read_from)
            )
        return {"": Versions(version, version + 1, starting)}

    def _windows(self, oldest: datetime | None) -> tuple[int, int]:
        """Return the numbers of open windows that have not fired, and that have fired."""
        calendar = read_published(self._spark, self._lake, "watermarks", run_id=self._latest.run_id)
        inside = calendar if oldest is None else calendar.where(F.col("window_start") >= F.lit(oldest))
        fired = F.col("fires_at").isNotNull()
        row = inside.agg(F.count_if(~fired).alias("waiting"), F.count_if(fired).alias("fired")).collect()[0]
        return row.waiting, row.fired

    def _offsets(self) -> dict[str, int]:
        """Return the next broker offset of each partition, after the last offset read."""
        rows = prepare(source.events(self._spark, self._pipeline, self._read.pinned), self._pipeline)
        read = rows.where(F.col(c.OFFSET).isNotNull()).groupBy(c.PARTITION).agg(F.max(c.OFFSET).alias("last"))
        return {row[c.PARTITION]: row.last + 1 for row in read.orderBy(c.PARTITION).collect()}


def _at_ms(ms: int | None) -> datetime | None:
    return None if ms is None else EPOCH + timedelta(milliseconds=ms)
