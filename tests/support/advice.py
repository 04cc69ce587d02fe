"""Pipelines with other bounds, as advice compares them."""

from __future__ import annotations

from dataclasses import replace

from spark_jobs.jobs.advise.candidates import Candidate
from spark_jobs.pipeline.model import Pipeline, Strategy


def with_settings(pipeline: Pipeline, candidate: Candidate) -> Pipeline:
    mark = replace(
        pipeline.watermark,
        strategy=Strategy.BOUNDED_OUT_OF_ORDERNESS,
        out_of_orderness_ms=candidate.out_of_orderness,
    )
    return replace(
        pipeline, watermark=mark, windows=replace(pipeline.windows, allowed_lateness_ms=candidate.allowed_lateness)
    )
