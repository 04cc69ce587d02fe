"""A call of one of Spark's functions is one message to Java."""

from __future__ import annotations

import pytest
from py4j.clientserver import JavaClient
from py4j.java_gateway import JavaPackage
from py4j.protocol import MEMORY_COMMAND_NAME, Py4JError
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from spark_jobs import java_classes

pytestmark = pytest.mark.spark


@pytest.fixture(name="messages")
def _messages(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The messages to Java of this test, without those by which Java may forget an object."""
    messages: list[str] = []
    send = JavaClient.send_command

    def sent(client: JavaClient, command: str, *arguments: object, **more: object) -> object:
        if not command.startswith(MEMORY_COMMAND_NAME):
            messages.append(command)
        return send(client, command, *arguments, **more)

    monkeypatch.setattr(JavaClient, "send_command", sent)
    return messages


def test_a_function_is_looked_up_once(spark: SparkSession, messages: list[str]) -> None:
    F.soundex("a")
    messages.clear()
    F.soundex("a")
    assert [message.split("\n")[:3] for message in messages] == [
        ["c", "z:org.apache.spark.sql.functions", "col"],
        ["c", "z:org.apache.spark.sql.functions", "soundex"],
    ]


def test_a_class_by_its_full_name_is_looked_up_once(spark: SparkSession, messages: list[str]) -> None:
    view = spark.sparkContext._jvm
    assert view is not None
    assert view.java.util.concurrent.TimeUnit.valueOf("DAYS").toSeconds(1) == 86_400
    messages.clear()
    assert view.java.util.concurrent.TimeUnit.valueOf("DAYS").toHours(1) == 24
    assert not [message for message in messages if message.startswith("r\nu\n")]
    assert isinstance(view.java.util.nothing, JavaPackage)


def test_a_static_field_is_read_each_time(spark: SparkSession, messages: list[str]) -> None:
    integers = java_classes._RememberingClass("java.lang.Integer", spark.sparkContext._jvm.PythonUtils._gateway_client)  # type: ignore[union-attr]
    assert [integers.MAX_VALUE, integers.MAX_VALUE] == [2**31 - 1] * 2
    assert len(messages) == 2
    with pytest.raises(Py4JError, match="nothing does not exist"):
        _ = integers.nothing


def test_names_that_spark_does_not_have_are_left_to_pyspark(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(java_classes, "_NAMES", ("org.apache.spark.sql.Nothing", "java.lang.Math"))
    view = spark.sparkContext._jvm
    java_classes.remember(spark.sparkContext)
    assert "org.apache.spark.sql.Nothing" not in vars(view)
    assert view is not None
    assert getattr(view, "java.lang.Math").abs(-3) == 3
    delattr(view, "java.lang.Math")
