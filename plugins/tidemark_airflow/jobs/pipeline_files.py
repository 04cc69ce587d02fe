"""The pipeline files of a folder, sorted into those that can be used and what is wrong with the others.

Law: a broken file takes nothing from the good ones. Of two files with one name the first in the order of file names is
good, since one of them must keep running.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from spark_jobs.pipeline import Pipeline, PipelineError, load

#: DAGs of all pipelines: `tidemark_backfill` and `tidemark_accept`.
BACKFILL, ACCEPT = "backfill", "accept"
_RESERVED = {BACKFILL: "the DAG of backfills", ACCEPT: "the DAG that publishes blocked runs"}


class BrokenPipelinesError(Exception):
    """Pipeline files that cannot be used, and why, one below the other."""

    def __init__(self, problems: Mapping[Path, str]) -> None:
        several = "file" if len(problems) == 1 else "files"
        head = f"{len(problems)} pipeline {several} cannot be used; the other pipelines run as before"
        super().__init__("\n".join([head, *problems.values()]))


@dataclass(frozen=True)
class PipelineFiles:
    """What a folder holds: pipelines by name, and the problems of the files that are none."""

    good: Mapping[str, Pipeline]
    broken: Mapping[Path, str]

    def require_all(self) -> None:
        """Raise BrokenPipelinesError if there is a broken one."""
        if self.broken:
            raise BrokenPipelinesError(self.broken)


def read_folder(folder: Path) -> PipelineFiles:
    """Read every `*.yaml` and `*.yml` of a folder; a folder that is not there has none."""
    good: dict[str, Pipeline] = {}
    broken: dict[Path, str] = {}
    for path in sorted(p for p in folder.glob("*.y*ml") if p.suffix in (".yaml", ".yml")):
        try:
            pipeline = load(path)
        except PipelineError as problem:
            broken[path] = str(problem)
            continue
        if pipeline.name in _RESERVED:
            broken[path] = f"{path}: name: '{pipeline.name}' is {_RESERVED[pipeline.name]}; take another name"
        elif pipeline.name in good:
            first = good[pipeline.name].path
            broken[path] = f"{path}: name: '{pipeline.name}' is the name of {first}; take another name"
        else:
            good[pipeline.name] = pipeline
    return PipelineFiles(good, broken)
