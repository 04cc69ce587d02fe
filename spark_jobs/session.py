"""The Spark session of every job: Delta, UTC, quiet, and small where small is enough.

Under spark-submit the settings given there win; in a plain Python process the session is local.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from spark_jobs.runtime.environment import process_environment, spark_conf

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_LOCAL = {"spark.master": "local[*]", "spark.driver.memory": "4g"}


def open_session(app_name: str) -> SparkSession:
    """The running session, or a new one.

    A local session uses every core and 4 GiB of driver memory, unless the environment says otherwise
    (`TIDEMARK_SPARK_MASTER`, `TIDEMARK_DRIVER_MEMORY`).
    """
    os.environ.update(process_environment(os.environ))
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.appName(app_name)
    settings = spark_conf()
    if "SPARK_ENV_LOADED" not in os.environ:
        local = {
            "spark.master": os.environ.get("TIDEMARK_SPARK_MASTER", _LOCAL["spark.master"]),
            "spark.driver.memory": os.environ.get("TIDEMARK_DRIVER_MEMORY", _LOCAL["spark.driver.memory"]),
        }
        settings = {**settings, **local}
    for name, value in settings.items():
        builder = builder.config(name, value)
    return builder.getOrCreate()
