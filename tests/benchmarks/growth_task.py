"""A case of the benchmark of growth, as a process: it replays the events of the case in a Spark that is warm.

    python -m tests.benchmarks.growth_task CASE FOLDER OUT.json

CASE is JSON, the fields of `growth_cases.Case`. FOLDER holds events and lakes, and is emptied. First few events of the
same pipeline are replayed, so that Java has compiled what it needs; their time is not in the result.
"""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from pyspark.sql import SparkSession

from spark_jobs.job_protocol import StepResult
from spark_jobs.jobs.runs.runner import Runner
from spark_jobs.session import open_session
from spark_jobs.tables.interval import Interval
from tests.benchmarks import events
from tests.benchmarks.events import DEFAULT_SEED
from tests.benchmarks.growth_cases import Case
from tests.benchmarks.pipelines import lake_of, pipeline_of

_FEW_ROWS = 20_000


def main(arguments: Sequence[str]) -> None:
    """Replay few events, then those of the case, and write the seconds and counts of its steps."""
    case, folder, out = Case.from_json(arguments[0]), Path(arguments[1]), Path(arguments[2])
    shutil.rmtree(folder, ignore_errors=True)
    spark = open_session("benchmark growth")
    replayed(spark, replace(case, rows=min(case.rows, _FEW_ROWS)), folder / "few")
    steps = replayed(spark, case, folder / "case")
    spark.stop()
    shutil.rmtree(folder)
    counts = {name: count for step in steps for name, count in step.counts.items()}
    seconds = {step.step: step.seconds for step in steps}
    out.write_text(json.dumps({"steps": seconds, "counts": counts}, indent=1), encoding="utf-8")


def replayed(spark: SparkSession, case: Case, folder: Path) -> Sequence[StepResult]:
    """Replay the events of a case, which are made in `folder`; return the steps of its last run.

    A case with history has a run before: of all days but the last.
    """
    table = folder / "events"
    events.generate(spark, table, case.rows, DEFAULT_SEED, case.spread)
    runner = Runner(spark, pipeline_of(table, settings=case.settings), lake_of(folder / "lake"))
    if not case.history_days:
        return runner.run(Interval())
    last_day = case.rows * case.history_days // case.spread.days
    for first_event_after in (last_day, case.rows):
        arrived_to = datetime.fromtimestamp(events.arrival_us(first_event_after, case.rows, case.spread) / 1e6, UTC)
        steps = runner.run(Interval(), arrived_to)
    return steps


if __name__ == "__main__":
    main(sys.argv[1:])
