"""The Spark session of a command: its output is in the log file, and Ctrl-C stays the command's."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

from spark_jobs.cli import log_file
from spark_jobs.cli.live_line import LiveLine
from spark_jobs.runtime import import_path

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def open_session(
    app_name: str, progress: LiveLine, *, few_rows: bool = False, beside: Callable[[], None] = lambda: None
) -> SparkSession:
    """Return the running session, or a new session; `few_rows`: for few rows.

    The session is opened in another thread: in the main thread, PySpark would replace the handler of Ctrl-C.
    `beside` is called when Java starts. A thread that it begins runs while Python waits for Java.
    """
    from spark_jobs import session

    import_path.require_own_packages()

    def new_log() -> Path:
        progress(progress.command, "starting Spark")
        beside()
        return log_file.create()

    def report(line: str) -> None:
        progress(progress.command, line)

    with ThreadPoolExecutor(max_workers=1) as opening:
        spark = opening.submit(
            session.open_session, app_name, new_log, report, few_rows=few_rows, compiles_plans=not few_rows
        ).result()
    progress.count_tasks(spark)
    return spark
