"""The graph of pipelines: an edge leads from a pipeline to each pipeline that reads one of its published tables.

A pipeline reads a table by its path in the lake, or by the name that `publish_to` gives it in a catalog.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from graphlib import CycleError, TopologicalSorter
from urllib.parse import urlsplit

from spark_jobs.error_codes import ErrorCode
from spark_jobs.jobs.errors import InputError
from spark_jobs.pipeline.model import Pipeline
from spark_jobs.pipeline.published_tables import PUBLISHABLE
from spark_jobs.tables.lake import Lake
from spark_jobs.tables.source_tables import absolute_path, is_path, tables_of


@dataclass(frozen=True)
class Edge:
    """A published table of the pipeline `writer` that another pipeline reads; `source` is its name in the reader."""

    writer: str
    table: str
    source: str


class PipelineGraph:
    """The pipelines of one folder and one lake, by name. Raises InputError if they read each other in a circle."""

    def __init__(self, pipelines: Iterable[Pipeline], lake_root: str) -> None:
        self.pipelines: Mapping[str, Pipeline] = {pipeline.name: pipeline for pipeline in pipelines}
        self._root = lake_root
        self._order = self._in_order()

    @cached_property
    def edges(self) -> Mapping[str, tuple[Edge, ...]]:
        """The published tables that each pipeline reads, by the name of the reader."""
        writers = {
            place: (pipeline.name, table)
            for pipeline in self.pipelines.values()
            for table in PUBLISHABLE
            for place in self._places(pipeline, table)
        }
        return {
            reader.name: tuple(
                Edge(*writers[place], source)
                for source, table in tables_of(reader).items()
                if (place := _place(table)) in writers
            )
            for reader in self.pipelines.values()
        }

    def lake_of(self, name: str) -> Lake:
        """Return the lake of a pipeline."""
        return Lake(self._root, name)

    def downstream(self, root: str) -> tuple[str, ...]:
        """Return the pipelines that read results of `root`, or of one of these pipelines; each after all it reads."""
        reached = {root}
        for name in self._order:
            if any(edge.writer in reached for edge in self.edges[name]):
                reached.add(name)
        return tuple(name for name in self._order if name in reached and name != root)

    def _in_order(self) -> tuple[str, ...]:
        read = {name: sorted({edge.writer for edge in edges}) for name, edges in self.edges.items()}
        try:
            return tuple(TopologicalSorter(read).static_order())
        except CycleError as problem:
            circle = " -> ".join(problem.args[1])
            raise InputError(
                f"pipelines: found that they read each other's results in a circle: {circle}. Let one of them read "
                "another table",
                code=ErrorCode.PIPELINES_IN_A_CIRCLE,
            ) from problem

    def _places(self, pipeline: Pipeline, table: str) -> list[str]:
        """Return the path of a published table, and its name in the catalog of the pipeline."""
        names = [] if pipeline.publish_to is None else [f"{pipeline.publish_to}.{pipeline.name}_{table}"]
        return [_place(self.lake_of(pipeline.name).path(table)), *map(_place, names)]


def _place(table: str) -> str:
    """Return a spelling that is the same for all spellings of a table."""
    if not is_path(table):
        return table.replace("`", "").lower()
    path = absolute_path(table)
    return (urlsplit(path).path if urlsplit(path).scheme == "file" else path).rstrip("/")
