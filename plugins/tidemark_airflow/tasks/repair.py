"""The tasks of a repair: find the closed windows that missed more rows than is allowed, and recompute them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from airflow.sdk import Context
from airflow.sdk.exceptions import AirflowSkipException

from spark_jobs.job_protocol import StepResult, StepState
from tidemark_airflow.jobs.assets import PUBLISHED, is_repair
from tidemark_airflow.jobs.outcome import Outcome
from tidemark_airflow.jobs.request import repair_arguments
from tidemark_airflow.jobs.task_ids import LOOK, REPAIR
from tidemark_airflow.tasks.asset_events import add_event
from tidemark_airflow.tasks.returned import result_of
from tidemark_airflow.tasks.spark_job import STEP_SCRIPT, SparkJobOperator


class LookOperator(SparkJobOperator):
    """Finds the windows that are due, and changes nothing; skipped if only repairs were published since."""

    template_fields: Sequence[str] = ("application",)

    def __init__(self, *, pipeline_file: str, application: str = "", **kwargs: Any) -> None:
        super().__init__(application=application or STEP_SCRIPT, name="tidemark look", **{"task_id": LOOK, **kwargs})
        self.pipeline_file = pipeline_file

    def execute(self, context: Context) -> Any:
        """Return what is due."""
        events = [event for many in context.get("triggering_asset_events", {}).values() for event in many]
        if events and all(is_repair(event.extra) for event in events):
            raise AirflowSkipException("nothing but repairs has been published")
        return self.end(context, lambda: self.run_job(repair_arguments(self.pipeline_file, dry_run=True)))


class RepairOperator(SparkJobOperator):
    """Recomputes the windows that the task `look` has found, and publishes them; skipped if there are none.

    The pipeline's asset gets an event.
    """

    template_fields: Sequence[str] = ("application",)

    def __init__(self, *, pipeline_file: str, application: str = "", **kwargs: Any) -> None:
        own = {"task_id": REPAIR, "outlets": [PUBLISHED], **kwargs}
        super().__init__(application=application or STEP_SCRIPT, name="tidemark repair", **own)
        self.pipeline_file = pipeline_file

    def execute(self, context: Context) -> Any:
        """Repair what is due, and add the event."""
        require_due(result_of(context, LOOK))
        content = self.end(context, self._repaired)
        result = StepResult.from_json(content)
        if result.versions:
            add_event(context, result)
        return content

    def _repaired(self) -> Outcome:
        arguments = repair_arguments(self.pipeline_file, dry_run=False)
        outcome = self.run_job(arguments)
        # If another run was published between the job's plan and its end, a second job finds again what is due.
        return self.run_job(arguments) if outcome.is_stale else outcome


def require_due(look: StepResult | None) -> StepResult:
    """Return the result of the task `look`. Raises AirflowSkipException if no window is due."""
    if look is None or look.state is StepState.UNCHANGED:
        raise AirflowSkipException("the task look returned nothing" if look is None else look.message)
    return look
