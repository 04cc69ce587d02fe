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
from spark_jobs.tables.effective_runs import EffectiveRuns, effective_runs
from spark_jobs.tables.interval import Interval, in_words
from spark_jobs.tables.lake import Lake, downstream_page_name
from spark_jobs.tables.run import Run


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
    of them; None without a window. With `is_whole` the pipeline has no results that could be changed: all are computed.
    """

    pipeline: str
    edges: Sequence[Edge]
    windows: int | None
    interval: Interval | None
    is_whole: bool = False

    def as_json(self) -> dict[str, Any]:
        """Return the pipeline as one object."""
        start, end = (None, None) if self.interval is None else (self.interval.start, self.interval.end)
        reads = [f"{edge.writer}.{edge.table}" for edge in self.edges]
        return {
            "pipeline": self.pipeline,
            "reads": reads,
            "windows": self.windows,
            "from": start,
            "to": end,
            "whole": self.is_whole,
        }


def foresee(spark: SparkSession, graph: PipelineGraph, root: str, replaced: Interval | None) -> list[ForeseenReader]:
    """Return the pipelines downstream of `root` in order, when its windows `replaced` change; nothing is written.

    `replaced` is None if no run of `root` is due. Raises SourceError for a reader whose source does not exist.
    """
    replaced_by_writer: dict[str, Interval] = {} if replaced is None or replaced.empty else {root: replaced}
    readers = []
    for name in graph.downstream(root):
        reader = _foreseen(spark, graph, name, replaced_by_writer)
        if reader.interval is not None:
            replaced_by_writer[name] = reader.interval
        readers.append(reader)
    return readers


def _foreseen(
    spark: SparkSession, graph: PipelineGraph, name: str, replaced_by_writer: Mapping[str, Interval]
) -> ForeseenReader:
    """Return a reader, when windows of the pipelines that it reads are replaced."""
    if _is_whole(spark, graph, name):
        return ForeseenReader(name, graph.edges[name], None, Interval(), is_whole=True)
    edges = [edge for edge in graph.edges[name] if edge.writer in replaced_by_writer]
    if not edges:
        return ForeseenReader(name, edges, 0, None)
    intervals = {edge.source: replaced_by_writer[edge.writer] for edge in edges}
    windows = touched_windows(spark, graph.pipelines[name], intervals)
    if windows is None:
        return ForeseenReader(name, edges, None, Interval())
    return ForeseenReader(name, edges, windows.count, windows.interval)


def _is_whole(spark: SparkSession, graph: PipelineGraph, name: str) -> bool:
    """Return whether a reader has no results of its settings, or reads a pipeline without results."""
    own, fingerprint = _standing(spark, graph, name), graph.pipelines[name].fingerprint
    if not all(run is not None and run.fingerprint == fingerprint for run in (own.base, own.latest)):
        return True
    return any(_standing(spark, graph, edge.writer).latest is None for edge in graph.edges[name])


def _standing(spark: SparkSession, graph: PipelineGraph, name: str) -> EffectiveRuns:
    return effective_runs(ledger.published(spark, graph.lake_of(name)))


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
        windows=_windows(run),
        changed_rows=counts.get("changed_rows"),
        affected_windows=counts.get("affected_windows"),
        seconds=round(sum(result.seconds for result in reader.results), 1),
        report=reader.results[-1].report,
    )


def _windows(run: Run) -> str:
    return "none" if run.interval.empty else in_words(run.interval)
