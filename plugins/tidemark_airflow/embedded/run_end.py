"""How a DAG run ended: the file that `python -m tidemark_airflow.dag_run` writes, and the demo reads.

{"state": "success", "tasks": [{"task": "plan", "state": "success", "seconds": 9.1, ...}], "problem": null}
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from spark_jobs.job_protocol import ProtocolError, StepResult


@dataclass(frozen=True)
class TaskEnd:
    """How a task ended: Airflow's state, seconds from start to end, its job's result, or its exit code and reason.

    `seconds` and `state` are None for a task that never began, `result` for one without a job's result.
    """

    task: str
    state: str | None
    seconds: float | None
    result: StepResult | None
    failure: Mapping[str, Any] | None

    @classmethod
    def of(cls, task: str, state: str | None, seconds: float | None, returned: object, failure: Any) -> TaskEnd:
        """Return the end of a task that has returned this value; one that is no job's result is left out."""
        try:
            result = StepResult.from_json(returned)
        except ProtocolError:
            result = None
        return cls(task, state, seconds, result, failure)

    def to_json(self) -> dict[str, Any]:
        """Return the task as it is in the file."""
        result = None if self.result is None else self.result.to_json()
        return {
            "task": self.task,
            "state": self.state,
            "seconds": self.seconds,
            "said": result,
            "failure": self.failure,
        }

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> TaskEnd:
        """Read a task of the file."""
        return cls.of(content["task"], content["state"], content["seconds"], content["said"], content["failure"])


@dataclass(frozen=True)
class RunEnd:
    """How a DAG run ended: Airflow's state and the tasks in their order, or the problem for which it never began."""

    state: str
    tasks: Sequence[TaskEnd]
    problem: str | None = None

    def to_json(self) -> dict[str, Any]:
        """Return the content of the file."""
        return {"state": self.state, "tasks": [task.to_json() for task in self.tasks], "problem": self.problem}

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> RunEnd:
        """Read the content of the file."""
        return cls(content["state"], [TaskEnd.from_json(task) for task in content["tasks"]], content["problem"])
