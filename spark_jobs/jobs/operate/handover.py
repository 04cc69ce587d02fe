"""Handing over to a live job: where what is published ends, and what a job has to read to go on from there.

    backfill   owns the windows before the oldest that is open, and the late and invalid rows that arrived before A
    live       owns the windows from that one on, whatever of them is published, and the rows that arrive at A or later

A is the moment until which arrivals are covered. What a live job has to read again for it is the `seam`; what cannot be
told to the row is told from A and the source's versions alone, with the reason.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime, timedelta

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from spark_jobs.jobs.errors import InputError
from spark_jobs.jobs.plan import arrival_slices
from spark_jobs.pipeline.model import Pipeline
from spark_jobs.replay.continuation import resume
from spark_jobs.replay.continuation.handover import LiveStart, live_start, state_from_ms
from spark_jobs.replay.rows import columns as c
from spark_jobs.replay.rows.prepare import prepare
from spark_jobs.tables import ledger, source
from spark_jobs.tables.effective_runs import standing_of
from spark_jobs.tables.errors import SourceError
from spark_jobs.tables.lake import Lake
from spark_jobs.tables.ledger import Run
from spark_jobs.tables.published import read_published

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class Versions:
    """A source's version that was read, the one after it, and the first that brought a row to be read again.

    None for the last: its log no longer tells, so that the table is to be read from its beginning.
    """

    read: int
    next: int
    starting: int | None


@dataclass(frozen=True)
class Handover:
    """Where a live job takes over from the run published last. Moments are aware, UTC.

    `covered_until` is A, exclusive; None: all rows of the source's version. `versions` tells for each source by name
    (one alone has none) from which version on to read. If `exact`, also: `live_from_window`, the start of the oldest
    open window (None: no window is closed, all are the live job's); `open_windows` that have not fired and
    `fired_windows` that have and still take late rows; `state_from_event_time`, the least event time of a row that
    matters; `read_from_arrival`, from which on all rows are to be read again (None: from the first);
    `partitions_to_wait_for`, which hold the watermark at MIN until they speak; the watermarks at A (null: MIN).
    `broker_offsets` are the next of each partition, where the pipeline declares offsets.
    """

    pipeline: str
    run_id: str
    exact: bool
    reason: str | None
    covered_until: datetime | None
    versions: Mapping[str, Versions]
    watermark: datetime | None = None
    partition_watermarks: Mapping[str, datetime | None] = field(default_factory=dict)
    live_from_window: datetime | None = None
    open_windows: int | None = None
    fired_windows: int | None = None
    state_from_event_time: datetime | None = None
    read_from_arrival: datetime | None = None
    partitions_to_wait_for: Sequence[str] = ()
    broker_offsets: Mapping[str, int] = field(default_factory=dict)

    def as_json(self) -> dict[str, object]:
        """Return one object; moments are ISO 8601."""
        told = asdict(self)
        iso = {name: value.isoformat() for name, value in told.items() if isinstance(value, datetime)}
        reached = {p: None if w is None else w.isoformat() for p, w in self.partition_watermarks.items()}
        return {**told, **iso, "partition_watermarks": reached}


def handover(spark: SparkSession, pipeline: Pipeline, lake: Lake) -> Handover:
    """Tell where a live job takes over. Raises InputError where nothing is published that one could go on from."""
    standing = standing_of(ledger.published(spark, lake))
    shown, whole = standing.shown, standing.whole
    if shown is None or whole is None:
        raise InputError(f"handover: asked where {lake.home} ends, found nothing published")
    if shown.fingerprint != pipeline.fingerprint:
        raise InputError(
            f"handover: asked for {pipeline.name} as it is now (fingerprint {pipeline.fingerprint}), found what is "
            f"published to be of other settings ({shown.fingerprint}, run {shown.run_id}): replay it first"
        )
    if shown.arrived_to is None and pipeline.replay.closes:
        raise InputError(
            f"handover: found that run {shown.run_id} has closed all windows at the end of its input, also those that "
            "rows are still to come for: replay with --arrived-to"
        )
    try:
        return _Handing(spark, pipeline, lake, whole, shown).over()
    except SourceError as problem:
        raise InputError(f"handover: {problem}") from problem


def write(lake: Lake, found: Handover) -> str:
    """Write it to the lake as `handover.json`, whole or not at all; gives the file's name."""
    path = lake.handover_file
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f".{path.name}.{os.getpid()}")
    partial.write_text(json.dumps(found.as_json(), indent=1) + "\n", encoding="utf-8")
    partial.replace(path)
    return str(path)


