"""The environment of every Spark process of Tidemark: settings for Spark, variables for the process.

Both name the Spark, Java, jars and Python of this interpreter, and override the shell, Airflow and older installations.
The time zone of the process is unchanged; the session's is UTC.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

from spark_jobs.runtime import class_archive, native_engine, object_stores
from spark_jobs.runtime.installed import comet_jars_dir, s3_jars_dir, spark_home
from spark_jobs.runtime.jars import require_jars
from spark_jobs.runtime.java import require_java

_RULES_OF_LOG = Path(__file__).parent / "conf" / "log4j2.properties"
# Spark looks for settings in a folder on its class path. This one does not exist, as the class archive demands.
_NO_SETTINGS = Path(__file__).parent / "conf" / "none"

_SETTINGS = "SPARK_CONF_DIR"

DRIVER_MEMORY = "TIDEMARK_DRIVER_MEMORY"

# Where an environment gives options to every Java that starts.
_JAVA_OPTIONS = ("JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "_JAVA_OPTIONS")
_COLLECTOR = re.compile(r"-XX:\+Use\w+GC\b")


def spark_conf(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the settings of every session, as for `spark-submit --conf`. Raises RuntimeSetupError without jars.

    `environ` are the variables of its process.
    """
    folders = [require_jars(), *(folder for folder in (comet_jars_dir(), s3_jars_dir()) if folder.is_dir())]
    classpath = os.pathsep.join(str(folder / "*") for folder in folders)
    return {
        "spark.driver.extraClassPath": classpath,
        "spark.executor.extraClassPath": classpath,
        "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
        # The default, 50, makes 50 tasks for every read of a small table's log.
        "spark.databricks.delta.snapshotPartitions": "2",
        # A commit's checksum is optional. It needs several jobs, three times as long as the rest of a small commit.
        "spark.databricks.delta.writeChecksumFile.enabled": "false",
        # The number of rows that a run has staged is read from these statistics.
        "spark.databricks.delta.stats.collect": "true",
        "spark.sql.session.timeZone": "UTC",
        # Recording the Python line of every expression takes a quarter of the planning time of a small replay.
        "spark.python.sql.dataFrameDebugging.enabled": "false",
        # The default, INT96, is read and written slowly and has no statistics.
        "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
        "spark.log.level": "WARN",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        # A worker of Python looks first in its working directory, where a user's folder `spark_jobs` may be.
        "spark.executorEnv.PYTHONSAFEPATH": "1",
        # A file is renamed once and not twice, since a rename copies it in an object store. A job that fails leaves
        # files, which no log names.
        "spark.hadoop.mapreduce.fileoutputcommitter.algorithm.version": "2",
        **object_stores.conf(environ),
    }


def driver_conf(
    environ: Mapping[str, str], master: str, report: Callable[[str], None], *, few_rows: bool = False
) -> dict[str, str]:
    """Return the settings of a driver: its memory, its Java options, and the native engine (`native_engine`).

    `environ` are the variables of its process (`process_environment`).

    `TIDEMARK_DRIVER_MEMORY` (4 GiB by default) is for Java's heap and for native code. A batch tolerates pauses, so the
    driver collects garbage for throughput, in a heap of full size from the start. If the environment's Java options
    name a collector, it is kept, since Java refuses to start with two.
    A run of a minute compiles most code only once. Inlining less of it saves a tenth of the run, without slower loops.

    `few_rows`: the driver processes few rows, so it compiles by Java's fast compiler alone. This saves a fifth of the
    run. Without the optimizing compiler, Java reserves too little memory for code, unless it is set.

    A Spark with the user's own folder of settings has its own rules for its log, and no class archive.

    Raises RuntimeSetupError for a setting that no driver can start with.
    """
    memory, native = environ.get(DRIVER_MEMORY) or "4g", {}
    if native_engine.uses_comet(environ, master, report):
        heap_mebibytes, native_mebibytes = native_engine.split_memory(DRIVER_MEMORY, memory)
        memory, native = f"{heap_mebibytes}m", native_engine.comet_conf(native_mebibytes)
    named = any(_COLLECTOR.search(environ.get(options, "")) for options in _JAVA_OPTIONS)
    collected = "" if named else "-XX:+UseParallelGC "
    options = f"{collected}-XX:NewRatio=1 -XX:FreqInlineSize=120 -Xms{memory}"
    if few_rows:
        options += " -XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=256m"
    if environ.get(_SETTINGS) == str(_NO_SETTINGS):
        options += f" -Dlog4j2.configurationFile={_RULES_OF_LOG.as_uri()}{class_archive.options(environ)}"
    return {"spark.driver.memory": memory, "spark.driver.extraJavaOptions": options, **native}


def process_environment(base: Mapping[str, str]) -> dict[str, str]:
    """Return the variables of a new Spark process, from the variables `base` of this process.

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
        variables.setdefault(_SETTINGS, str(_NO_SETTINGS))
    # Comet reports its start to the terminal.
    variables.setdefault("COMET_LOG_LEVEL", "warn")
    # It would start another Python, or a notebook, in place of the job.
    variables.pop("PYSPARK_DRIVER_PYTHON", None)
    return variables
