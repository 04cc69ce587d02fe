"""The pipeline files of a folder: the pipelines of good files, and the problem of each broken file.

Law: a broken file does not affect good files, whatever is wrong with it. Of two files for one name of a pipeline, the
first in the order of file names is good, so that the pipeline keeps running.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from spark_jobs.error_codes import ErrorCode
from spark_jobs.pipeline import Pipeline, PipelineError, load
from spark_jobs.pipeline.loading import CASES
from spark_jobs.pipeline.printable import printable

#: DAGs of all pipelines: `tidemark_backfill`, `tidemark_accept` and `tidemark_maintenance`.
BACKFILL, ACCEPT, MAINTENANCE = "backfill", "accept", "maintenance"
#: What the DAG of each of these names does.
RESERVED = {
    BACKFILL: "the DAG of backfills",
    ACCEPT: "the DAG that publishes blocked runs",
    MAINTENANCE: "the DAG of maintenance",
}


class BrokenPipelinesError(Exception):
    """Pipeline files that cannot be used, with a problem a line."""

    code = ErrorCode.FILES_BROKEN_IN_AIRFLOW

    def __init__(self, problems: Mapping[Path, str]) -> None:
        several = "file" if len(problems) == 1 else "files"
        head = f"{len(problems)} pipeline {several} cannot be used; the other pipelines run as before"
        super().__init__("\n".join([head, *problems.values()]))


@dataclass(frozen=True)
class PipelineFiles:
    """The pipelines of a folder by name, and the problems of its broken files."""

    good: Mapping[str, Pipeline]
    broken: Mapping[Path, str]

    def require_all(self) -> None:
        """Raise BrokenPipelinesError if a file is broken."""
        if self.broken:
            raise BrokenPipelinesError(self.broken)


def read_folder(folder: Path) -> PipelineFiles:
    """Read every `*.yaml` and `*.yml` of a folder but cases; a folder that does not exist has none."""
    good: dict[str, Pipeline] = {}
    broken: dict[Path, str] = {}
    for path in sorted(folder.glob("*.y*ml")):
        if path.suffix not in (".yaml", ".yml") or path.name.endswith(CASES):
            continue
        try:
            pipeline = load(path)
        except PipelineError as problem:
            broken[path] = str(problem)
            continue
        except Exception as error:  # noqa: BLE001  # it must not reach the DAGs of other files
            first_line = str(error).partition("\n")[0]
            problem_of_file = f"{path}: cannot be read: {type(error).__name__}: {first_line}; correct or remove it"
            broken[path] = printable(problem_of_file)
            continue
        if pipeline.name in RESERVED:
            broken[path] = f"{path}: name: '{pipeline.name}' is {RESERVED[pipeline.name]}; take another name"
        elif pipeline.name in good:
            first = good[pipeline.name].path
            broken[path] = f"{path}: name: '{pipeline.name}' is the name of {first}; take another name"
        else:
            good[pipeline.name] = pipeline
    return PipelineFiles(good, broken)
