"""Comparison: the differences between the published results of two runs.

A (key, window) is gone or added if only one of the runs has a result for it. It is changed if a value that both runs
have differs: an aggregate or the number of rows. The time of the firing and the run id do not count.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import reduce
from typing import Any

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as T

from spark_jobs.error_codes import ErrorCode
from spark_jobs.jobs.errors import InputError
from spark_jobs.pipeline.model import Pipeline
from spark_jobs.replay.rows.arrival_order import holds_map
from spark_jobs.replay.rows.json_text import json_text
from spark_jobs.replay.rows.plain_values import plain_value
from spark_jobs.replay.rows.quoting import quoted
from spark_jobs.semantics.rows.instants import EPOCH
from spark_jobs.tables import ledger
from spark_jobs.tables.lake import Lake
from spark_jobs.tables.ledger import Run
from spark_jobs.tables.published import read_published

_TABLE = "window_results"
_BEFORE, _AFTER, _SIZE = "__tm_before", "__tm_after", "__tm_size"


@dataclass(frozen=True)
class Change:
    """A (key, window) whose values differ; `before` and `after` by name, None if the run has no such result.

    A struct is a mapping from its field names to values.
    """

    key: Mapping[str, Any]
    window_start: datetime
    before: Mapping[str, Any] | None
    after: Mapping[str, Any] | None


@dataclass(frozen=True)
class Comparison:
    """The numbers of equal and different results of two runs.

    - `values`: the numbers of changed results, by the value that differs
    - `dropped`, `new`: values that only one run has
    - `largest`: the changes with the greatest share of a value; results that are gone or added come first
    """

    before: str
    after: str
    same: int
    changed: int
    added: int
    gone: int
    first_window: datetime | None
    last_window: datetime | None
    values: Mapping[str, int]
    dropped: Sequence[str]
    new: Sequence[str]
    largest: Sequence[Change]


def compare(
    spark: SparkSession, pipeline: Pipeline, lake: Lake, before: str = "", after: str = "", *, largest: int = 20
) -> Comparison:
    """Compare the published results of two runs: by default of the last run and the run before it.

    Raises InputError for a run that was never published, a join, and runs whose results have no key in common.
    """
    if pipeline.join is not None:
        raise InputError(
            "compare: the pipeline has a join. Only results of windows can be compared", code=ErrorCode.NOT_COMPARABLE
        )
    runs = _runs(ledger.published(spark, lake), before, after)
    if lost := [run.run_id for run in runs if run.discarded]:
        raise InputError(
            f"compare: maintenance has removed the files of run {', '.join(lost)}; name runs that are kept",
            code=ErrorCode.FILES_REMOVED,
        )
    tables = [read_published(spark, lake, _TABLE, run_id=run.run_id) for run in runs]
    names = [*pipeline.windows.key, "window_start"]
    for run, table in zip(runs, tables, strict=True):
        if missing := [name for name in names if name not in table.columns]:
            raise InputError(
                f"compare: the results of run {run.run_id} have no column {', '.join(missing)}",
                code=ErrorCode.RUN_NOT_PUBLISHED,
            )
    return _Comparing(runs, tables, names).comparison(largest)


def _runs(published: Sequence[Run], before: str, after: str) -> tuple[Run, Run]:
    by_id = {run.run_id: run for run in published}
    for option, run_id in (("--before", before), ("--after", after)):
        if run_id and run_id not in by_id:
            raise InputError(
                f"{option}: {run_id} is not published. Published runs: {', '.join(by_id) or 'none'}",
                code=ErrorCode.RUN_NOT_PUBLISHED,
            )
    later = by_id[after] if after else published[-1] if published else None
    earlier = [run for run in published if later is not None and run.versions != later.versions]
    if later is None or not (before or earlier):
        count = len(published)
        raise InputError(
            f"compare: two published runs are needed, found {count}. Give --before and --after",
            code=ErrorCode.NOT_ENOUGH_PUBLISHED,
        )
    if before:
        return by_id[before], later
    if after:
        earlier = [run for run in published[: published.index(later)] if run.versions != later.versions]
        if not earlier:
            raise InputError(
                f"compare: no run was published before {after}. Give --before", code=ErrorCode.NOT_ENOUGH_PUBLISHED
            )
    return earlier[-1], later


class _Comparing:
    def __init__(self, runs: tuple[Run, Run], tables: Sequence[DataFrame], names: Sequence[str]) -> None:
        self._runs, self._names = runs, names
        values = [[name for name in _values(table) if name not in names] for table in tables]
        kinds = [{name: table.schema[name].dataType for name in of} for table, of in zip(tables, values, strict=True)]
        # A value of another type is another value.
        self._common = [name for name, kind in kinds[0].items() if kinds[1].get(name) == kind]
        self._dropped = [name for name in values[0] if name not in self._common]
        self._new = [name for name in values[1] if name not in self._common]
        self._numbers = [name for name in self._common if isinstance(kinds[0][name], T.NumericType)]
        self._texts = {name for name in self._common if holds_map(kinds[0][name])}
        self._sides = self._side_by_side(tables)

    def comparison(self, largest: int) -> Comparison:
        in_both = F.col(_BEFORE).isNotNull() & F.col(_AFTER).isNotNull()
        differs = {name: in_both & ~self._equal(name) for name in self._common}
        changed = reduce(Column.__or__, differs.values(), F.lit(False))
        is_gone, is_added = F.col(_AFTER).isNull(), F.col(_BEFORE).isNull()
        other = changed | is_gone | is_added
        row = self._sides.agg(
            F.count_if(in_both & ~changed).alias("same"),
            F.count_if(changed).alias("changed"),
            F.count_if(is_added).alias("added"),
            F.count_if(is_gone).alias("gone"),
            F.min(F.when(other, _start_us())).alias("first"),
            F.max(F.when(other, _start_us())).alias("last"),
            *(F.count_if(differ).alias(f"value_{i}") for i, differ in enumerate(differs.values())),
        ).collect()[0]
        size = F.when(is_gone | is_added, F.lit(float("inf"))).otherwise(self._share())
        most = self._sides.where(other).withColumn(_SIZE, size)
        keys = [F.to_json(F.struct(quoted(name))) for name in self._names]
        largest_rows = most.orderBy(F.col(_SIZE).desc(), F.col("window_start"), *keys).limit(largest).collect()
        return Comparison(
            before=self._runs[0].run_id,
            after=self._runs[1].run_id,
            same=row["same"],
            changed=row["changed"],
            added=row["added"],
            gone=row["gone"],
            first_window=_moment(row["first"]),
            last_window=_moment(row["last"]),
            values={name: row[f"value_{i}"] for i, name in enumerate(self._common)},
            dropped=self._dropped,
            new=self._new,
            largest=[self._change(change) for change in largest_rows],
        )

    def _side_by_side(self, tables: Sequence[DataFrame]) -> DataFrame:
        """Return a row for each (key, window), with the values of both runs; grouped, since a join drops null keys."""
        names = [F.col(quoted(name)) for name in self._names]
        sides_of_runs = [
            table.select(*names, F.struct(*(F.col(quoted(name)) for name in self._common)).alias(side))
            for table, side in zip(tables, (_BEFORE, _AFTER), strict=True)
        ]
        rows = sides_of_runs[0].unionByName(sides_of_runs[1], allowMissingColumns=True)
        sides = (F.first(side, ignorenulls=True).alias(side) for side in (_BEFORE, _AFTER))
        return rows.groupBy(*names).agg(*sides)

    def _share(self) -> Column:
        """Return the greatest change of a number, as a share of its greater value."""
        none = F.lit(0.0)
        shares = []
        for name in self._numbers:
            before, after = (_of(side, name).cast("double") for side in (_BEFORE, _AFTER))
            share = F.try_divide(F.abs(after - before), F.greatest(F.abs(before), F.abs(after)))
            shares.append(F.coalesce(share, none))
        return F.greatest(none, none, *shares)

    def _equal(self, name: str) -> Column:
        before, after = (_of(side, name) for side in (_BEFORE, _AFTER))
        if name in self._texts:
            # Maps and variants have no equality in Spark.
            before, after = json_text(F.struct(before)), json_text(F.struct(after))
        return before.eqNullSafe(after)

    def _change(self, row: T.Row) -> Change:
        values = {field.name: plain_value(row[field.name], field.dataType) for field in self._sides.schema}
        key = {name: values[name] for name in self._names if name != "window_start"}
        return Change(key, values["window_start"], values[_BEFORE], values[_AFTER])


def _values(table: DataFrame) -> list[str]:
    """Return the names of the aggregates of results and of the number of rows."""
    own = ("window_start", "window_end", "pane_count", "too_late_count", "last_fired_at", "run_id")
    return [name for name in table.columns if name not in own]


def _start_us() -> Column:
    """Return the start as a number: PySpark returns timestamps as naive local times."""
    return F.unix_micros("window_start")


def _moment(micros: int | None) -> datetime | None:
    return None if micros is None else EPOCH + timedelta(microseconds=micros)


def _of(side: str, name: str) -> Column:
    return F.col(side).getField(name)
