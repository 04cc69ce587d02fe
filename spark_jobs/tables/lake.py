"""The lake of a pipeline: one folder, with one folder for each table.

    <root>/<pipeline>/<table>                  a published table
    <root>/<pipeline>/<table>/staged/<run>     the staged rows of a run for this table, as a separate Delta table
    <root>/<pipeline>/_work/<run>/<name>       rows that a run stores for its later steps
    <root>/<pipeline>/reports/<run>.html, and <run>.data-docs.html

Staged files lie below their published table. So publishing refers to them in one commit and copies nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote, urlsplit
from uuid import uuid4

from spark_jobs.pipeline.environment import lake_folder
from spark_jobs.pipeline.model import Pipeline
from spark_jobs.pipeline.published_tables import COMPLETE_TABLE, JOIN_TABLES, LATE_EVENTS, RESULT_TABLES
from spark_jobs.tables.objects import Objects

#: The folder of the rows that runs store for their later steps.
WORK = "_work"
#: The file with the start point of a live job, in the pipeline's folder.
HANDOVER = "handover.json"
_STAGED, _COMPACTED, _CARRIED = "staged", "compacted", "carried"
#: Every run publishes into this table, and before all other tables.
GATE_TABLE = LATE_EVENTS.name


def result_tables(pipeline: Pipeline) -> tuple[str, ...]:
    """Return the names of the tables that a run of the pipeline publishes."""
    if pipeline.join is not None:
        return JOIN_TABLES
    return (*RESULT_TABLES, COMPLETE_TABLE) if pipeline.is_complete else RESULT_TABLES


@dataclass(frozen=True)
class Lake:
    """The location of a pipeline's tables; `root` is a path or URI that Spark can write to."""

    root: str
    pipeline: str

    @classmethod
    def of(cls, pipeline: str) -> Lake:
        """Return the lake at `TIDEMARK_LAKE`, by default the folder `lake` of the project (`lake_folder`)."""
        return cls(lake_folder(), pipeline)

    @property
    def home(self) -> str:
        """The pipeline's folder."""
        return f"{self.root.rstrip('/')}/{self.pipeline}"

    @property
    def folder(self) -> Path | None:
        """The pipeline's folder as a local path; None if the lake is in a remote file system."""
        place = urlsplit(self.home)
        if place.scheme not in ("", "file"):
            return None
        return Path(unquote(place.path) if place.scheme else self.home)

    @property
    def objects(self) -> Objects:
        """The small files of the pipeline, with names relative to its folder. Raises LakeError."""
        return Objects(self.home)

    def path(self, table: str) -> str:
        """Return the path of a published table."""
        return f"{self.home}/{table}"

    def staged(self, table: str, run_id: str) -> str:
        """Return the path of a run's staged table."""
        return f"{self.path(table)}/{staged_folder(run_id)}"

    def work(self, run_id: str, name: str) -> str:
        """Return the path of rows that a run stores for its later steps."""
        return f"{self.home}/{work_folder(run_id)}/{name}"

    def report_path(self, run_id: str) -> str:
        """Return the path or URI of a run's report, which may not exist."""
        return self._place(report_name(run_id))

    def data_docs_path(self, run_id: str) -> str:
        """Return the path or URI of a run's Data Docs. They exist only with `quality.data_docs`."""
        return self._place(data_docs_name(run_id))

    def downstream_page_path(self, run_id: str) -> str:
        """Return the path or URI of the page about the readers of a run's results, which may not exist."""
        return self._place(downstream_page_name(run_id))

    @property
    def handover_path(self) -> str:
        """The path or URI of the file with the start point of a live job."""
        return self._place(HANDOVER)

    def _place(self, name: str) -> str:
        return f"{self.home if self.folder is None else self.folder}/{name}"


def report_name(run_id: str) -> str:
    """Return the name of a run's report in the pipeline's folder."""
    return f"reports/{run_id}.html"


def downstream_page_name(run_id: str) -> str:
    """Return the name of the page about the readers of a run's results, in the pipeline's folder."""
    return f"reports/{run_id}.downstream.html"


def data_docs_name(run_id: str) -> str:
    """Return the name of a run's Data Docs in the pipeline's folder."""
    return f"reports/{run_id}.data-docs.html"


def work_folder(run_id: str) -> str:
    """Return the folder of the rows that a run stores for its later steps, in the pipeline's folder."""
    return f"{WORK}/{run_id}"


def behind_folder(run_id: str) -> str:
    """Return the staging folder of the rows that a run adds to windows that closed before it."""
    return f"{run_id}-behind"


def carried_folder(run_id: str, version: int) -> str:
    """Return a new staging folder for rows of `version` of a table that a run carries over into new files."""
    return f"{run_id}-{_CARRIED}-{version}-{uuid4().hex[:8]}"


def changes_folder(run_id: str, version: int) -> str:
    """Return a new staging folder for the changes of a table that a run makes on `version`."""
    return f"{run_id}-changes-{version}-{uuid4().hex[:8]}"


def has_rows_of_other_files(path: str) -> bool:
    """Return whether a published file, named as in the log, was written with rows of earlier files of its table."""
    folder = path.removeprefix(f"{_STAGED}/").partition("/")[0]
    return path.startswith(f"{_STAGED}/") and (folder.startswith(f"{_COMPACTED}-") or f"-{_CARRIED}-" in folder)


def compacted_folder(name: str) -> str:
    """Return the staging folder of a compaction."""
    return f"{_COMPACTED}-{name}"


def staged_folder(run_id: str) -> str:
    """Return the staging folder of a run, relative to its table."""
    return f"{_STAGED}/{run_id}"
