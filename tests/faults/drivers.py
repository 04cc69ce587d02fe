"""Drivers: steps and whole runs of one pipeline as separate processes, as Airflow and users start them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from spark_jobs.tables.lake import Lake

STEP = Path(__file__).parents[2] / "spark_jobs" / "jobs" / "step.py"
PIPELINE = """
name: readings
source:
  table: {table}
  event_time: happened_at
  arrival_time: stored_at
  source_partition: [site]
  tie_break: [id]
  where: reading is null or reading <= 47
watermark:
  strategy: bounded_out_of_orderness
  out_of_orderness: 10 seconds
  emit: {{every: 30 seconds}}
windows:
  kind: tumbling
  size: 10 minutes
  key: [device]
  allowed_lateness: 20 minutes
  aggregates: {{readings: count(*), total: sum(reading), mean: avg(reading), most: max(reading)}}
quality: {{max_too_late_ratio: 0.5}}
"""


def command(step: str, file: Path, *options: str) -> list[str]:
    """The command that takes a step."""
    return [sys.executable, str(STEP), step, str(file), *options]


#: Settings of a small driver whose work is not worth compiling: the options of spark-submit, in the environment.
INTERPRETED = (
    "--conf spark.sql.codegen.wholeStage=false --conf spark.sql.codegen.factoryMode=NO_CODEGEN "
    "--conf spark.sql.shuffle.partitions=2 pyspark-shell"
)


def started(lake: Lake, command: list[str], errors: int = subprocess.DEVNULL) -> subprocess.Popen[str]:
    """The process of a command, the leader of a group with its JVM."""
    environment = {**os.environ, "TIDEMARK_LAKE": lake.root, "PYSPARK_SUBMIT_ARGS": INTERPRETED}
    return subprocess.Popen(command, env=environment, start_new_session=True, stderr=errors, text=True)
