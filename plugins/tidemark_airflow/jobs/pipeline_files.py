"""The pipeline files of a folder as Airflow reads them: the names of Airflow's further DAGs are reserved."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from spark_jobs.error_codes import ErrorCode
from spark_jobs.pipeline import pipeline_folder
from spark_jobs.pipeline.pipeline_folder import PipelineFolder

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
class PipelineFiles(PipelineFolder):
    """The pipelines of a folder that Airflow makes DAGs of, and the problems of its broken files."""

    def require_all(self) -> None:
        """Raise BrokenPipelinesError if a file is broken."""
        if self.broken:
            raise BrokenPipelinesError(self.broken)


def read_folder(folder: Path) -> PipelineFiles:
    """Read the files of a folder (`pipeline_folder.read_folder`); no pipeline may have a name of `RESERVED`."""
    files = pipeline_folder.read_folder(folder, RESERVED)
    return PipelineFiles(files.good, files.broken)
