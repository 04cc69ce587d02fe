"""The pipeline of a run: the pipeline file with the settings that the kind of the run changes."""

from __future__ import annotations

from dataclasses import replace

from spark_jobs.pipeline.model import EndOfInput, LateData, Pipeline
from spark_jobs.tables.run import CHANGED, REPAIR, Run


def pipeline_for_run(pipeline: Pipeline, run: Run) -> Pipeline:
    """Return the pipeline with the settings that the run changes.

    The input of an arrival slice has not ended. A repair accepts all late rows of its windows. The few windows of a run
    over changes are judged by no ratio and no coverage.
    """
    if run.kind == CHANGED:
        quality = replace(pipeline.quality, max_late_ratio=None, max_too_late_ratio=None, max_invalid_ratio=None)
        pipeline = replace(pipeline, quality=replace(quality, min_windows=None, min_coverage=None))
    if run.kind == REPAIR:
        pipeline = replace(pipeline, windows=replace(pipeline.windows, late_data=LateData.UPDATE))
    return pipeline_of_tables(pipeline, run)


def pipeline_of_tables(pipeline: Pipeline, run: Run) -> Pipeline:
    """Return the pipeline of the tables after a run, which have windows of earlier runs too.

    What a repair changes is left out: it holds for the windows of the repair alone (`repaired_windows`).
    """
    if run.arrived_to is None:
        return pipeline
    return replace(pipeline, replay=replace(pipeline.replay, end_of_input=EndOfInput.KEEP_OPEN))
