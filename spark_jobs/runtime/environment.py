"""What every Spark process of Tidemark is started with: settings for Spark, variables for the process.

Both name this interpreter's own Spark, Java, jars and Python, whatever the shell, Airflow or an older installation has
set. The time zone of the process stays as it is; the session's is UTC.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Mapping
from pathlib import Path

from spark_jobs.runtime.installed import s3_jars_dir, spark_home
from spark_jobs.runtime.jars import require_jars
from spark_jobs.runtime.java import require_java

# Rules for Spark's own log; a Spark that was given settings of its own keeps them.
QUIET_CONF_DIR = Path(__file__).parent / "conf"

DRIVER_MEMORY = "TIDEMARK_DRIVER_MEMORY"

# Where an environment gives options to every Java that starts.
_JAVA_OPTIONS = ("JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "_JAVA_OPTIONS")
_COLLECTOR = re.compile(r"-XX:\+Use\w+GC\b")


def spark_conf() -> dict[str, str]:
    """Give the settings of every session, also as `--conf` of a spark-submit. Raises RuntimeSetupError without jars."""
    folders = [require_jars(), *([s3_jars_dir()] if s3_jars_dir().is_dir() else [])]
    classpath = os.pathsep.join(str(folder / "*") for folder in folders)
    return {
        "spark.driver.extraClassPath": classpath,
        "spark.executor.extraClassPath": classpath,
        "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
        # The default, 50, makes 50 tasks of every look at a small table's log.
        "spark.databricks.delta.snapshotPartitions": "2",
        # A commit's checksum is optional and takes several jobs, three times as long as the rest of a small commit.
        "spark.databricks.delta.writeChecksumFile.enabled": "false",
        # How many rows a run has staged is read off them.
        "spark.databricks.delta.stats.collect": "true",
        "spark.sql.session.timeZone": "UTC",
        # Noting the Python line of every expression takes a quarter of the time that it takes to plan a small replay.
        "spark.python.sql.dataFrameDebugging.enabled": "false",
        # The default, INT96, is read and written slowly and has no statistics.
        "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
        "spark.log.level": "WARN",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
    }


def driver_conf(environ: Mapping[str, str]) -> dict[str, str]:
    """Give the settings of a driver of ours: its memory (`TIDEMARK_DRIVER_MEMORY`, else 4 GiB), and how it is kept.

    A batch has no pauses to fear, so the driver collects garbage for throughput, in a heap of full size from the
    start. A collector that the environment's Java options name stays, for Java refuses to start with two. Most of what
    Java compiles in a run of a minute is planned once and never again: to inline less into it takes a tenth off the
    run, and nothing from the speed of the loops.
    """
    memory = environ.get(DRIVER_MEMORY) or "4g"
    named = any(_COLLECTOR.search(environ.get(options, "")) for options in _JAVA_OPTIONS)
    collected = "" if named else "-XX:+UseParallelGC "
    return {
        "spark.driver.memory": memory,
        "spark.driver.extraJavaOptions": f"{collected}-XX:NewRatio=1 -XX:FreqInlineSize=120 -Xms{memory}",
    }


def process_environment(base: Mapping[str, str]) -> dict[str, str]:
    """Give the variables to start a Spark process with, from those of this one.

    Raises RuntimeSetupError without a fitting Java or without pyspark.
    """
    java = require_java(base)
    first = [str(Path(sys.executable).parent), str(java.path / "bin")]
    path = [*first, *base.get("PATH", os.defpath).split(os.pathsep)]
    variables = {
        **base,
        "JAVA_HOME": str(java.path),
        "SPARK_HOME": str(spark_home()),
        "PATH": os.pathsep.join(dict.fromkeys(path)),
        "PYSPARK_PYTHON": sys.executable,
    }
    if not (spark_home() / "conf").is_dir():
        variables.setdefault("SPARK_CONF_DIR", str(QUIET_CONF_DIR))
    # It would start another Python, or a notebook, in place of the job.
    variables.pop("PYSPARK_DRIVER_PYTHON", None)
    return variables
