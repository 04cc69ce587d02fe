"""The lock names Delta for the Spark that is installed, each jar with a whole hash, and nothing that Spark ships."""

from __future__ import annotations

import re
from importlib.metadata import version

import pytest

from spark_jobs.runtime.installed import spark_home
from spark_jobs.runtime.jars import COMET, DELTA, S3, Kind, locked

KINDS = pytest.mark.parametrize("kind", [DELTA, COMET, S3], ids=lambda kind: str(kind.name))


def test_delta_is_locked_for_this_spark_in_the_version_of_its_python_package() -> None:
    spark = ".".join(version("pyspark").split(".")[:2])
    assert f"io.delta:delta-spark_{spark}_2.13:{version('delta-spark')}" in {jar.coordinate for jar in locked()}


def test_comet_is_locked_for_this_spark() -> None:
    spark = ".".join(version("pyspark").split(".")[:2])
    (jar,) = locked(COMET)
    assert jar.coordinate.startswith(f"org.apache.datafusion:comet-spark-spark{spark}_2.13:")


def test_s3_is_locked_for_the_hadoop_of_this_spark() -> None:
    (hadoop,) = (spark_home() / "jars").glob("hadoop-client-api-*.jar")
    version = hadoop.stem.removeprefix("hadoop-client-api-")
    assert f"org.apache.hadoop:hadoop-aws:{version}" in {jar.coordinate for jar in locked(S3)}


def test_aws_jars_are_locked_in_one_version() -> None:
    coordinates = [
        jar.coordinate.split(":") for jar in locked(S3) if jar.coordinate.startswith("software.amazon.awssdk:")
    ]
    assert len({version for _, _, version in coordinates}) == 1


@KINDS
def test_every_jar_has_a_whole_hash_and_stands_once(kind: Kind) -> None:
    jars = locked(kind)
    assert all(re.fullmatch(r"[0-9a-f]{64}", jar.sha256) for jar in jars)
    assert len({jar.coordinate for jar in jars}) == len({jar.file_name for jar in jars}) == len(jars) > 0


@KINDS
def test_no_jar_is_locked_that_spark_ships_in_any_version(kind: Kind) -> None:
    shipped = {re.sub(r"-\d.*", "", path.name) for path in (spark_home() / "jars").glob("*.jar")}
    assert len(shipped) > 100
    assert not shipped & {jar.coordinate.split(":")[1] for jar in locked(kind)}
