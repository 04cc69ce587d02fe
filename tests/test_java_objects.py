"""Java objects that Python no longer uses leave Java many at a time, and others stay."""

from __future__ import annotations

import gc
from collections import deque
from types import SimpleNamespace

import pytest
from py4j.clientserver import SHUTDOWN_FINALIZER_WORKER
from py4j.java_gateway import GatewayClient
from py4j.protocol import Py4JNetworkError
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from spark_jobs import java_objects
from tests.airflow.waiting import until


@pytest.mark.spark
def test_unused_objects_leave_java_together(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    alone: list[str] = []
    monkeypatch.setattr(GatewayClient, "garbage_collect_object", lambda _, name: alone.append(name))
    bindings = spark.sparkContext._gateway.java_gateway_server.getGateway().getBindings()  # type: ignore[union-attr]
    used = F.lit("used")
    columns = [F.lit(number) for number in range(3 * java_objects.MANY)]
    names = [column._jc._target_id for column in columns]
    assert all(map(bindings.containsKey, names[:: java_objects.MANY // 4]))
    del columns
    gc.collect()
    until(lambda: sum(map(bindings.containsKey, names)) < java_objects.MANY, within_s=30)
    assert bindings.containsKey(used._jc._target_id)
    assert spark.range(1).select(used).collect()[0][0] == "used"
    assert not set(alone) & set(names)


@pytest.mark.spark
def test_a_second_session_of_the_process_has_the_same_queue(spark: SparkSession) -> None:
    client = spark.sparkContext._gateway._gateway_client  # type: ignore[union-attr]
    queue = client.finalizer_deque
    java_objects.release_in_bulk(spark.sparkContext)
    assert client.finalizer_deque is queue


class Bindings:
    """Java's objects, whose connection fails at the first message."""

    def __init__(self) -> None:
        self.released: list[list[str]] = []

    def removeAll(self, names: list[str]) -> None:  # noqa: N802  Java's name
        self.released.append(names)
        if len(self.released) == 1:
            raise Py4JNetworkError("Answer from Java side is empty")


def test_a_message_that_fails_does_not_end_the_releases() -> None:
    bindings, worker = Bindings(), deque[str]()
    client = SimpleNamespace(finalizer_deque=worker)
    unused = java_objects._Unused(client, bindings, lambda text: text.split(","))
    for turn in range(2):
        for number in range(java_objects.MANY):
            unused.appendleft((client, f"o{turn}-{number}"))
        until(lambda turn=turn: sum(map(len, bindings.released)) >= (turn + 1) * java_objects.MANY, within_s=30)  # type: ignore[misc]
    unused.appendleft(SHUTDOWN_FINALIZER_WORKER)
    assert list(worker) == [SHUTDOWN_FINALIZER_WORKER]
