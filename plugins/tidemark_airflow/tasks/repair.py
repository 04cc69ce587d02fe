"""The tasks of a repair: which closed windows have missed more rows than is allowed, and computing them again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from airflow.sdk import Context
from airflow.sdk.exceptions import AirflowSkipException

from tidemark_airflow.jobs.assets import PUBLISHED, event_extra, is_repair, results_of
from tidemark_airflow.jobs.outcome import Outcome
from tidemark_airflow.tasks.spark_job import LOOK, NOTHING, STEP_SCRIPT, WAIT, SparkJobOperator

REPAIR = "repair"


class LookOperator(SparkJobOperator):
    """Looks which windows are due; changes nothing. Skipped where only repairs have been published since."""

    template_fields: Sequence[str] = ("application",)

    def __init__(self, *, pipeline_file: str, application: str = "", **kwargs: Any) -> None:
        super().__init__(application=application or STEP_SCRIPT, name="tidemark look", **{"task_id": LOOK, **kwargs})
        self.pipeline_file = pipeline_file

    def job_arguments(self) -> list[str]:
        """`repair FILE --dry-run`."""
        return [REPAIR, self.pipeline_file, "--dry-run"]

    def execute(self, context: Context) -> Any:
        """Look, and hand on what is due."""
        events = [event for many in context.get("triggering_asset_events", {}).values() for event in many]
        if events and all(is_repair(event.extra) for event in events):
            raise AirflowSkipException("nothing but repairs has been published")
        return super().execute(context)


class RepairOperator(SparkJobOperator):
    """Computes the windows that the task `look` has found again, and publishes them; skipped where there are none.

    An event of the pipeline's asset tells of it.
    """

    template_fields: Sequence[str] = ("application",)

    def __init__(self, *, pipeline_file: str, application: str = "", **kwargs: Any) -> None:
        given = {"task_id": REPAIR, "outlets": [PUBLISHED], **kwargs}
        super().__init__(application=application or STEP_SCRIPT, name="tidemark repair", **given)
        self.pipeline_file = pipeline_file

    def job_arguments(self) -> list[str]:
        """`repair FILE --wait TIME`."""
        return [REPAIR, self.pipeline_file, "--wait", WAIT]

    def execute(self, context: Context) -> Any:
        """Repair, and tell."""
        looked = context["ti"].xcom_pull(task_ids=LOOK)
        if looked["state"] == NOTHING:
            raise AirflowSkipException(looked["message"])
        result = super().execute(context)
        if result["versions"]:
            pipeline = result["pipeline"]
            extra = event_extra({"pipeline": pipeline, "request": {}}, result)
            context["outlet_events"][PUBLISHED].add(results_of(pipeline), extra=extra)
        return result

    def _run_job(self) -> Outcome:
        outcome = super()._run_job()
        # Another run has published between its plan and its end: what is due is looked up again.
        return super()._run_job() if outcome.is_stale else outcome
