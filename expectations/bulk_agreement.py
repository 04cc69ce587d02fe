"""Agreement: whether panes and results of windows that fired once are right, told of all of them together.

Most windows fire once and miss no row. Of such a window one pane and one result tell the same rows, aggregates and
moment. Put side by side one by one, all of them would be shuffled with all that they tell. Instead

    invariants       each first pane obeys the invariants of panes
    places     no two first panes are of one (key, window): a hash of 64 bits of each, grouped
    contents   a hash of 64 bits of the place and of what is told there, of each pane and each result; how many there
               are on both sides, the sums of the lower and of the upper halves, and what remains when all are combined
               by exclusive or, are the same

Two panes of one window are always found. A result that differs from its pane passes only where both have one hash, a
chance of 2^-64. Where anything differs, nothing is said of these windows, and each is looked at. Panes and results are
read once for all of this, at once, while the windows that fired again are still being sought: their part of the sums is
taken off afterwards.
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

_PANES_A_PIECE = 300_000


@dataclass(frozen=True)
class Sums:
    """Over rows: how many there are, the sums of the halves of their contents, these combined, how many are violations."""

    rows: int
    lower: int
    upper: int
    combined: int
    violations: int = 0

    @classmethod
    def of(cls, row: Row) -> Sums:
        """Take them from a row that has them."""
        return cls(**{field.name: row[field.name] for field in fields(cls) if field.name in row})

    def without(self, some: Sums) -> Sums:
        """Those of the rows besides `some` of them."""
        left = {f.name: getattr(self, f.name) - getattr(some, f.name) for f in fields(self)}
        return Sums(**{**left, "combined": self.combined ^ some.combined})


def supports_bulk_check(pipeline: Pipeline) -> bool:
    """Whether windows fire once by default, and each that has fired has a result: sessions may swallow others."""
    return pipeline.windows.trigger.is_default and not pipeline.windows.is_session


def sums_of_panes(staged: Staged, first: DataFrame, invariants: Sequence[Invariant]) -> Sums | None:
    """The sums over `first`, all panes that have number 0; None if one is not right, or two are of one window.

    Spread by place before they are grouped, and in many pieces: nothing comes together before, and a piece's groups
    stay in a core's own memory.
    """
    pieces = 1 + staged.counts.get("panes", 0) // _PANES_A_PIECE
    told = _told(staged, first, "fired_at", [F.expr(invariant.condition) for invariant in invariants])
    weight = F.when(F.col("is_right"), 1).otherwise(2).alias("weight")
    each = told.select(PLACE_HASH, "content", weight).repartition(pieces, PLACE_HASH)
    # A place of one pane tells what that does; where there is another, nothing that is told matters.
    places = each.groupBy(PLACE_HASH).agg(F.sum("weight").alias("weight"), F.bit_xor("content").alias("content"))
    most = F.coalesce(F.max("weight"), F.lit(0)).alias("most")
    found = places.agg(most, *_sums()).collect()[0]
    return Sums.of(found) if found.most <= 1 else None


def sums_of_results(staged: Staged) -> Sums:
    """The sums over the results that say to be of one pane; violations are those that lack something, or off the grid."""
    right = [F.expr(invariant.condition) for invariant in windows.invariants(staged.pipeline)]
    violations = F.count_if(~F.col("is_right")).alias("violations")
    told = _told(staged, staged.results_once, "last_fired_at", right)
    return Sums.of(told.agg(violations, *_sums()).collect()[0])


def sums_of_first_panes_again(staged: Staged) -> Sums:
    """The sums over the panes of `staged.panes_again` that have number 0."""
    first = staged.panes_again.where("pane_index = 0")
    return Sums.of(_told(staged, first, "fired_at").agg(*_sums()).collect()[0])


def results_agree(staged: Staged, panes: Sums) -> bool:
    """Whether results that say to be of one pane are right, and are those of the panes besides `staged.again`.

    `panes` are the sums of all first panes. Those of some can be taken off them: what is left is of the others.
    """
    return staged.once(sums_of_results) == panes.without(staged.once(sums_of_first_panes_again))


def _told(staged: Staged, rows: DataFrame, fired_at: str, right: Sequence[Column] = ()) -> DataFrame:
    """`content`, the hash of what a row tells, and `is_right`, whether nothing is null and `right` holds."""
    told = ("window_end", "row_count", fired_at, "shown")
    holds = [*(F.col(name).isNotNull() for name in ("window_start", *told)), *right]
    is_right = F.coalesce(reduce(Column.__and__, holds), F.lit(False))
    placed = staged.hashed_by_place(rows)
    content = hashed((F.col(name), placed.schema[name].dataType) for name in (PLACE_HASH, *told))
    return placed.select(PLACE_HASH, content.alias("content"), is_right.alias("is_right"))


def _sums() -> list[Column]:
    lower, upper = F.expr("content & 4294967295"), F.shiftrightunsigned("content", 32)
    return [
        F.count("*").alias("rows"),
        F.coalesce(F.sum(lower), F.lit(0)).alias("lower"),
        F.coalesce(F.sum(upper), F.lit(0)).alias("upper"),
        F.coalesce(F.bit_xor("content"), F.lit(0)).alias("combined"),
    ]
