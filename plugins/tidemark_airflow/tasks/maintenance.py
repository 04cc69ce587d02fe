"""The task that maintains a pipeline: it merges small files, and removes files that no kept result needs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from airflow.sdk import Context

from tidemark_airflow.jobs.request import maintain_arguments
from tidemark_airflow.tasks.spark_job import STEP_SCRIPT, SparkJobOperator


class MaintainOperator(SparkJobOperator):
    """Maintains a pipeline by `maintenance` of its file; waits for runs of the pipeline. Returns the figures."""

    template_fields: Sequence[str] = ("application",)

    def __init__(self, *, pipeline_file: str, application: str = "", **kwargs: Any) -> None:
        super().__init__(application=application or STEP_SCRIPT, name="tidemark maintain", **kwargs)
        self.pipeline_file = pipeline_file

    def execute(self, context: Context) -> Any:
        """Maintain the pipeline."""
        return self.end(context, lambda: self.run_job(maintain_arguments(self.pipeline_file)))
