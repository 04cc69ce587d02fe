"""One DAG for each file in `pipelines`, and for all of them `tidemark_backfill`, `_accept` and `_maintenance`."""

from pathlib import Path

from tidemark_airflow.dags.alerts import Alert
from tidemark_airflow.dags.dags import accept_dag, backfill_dag, pipeline_dags
from tidemark_airflow.dags.maintenance import maintenance_dag

PIPELINES = Path(__file__).parents[1] / "pipelines"

# Airflow's notifiers, called for tasks that fail and for checks that fail.
ALERTS: list[Alert] = []

# When pipelines are maintained whose file has `maintenance`: cron fields or a preset, in UTC.
MAINTENANCE = "@daily"

globals().update(pipeline_dags(PIPELINES, alerts=ALERTS))
backfill = backfill_dag(PIPELINES, alerts=ALERTS)
accept = accept_dag(PIPELINES, alerts=ALERTS)
maintenance = maintenance_dag(PIPELINES, schedule=MAINTENANCE, alerts=ALERTS)
