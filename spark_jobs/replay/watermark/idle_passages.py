"""The advances of the combined watermark where partitions fall idle, in cells of the window grid.

Law: the combined watermark is the running maximum of the minimum over active partitions. If none is active, it is the
maximum over all (rules 21-24, 28). Flooring to the grid commutes with minimum and maximum, so cells can replace
watermarks. A window is passed by the first advance to its cell or a later cell.

Only the first passages of single partitions and the changes between idle and active can advance the watermark. Their
number does not depend on the number of rows. One task scans them in order.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from spark_jobs.pipeline.model import Pipeline
from spark_jobs.replay.watermark import combined, idleness

if TYPE_CHECKING:
    import pandas as pd

_MIN = -(2**63)
_UNCHANGED, _ACTIVE, _IDLE = 0, 1, 2


def passages(
    windows: DataFrame, first_of_cell: DataFrame, moves: DataFrame, pipeline: Pipeline, names: Sequence[str]
) -> DataFrame:
    """Return `window_ms` of `windows`, and under each of `names` the epoch that passes the window, or null.

    `moves` are the census groups that move the watermark. Emissions after the last row are assumed to happen.
    `first_of_cell` has a row for each cell that a partition passes:

    - `partition`
    - `threshold`: the index of a name
    - `window_ms`: the latest window that the partition passes
    - `epoch`: the first epoch that passes it
    """
    steps = _steps(first_of_cell, moves, pipeline, len(names)).localCheckpoint()
    columns = steps.select("threshold", "place", "partition", "cell_ms", "change")
    advances = columns.groupBy("threshold").applyInPandas(_scan(), "threshold int, place int, cell_ms long")
    epochs = steps.where("epoch is not null").select("place", "epoch").distinct()
    reached = advances.join(epochs, "place").select("threshold", F.col("cell_ms").alias("window_ms"), "epoch")
    every_threshold = F.explode(F.array(*(F.lit(i) for i in range(len(names))))).alias("threshold")
    probes = windows.select("window_ms", every_threshold, F.lit(True).alias("is_probe"))
    newest_first = (
        Window.partitionBy("threshold")
        .orderBy(F.col("window_ms").desc(), F.col("is_probe").asc_nulls_first())
        .rowsBetween(Window.unboundedPreceding, 0)
    )
    passed = (
        reached.unionByName(probes, allowMissingColumns=True)
        .withColumn("passed", F.min("epoch").over(newest_first))
        .where("is_probe")
    )
    return passed.groupBy("window_ms").agg(
        *(F.min(F.when(F.col("threshold") == i, F.col("passed"))).alias(name) for i, name in enumerate(names))
    )


def _steps(first_of_cell: DataFrame, moves: DataFrame, pipeline: Pipeline, thresholds: int) -> DataFrame:
    """Return the changes: `threshold, place` (equal for one emission), `partition, cell_ms, change, epoch`."""
    rises = first_of_cell.where("window_ms is not null").select(
        "threshold", "partition", "epoch", F.col("window_ms").alias("cell_ms"), F.lit(_UNCHANGED).alias("change")
    )
    # A declared partition exists before the first emission, which null precedes.
    joins = combined.partitions(moves, pipeline).select(
        "partition", F.col("joined").alias("epoch"), F.lit(_ACTIVE).alias("change")
    )
    turned = F.when(F.col("is_idle"), _IDLE).otherwise(_ACTIVE).alias("change")
    changes = idleness.changes(moves, pipeline).select("partition", "epoch", turned)
    every_threshold = F.explode(F.array(*(F.lit(i) for i in range(thresholds)))).alias("threshold")
    state_changes = joins.unionByName(changes).select(
        every_threshold, "partition", "epoch", F.lit(_MIN).alias("cell_ms"), "change"
    )
    # Few rows, and one order: epochs of any kind become numbers.
    in_order = Window.partitionBy(F.lit(0)).orderBy(F.col("epoch").asc_nulls_first())
    return rises.unionByName(state_changes).withColumn("place", F.dense_rank().over(in_order))


def _scan() -> Callable[[pd.DataFrame], pd.DataFrame]:
    """Return the function that scans the steps of one threshold; a row of its result is an advance.

    The function needs no module of this project, so that workers need only Python and pandas.
    """
    lowest, unchanged, idle = _MIN, _UNCHANGED, _IDLE

    def scan(steps: pd.DataFrame) -> pd.DataFrame:
        from heapq import heappop, heappush
        from itertools import groupby

        import pandas as pd

        steps = steps.sort_values("place", kind="stable")
        columns = (steps[name].tolist() for name in ("place", "partition", "cell_ms", "change"))
        reached: dict[str, int] = {}
        active: set[str] = set()
        # The heap contains every active partition with its watermark; outdated entries are removed at its top.
        slowest: list[tuple[int, str]] = []
        reached_by_all = highest = lowest
        advances = []
        for place, emission in groupby(zip(*columns, strict=True), key=lambda step: step[0]):
            for _, partition, cell, change in emission:
                value = max(cell, reached.get(partition, lowest))
                if change == idle:
                    active.discard(partition)
                elif change != unchanged:
                    active.add(partition)
                reached[partition], highest = value, max(highest, value)
                if partition in active:
                    heappush(slowest, (value, partition))
            while slowest and (slowest[0][1] not in active or reached[slowest[0][1]] != slowest[0][0]):
                heappop(slowest)
            candidate = slowest[0][0] if slowest else highest
            if candidate > reached_by_all:
                reached_by_all = candidate
                advances.append((place, candidate))
        return pd.DataFrame(
            {
                "threshold": pd.Series([steps["threshold"].iloc[0]] * len(advances), dtype="int32"),
                "place": pd.Series([place for place, _ in advances], dtype="int32"),
                "cell_ms": pd.Series([cell for _, cell in advances], dtype="int64"),
            }
        )

    return scan
