"""Spark's settings of the user beside Tidemark's."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from spark_jobs.runtime.user_settings import beside, of_file

DELTA, ZONE = "io.delta.sql.DeltaSparkSessionExtension", "spark.sql.session.timeZone"
OWN = {
    "spark.sql.extensions": DELTA,
    "spark.driver.extraClassPath": "/jars/*",
    "spark.ui.enabled": "false",
    ZONE: "UTC",
}


def test_the_file_is_read_as_java_reads_properties(tmp_path: Path) -> None:
    lines = ["# a comment", "! another", "", "spark.a   one two ", "spark.b=three=four", " spark.c : five", "spark.d"]
    (tmp_path / "spark-defaults.conf").write_text("\n".join(lines), encoding="utf-8")
    expected = {"spark.a": "one two", "spark.b": "three=four", "spark.c": "five"}
    assert of_file({"SPARK_CONF_DIR": str(tmp_path)}) == expected


@pytest.mark.parametrize("environ", [{}, {"SPARK_CONF_DIR": ""}, {"SPARK_CONF_DIR": "/nowhere"}])
def test_without_a_file_no_setting_is_of_the_user(environ: dict[str, str]) -> None:
    assert of_file(environ) == {}


def test_extensions_and_class_paths_are_joined_once() -> None:
    users = {
        "spark.sql.extensions": f"com.company.Extension, {DELTA}",
        "spark.driver.extraClassPath": f"/jars/*{os.pathsep}/own/a.jar",
        "spark.company": "any",
    }
    reports: list[str] = []
    settings = beside(OWN, users, reports.append)
    assert settings["spark.sql.extensions"] == f"{DELTA},com.company.Extension"
    assert settings["spark.driver.extraClassPath"] == os.pathsep.join(("/jars/*", "/own/a.jar"))
    assert settings.keys() == OWN.keys()
    assert reports == []


def test_a_setting_that_changes_no_result_is_of_the_user_and_another_is_reported() -> None:
    reports: list[str] = []
    settings = beside(OWN, {"spark.ui.enabled": "true", ZONE: "Europe/Berlin"}, reports.append)
    assert settings == {**OWN, "spark.ui.enabled": "true"}
    assert reports == [f"the setting {ZONE} of Spark is 'Europe/Berlin', but a run needs 'UTC', and uses this"]
