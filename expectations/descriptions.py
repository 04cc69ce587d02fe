"""Sentences: what each expectation of a pipeline says, by its suite and name, as the table `quality` names both.

Importing this module imports Great Expectations.
"""

from __future__ import annotations

from collections.abc import Iterator

from expectations.declared import description, name
from expectations.suites import JOIN_SUITES, SUITES
from spark_jobs.pipeline.model import Pipeline


def sentences(pipeline: Pipeline) -> dict[tuple[str, str], str]:
    """The sentence of each expectation that is asked of the pipeline."""
    return dict(_all(pipeline))


def _all(pipeline: Pipeline) -> Iterator[tuple[tuple[str, str], str]]:
    suites = SUITES if pipeline.join is None else JOIN_SUITES
    for suite in suites:
        for invariant in suite.invariants(pipeline):
            yield (suite.name, invariant.name), invariant.description
    for written in pipeline.quality.expectations:
        yield ("pipeline", name(written)), description(written)
