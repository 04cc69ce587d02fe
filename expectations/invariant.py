"""An invariant is a condition that every row of a batch must satisfy. A suite has the invariants of one kind of row.

A row satisfies an invariant iff the condition is true. False and null both violate it, so a missing value cannot pass.
Conditions are Spark SQL over the columns of the suite's `rows`. If you can write a WHERE clause, you can read them, run
them in a query, and add one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from pyspark.sql import DataFrame

from expectations.staged_tables import StagedTables
from spark_jobs.pipeline.model import Pipeline
from spark_jobs.pipeline.published_tables import Table

S = TypeVar("S")


@dataclass(frozen=True)
class Invariant:
    """A condition in Spark SQL, with a name and a description.

    - `observed`: for a batch of a single row, SQL for the observed value as text. By default, the number of violations;
    - `examples`: returns lines that explain a violation, for a batch of a single row;
    - `blocks`: false if a violation only warns, because the results are right all the same.
    """

    name: str
    description: str
    condition: str
    observed: str | None = None
    blocks: bool = True
    examples: Callable[[StagedTables], Sequence[str]] | None = None


@dataclass(frozen=True)
class Suite(Generic[S]):
    """The invariants of one kind of row. `S` is the class of the staged tables.

    - `table`: the published table that the checks are about; None for the source;
    - `rows`: returns the batch;
    - `invariants`: returns the invariants that apply to a pipeline;
    - `shows`: the columns of a violating row that a check may show. They include no source column except the key;
    - `bulk_check`: verifies many rows together. Returns their number and the batch of all other rows. Returns None if
      it cannot verify them; then every row of the batch is checked.
    """

    name: str
    table: Table | None
    rows: Callable[[S], DataFrame]
    invariants: Callable[[Pipeline], tuple[Invariant, ...]]
    shows: tuple[str, ...]
    bulk_check: Callable[[S], tuple[int, DataFrame] | None] | None = None
