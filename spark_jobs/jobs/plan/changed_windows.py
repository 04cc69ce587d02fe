"""Changed windows: the windows that a run over changes of the source computes, found out before the run begins.

The replay that the published results come from and the new one are compared (`compared_replays`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from spark_jobs.jobs.plan.changed_rows import changed_rows
from spark_jobs.jobs.plan.compared_replays import ComparedReplays, census_bytes
from spark_jobs.pipeline.model import Pipeline
from spark_jobs.replay.rows import timestamps
from spark_jobs.semantics.rows.instants import EPOCH
from spark_jobs.session import interpreting_few
from spark_jobs.tables import unreadable_files
from spark_jobs.tables.changed_files import UnknownChangesError
from spark_jobs.tables.errors import SourceError
from spark_jobs.tables.interval import Interval, joined
from spark_jobs.tables.lake import Lake
from spark_jobs.tables.run import Run
from spark_jobs.tables.run_pipeline import pipeline_for_run

#: The counts of a run over changes.
COUNTS = ("changed_rows", "changed_invalid", "affected_windows")
#: An interval without windows.
NOTHING = Interval(EPOCH, EPOCH)


@dataclass(frozen=True)
class ChangedWindows:
    """The windows of a run over changes.

    `counts` are those of its step `plan` (`COUNTS`): `changed_rows` that were added or taken away, `changed_invalid`
    among them, and `affected_windows`.
    """

    interval: Interval
    counts: Mapping[str, int]

    def in_words(self) -> str:
        """Return the counts in words."""
        return in_words(self.counts)


def in_words(counts: Mapping[str, int]) -> str:
    """Return the counts of a run over changes in words."""
    return f"rows added or taken away: {counts['changed_rows']:,}; windows affected: {counts['affected_windows']:,}"


def changed_windows(
    spark: SparkSession,
    pipeline: Pipeline,
    lake: Lake,
    base: Run,
    run: Run,
    other_parts: Sequence[Interval] = (),
    *,
    keeps: bool,
) -> ChangedWindows:
    """Return the windows whose results may differ between `base` and `run`, which is planned and has no interval yet.

    The windows of `other_parts` are among them. With `keeps`, intermediates are kept in the lake for the run. Raises
    UnknownChangesError if the changes cannot be found out.
    """
    with _unknown_if_unreadable(spark, pipeline, base):
        return _changed_windows(spark, pipeline_for_run(pipeline, run), lake, base, run, other_parts, keeps)


def count_changed_rows(spark: SparkSession, pipeline: Pipeline, since: Run, run: Run) -> int:
    """Return the number of rows by which the inputs of two runs differ. Raises UnknownChangesError."""
    with _unknown_if_unreadable(spark, pipeline, since):
        return changed_rows(spark, pipeline_for_run(pipeline, run), since, run).count


@contextmanager
def _unknown_if_unreadable(spark: SparkSession, pipeline: Pipeline, base: Run) -> Iterator[None]:
    """Raise UnknownChangesError if a version, or a file of the version that `base` has read, is gone."""
    try:
        yield
    except SourceError as problem:
        raise UnknownChangesError(str(problem)) from problem
    except (PySparkException, Py4JError) as problem:
        if unreadable_files.deletion(spark, pipeline, base.pinned, problem) is None:
            raise
        raise UnknownChangesError("files of the version that was read before are deleted") from problem


def _changed_windows(
    spark: SparkSession,
    pipeline: Pipeline,
    lake: Lake,
    base: Run,
    run: Run,
    other_parts: Sequence[Interval],
    keeps: bool,  # noqa: FBT001  as in `changed_windows`
) -> ChangedWindows:
    rows = changed_rows(spark, pipeline, base, run)
    affected, interval = 0, joined(other_parts) or NOTHING
    if rows.count or base.arrived_to != run.arrived_to:
        with interpreting_few(spark, rows.count, census_bytes(spark, lake, base)):
            compared = ComparedReplays(spark, pipeline, lake, base, run, rows.prepared, keeps=keeps)
            affected, stretches = compared.affected()
            changed = (Interval(timestamps.moment(start), timestamps.moment(end)) for start, end in stretches)
            interval = joined([*other_parts, *changed]) or NOTHING
            if keeps:
                compared.keep(interval)
    counts = dict(zip(COUNTS, (rows.count, rows.invalid, affected), strict=True))
    return ChangedWindows(interval, counts)
