"""Causes of an exception: Py4J's first line names the call, the innermost cause what happened."""

from __future__ import annotations

import errno

import pytest
from py4j.protocol import Py4JError
from pyspark.sql import SparkSession

from spark_jobs.jobs.runs import failures
from spark_jobs.tables.error_causes import causes, first_line, is_full_disk, is_native
from spark_jobs.tables.errors import SourceError
from spark_jobs.tables.lake import Lake
from spark_jobs.tables.source import pinned_version


class JavaError(Exception):
    """An error as Py4J raises it: a first line without content, and the exception behind it."""

    def __init__(self, *messages: str) -> None:
        super().__init__("An error occurred while calling o1.save.")
        self.java_exception = Throwable(*messages)


class Throwable:
    def __init__(self, mine: str, *causes: str) -> None:
        self._mine, self._causes = mine, causes

    def toString(self) -> str:  # noqa: N802  as Java has it
        return self._mine

    def getCause(self) -> Throwable | None:  # noqa: N802
        return Throwable(*self._causes) if self._causes else None


def test_first_line_is_from_the_innermost_cause() -> None:
    problem = JavaError(
        "org.apache.spark.SparkException: Job aborted", "java.io.IOException: /lake: not a folder\n at x"
    )
    assert first_line(problem) == "IOException: /lake: not a folder"
    worker = "x.PythonException: Traceback (most recent call last):\n  at x\nKeyError: 'unit'\n"
    assert first_line(JavaError("java.lang.Error: x", worker)) == "KeyError: 'unit'"
    worker = "A worker:\nTraceback (most recent call last):\n  File\n    x\nOSError: 1\n\nDuring that:\n\n"
    worker += "Traceback (most recent call last):\n  File\nRuntimeError: no unit\nof any kind"
    assert first_line(ValueError(worker)) == "RuntimeError: no unit"
    assert first_line(ValueError("one\ntwo")) == "one"
    assert first_line(ValueError()) == "ValueError()"


@pytest.mark.spark
@pytest.mark.parametrize("address", ["gs://bucket/clicks", "abfss://box@account.dfs.core.windows.net/clicks"])
def test_a_store_without_a_connector_is_named(spark: SparkSession, address: str) -> None:
    scheme = address.partition(":")[0]
    with pytest.raises(SourceError) as refused:
        pinned_version(spark, address)
    assert str(refused.value) == (
        f"source.table: '{address}' cannot be read (Spark has no connector for {scheme}://): "
        "name the connector's jar in Spark's settings (spark.jars)"
    )
    with pytest.raises(Py4JError) as failed:
        spark.read.parquet(address)
    assert failures.describe(failed.value) == (
        f"Spark has no connector for {scheme}://: name the connector's jar in Spark's settings (spark.jars)"
    )


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EDQUOT])
def test_a_full_disk_is_found_down_the_chain(code: int) -> None:
    problem = ValueError("could not")
    problem.__cause__ = OSError(code, "x")
    assert is_full_disk(problem)
    assert is_full_disk(JavaError("java.lang.Error: x", "java.io.IOException: No space left on device"))
    assert not is_full_disk(JavaError("java.lang.Error: x", "java.io.IOException: Permission denied"))


def test_a_chain_that_ends_in_itself_ends() -> None:
    problem = ValueError("round")
    problem.__context__ = problem
    assert set(causes(problem)) == {"round"}


def test_a_full_disk_that_is_not_here_is_one_of_the_workers() -> None:
    message = failures.describe(OSError(errno.ENOSPC, "x"), Lake("s3a://bucket/lake", "readings"))
    assert message.startswith(("a disk that Spark's workers write to is full", "the disk of /"))
    assert "run the same command" in message


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ("org.apache.comet.CometNativeException: Parquet error", True),
        ("org.apache.comet.CometNativeException: [FAILED_READ_FILE.FILE_NOT_EXIST] x", False),
        ("org.apache.spark.SparkArithmeticException: [DIVIDE_BY_ZERO] Division by zero.", True),
        ("org.apache.spark.SparkNumberFormatException: [CAST_INVALID_INPUT] The value 'x'", True),
        ("org.apache.spark.SparkArithmeticException: [NUMERIC_VALUE_OUT_OF_RANGE.WITHOUT_SUGGESTION] 1", True),
        ("org.apache.spark.SparkIllegalArgumentException: [INVALID_UTF8_STRING] Invalid", True),
        ("org.apache.spark.SparkRuntimeException: [USER_RAISED_EXCEPTION] DIVIDE_BY_ZERO", False),
        ("java.io.IOException: No space left on device", False),
    ],
)
def test_a_value_that_spark_might_not_compute_may_be_the_native_engine_s(message: str, *, expected: bool) -> None:
    assert is_native(JavaError("org.apache.spark.SparkException: Job aborted", message)) is expected
