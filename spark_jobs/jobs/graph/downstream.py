"""Downstream: a change of one pipeline's results, taken to all pipelines that read them, in order.

Each reader takes a run over changes (`changed_plan`). Its source is a published table of the pipeline before it, whose
run has replaced rows of the affected windows alone. A reader that nothing reaches stays as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pyspark.sql import SparkSession

from spark_jobs.job_protocol import StepResult
from spark_jobs.jobs.graph.pipeline_graph import Edge, PipelineGraph
from spark_jobs.jobs.graph.touched_windows import touched_windows
from spark_jobs.jobs.runs.runner import Runner
from spark_jobs.pipeline.model import Pipeline
from spark_jobs.report.downstream_page import DownstreamRun, render
from spark_jobs.tables import ledger
from spark_jobs.tables.interval import Interval, in_words
from spark_jobs.tables.lake import Lake, downstream_page_name
from spark_jobs.tables.run import CHANGED, Run


@dataclass(frozen=True)
class ReaderRun:
    """The run of one pipeline of the tree: the results of its steps, and its entry in the ledger."""

    pipeline: str
    results: Sequence[StepResult]
    run: Run
    edges: Sequence[Edge] = field(default=())


@dataclass(frozen=True)
class ForeseenReader:
    """A pipeline downstream, and the windows that a change reaches.

    `windows` is the number of windows with rows of replaced windows, None if any result may change. `interval` has all
    of them; None without a window.
    """

    pipeline: str
    edges: Sequence[Edge]
    windows: int | None
    interval: Interval | None

    def as_json(self) -> dict[str, Any]:
        """Return the pipeline as one object."""
        start, end = (None, None) if self.interval is None else (self.interval.start, self.interval.end)
        reads = [f"{edge.writer}.{edge.table}" for edge in self.edges]
        return {"pipeline": self.pipeline, "reads": reads, "windows": self.windows, "from": start, "to": end}


def foresee(spark: SparkSession, graph: PipelineGraph, root: str, replaced: Interval) -> list[ForeseenReader]:
    """Return the pipelines downstream of `root` in order, when its windows `replaced` change; nothing is written.

    Raises SourceError for a reader whose source does not exist.
    """
    replaced_by_writer: dict[str, Interval] = {root: replaced}
    readers = []
    for name in graph.downstream(root):
        edges = [edge for edge in graph.edges[name] if edge.writer in replaced_by_writer]
        intervals = {edge.source: replaced_by_writer[edge.writer] for edge in edges}
        windows = touched_windows(spark, graph.pipelines[name], intervals)
        interval = Interval() if windows is None else windows.interval
        if interval is not None:
            replaced_by_writer[name] = interval
        readers.append(ForeseenReader(name, edges, None if windows is None else windows.count, interval))
    return readers


def take_downstream(
    spark: SparkSession,
    graph: PipelineGraph,
    root: str,
    results: Sequence[StepResult],
    runner_of: Callable[[Pipeline], Runner],
) -> list[ReaderRun]:
    """Take a run of each pipeline downstream of `root`, in order; returns these runs behind that of `root`.

    `results` are the steps of the root's run. Raises as `Runner.run`: pipelines after a failed one are not taken, and
    the same command goes on with them.
    """
    runs = [_reader_run(spark, graph, root, results)]
    for name in graph.downstream(root):
        pipeline = graph.pipelines[name]
        runs.append(_reader_run(spark, graph, name, runner_of(pipeline).run(Interval(), changed=True)))
    return runs


def write_page(lake: Lake, root: str, runs: Sequence[ReaderRun]) -> str:
    """Write the page about the runs into the lake of `root`; returns its path or URI. Raises LakeError."""
    page = render(root, [_on_the_page(reader) for reader in runs])
    name = downstream_page_name(runs[0].run.run_id)
    lake.objects.write(name, page.encode())
    return lake.downstream_page_path(runs[0].run.run_id)


def _reader_run(spark: SparkSession, graph: PipelineGraph, name: str, results: Sequence[StepResult]) -> ReaderRun:
    run = ledger.find(spark, graph.lake_of(name), results[-1].run_id)
    if run is None:
        raise LookupError(f"{name}: the ledger lacks its run {results[-1].run_id}")
    return ReaderRun(name, results, run, graph.edges[name])


def _on_the_page(reader: ReaderRun) -> DownstreamRun:
    run, counts = reader.run, reader.run.counts
    return DownstreamRun(
        pipeline=reader.pipeline,
        run_id=run.run_id,
        state=reader.results[0].state,
        kind=run.kind,
        reads=[f"{edge.writer}.{edge.table}" for edge in reader.edges],
        windows=_windows(run, counts),
        changed_rows=counts.get("changed_rows"),
        affected_windows=counts.get("affected_windows"),
        seconds=round(sum(result.seconds for result in reader.results), 1),
        report=reader.results[-1].report,
    )


def _windows(run: Run, counts: Mapping[str, int]) -> str:
    if run.kind == CHANGED and not counts.get("affected_windows"):
        return "none"
    return in_words(run.interval)
