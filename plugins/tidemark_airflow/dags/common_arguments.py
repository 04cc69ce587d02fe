"""The arguments that all DAGs have in common: one run at a time, one retry, who is alerted."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from spark_jobs.pipeline import Schedule
from tidemark_airflow.dags.alerts import Alert, of_failures

TAGS = ("tidemark",)
#: The schedule of a DAG that is started by hand.
BY_HAND = Schedule()
_TASKS = {"owner": "tidemark", "retries": 1, "retry_delay": timedelta(seconds=30)}
_SINCE = datetime(2024, 1, 1, tzinfo=UTC)


def common_arguments(
    doc: str, alerts: Sequence[Alert] = (), schedule: Schedule = BY_HAND, *, tags: Sequence[str]
) -> dict[str, Any]:
    """Return the arguments of a DAG with this page and these tags."""
    return {
        "start_date": schedule.start or _SINCE,
        "catchup": schedule.catchup,
        "max_active_runs": 1,
        "default_args": {**_TASKS, **of_failures(alerts)},
        "tags": list(tags),
        "doc_md": doc,
    }
