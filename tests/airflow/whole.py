"""A whole Airflow for tests: its API server, scheduler, DAG processor and triggerer as processes, used by REST."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import httpx
import psutil

from tests.airflow.clone import Clone
from tests.airflow.postgres import postgresql
from tests.airflow.waiting import until
from tidemark_airflow.embedded import processes
from tidemark_airflow.embedded.installation import DATABASE, Installation

#: A run is one Spark application, or two with a question between them. It waits for others on a busy machine.
RUN_WITHIN_S = 400.0
_ENDED = ("success", "failed")
_DRIVER, _LAUNCHER = "org.apache.spark.deploy.SparkSubmit", "org.apache.spark.launcher.Main"
_COMMAND = """
import os, sys
from pathlib import Path
from tidemark_airflow.embedded import airflow
from tidemark_airflow.embedded.installation import DATABASE, Installation
installation = Installation(Path("{root}"), Path("{home}"), {port}, os.environ[DATABASE])
{action}
"""


@dataclass(frozen=True)
class Whole:
    """An Airflow that is up."""

    installation: Installation
    more: Mapping[str, str] = field(default_factory=dict)

    def client(self, user: str | None = "admin") -> httpx.Client:
        """A client with the token of a user; None: without one."""
        address = f"http://127.0.0.1:{self.installation.port}"
        if user is None:
            return httpx.Client(base_url=address, timeout=60)
        password = json.loads(self.installation.passwords.read_text(encoding="utf-8"))[user]
        answer = httpx.post(f"{address}/auth/token", json={"username": user, "password": password}, timeout=60)
        answer.raise_for_status()
        return httpx.Client(
            base_url=address, timeout=60, headers={"Authorization": f"Bearer {answer.json()['access_token']}"}
        )

    @cached_property
    def _admin(self) -> httpx.Client:
        return self.client()

    def get(self, path: str, **parameters: Any) -> Any:
        """Return the API's answer to the admin."""
        return _content(self._admin.get(f"/api/v2/{path}", params=parameters))

    def knows(self, dag: str) -> bool:
        """Whether the DAG processor has read this DAG."""
        return self._admin.get(f"/api/v2/dags/{dag}").status_code == httpx.codes.OK

    def trigger(self, dag: str, conf: dict[str, Any] | None = None, user: str = "admin") -> httpx.Response:
        """Ask for a run, as the form does."""
        with self.client(user) as client:
            return client.post(f"/api/v2/dags/{dag}/dagRuns", json={"logical_date": None, "conf": conf or {}})

    def state(self, dag: str, run: str) -> str:
        """The state of a run."""
        return str(self.get(f"dags/{dag}/dagRuns/{run}")["state"])

    def tasks(self, dag: str, run: str) -> dict[str, str | None]:
        """The state of each task of a run."""
        instances = self.get(f"dags/{dag}/dagRuns/{run}/taskInstances", limit=100)["task_instances"]
        return {task["task_id"]: task["state"] for task in instances}

    def ended(self, dag: str, run: str, within_s: float = RUN_WITHIN_S) -> str:
        """The state of a run when it has ended."""
        until(lambda: self.state(dag, run) in _ENDED, within_s, every_s=0.5)
        return self.state(dag, run)

    def xcom(self, dag: str, run: str, task: str, key: str = "return_value") -> Any:
        """Return what a task of a run has pushed."""
        return self.get(f"dags/{dag}/dagRuns/{run}/taskInstances/{task}/xcomEntries/{key}")["value"]

    def waiting(self, dag: str, run: str) -> str:
        """What a run asks a person, when its task `approve` does.

        Airflow takes an answer that comes before its scheduler has heard of the pause, which is quicker than a person
        is, for a failure, and asks again: wait until it has heard.
        """
        until(lambda: self.tasks(dag, run).get("approve") == "awaiting_input", RUN_WITHIN_S, every_s=0.5)
        heard = f"executor event with state success for task instance TaskInstanceKey(dag_id='{dag}', task_id='approve'"
        log = self.installation.logs / "scheduler.log"
        until(lambda: f"{heard}, run_id='{run}'" in log.read_text(encoding="utf-8", errors="replace"), every_s=0.2)
        details = self.get(f"dags/{dag}/dagRuns/{run}/taskInstances/approve/-1/hitlDetails")
        return f"{details['subject']}\n{details['body']}"

    def answered(self, dag: str, run: str, option: str, user: str = "admin") -> int:
        """The status of an answer to the question of a run."""
        path = f"/api/v2/dags/{dag}/dagRuns/{run}/taskInstances/approve/-1/hitlDetails"
        with self.client(user) as client:
            return client.patch(path, json={"chosen_options": [option], "params_input": {}}).status_code

    def lose(self, part: str) -> None:
        """Kill a part of it, with the tasks that it runs."""
        for process in processes.carrying(self.installation.home):
            with suppress(psutil.Error):
                if process.environ().get(processes.PART) == part:
                    process.kill()

    def start(self, part: str, **more: str) -> None:
        """Start a part of it, with `more` variables."""
        self.command(f"airflow.start(installation, {part!r}, {{**installation.variables(os.environ), **{more!r}}})")

    def restart(self, part: str) -> None:
        """Kill a part of it, and start it again."""
        self.lose(part)
        self.start(part)

    def command(self, action: str) -> None:
        """Run an action on the embedded Airflow `installation` in a separate process, as `make up` does."""
        installation = self.installation
        script = _COMMAND.format(root=installation.root, home=installation.home, port=installation.port, action=action)
        foreign = ("AIRFLOW", "TIDEMARK", "PYSPARK")
        environment = {name: value for name, value in os.environ.items() if not name.startswith(foreign)}
        environment |= {DATABASE: str(installation.database), **self.more}
        subprocess.run([sys.executable, "-c", script], env=environment, check=True)

    def spark(self) -> list[psutil.Process]:
        """The drivers of Spark that its tasks have started."""
        return [process for process in processes.carrying(self.installation.home) if is_driver(process)]

    def log(self, dag: str, run: str, task: str, attempt: int = 1) -> str:
        """The log of an attempt of a task, a line of JSON each."""
        log = self.get(f"dags/{dag}/dagRuns/{run}/taskInstances/{task}/logs/{attempt}", full_content=True)
        return "\n".join(json.dumps(line) for line in log["content"])


@contextmanager
def whole(clone: Clone, **more: str) -> Iterator[Whole]:
    """Start an Airflow for the clone on a separate PostgreSQL, with `more` variables; none of it is left after it."""
    with postgresql() as url:
        airflow = Whole(replace(clone.installation(), database=url), more)
        try:
            airflow.command("sys.exit(airflow.up(installation))")
            yield airflow
            airflow._admin.close()
        finally:
            left = processes.end(airflow.installation.home)
        assert not left


def _content(answer: httpx.Response) -> Any:
    answer.raise_for_status()
    return answer.json()


def is_driver(process: psutil.Process) -> bool:
    """Return whether a process is a Java that runs Spark. A Java that only prints its version or a command does not.

    Until a child of Java starts its program, such as `chmod`, it has the name and the command of its parent.
    """
    try:
        parent = process.parent()
        return _runs_spark(process) and not (parent and _runs_spark(parent))
    except psutil.NoSuchProcess:  # it has ended since it was listed
        return False


def _runs_spark(process: psutil.Process) -> bool:
    words = process.cmdline()
    return process.name() == "java" and _DRIVER in words and _LAUNCHER not in words
