"""One DAG for each file in `pipelines`, and for all of them `tidemark_backfill` and `tidemark_accept`."""

from pathlib import Path

from tidemark_airflow.dags.alerts import Alert
from tidemark_airflow.dags.dags import accept_dag, backfill_dag, pipeline_dags

PIPELINES = Path(__file__).parents[1] / "pipelines"

# Airflow's notifiers, called for tasks that fail and for checks that fail.
ALERTS: list[Alert] = []

globals().update(pipeline_dags(PIPELINES, alerts=ALERTS))
backfill = backfill_dag(PIPELINES, alerts=ALERTS)
accept = accept_dag(PIPELINES, alerts=ALERTS)
