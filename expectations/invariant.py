"""An invariant is a statement that must hold for every row of a batch; a suite is the invariants about one kind of row.

Invariant of invariants: a row obeys iff its condition is true. False and null both break it, so a value that should be there and is
not can never pass. Conditions are Spark SQL over the columns that the suite's `rows` gives, so that an invariant can be read,
copied into a query, and added by whoever can write a WHERE clause.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from pyspark.sql import DataFrame

from spark_jobs.pipeline.model import Pipeline

S = TypeVar("S")


@dataclass(frozen=True)
class Invariant:
    """One statement. `holds` is the SQL condition.

    `observed` is for invariants about a batch of a single row: SQL for the text that tells what was found. Without it a check
    tells how many rows break the invariant. `blocks` is false of an invariant that only warns: the results are right all the same.
    """

    name: str
    description: str
    condition: str
    observed: str | None = None
    blocks: bool = True


@dataclass(frozen=True)
class Suite(Generic[S]):
    """The invariants about one kind of row of what a run has staged, an `S`.

    `rows` gives the batch, `invariants` those that apply to the pipeline, `shows` the columns that may be shown of a row that
    breaks one: never a column of the source, except the key. `bulk_check` may show of many rows together that they obey all
    invariants: it gives how many, and the batch of all others, or None where it does not show it.
    """

    name: str
    rows: Callable[[S], DataFrame]
    invariants: Callable[[Pipeline], tuple[Invariant, ...]]
    shows: tuple[str, ...]
    bulk_check: Callable[[S], tuple[int, DataFrame] | None] | None = None