class _Handing:
    """`read` is the run that has read what had arrived, `shown` that whose results are published."""

    def __init__(self, spark: SparkSession, pipeline: Pipeline, lake: Lake, read: Run, shown: Run) -> None:
        self._spark, self._pipeline, self._lake = spark, pipeline, lake
        self._read, self._shown = read, shown

    def over(self) -> Handover:
        reason = resume.obstacle(self._pipeline)
        if reason is not None:
            return self._inexact(f"what is open is not known with {reason}")
        if self._shown.arrived_to is None:
            return self._inexact("the run has read all rows, and has no moment to end at: replay with --arrived-to")
        return self._exact(self._shown.arrived_to)

    def _inexact(self, reason: str) -> Handover:
        """What the source's versions and the moment tell alone: what is open has to be read from the beginning."""
        versions = {name: Versions(version, version + 1, None) for name, version in self._read.pinned.items()}
        offsets = self._offsets() if self._pipeline.replay.in_rounds else {}
        return Handover(
            self._pipeline.name,
            self._shown.run_id,
            exact=False,
            reason=reason,
            covered_until=self._shown.arrived_to,
            versions=versions,
            broker_offsets=offsets,
        )

    def _exact(self, covered: datetime) -> Handover:
        covered_us = (covered - _EPOCH) // timedelta(microseconds=1)
        kept = read_published(self._spark, self._lake, "advances", run_id=self._shown.run_id)
        resumed = resume.resumption(kept, covered_us, self._pipeline)
        if resumed is None:
            found = LiveStart(0, None, (), None, ())
        else:
            # A row that closes the window before may lie in the gap between two windows.
            wider = replace(resumed, oldest_ms=state_from_ms(resumed.oldest_ms, self._pipeline))
            rows = arrival_slices.read(self._spark, self._pipeline, replace(self._read, arrived_to=covered), wider)
            found = live_start(prepare(rows, self._pipeline), kept, resumed, self._pipeline)
        oldest = None if resumed is None else _at_ms(resumed.oldest_ms)
        read_from = None if found.read_from_us is None else _EPOCH + timedelta(microseconds=found.read_from_us)
        waiting, fired = self._windows(oldest)
        return Handover(
            pipeline=self._pipeline.name,
            run_id=self._shown.run_id,
            exact=True,
            reason=None,
            covered_until=covered,
            versions=self._versions(read_from),
            watermark=_at_ms(found.watermark_ms),
            partition_watermarks={name: _at_ms(reached) for name, reached in found.partitions},
            live_from_window=oldest,
            open_windows=waiting,
            fired_windows=fired,
            state_from_event_time=None if resumed is None else _at_ms(found.state_from_ms),
            read_from_arrival=read_from,
            partitions_to_wait_for=found.partitions_before,
        )

    def _versions(self, read_from: datetime | None) -> dict[str, Versions]:
        table, version = self._pipeline.source.table, self._read.source_version
        starting: int | None = 0
        if read_from is not None:
            rows = source.read(self._spark, table, version)
            starting = source.first_to_bring(
                self._spark, table, version, arrival_slices.arrived_from(rows, self._pipeline, read_from)
            )
        return {"": Versions(version, version + 1, starting)}

    def _windows(self, oldest: datetime | None) -> tuple[int, int]:
        """How many open windows have not fired, and how many have."""
        told = read_published(self._spark, self._lake, "watermarks", run_id=self._shown.run_id)
        inside = told if oldest is None else told.where(F.col("window_start") >= F.lit(oldest))
        fired = F.col("fires_at").isNotNull()
        row = inside.agg(F.count_if(~fired).alias("waiting"), F.count_if(fired).alias("fired")).collect()[0]
        return row.waiting, row.fired

    def _offsets(self) -> dict[str, int]:
        """The next broker offset of each partition, behind the last that has been read."""
        rows = prepare(source.events(self._spark, self._pipeline, self._read.pinned), self._pipeline)
        read = rows.where(F.col(c.OFFSET).isNotNull()).groupBy(c.PARTITION).agg(F.max(c.OFFSET).alias("last"))
        return {row[c.PARTITION]: row.last + 1 for row in read.orderBy(c.PARTITION).collect()}


def _at_ms(ms: int | None) -> datetime | None:
    return None if ms is None else _EPOCH + timedelta(milliseconds=ms)
