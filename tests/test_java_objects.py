"""Java objects that Python no longer uses leave Java many at a time, and others stay."""

from __future__ import annotations

import gc

import pytest
from py4j.java_gateway import GatewayClient
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from spark_jobs import java_objects
from tests.airflow.waiting import until

pytestmark = pytest.mark.spark


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


def test_a_second_session_of_the_process_has_the_same_queue(spark: SparkSession) -> None:
    client = spark.sparkContext._gateway._gateway_client  # type: ignore[union-attr]
    queue = client.finalizer_deque
    java_objects.release_in_bulk(spark.sparkContext)
    assert client.finalizer_deque is queue
