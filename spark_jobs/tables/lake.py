"""The lake of a pipeline: one folder, in it one folder a table.

    <root>/<pipeline>/<table>                  a published table
    <root>/<pipeline>/<table>/staged/<run>     what a run would publish into it, a Delta table of its own
    <root>/<pipeline>/_work/<run>/<name>       what a run keeps between two of its steps
    <root>/<pipeline>/reports/<run>.html, and <run>.data-docs.html

Staged files lie below their published table, so that publishing names them in one commit and copies nothing.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote, urlsplit

from spark_jobs.pipeline.model import Pipeline
from spark_jobs.pipeline.published_tables import COMPLETE_TABLE, JOIN_TABLES, LATE_EVENTS, RESULT_TABLES

#: The folder of what runs keep for their own steps.
WORK = "_work"
#: The table that every run publishes into, before all other tables.
GATE_TABLE = LATE_EVENTS.name


def result_tables(pipeline: Pipeline) -> tuple[str, ...]:
    """The tables that a run of the pipeline publishes."""
    if pipeline.join is not None:
        return JOIN_TABLES
    return (*RESULT_TABLES, COMPLETE_TABLE) if pipeline.is_complete else RESULT_TABLES


@dataclass(frozen=True)
class Lake:
    """Where a pipeline's tables are; `root` is a path or URI that Spark can write to."""

    root: str
    pipeline: str

    @classmethod
    def of(cls, pipeline: str) -> Lake:
        """The lake named by `TIDEMARK_LAKE`, or the folder `lake` here."""
        return cls(os.environ.get("TIDEMARK_LAKE") or str(Path.cwd() / "lake"), pipeline)

    @property
    def home(self) -> str:
        """The pipeline's folder."""
        return f"{self.root.rstrip('/')}/{self.pipeline}"

    @property
    def folder(self) -> Path | None:
        """The pipeline's folder as one of this machine; None where the lake is elsewhere."""
        place = urlsplit(self.home)
        if place.scheme not in ("", "file"):
            return None
        return Path(unquote(place.path) if place.scheme else self.home)

    def path(self, table: str) -> str:
        """A published table."""
        return f"{self.home}/{table}"

    def staged(self, table: str, run_id: str) -> str:
        """What a run would publish into a table."""
        return f"{self.path(table)}/{staged_folder(run_id)}"

    def work(self, run_id: str, name: str) -> str:
        """Something a run keeps for its own later steps."""
        return f"{self.home}/{WORK}/{run_id}/{name}"

    def report_file(self, run_id: str) -> Path:
        """The report of a run: in the lake, or for a lake that is no folder of this machine in `reports` here."""
        folder = self.folder
        return (self._here if folder is None else folder / "reports") / f"{run_id}.html"

    def data_docs_file(self, run_id: str) -> Path:
        """The Data Docs of a run, beside its report; there only if the pipeline asks for them."""
        return self.report_file(run_id).with_suffix(".data-docs.html")

    @property
    def handover_file(self) -> Path:
        """Where it is written from where a live job takes over: in the lake, or where reports are."""
        return (self.folder or self._here) / "handover.json"

    @property
    def _here(self) -> Path:
        return Path.cwd() / "reports" / self.pipeline


def behind_folder(run_id: str) -> str:
    """Where a run that goes on stages what it adds to windows that were closed before it, in place of its id."""
    return f"{run_id}-behind"


def compacted_folder(name: str) -> str:
    """Where a compaction called `name` writes, in place of a run's id."""
    return f"compacted-{name}"


def staged_folder(run_id: str) -> str:
    """The staging folder of a run, relative to its table."""
    return f"staged/{run_id}"
