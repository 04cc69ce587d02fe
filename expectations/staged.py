"""What a run of windows has staged, reduced to the columns that invariants look at.

Of the source's own columns nothing but the key is kept, as `key`. Panes and results tell their aggregates in one
number, `shown`, which is equal where all of them are.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cached_property, reduce

from pyspark.errors import AnalysisException
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from expectations.errors import AuditError
from expectations.hashing import hashed
from expectations.redaction import first_line
from expectations.reread_source_columns import invalid_rows_matching_source, late_rows_matching_source
from expectations.staged_tables import StagedTables
from expectations.windows import bounds, of_row
from spark_jobs.pipeline import published_tables
from spark_jobs.pipeline.model import Pipeline
from spark_jobs.pipeline.published_tables import COMPLETE_TABLE, RESULT_TABLES
from spark_jobs.replay.panes.retractions import IS_RETRACTION, left_out
from spark_jobs.replay.profile import silence
from spark_jobs.replay.rows import keys

#: The columns of each table that invariants look at, besides the key and the aggregates.
COLUMNS: Mapping[str, tuple[str, ...]] = {
    name: tuple(column.name for column in published_tables.BY_NAME[name].own_columns if not column.when)
    for name in RESULT_TABLES
}
#: The table of a live job's results, among the staged ones, if there is one to compare with.
LIVE = "live"
#: The table of the results that are published already, and that the run does not replace.
EARLIER = "earlier"
#: Those of the complete results.
COMPLETE = tuple(name for name in published_tables.COMPLETE_RESULTS.names if name != "run_id")
#: A hash of 64 bits of a (key, window): Spark looks up a number faster than a key and a window.
PLACE_HASH = "place_hash"
_KEYED = ("panes", "window_results", "late_events")
_SHOWING = ("panes", "window_results")
_COUNTS_ALL = re.compile(r"count\s*\(\s*(\*|1)\s*\)", re.IGNORECASE)
_COUNTS = ("rows_read", "filtered")
_FEW = 2_000_000
_MATCHES_SOURCE = "matches_source"


class Staged(StagedTables):
    """The reduced tables of a run, its pipeline, and the counts that its steps reported.

    The largest, `panes` and `window_results`, are read from their files by each that looks at them, only the columns
    that it looks at: to keep them would cost more.
    """

    @cached_property
    def watermarks(self) -> DataFrame:
        """The window calendar."""
        return self._keep(self._reduced("watermarks"))

    @cached_property
    def calendar(self) -> DataFrame:
        """One row a window, to be joined by `window_start`, even where the staged calendar holds a window twice."""
        times = self.watermarks.select("window_start", "fires_at", "watermark_at_fire", "closes_at")
        return F.broadcast(times.dropDuplicates(["window_start"]))

    @cached_property
    def panes(self) -> DataFrame:
        """Every firing, with `key`, `shown` and `counts_rows` (see `count_all_rows`); without retractions."""
        return left_out(self._reduced("panes"), self.pipeline)

    @cached_property
    def later_panes(self) -> DataFrame:
        """The panes with another number than 0, or none; few where only late rows fire again.

        Asked so that of a file that holds no such pane nothing is read but its statistics.
        """
        return self._keep(self.panes.where("pane_index IS NULL OR pane_index <> 0"))

    @property
    def place(self) -> tuple[str, ...]:
        """The columns that tell a (key, window) from others."""
        return ("key", *bounds(self.pipeline))

    @cached_property
    def missed(self) -> DataFrame:
        """A row for each late event and window that it missed: late events tell of their newest alone."""
        if not self.pipeline.windows.is_sliding:
            return self.late_events
        assigned = self.late_events.where("window_start IS NOT NULL")
        return assigned.withColumn("window_start", F.explode(F.expr(of_row(self.pipeline))))

    @cached_property
    def again(self) -> DataFrame:
        """The `PLACE_HASH` of each (key, window) that has fired again, or missed a row."""
        places = self.later_panes.select(*self.place).union(self.missed.select(*self.place))
        return self._keep(self.hashed_by_place(places).select(PLACE_HASH).distinct())

    @cached_property
    def few_again(self) -> bool:
        """Whether `again` is small enough to be sent to every task, which spares a shuffle of all other windows."""
        return self.again.count() <= _FEW

    def hashed_by_place(self, rows: DataFrame) -> DataFrame:
        """`rows`, which have a `place`, with its hash as `PLACE_HASH`."""
        key = rows.schema["key"].dataType
        of_key = [(F.col("key")[f.name], f.dataType) for f in key.fields] if isinstance(key, T.StructType) else []
        window = ((F.col(name), rows.schema[name].dataType) for name in bounds(self.pipeline))
        return rows.withColumn(PLACE_HASH, hashed([*of_key, *window]))

    def of_again(self, rows: DataFrame) -> DataFrame:
        """Those of `rows`, which have a `place`, that are about a window of `again`, or one that shares its hash."""
        chosen = keys.among if self.few_again else keys.matching
        return chosen(self.hashed_by_place(rows), self.again, (PLACE_HASH,)).drop(PLACE_HASH)

    @cached_property
    def panes_again(self) -> DataFrame:
        """All panes of the windows of `again`."""
        return self._keep(self.of_again(self.panes))

    @property
    def results_once(self) -> DataFrame:
        """The results that say to be of one pane and to miss no row."""
        return self.window_results.where(self._says_once())

    @property
    def results_again(self) -> DataFrame:
        """All other results."""
        return self.window_results.where(~self._says_once())

    def _says_once(self) -> Column:
        # Of rows that are dropped nobody knows which windows missed them.
        says = "pane_count = 1" if self.pipeline.windows.drops_late else "pane_count = 1 AND too_late_count = 0"
        return F.coalesce(F.expr(says), F.lit(False))

    @cached_property
    def retractions(self) -> DataFrame:
        """What is withdrawn, as `panes`, of a pipeline that retracts."""
        return self._reduced("panes").where(IS_RETRACTION).drop(IS_RETRACTION)

    @cached_property
    def window_results(self) -> DataFrame:
        """Every result, with `key` and `shown`."""
        return self._reduced("window_results")

    @cached_property
    def late_events(self) -> DataFrame:
        """Every row that no window took, with the `key` of the window it missed, and `matches_source`."""
        told = late_rows_matching_source(self._tables["late_events"], self.pipeline, _MATCHES_SOURCE)
        return self._keep(self._reduced("late_events", told, _MATCHES_SOURCE))

    @cached_property
    def complete_results(self) -> DataFrame:
        """Every complete result, with `key`, if there are any; `faithful_rows` are those that it says are shown."""
        faithful = F.col("faithful.row_count")
        if self.pipeline.windows.is_session:
            faithful = F.aggregate(faithful, F.lit(0).cast("long"), Column.__add__)
        told = self._tables[COMPLETE_TABLE].withColumn("faithful_rows", faithful)
        return self._keep(told.select(self._key().alias("key"), *COMPLETE[:-1], "faithful_rows"))

    @cached_property
    def told_live(self) -> tuple[str, ...]:
        """The aggregates that the live job tells as well, by their names here. Raises AuditError if there are none."""
        there = {name.lower() for name in self._tables[LIVE].columns}
        needed = [*self.pipeline.windows.key, *bounds(self.pipeline)]
        told = tuple(a.name for a in self.pipeline.windows.aggregates if a.name.lower() in there)
        missing = [name for name in needed if name.lower() not in there] or ([] if told else ["for any aggregate"])
        if missing:
            found = ", ".join(self._tables[LIVE].columns)
            raise AuditError(f"quality.compare_with: the table has no column {', '.join(missing)}; found {found}")
        return told

    @cached_property
    def own_beside_live(self) -> DataFrame:
        """Every result, with `key`, and the aggregates `told_live`."""
        return self._beside_live(self._tables["window_results"])

    @cached_property
    def live(self) -> DataFrame:
        """The live job's results as `own_beside_live`, each value as the type that it has here.

        Raises AuditError for a value that cannot be.
        """
        own = {field.name.lower(): field.dataType for field in self._tables["window_results"].schema}
        names = [*self.pipeline.windows.key, *bounds(self.pipeline), *self.told_live]
        try:
            told = self._tables[LIVE].select(*(F.col(f"`{n}`").cast(own[n.lower()]).alias(n) for n in names))
        except AnalysisException as problem:
            raise AuditError(f"quality.compare_with: {first_line(str(problem))}") from problem
        return self._keep(self._beside_live(told))

    def _beside_live(self, rows: DataFrame) -> DataFrame:
        told = (F.col(f"`{name}`").alias(name) for name in self.told_live)
        return rows.select(self._key().alias("key"), *bounds(self.pipeline), *told)

    @cached_property
    def measured(self) -> DataFrame:
        """What `quality.drift` measures: `window_start, measured, is_own` of each window, `measured` a field a measure.

        Of this run, and of what is published already. Raises AuditError for a measure that is no number.
        """
        measures = self.pipeline.quality.drift.measures if self.pipeline.quality.drift else ()

        def of(results: DataFrame, *, is_own: bool) -> DataFrame:
            named = F.struct(*(F.expr(m.expression).cast("double").alias(m.name) for m in measures))
            windows = results.groupBy("window_start").agg(named.alias("measured"))
            return windows.withColumn("is_own", F.lit(is_own))

        try:
            told = of(self._tables["window_results"], is_own=True)
            if EARLIER in self._tables:
                told = told.unionByName(of(self._tables[EARLIER], is_own=False))
        except AnalysisException as problem:
            raise AuditError(f"quality.drift.measures: {first_line(str(problem))}") from problem
        return self._keep(told)

    @cached_property
    def partitions(self) -> DataFrame:
        """When an event of each source partition came last, if the pipeline asks: `silence.partitions`."""
        return self._tables[silence.TABLE].select(*silence.COLUMNS)

    @cached_property
    def invalid_events(self) -> DataFrame:
        """The reason of every row without a usable time, and `matches_source`."""
        told = invalid_rows_matching_source(self._tables["invalid_events"], self.pipeline, _MATCHES_SOURCE)
        return self._keep(self._reduced("invalid_events", told, _MATCHES_SOURCE))

    @property
    def _columns(self) -> Mapping[str, tuple[str, ...]]:
        key, aggregates = self.pipeline.windows.key, tuple(a.name for a in self.pipeline.windows.aggregates)
        looked_at = {
            table: (*(key if table in _KEYED else ()), *self._own(table), *(aggregates if table in _SHOWING else ()))
            for table in COLUMNS
        }
        if self.pipeline.is_complete:
            looked_at[COMPLETE_TABLE] = (*key, *COMPLETE)
        if self.pipeline.quality.max_silence_ms is not None:
            looked_at[silence.TABLE] = silence.COLUMNS
        return looked_at

    @property
    def _needed_counts(self) -> tuple[str, ...]:
        return _COUNTS

    def _own(self, table: str) -> tuple[str, ...]:
        marked = (IS_RETRACTION,) if table == "panes" and self.pipeline.windows.retracts else ()
        return (*COLUMNS[table], *marked)

    def _reduced(self, table: str, rows: DataFrame | None = None, *more: str) -> DataFrame:
        there = self._tables[table] if rows is None else rows
        made = [self._key().alias("key")] if table in _KEYED else []
        if table in _SHOWING:
            made.append(self._shown(there).alias("shown"))
        if table == "panes":
            made.append(self._counts_rows().alias("counts_rows"))
        return there.select(*made, *self._own(table), *more)

    def _key(self) -> Column:
        names = self.pipeline.windows.key
        # Spark groups by no empty struct: one group for all is the key null.
        return F.struct(*(F.col(f"`{name}`").alias(name) for name in names)) if names else F.lit(None).cast("string")

    def _shown(self, rows: DataFrame) -> Column:
        kinds = {field.name.lower(): field.dataType for field in rows.schema}
        return hashed((F.col(f"`{a.name}`"), kinds[a.name.lower()]) for a in self.pipeline.windows.aggregates)

    def _counts_rows(self) -> Column:
        counting = [F.col(f"`{name}`") == F.col("row_count") for name in count_all_rows(self.pipeline)]
        return F.coalesce(reduce(Column.__and__, counting, F.lit(True)), F.lit(False))


def count_all_rows(pipeline: Pipeline) -> list[str]:
    """The aggregates that are plainly the number of rows: of each pane they are its `row_count`."""
    return [a.name for a in pipeline.windows.aggregates if _COUNTS_ALL.fullmatch(a.expression.strip())]
