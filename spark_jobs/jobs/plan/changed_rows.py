"""Changed rows: the rows that a run reads and an earlier run did not, and the rows that it no longer reads.

With R(v, a) the rows of the sources at versions `v` that arrived before `a`, and D the changes between the versions,

    R(v1, a1) - R(v0, a0) = rows of R(v1, a1) that arrived at a0 or later + D, as far as it arrived before a0

as bags. So only changed files are read, and the files of new arrivals. Rows that were only copied into other files, or
differ in columns that the pipeline does not use, are no changes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import reduce

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from spark_jobs.jobs.plan import arrival_slices
from spark_jobs.jobs.plan.row_difference import row_difference
from spark_jobs.pipeline.model import Pipeline
from spark_jobs.replay.rows import columns as c
from spark_jobs.replay.rows import left_out
from spark_jobs.replay.rows.computed_columns import with_computed
from spark_jobs.replay.rows.prepare import narrowed, prepare, source_columns
from spark_jobs.replay.watermark.changed_census import CHANGE
from spark_jobs.session import interpreting_few
from spark_jobs.tables import changed_files, source
from spark_jobs.tables.changed_files import ChangedFiles, UnknownChangesError
from spark_jobs.tables.data_files import read_bytes
from spark_jobs.tables.run import Run
from spark_jobs.tables.source_tables import tables_of

# Rows with fewer bytes in their files are rare.
_BYTES_A_ROW = 16


@dataclass(frozen=True)
class ChangedRows:
    """The changed rows of all sources together.

    `prepared` has each changed row once, with `CHANGE`. `count` counts it as often as it was added or taken away;
    `invalid` counts the rows among them that `invalid_events` contains.
    """

    prepared: DataFrame
    count: int
    invalid: int


def changed_rows(spark: SparkSession, pipeline: Pipeline, base: Run, run: Run) -> ChangedRows:
    """Return the rows by which the input of `run` differs from that of `base`.

    `pipeline` is the pipeline as both runs take it. Raises UnknownChangesError, SourceError if a version can no longer
    be read, and Spark's errors for files that are deleted.
    """
    files = {
        name: _files(spark, table, base.pinned[name], run.pinned[name]) for name, table in tables_of(pipeline).items()
    }
    added = [_of_files(spark, pipeline, files, base, run, are_added=True)]
    if base.arrived_to != run.arrived_to:
        added.append(_arrivals(spark, pipeline, base, run))
    removed = [_of_files(spark, pipeline, files, base, run, are_added=False)]
    signed = [
        _compared(rows, pipeline).withColumn(CHANGE, F.lit(sign))
        for sign, frames in ((1, added), (-1, removed))
        for rows in frames
    ]
    every = reduce(DataFrame.unionByName, signed)
    own = {*source_columns(every), *([c.SOURCE] if c.SOURCE in every.columns else [])}
    size = read_bytes(every)
    # All rows of the files are compared.
    with interpreting_few(spark, size // _BYTES_A_ROW, size):
        changed = row_difference(every, own)
        changed = (changed if pipeline.sources else prepare(changed, pipeline)).localCheckpoint()
        weight = F.abs(F.col(CHANGE))
        is_invalid = left_out.reason(pipeline).isNotNull()
        sums = {"count": weight, "invalid": F.when(is_invalid, weight)}
        row = changed.agg(*(F.coalesce(F.sum(n), F.lit(0)).alias(name) for name, n in sums.items())).collect()[0]
    return ChangedRows(changed, int(row["count"]), int(row["invalid"]))


def _files(spark: SparkSession, table: str, since: int, until: int) -> ChangedFiles:
    """Return the changed files of a source. Raises UnknownChangesError and SourceError."""
    if source.read(spark, table, since).schema != source.read(spark, table, until).schema:
        raise UnknownChangesError(changed_files.other_columns(table, since))
    changed = changed_files.changed_files(spark, table, since, until)
    if changed is None:
        raise UnknownChangesError(arrival_slices.log_is_gone(since, until))
    return changed


def _of_files(
    spark: SparkSession, pipeline: Pipeline, files: Mapping[str, ChangedFiles], base: Run, run: Run, *, are_added: bool
) -> DataFrame:
    """Return the rows of added or removed files that arrived in time for `base`."""

    def read_changed(name: str, table: str) -> DataFrame:
        return changed_files.rows_of(spark, table, files[name], run.pinned[name], are_added=are_added)

    return arrival_slices.arrived(source.events_by(pipeline, read_changed), pipeline, base)


def _arrivals(spark: SparkSession, pipeline: Pipeline, base: Run, run: Run) -> DataFrame:
    """Return the rows that arrived after the end of `base`, in time for `run`."""
    if base.arrived_to is None:
        raise UnknownChangesError("the published results are of all arrivals")
    rows = arrival_slices.arrived(source.events(spark, pipeline, run.pinned), pipeline, run)
    return arrival_slices.arrived_from(rows, pipeline, base.arrived_to)


def _compared(rows: DataFrame, pipeline: Pipeline) -> DataFrame:
    """Return the rows as far as the pipeline reads them; those of several sources are prepared one by one."""
    return prepare(rows, pipeline) if pipeline.sources else narrowed(with_computed(rows, pipeline.source), pipeline)
