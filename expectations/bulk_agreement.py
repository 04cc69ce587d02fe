"""Bulk agreement: check the panes and results of windows that fired once, all together, by hashes.

Most windows fire once and miss no row. Such a window has one pane and one result, with equal rows, aggregates and
firing time. A join of all these panes and results would shuffle all of their columns. Instead, three checks use hashes:

- invariants: each first pane satisfies the invariants of panes;
- places: no two first panes have the same (key, window), compared as 64-bit hashes;
- contents: each pane and each result has a 64-bit hash of its place and its values. The panes and the results have
  equal row counts and equal sums of the hashes.

The sums are taken of the lower and of the upper 32 bits, and the hashes are also combined by exclusive or.

Two panes of one window are always detected. A result that differs from its pane passes only if their hashes are equal,
with probability 2^-64. If any check fails, bulk agreement proves nothing, and the audit compares window by window.

Panes and results are read once, while Spark still computes which windows fired more than once. The sums of these
windows are subtracted afterwards.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from functools import reduce

from pyspark.sql import Column, DataFrame, Row
from pyspark.sql import functions as F

from expectations import windows
from expectations.hashing import hashed
from expectations.invariant import Invariant
from expectations.staged import PLACE_HASH, Staged
from spark_jobs.pipeline.model import Pipeline

_PANES_PER_PARTITION = 300_000


@dataclass(frozen=True)
class Sums:
    """Sums over the content hashes of some rows.

    `rows` is their number. `lower` and `upper` are the sums of the lower and upper 32 bits, `combined` is the exclusive
    or. `violations` is the number of rows that violate an invariant or lack a value.
    """

    rows: int
    lower: int
    upper: int
    combined: int
    violations: int = 0

    @classmethod
    def of(cls, row: Row) -> Sums:
        """Make sums from a row with columns of these names; `violations` may be missing."""
        return cls(**{field.name: row[field.name] for field in fields(cls) if field.name in row})

    def without(self, subset: Sums) -> Sums:
        """Return the sums over the rows that are not in `subset`."""
        differences = {f.name: getattr(self, f.name) - getattr(subset, f.name) for f in fields(self)}
        return Sums(**{**differences, "combined": self.combined ^ subset.combined})


def supports_bulk_check(pipeline: Pipeline) -> bool:
    """Return whether each window fires once by default and then has a result. Not so for sessions, which may merge."""
    return pipeline.windows.trigger.is_default and not pipeline.windows.is_session


def sums_of_panes(staged: Staged, first_panes: DataFrame, invariants: Sequence[Invariant]) -> Sums | None:
    """Return the sums over all panes with number 0; None if one violates an invariant or two have the same place.

    Before the rows are grouped, they are partitioned by place into many partitions. So the groups of a task fit in the
    cache of a core.
    """
    partitions = 1 + staged.counts.get("panes", 0) // _PANES_PER_PARTITION
    contents = _contents(staged, first_panes, "fired_at", [F.expr(invariant.condition) for invariant in invariants])
    # A place with weight 1 has one pane, which is right. A wrong pane, or a second pane, makes the weight at least 2.
    weight = F.when(F.col("is_right"), 1).otherwise(2).alias("weight")
    weighted = contents.select(PLACE_HASH, "content", weight).repartition(partitions, PLACE_HASH)
    # The content of a place matters only if it has one pane: then the exclusive or is the content of this pane.
    places = weighted.groupBy(PLACE_HASH).agg(F.sum("weight").alias("weight"), F.bit_xor("content").alias("content"))
    greatest_weight = F.coalesce(F.max("weight"), F.lit(0)).alias("greatest_weight")
    row = places.agg(greatest_weight, *_sums()).collect()[0]
    return Sums.of(row) if row.greatest_weight <= 1 else None


def sums_of_results(staged: Staged) -> Sums:
    """Return the sums over `single_pane_results`; violations are results with a null value or a window off the grid."""
    conditions = [F.expr(invariant.condition) for invariant in windows.invariants(staged.pipeline)]
    violations = F.count_if(~F.col("is_right")).alias("violations")
    contents = _contents(staged, staged.single_pane_results, "last_fired_at", conditions)
    return Sums.of(contents.agg(violations, *_sums()).collect()[0])


def sums_of_revisited_first_panes(staged: Staged) -> Sums:
    """Return the sums over the panes of `revisited_panes` that have number 0."""
    first_panes = staged.revisited_panes.where("pane_index = 0")
    return Sums.of(_contents(staged, first_panes, "fired_at").agg(*_sums()).collect()[0])


def results_agree(staged: Staged, panes: Sums) -> bool:
    """Return whether the single-pane results are right and agree with the panes of the windows not in `revisited`.

    `panes` are the sums over all first panes. The sums over the revisited windows are subtracted from them.
    """
    return staged.once(sums_of_results) == panes.without(staged.once(sums_of_revisited_first_panes))


def _contents(staged: Staged, rows: DataFrame, fired_at: str, conditions: Sequence[Column] = ()) -> DataFrame:
    """Return `content`, the hash of a row's place and values, and `is_right`: no value null, all `conditions` true."""
    values = ("window_end", "row_count", fired_at, "shown")
    all_conditions = [*(F.col(name).isNotNull() for name in ("window_start", *values)), *conditions]
    is_right = F.coalesce(reduce(Column.__and__, all_conditions), F.lit(False))
    placed = staged.hashed_by_place(rows)
    content = hashed((F.col(name), placed.schema[name].dataType) for name in (PLACE_HASH, *values))
    return placed.select(PLACE_HASH, content.alias("content"), is_right.alias("is_right"))


def _sums() -> list[Column]:
    lower, upper = F.expr("content & 4294967295"), F.shiftrightunsigned("content", 32)
    return [
        F.count("*").alias("rows"),
        F.coalesce(F.sum(lower), F.lit(0)).alias("lower"),
        F.coalesce(F.sum(upper), F.lit(0)).alias("upper"),
        F.coalesce(F.bit_xor("content"), F.lit(0)).alias("combined"),
    ]
