"""Source changes: the changes of a source since the results next to a part of time, and changes that are refused.

A part of time is replayed on the newest version, so its results are next to results of an earlier version. That is the
purpose after a correction of rows. So only columns of other types are refused; other changes are reported.
"""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import SparkSession
from pyspark.sql import types as T

from spark_jobs.error_codes import ErrorCode
from spark_jobs.jobs.errors import InputError
from spark_jobs.jobs.plan.plan_tables import PlanTables
from spark_jobs.pipeline.model import Pipeline
from spark_jobs.pipeline.published_tables import LATE_EVENTS, When, conditions_of
from spark_jobs.semantics.rows.carried_columns import carried_names
from spark_jobs.tables import columns, source
from spark_jobs.tables.lake import Lake
from spark_jobs.tables.ledger import Run
from spark_jobs.tables.published import read_as_of
from spark_jobs.tables.source_tables import tables_of

# The columns of `late_events` that rows of an interval join or as-of join do not have.
_OF_WINDOWS = ("window_start", "window_end")


def note(tables: PlanTables, whole: Run | None, versions: Mapping[str, int]) -> str:
    """Return the changes of the sources since `whole`, the last run over all of time; "" without a change."""
    if whole is None:
        return ""
    notes = []
    for name, table in tables_of(tables.pipeline).items():
        since = whole.pinned.get(name)
        if since is None or since == versions[name]:
            continue
        changed = tables.row_changes(table, since, versions[name])
        if changed is None:
            changes = "the changed files are no longer known"
        elif not (changed.added or changed.removed):
            continue
        else:
            added = sum(map(len, changed.added.values()))
            changes = f"{added} files were added and {changed.removed} removed or rewritten"
        notes.append(f"results around this part are of version {since} of {table}; since then {changes}")
    return "; ".join(notes)


def made_anew(pipeline: Pipeline, since: Run | None, ids: Mapping[str, str]) -> list[str]:
    """Return the source tables that were deleted and made anew since the run; none if its ids are not recorded."""
    before = {} if since is None else since.source_ids
    return [table for name, table in tables_of(pipeline).items() if before.get(name, ids[name]) != ids[name]]


def require_same_tables(pipeline: Pipeline, whole: Run | None, ids: Mapping[str, str]) -> None:
    """Raise InputError if a source is another table than that of `whole`, the run with the results around a part."""
    if whole is not None and (anew := made_anew(pipeline, whole, ids)):
        raise InputError(
            f"--from and --to: {', '.join(anew)} was deleted and made anew since run {whole.run_id}, whose results are "
            "around this part. Run without --from and --to, or give --restate to have both side by side",
            code=ErrorCode.TABLE_MADE_ANEW,
        )


def require_planned_tables(spark: SparkSession, pipeline: Pipeline, run: Run) -> None:
    """Raise InputError if a source is another table than the one that the run was planned with."""
    if run.source_ids and (anew := made_anew(pipeline, run, source.table_ids(spark, pipeline, run.pinned))):
        raise InputError(
            f"source.table: {', '.join(anew)} was deleted and made anew since run {run.run_id} was planned. Run the "
            "same command again: it plans a run of the new table",
            code=ErrorCode.TABLE_MADE_ANEW,
        )


def require_types(
    spark: SparkSession, pipeline: Pipeline, lake: Lake, latest: Run, versions: Mapping[str, int]
) -> None:
    """Raise InputError if a source's column has another type than in the tables that `latest` has published.

    Costs no Spark job.
    """
    if "late_events" in latest.versions:
        published = read_as_of(spark, lake, latest, "late_events").schema
        tables = tables_of(pipeline)
        schemas = {name: source.read(spark, table, versions[name]).schema for name, table in tables.items()}
        require_same_types(pipeline, published, schemas, versions)


def require_same_types(
    pipeline: Pipeline, published: T.StructType, schemas: Mapping[str, T.StructType], versions: Mapping[str, int]
) -> None:
    """Raise InputError if a column of `schemas`, the sources' by name, has another type in `published`, late rows."""
    names, added = {name.lower() for name in published.names}, _added(pipeline)
    for name, table in tables_of(pipeline).items():
        columns_of_source = T.StructType(_as_published(schemas[name], names, added))
        clashes = columns.clashes(published, columns_of_source)
        if clashes:
            raise InputError(
                f"--from and --to: columns of {table} have another type in version {versions[name]} than in the "
                f"results around this part: {'; '.join(map(str, clashes))}. Replay without --from and --to, or read "
                "the table through a view that casts",
                code=ErrorCode.TYPES_CHANGED,
            )


def _added(pipeline: Pipeline) -> tuple[str, ...]:
    """Return the columns that `late_events` adds to those of the sources.

    It has a source's column of such a name under another name, or as that time.
    """
    join = pipeline.join
    conditions = {When.ALWAYS} if join is None else conditions_of(join)
    unused = () if join is None or join.by_window else _OF_WINDOWS
    return tuple(c.name for c in LATE_EVENTS.own_columns if c.when in conditions and c.name not in unused)


def _as_published(fields: T.StructType, names: set[str], added: tuple[str, ...]) -> list[T.StructField]:
    """Return the fields with their names in `late_events`, without a renamed one that `late_events` has as a time."""
    carried = carried_names(fields.names, added)
    return [
        T.StructField(carried[field.name], field.dataType)
        for field in fields
        if carried[field.name] == field.name or carried[field.name].lower() in names
    ]
