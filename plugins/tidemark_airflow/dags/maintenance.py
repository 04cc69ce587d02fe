"""The DAG of maintenance: a task for each pipeline whose file has `maintenance`, one after the other."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from airflow.sdk import DAG, CronDataIntervalTimetable

from tidemark_airflow.dags.alerts import Alert
from tidemark_airflow.dags.common_arguments import TAGS, common_arguments
from tidemark_airflow.jobs.links import dag_id
from tidemark_airflow.jobs.pipeline_files import MAINTENANCE, read_folder
from tidemark_airflow.tasks.maintenance import MaintainOperator

_DOC = """
A task for each pipeline whose file has `maintenance`, which holds what is kept:

```yaml
maintenance: {retain: 30 days, keep_runs: 1}
```

A task holds all windows of its pipeline. So it waits while a run works on some of them, and a run waits while it works.
Readers see the same rows all the time. The task returns how many files were merged and removed, and how many bytes.
"""


def maintenance_dag(
    folder: Path, *, schedule: str = "@daily", application: str = "", alerts: Sequence[Alert] = ()
) -> DAG | None:
    """Return the DAG that maintains each pipeline whose file has `maintenance`, one after the other; None without one.

    `schedule` is a cron expression in UTC.
    """
    pipelines = [pipeline for pipeline in read_folder(folder).good.values() if pipeline.maintenance is not None]
    if not pipelines:
        return None
    common = common_arguments(_DOC, alerts, tags=(*TAGS, "maintenance"))
    with DAG(
        dag_id(MAINTENANCE),
        description="Merge small files of published tables, and remove files that no kept result needs",
        schedule=CronDataIntervalTimetable(schedule, timezone="UTC"),
        max_active_tasks=1,
        **common,
    ) as dag:
        for pipeline in pipelines:
            file = str(pipeline.path)
            MaintainOperator(task_id=pipeline.name, pipeline_file=file, application=application)
    return dag
