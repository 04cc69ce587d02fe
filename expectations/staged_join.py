"""The staged tables of a join, reduced to the columns that invariants use.

For each row of a pair, the times, the key and the side are computed again from its source columns. No other source
column is kept.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from expectations.errors import AuditError
from expectations.staged_tables import WINDOW, StagedTables
from spark_jobs.pipeline.joining import joining
from spark_jobs.pipeline.model import Join, Order
from spark_jobs.pipeline.published_tables import BY_NAME, JOIN_TABLES, PAIRS, Part, Table, conditions_of
from spark_jobs.replay.rows import event_time

FIRING = ("pane_index", "timing", "watermark")
#: By input: the prefix of the columns of its row in `StagedJoin.pairs`.
SIDES = ("first", "second")

_TABLES = tuple(BY_NAME[name] for name in JOIN_TABLES)
_PREFIX = "__tm_pair_"
_FATES = ("rows_read", "filtered", "on_time", "late", "unassigned")


class StagedJoin(StagedTables):
    """The reduced tables of a join."""

    @property
    def names(self) -> tuple[str, str]:
        """The names of the two inputs."""
        return self._join.names

    @cached_property
    def pairs(self) -> DataFrame:
        """Every pair of rows.

        - interval join and as-of join: `event_time`, `fired_at`;
        - window join: `window_start, window_end, pane_index, timing, watermark, key, fired_at`;
        - for the first row: `first_ms` (event time), `first_us` (arrival time, or event time), `first_key`;
        - for the second row: `second_ms`, `second_us`, `second_key`;
        - `first_exists` and `second_exists`: whether the pair has that row. All else of an absent row is null;
        - if one source is split: `first_is_second` and `second_is_second`, the value of `join.second_when`.
        """
        rows = self.tables[PAIRS.name].select(
            *(F.col(f"`{name}`").alias(_PREFIX + name) for name in self._own_columns(PAIRS)),
            *([_key(self._join.key[0]).alias(_PREFIX + "key")] if self._join.by_window else []),
            *(F.col(f"`{name}`").alias(_PREFIX + side) for name, side in zip(self.names, SIDES, strict=True)),
        )
        for number, side in enumerate(SIDES):
            # The pipeline's expressions use the source's column names: expand the struct to these names.
            expanded = rows.select(*(name for name in rows.columns), f"{_PREFIX}{side}.*")
            exists = F.col(_PREFIX + side).isNotNull()
            # The columns of an absent row are null, but an expression over nulls may have a value.
            of_row = {name: F.when(exists, column) for name, column in self._row_columns(expanded, number).items()}
            derived = {f"{_PREFIX}{side}_{name}": column for name, column in {**of_row, "exists": exists}.items()}
            rows = expanded.withColumns(derived).select(*rows.columns, *derived)
        left = [name for name in rows.columns if name not in {_PREFIX + side for side in SIDES}]
        return self.keep(rows.select(*(F.col(name).alias(name.removeprefix(_PREFIX)) for name in left)))

    @cached_property
    def late_events(self) -> DataFrame:
        """Every late row with the name of its source."""
        return self.keep(self.tables["late_events"].select(*self._columns["late_events"]))

    @cached_property
    def invalid_events(self) -> DataFrame:
        """The source name and the reason of every row without a usable time."""
        return self.keep(self.tables["invalid_events"].select(*self._columns["invalid_events"]))

    @property
    def _columns(self) -> Mapping[str, tuple[str, ...]]:
        return {
            table.name: (*(self.names if Part.INPUTS in table.columns else ()), *self._own_columns(table))
            for table in _TABLES
        }

    def _own_columns(self, table: Table) -> tuple[str, ...]:
        """Return the columns that invariants use, without the rows of the inputs. Only a window join has windows."""
        when = conditions_of(self._join)
        unused = {"run_id", *(() if self._join.by_window else WINDOW)}
        return tuple(column.name for column in table.own_columns if column.when in when and column.name not in unused)

    @property
    def _needed_counts(self) -> list[str]:
        return [f"{fate}_of_{name}" for name in self.names for fate in _FATES]

    @cached_property
    def _join(self) -> Join:
        if self.pipeline.join is None:
            raise AuditError(f"the pipeline {self.pipeline.name} has no `join`; audit it as a windowed run")
        return self.pipeline.join

    def _row_columns(self, expanded: DataFrame, number: int) -> dict[str, Column]:
        """Return the columns that are derived from a row of the input `number`; `expanded` has its source columns."""
        source = joining(self.pipeline).inputs[number].source
        event_us = event_time.micros(expanded, source.event_time)
        clock_us = event_us
        if self.pipeline.replay.order is Order.ARRIVAL and source.arrival_time is not None:
            clock_us = event_time.micros(expanded, source.arrival_time)
        columns = {"ms": event_time.millis(event_us), "us": clock_us, "key": _key(self._join.key[number])}
        if self._join.second_when is not None:
            columns["is_second"] = F.coalesce(F.expr(self._join.second_when), F.lit(False))
        return columns


def _key(columns: tuple[str, ...]) -> Column:
    """Return the key as a struct with the same field names for each input."""
    named = [F.col(f"`{name}`").alias(f"k{i}") for i, name in enumerate(columns)]
    return F.struct(*named) if named else F.lit(None).cast("string")
