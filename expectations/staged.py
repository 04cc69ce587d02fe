"""The staged tables of a windowed run, reduced to the columns that invariants use.

The only source column that is kept is the key, as the struct `key`. The aggregates of a pane or result become one
number, the hash `shown`: equal numbers stand for equal aggregates.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cached_property, reduce

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from expectations.hashing import hashed
from expectations.reread_source_columns import invalid_rows_matching_source, late_rows_matching_source
from expectations.staged_tables import StagedTables
from expectations.windows import bounds, window_starts
from spark_jobs.pipeline import published_tables
from spark_jobs.pipeline.model import Pipeline
from spark_jobs.pipeline.published_tables import COMPLETE_TABLE, RESULT_TABLES, Part
from spark_jobs.replay.panes.retractions import IS_RETRACTION, left_out
from spark_jobs.replay.profile import silence
from spark_jobs.replay.rows import keys
from spark_jobs.replay.rows.quoting import quoted
from spark_jobs.semantics.rows.carried_columns import carried_name

_TABLES = tuple(published_tables.BY_NAME[name] for name in RESULT_TABLES)
#: The columns of each table that invariants use, besides the key and the aggregates.
COLUMNS: Mapping[str, tuple[str, ...]] = {
    table.name: tuple(column.name for column in table.own_columns if not column.when) for table in _TABLES
}
#: The columns of `complete_results` that invariants use, besides the key and the aggregates.
COMPLETE_COLUMNS = tuple(name for name in published_tables.COMPLETE_RESULTS.names if name != "run_id")
#: The column with a 64-bit hash of a (key, window): Spark looks up a number faster than a key and a window.
PLACE_HASH = "place_hash"
# Rows about one key and window have the key's columns, or all source columns.
_TABLES_WITH_KEY = frozenset(
    table.name
    for table in _TABLES
    if "window_start" in table.names and not {Part.KEY, Part.SOURCE}.isdisjoint(table.columns)
)
_TABLES_WITH_AGGREGATES = frozenset(table.name for table in _TABLES if Part.AGGREGATES in table.columns)
_COUNTS_ALL = re.compile(r"count\s*\(\s*(\*|1)\s*\)", re.IGNORECASE)
_NEEDED_COUNTS = ("rows_read", "filtered")
_MOST_BROADCAST_PLACES = 2_000_000
_MATCHES_SOURCE = "matches_source"


class Staged(StagedTables):
    """The reduced tables of a windowed run.

    `panes` and `window_results`, the largest tables, are not persisted. Each suite reads its columns from the files,
    which costs less.
    """

    @cached_property
    def watermarks(self) -> DataFrame:
        """The window calendar."""
        return self.keep(self._reduced("watermarks"))

    @cached_property
    def calendar(self) -> DataFrame:
        """One row for each window, to be joined by `window_start`.

        Duplicates are dropped: a staged calendar that contains a window twice must not multiply panes.
        """
        times = self.watermarks.select("window_start", "fires_at", "watermark_at_fire", "closes_at")
        return F.broadcast(times.dropDuplicates(["window_start"]))

    @cached_property
    def panes(self) -> DataFrame:
        """Every pane with `key`, `shown` and `counts_rows` (see `count_all_rows`), without retractions."""
        return left_out(self._reduced("panes"), self.pipeline)

    @cached_property
    def later_panes(self) -> DataFrame:
        """The panes whose number is not 0, or is null. They are few if only late rows fire a window again.

        The condition lets Spark skip a file without such a pane by its statistics.
        """
        return self.keep(self.panes.where("pane_index IS NULL OR pane_index <> 0"))

    @property
    def place(self) -> tuple[str, ...]:
        """The columns that identify a (key, window)."""
        return ("key", *bounds(self.pipeline))

    @cached_property
    def missed_windows(self) -> DataFrame:
        """One row for each pair of a late event and a window that it missed.

        `late_events` has the newest window only. For sliding windows, the older windows are added here.
        """
        if not self.pipeline.windows.is_sliding:
            return self.late_events
        assigned = self.late_events.where("window_start IS NOT NULL")
        return assigned.withColumn("window_start", F.explode(F.expr(window_starts(self.pipeline))))

    @cached_property
    def revisited(self) -> DataFrame:
        """The `PLACE_HASH` of each (key, window) that fired more than once, or that a row missed."""
        places = self.later_panes.select(*self.place).union(self.missed_windows.select(*self.place))
        return self.keep(self.hashed_by_place(places).select(PLACE_HASH).distinct())

    @cached_property
    def can_broadcast_revisited(self) -> bool:
        """True if `revisited` is small enough to broadcast, which avoids a shuffle of all other windows."""
        return self.revisited.count() <= _MOST_BROADCAST_PLACES

    def hashed_by_place(self, rows: DataFrame) -> DataFrame:
        """Return `rows` with the hash of their `place` in `PLACE_HASH`."""
        key = rows.schema["key"].dataType
        of_key = [(F.col("key")[f.name], f.dataType) for f in key.fields] if isinstance(key, T.StructType) else []
        window = ((F.col(name), rows.schema[name].dataType) for name in bounds(self.pipeline))
        return rows.withColumn(PLACE_HASH, hashed([*of_key, *window]))

    def in_revisited(self, rows: DataFrame) -> DataFrame:
        """Return the rows whose `place` is in `revisited`, and any row whose place has the same hash."""
        select_matches = keys.among if self.can_broadcast_revisited else keys.matching
        return select_matches(self.hashed_by_place(rows), self.revisited, (PLACE_HASH,)).drop(PLACE_HASH)

    @cached_property
    def revisited_panes(self) -> DataFrame:
        """All panes of the windows in `revisited`."""
        return self.keep(self.in_revisited(self.panes))

    @property
    def single_pane_results(self) -> DataFrame:
        """The results whose columns state that one pane fired and no row was too late."""
        return self.window_results.where(self._has_single_pane())

    @property
    def revisited_results(self) -> DataFrame:
        """All results that are not in `single_pane_results`."""
        return self.window_results.where(~self._has_single_pane())

    def _has_single_pane(self) -> Column:
        # If late rows are dropped, `too_late_count` is unknown.
        condition = "pane_count = 1" if self.pipeline.windows.drops_late else "pane_count = 1 AND too_late_count = 0"
        return F.coalesce(F.expr(condition), F.lit(False))

    @cached_property
    def retractions(self) -> DataFrame:
        """The retractions, with the columns of `panes`, for a pipeline that retracts."""
        return self._reduced("panes").where(IS_RETRACTION).drop(IS_RETRACTION)

    @cached_property
    def window_results(self) -> DataFrame:
        """Every result with `key` and `shown`."""
        return self._reduced("window_results")

    @cached_property
    def late_events(self) -> DataFrame:
        """Every late event with the `key` of the window it missed, and `matches_source`."""
        rows = late_rows_matching_source(self.tables["late_events"], self.pipeline, _MATCHES_SOURCE)
        return self.keep(self._reduced("late_events", rows, _MATCHES_SOURCE))

    @cached_property
    def partitions(self) -> DataFrame:
        """The last event of each source partition, for `quality.max_silence` (see `silence.partitions`)."""
        return self.tables[silence.TABLE].select(*silence.COLUMNS)

    @cached_property
    def invalid_events(self) -> DataFrame:
        """The reason of every row without a usable time, and `matches_source`."""
        rows = invalid_rows_matching_source(self.tables["invalid_events"], self.pipeline, _MATCHES_SOURCE)
        return self.keep(self._reduced("invalid_events", rows, _MATCHES_SOURCE))

    @property
    def _columns(self) -> Mapping[str, tuple[str, ...]]:
        key, aggregates = self.pipeline.windows.key, tuple(a.name for a in self.pipeline.windows.aggregates)
        used_columns = {
            table: (
                *(key if table in _TABLES_WITH_KEY else ()),
                *self._own_columns(table),
                *(aggregates if table in _TABLES_WITH_AGGREGATES else ()),
            )
            for table in COLUMNS
        }
        if self.pipeline.is_complete:
            used_columns[COMPLETE_TABLE] = (*key, *COMPLETE_COLUMNS)
        if self.pipeline.quality.max_silence_ms is not None:
            used_columns[silence.TABLE] = silence.COLUMNS
        return used_columns

    @property
    def _needed_counts(self) -> tuple[str, ...]:
        return _NEEDED_COUNTS

    def _own_columns(self, table: str) -> tuple[str, ...]:
        marked = (IS_RETRACTION,) if table == "panes" and self.pipeline.windows.retracts else ()
        return (*COLUMNS[table], *marked)

    def _reduced(self, table: str, rows: DataFrame | None = None, *more: str) -> DataFrame:
        staged_rows = self.tables[table] if rows is None else rows
        derived = [self.key(self.tables[table]).alias("key")] if table in _TABLES_WITH_KEY else []
        if table in _TABLES_WITH_AGGREGATES:
            derived.append(self._shown_hash(staged_rows).alias("shown"))
        if table == "panes":
            derived.append(self._counts_rows().alias("counts_rows"))
        return staged_rows.select(*derived, *self._own_columns(table), *more)

    def key(self, rows: DataFrame) -> Column:
        """Return the key of staged `rows` as one struct column; null for a pipeline without a key."""
        names = {name: carried_name(rows.schema, name) for name in self.pipeline.windows.key}
        # Spark cannot group by an empty struct.
        if not names:
            return F.lit(None).cast("string")
        return F.struct(*(F.col(quoted(staged)).alias(name) for name, staged in names.items()))

    def _shown_hash(self, rows: DataFrame) -> Column:
        kinds = {field.name.lower(): field.dataType for field in rows.schema}
        return hashed((F.col(f"`{a.name}`"), kinds[a.name.lower()]) for a in self.pipeline.windows.aggregates)

    def _counts_rows(self) -> Column:
        counting = [F.col(f"`{name}`") == F.col("row_count") for name in count_all_rows(self.pipeline)]
        return F.coalesce(reduce(Column.__and__, counting, F.lit(True)), F.lit(False))


def count_all_rows(pipeline: Pipeline) -> list[str]:
    """Return the names of the aggregates `count(*)` and `count(1)`, which equal the `row_count` of a pane."""
    return [a.name for a in pipeline.windows.aggregates if _COUNTS_ALL.fullmatch(a.expression.strip())]
