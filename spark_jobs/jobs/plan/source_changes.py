"""What has changed in a source since the results that a part of time goes beside, and what of that is refused.

A part of time is replayed on the newest version, so results stand beside others of an earlier one. That is what it is
for where rows were mended, so nothing but columns of other types is refused; what has changed is told.
"""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import SparkSession
from pyspark.sql import types as T

from spark_jobs.jobs.errors import InputError
from spark_jobs.pipeline.model import Pipeline
from spark_jobs.pipeline.published_tables import LATE_EVENTS
from spark_jobs.tables import columns, source
from spark_jobs.tables.lake import Lake
from spark_jobs.tables.ledger import Run
from spark_jobs.tables.published import read_as_of

# The columns that `late_events` adds; a source's column of such a name has another name there, or is that time.
_ADDED = tuple(column.name for column in LATE_EVENTS.own_columns if not column.when)


def note(spark: SparkSession, pipeline: Pipeline, whole: Run | None, versions: Mapping[str, int]) -> str:
    """What has become of the sources since `whole`, the last run over all of time; nothing if nothing has."""
    if whole is None:
        return ""
    told = []
    for name, table in source.tables_of(pipeline).items():
        since = whole.pinned.get(name)
        if since is None or since == versions[name]:
            continue
        changed = source.row_changes(spark, table, since, versions[name])
        if changed is None:
            what = "which files have changed is no longer known"
        elif not (changed.added or changed.removed):
            continue
        else:
            added = sum(map(len, changed.added.values()))
            what = f"{added} files were added and {changed.removed} taken away or rewritten"
        told.append(f"results around this part are of version {since} of {table}; since then {what}")
    return "; ".join(told)


def require_types(spark: SparkSession, pipeline: Pipeline, lake: Lake, shown: Run, versions: Mapping[str, int]) -> None:
    """Raise InputError where a source's column is of another type than in what `shown` has published.

    Costs no Spark job.
    """
    if "late_events" not in shown.versions:
        return
    published = read_as_of(spark, lake, shown, "late_events").schema
    there = {name.lower() for name in published.names}
    for name, table in source.tables_of(pipeline).items():
        fields = source.read(spark, table, versions[name]).schema
        found = columns.clashes(published, T.StructType([one for f in fields for one in _kept(f, there)]))
        if found:
            raise InputError(
                f"--from and --to: asked for a part of time, found columns of {table} of another type in version "
                f"{versions[name]} than in the results around it: {'; '.join(map(str, found))}. Replay without --from "
                "and --to, or read the table through a view that casts"
            )


def _kept(field: T.StructField, there: set[str]) -> list[T.StructField]:
    """The field as `late_events` calls it; none that is the row's time, or that it has not."""
    if field.name.lower() not in _ADDED:
        return [field]
    other = f"source_{field.name}"
    return [T.StructField(other, field.dataType)] if other.lower() in there else []
