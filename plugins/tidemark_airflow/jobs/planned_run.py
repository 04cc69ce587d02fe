"""A planned run: what the task `plan` returns, and the tasks behind it read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

from spark_jobs.job_protocol import StepResult
from tidemark_airflow.jobs.request import Request

_REQUEST = "request"


@dataclass(frozen=True)
class PlannedRun:
    """The result of the plan, with the request that it is of."""

    result: StepResult
    request: Request

    @property
    def run_id(self) -> str:
        """The run's id."""
        return self.result.run_id

    @property
    def pipeline(self) -> str:
        """The pipeline's name."""
        return self.result.pipeline

    @property
    def is_published(self) -> bool:
        """True if the run was published before this plan."""
        return bool(self.result.versions)

    @classmethod
    def from_xcom(cls, content: Mapping[str, Any]) -> PlannedRun:
        """Read what `plan_xcom` made. Raises ProtocolError."""
        return cls(StepResult.from_json(content), cast("Request", content[_REQUEST]))


def plan_xcom(result: Mapping[str, Any], request: Request) -> dict[str, Any]:
    """Return what the task `plan` pushes: the result as JSON, and the request beside it."""
    return {**result, _REQUEST: request}
