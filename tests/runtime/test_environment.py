"""A Spark process is started with this interpreter's own Spark, Java, Python and jars; nothing else changes."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from spark_jobs.runtime import (
    RuntimeSetupError,
    driver_conf,
    environment,
    jars_dir,
    process_environment,
    spark_conf,
)
from spark_jobs.runtime.installed import s3_jars_dir, spark_home
from tests.runtime.conftest import MakeJava


@pytest.fixture
def shell(make_java: MakeJava) -> dict[str, str]:
    """The variables of a shell with a fitting Java on PATH."""
    return {"PATH": f"{make_java('jdk', '17.0.15') / 'bin'}:/usr/bin:/bin", "HOME": "/home/someone"}


def test_the_process_finds_this_python_this_spark_and_the_java(shell: dict[str, str], tmp_path: Path) -> None:
    variables = process_environment(shell)
    assert variables["PYSPARK_PYTHON"] == sys.executable
    assert variables["SPARK_HOME"] == str(spark_home())
    assert (spark_home() / "bin" / "spark-submit").is_file()
    assert variables["JAVA_HOME"] == str(tmp_path / "jdk")
    assert variables["PATH"].split(":")[:2] == [str(Path(sys.executable).parent), str(tmp_path / "jdk" / "bin")]
    assert variables["PATH"].endswith(":/usr/bin:/bin")


def test_an_older_installation_in_the_shell_does_not_win(shell: dict[str, str]) -> None:
    older = {"SPARK_HOME": "/opt/spark", "PYSPARK_PYTHON": "python2", "PYSPARK_DRIVER_PYTHON": "jupyter"}
    assert process_environment({**shell, **older}) == process_environment(shell)


def test_settings_other_than_sparks_stay(shell: dict[str, str]) -> None:
    variables = process_environment({**shell, "TZ": "America/New_York"})
    assert (variables["TZ"], variables["HOME"]) == ("America/New_York", "/home/someone")
    assert "TZ" not in process_environment(shell)


def test_a_process_started_from_such_a_process_has_the_same_variables(shell: dict[str, str]) -> None:
    once = process_environment(shell)
    assert process_environment(once) == once


def test_spark_s_log_follows_our_rules_unless_the_user_has_own_ones(shell: dict[str, str]) -> None:
    def options(variables: dict[str, str]) -> str:
        environ = {**process_environment({**shell, **variables}), "TIDEMARK_ENGINE": "spark"}
        return driver_conf(environ, "local[*]", print)["spark.driver.extraJavaOptions"]

    rules = Path(environment.__file__).parent / "conf" / "log4j2.properties"
    assert rules.is_file()
    assert f"-Dlog4j2.configurationFile={rules.as_uri()}" in options({})
    assert process_environment({**shell, "SPARK_CONF_DIR": "/etc/spark"})["SPARK_CONF_DIR"] == "/etc/spark"
    assert "log4j2" not in options({"SPARK_CONF_DIR": "/etc/spark"})


def test_error_without_pyspark_names_the_package(shell: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("spark_jobs.runtime.installed.find_spec", lambda name: None)
    with pytest.raises(RuntimeSetupError, match="needs the package pyspark"):
        process_environment(shell)


def test_driver_and_executors_read_the_jars_that_set_up_brought(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(environment, "require_jars", jars_dir)
    settings = spark_conf({})
    assert settings["spark.driver.extraClassPath"] == settings["spark.executor.extraClassPath"] == f"{jars_dir()}/*"
    assert settings["spark.sql.session.timeZone"] == "UTC"


def test_s3_jars_are_read_from_the_folder_of_set_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(environment, "require_jars", jars_dir)
    s3_jars_dir().mkdir(parents=True)
    settings = spark_conf({})
    class_path = f"{jars_dir()}/*:{s3_jars_dir()}/*"
    assert settings["spark.driver.extraClassPath"] == settings["spark.executor.extraClassPath"] == class_path


def test_settings_without_the_jars_are_refused() -> None:
    with pytest.raises(RuntimeSetupError, match="Delta's jars are not all in"):
        spark_conf({})


def test_a_driver_has_a_heap_of_full_size_from_the_start_and_collects_for_throughput() -> None:
    for setting, memory in ((None, "4g"), ("", "4g"), ("9g", "9g")):
        memory_of_all = {} if setting is None else {"TIDEMARK_DRIVER_MEMORY": setting}
        settings = driver_conf({**memory_of_all, "TIDEMARK_ENGINE": "spark"}, "local[*]", print)
        assert settings["spark.driver.memory"] == memory
        heap = f"-XX:NewRatio=1 -XX:FreqInlineSize=120 -Xms{memory}"
        assert settings["spark.driver.extraJavaOptions"] == f"-XX:+UseParallelGC {heap}"


def test_a_driver_of_few_rows_compiles_fast_and_has_room_for_the_code() -> None:
    usual, short = (
        driver_conf({"TIDEMARK_ENGINE": "spark"}, "local[*]", print, few_rows=few_rows) for few_rows in (False, True)
    )
    options = "spark.driver.extraJavaOptions"
    assert short[options] == f"{usual[options]} -XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=256m"


@pytest.mark.parametrize("options", ["JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "_JAVA_OPTIONS"])
def test_a_collector_that_the_environment_names_stays_the_only_one(options: str) -> None:
    named = driver_conf({options: "-Dx=y -XX:+UseSerialGC"}, "yarn", print)["spark.driver.extraJavaOptions"]
    assert "Use" not in named
    other = driver_conf({options: "-Dx=y -XX:+UseStringDeduplication"}, "yarn", print)["spark.driver.extraJavaOptions"]
    assert "-XX:+UseParallelGC" in other
