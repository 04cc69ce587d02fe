"""The lock names Delta for the Spark that is installed, each jar with a whole hash, and nothing that Spark ships."""

from __future__ import annotations

import re
from importlib.metadata import version

from spark_jobs.runtime.installed import spark_home
from spark_jobs.runtime.jars import locked


def test_delta_is_locked_for_this_spark_in_the_version_of_its_python_package() -> None:
    spark = ".".join(version("pyspark").split(".")[:2])
    assert f"io.delta:delta-spark_{spark}_2.13:{version('delta-spark')}" in {jar.coordinate for jar in locked()}


def test_every_jar_has_a_whole_hash_and_stands_once() -> None:
    assert all(re.fullmatch(r"[0-9a-f]{64}", jar.sha256) for jar in locked())
    assert len({jar.coordinate for jar in locked()}) == len({jar.file_name for jar in locked()}) == len(locked())


def test_no_jar_is_locked_that_spark_ships_in_any_version() -> None:
    shipped = {re.sub(r"-\d.*", "", path.name) for path in (spark_home() / "jars").glob("*.jar")}
    assert len(shipped) > 100
    assert not shipped & {jar.coordinate.split(":")[1] for jar in locked()}
