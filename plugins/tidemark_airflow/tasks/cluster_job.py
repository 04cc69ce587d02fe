"""A job whose driver runs on a Spark cluster, and the attempts of a task that wait for it.

The pipeline file, the variables and the answer are objects of the lake (`exchange`). Airflow's store of the task's
state has the job and its driver. So an attempt behind a lost worker waits for the driver that runs. It submits a driver
only if none runs.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

from spark_jobs.job_protocol import Option, StepResult
from spark_jobs.pipeline.environment import LAKE
from spark_jobs.tables import exchange
from spark_jobs.tables.objects import Objects
from tidemark_airflow.tasks.cluster_submission import is_pipeline_file, passed

_KEY = "tidemark_job"


@dataclass(frozen=True)
class ClusterJob:
    """A job: `id` is its folder in the lake, `arguments` are those of its script."""

    id: str
    lake: str
    arguments: tuple[str, ...]

    @classmethod
    def of(cls, state: Any, driver_key: str, lake: str, arguments: Sequence[str]) -> ClusterJob:
        """Return the job that an earlier attempt has submitted with these arguments, or a new job.

        `state` is Airflow's store of the task's state; `driver_key` is the key of the driver in it.
        """
        earlier = state.get(_KEY)
        if isinstance(earlier, Mapping) and (earlier["lake"], earlier["arguments"]) == (lake, list(arguments)):
            return cls(str(earlier["id"]), lake, tuple(arguments))
        state.delete(driver_key)
        job = cls(uuid4().hex, lake, tuple(arguments))
        state.set(_KEY, {"id": job.id, "lake": lake, "arguments": list(arguments)})
        return job

    def upload(self) -> list[str]:
        """Write the pipeline file and the variables into the lake, and return the arguments of the driver."""
        objects, arguments = Objects(self.lake), list(self.arguments)
        for place, argument in enumerate(arguments):
            if is_pipeline_file(argument):
                file = Path(argument)
                objects.write(self._name(file.name), file.read_bytes())
                arguments[place] = self._address(file.name)
        addresses, own = passed(os.environ)
        objects.write(self._name(exchange.VARIABLES), exchange.variables_text({**own, LAKE: self.lake}))
        options = [text for name, value in addresses.items() for text in (Option.VARIABLE.value, f"{name}={value}")]
        options += [Option.VARIABLES.value, self._address(exchange.VARIABLES)]
        return [*arguments, *options, Option.RESULT.value, self._address(exchange.ANSWER)]

    def answer(self) -> StepResult | None:
        """Return the answer of the driver; None if it has left none."""
        return exchange.read_answer(self._address(exchange.ANSWER))

    def forget(self, state: Any, driver_key: str) -> None:
        """Delete the objects, and the job in the store of the task's state: the next attempt begins anew."""
        state.delete(_KEY)
        state.delete(driver_key)
        Objects(self.lake).remove(f"{exchange.FOLDER}/{self.id}")

    def _name(self, name: str) -> str:
        return f"{exchange.FOLDER}/{self.id}/{name}"

    def _address(self, name: str) -> str:
        return f"{self.lake.rstrip('/')}/{self._name(name)}"
