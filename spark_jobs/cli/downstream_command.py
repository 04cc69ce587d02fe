"""The option `--downstream` of `plan` and `replay`: the pipelines of the same folder that read the results."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from spark_jobs.cli import printing
from spark_jobs.cli.command import Answer, Request
from spark_jobs.job_protocol import RunState, StepResult
from spark_jobs.pipeline.environment import lake_folder
from spark_jobs.pipeline.pipeline_folder import read_folder

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from spark_jobs.jobs.graph.downstream import ForeseenReader
    from spark_jobs.jobs.graph.pipeline_graph import PipelineGraph
    from spark_jobs.jobs.runs.runner import Runner
    from spark_jobs.pipeline import Pipeline


def graph_of(request: Request) -> PipelineGraph:
    """Return the graph of the pipelines in the folder of the file, with the file's pipeline as it is requested.

    A line of progress names each file that cannot be read. Raises InputError for pipelines in a circle.
    """
    from spark_jobs.jobs.graph.pipeline_graph import PipelineGraph

    folder = read_folder(Path(request.file).resolve().parent)
    for path in folder.broken:
        request.progress(request.command, f"{path.name} cannot be read, so it is not among the readers")
    pipelines = {**folder.good, request.pipeline.name: request.pipeline}
    return PipelineGraph(pipelines.values(), lake_folder())


def foreseen_readers(
    spark: SparkSession, request: Request, graph: PipelineGraph, planned: Mapping[str, Any]
) -> list[ForeseenReader]:
    """Return the pipelines downstream, with the windows that the planned run reaches (`dry_run.foreseen`).

    A run that is published already reaches nothing.
    """
    from spark_jobs.jobs.graph.downstream import foresee
    from spark_jobs.tables.interval import Interval

    stretches = tuple(Interval(start, end) for start, end in planned["stretches"])
    replaced = Interval(planned["interval_start"], planned["interval_end"], stretches=stretches)
    is_due = planned["state"] != RunState.PUBLISHED
    return foresee(spark, graph, request.pipeline.name, replaced if is_due else None)


def take(
    request: Request, spark: SparkSession, graph: PipelineGraph, results: list[StepResult], wait_s: float
) -> Answer:
    """Take the runs of all readers behind that of the pipeline, and write the page about them."""
    from spark_jobs.cli import print_downstream
    from spark_jobs.jobs.graph.downstream import take_downstream, write_page
    from spark_jobs.jobs.runs.runner import Runner
    from spark_jobs.tables.lake import Lake

    def runner_of(pipeline: Pipeline) -> Runner:
        def show(step: str, text: str) -> None:
            request.progress(step, f"{pipeline.name}: {text}")

        return Runner(spark, pipeline, Lake.of(pipeline.name), progress=show, wait_s=wait_s)

    runs = take_downstream(spark, graph, request.pipeline.name, results, runner_of)
    page = write_page(request.lake, request.pipeline.name, runs)
    readers = [printing.summary(list(reader.results)) for reader in runs[1:]]
    content = {**printing.summary(results), "downstream": readers, "downstream_page": page}

    def show_all() -> None:
        printing.print_steps(results)
        print_downstream.show(runs[1:], page)

    return Answer(content, show_all)
