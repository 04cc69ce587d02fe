"""Objects that a job and its caller exchange: the answer of the job, and the request of a job on a cluster.

    <lake>/_jobs/<job>/<name>.yaml       the pipeline file, written by the caller
    <lake>/_jobs/<job>/variables.json    variables of the caller, such as those that the pipeline file names
    <lake>/_jobs/<job>/answer.json       the answer, written by the driver, on whatever machine it runs

A job beside its caller has the pipeline file itself, and answers in a file. An object appears complete or not at all.
The caller deletes the folder after the answer. Maintenance deletes folders of jobs whose caller never came back.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path

from spark_jobs.error_codes import ErrorCode
from spark_jobs.job_protocol import ProtocolError, StepResult
from spark_jobs.pipeline.errors import PipelineError, Place, Problem
from spark_jobs.tables.errors import LakeError
from spark_jobs.tables.objects import Objects

#: The folder of a lake with the objects of jobs. No pipeline has such a name.
FOLDER = "_jobs"
#: The name of an answer in the folder of its job.
ANSWER = "answer.json"
#: The name of the variables in the folder of their job.
VARIABLES = "variables.json"


def write_answer(result: StepResult, address: str) -> None:
    """Write the answer of a job. Raises LakeError."""
    objects, name = _at(address)
    objects.write(name, json.dumps(result.to_json(), indent=1, default=str).encode())


def read_answer(address: str) -> StepResult | None:
    """Return the answer of a job; None if the job left no answer that can be read."""
    objects, name = _at(address)
    try:
        content = objects.read(name)
        return None if content is None else StepResult.from_json(json.loads(content))
    except (LakeError, ProtocolError, ValueError):
        return None


def variables_text(variables: Mapping[str, str]) -> bytes:
    """Return the content of an object with variables."""
    return json.dumps(variables).encode()


def read_variables(address: str) -> dict[str, str]:
    """Return the variables of an object. Raises LakeError."""
    objects, name = _at(address)
    content = objects.read(name)
    if content is None:
        raise LakeError(f"{address}: found no object, expected the variables that the caller of this job has written")
    variables: dict[str, str] = json.loads(content)
    return variables


def forgotten(lake: str, since: datetime) -> list[str]:
    """Return the folders of jobs, relative to a lake, in which nothing was written at or after `since`.

    Raises LakeError.
    """
    newest: dict[str, datetime] = {}
    for entry in Objects(lake).below(FOLDER):
        job = entry.name.partition("/")[0]
        newest[job] = max(entry.modified, newest.get(job, entry.modified))
    return [f"{FOLDER}/{job}" for job, modified in newest.items() if modified < since]


def read_pipeline(address: str) -> str:
    """Return the text of a pipeline file. Raises PipelineError for an object that cannot be read."""
    objects, name = _at(address)
    try:
        content = objects.read(name)
        reason = f"{address} does not exist" if content is None else ""
    except LakeError as problem:
        content, reason = None, str(problem)
    if content is None:
        raise PipelineError([Problem(Place(address), "", reason, ErrorCode.FILE_UNREADABLE)])
    return content.decode(errors="replace")


def _at(address: str) -> tuple[Objects, str]:
    folder, _, name = (address if "://" in address else str(Path(address).absolute())).rpartition("/")
    return Objects(folder), name
