"""Which files Spark has read, by its own metrics."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pyspark.sql import SparkSession

_LENGTH = "spark.sql.maxMetadataStringLength"


def most_files_read(spark: SparkSession, path: str, work: Callable[[], object]) -> int:
    """The greatest number of files that a single scan of the table at `path` reads while `work` is done."""
    store = spark._jsparkSession.sharedState().statusStore()
    before = _last(store)
    # Paths are not shortened.
    spark.conf.set(_LENGTH, "10000")
    try:
        work()
    finally:
        spark.conf.unset(_LENGTH)
    spark.sparkContext._jsc.sc().listenerBus().waitUntilEmpty()
    counts = []
    executions = store.executionsList()
    for i in range(executions.size()):
        number = executions.apply(i).executionId()
        if number > before:
            counts += _files(store, number, path)
    assert counts, f"nothing has read {path}"
    return max(counts)


def _last(store: Any) -> int:
    executions = store.executionsList()
    return max((executions.apply(i).executionId() for i in range(executions.size())), default=-1)


def _files(store: Any, execution: int, path: str) -> list[int]:
    values, nodes = store.executionMetrics(execution), store.planGraph(execution).allNodes()
    counts = []
    for i in range(nodes.size()):
        node = nodes.apply(i)
        if not (node.name().startswith("Scan") and path in node.desc()):
            continue
        metrics = node.metrics()
        for j in range(metrics.size()):
            if metrics.apply(j).name() == "number of files read":
                metric = values.get(metrics.apply(j).accumulatorId())
                counts.append(int(metric.get().replace(",", "")) if metric.isDefined() else 0)
    return counts
