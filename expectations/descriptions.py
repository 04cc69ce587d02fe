"""Descriptions of a pipeline's expectations, by suite and name as in the table `quality`.

Importing this module imports Great Expectations.
"""

from __future__ import annotations

from collections.abc import Iterator

from expectations import declared
from expectations.suites import JOIN_SUITES, SUITES
from spark_jobs.pipeline.model import Pipeline


def descriptions(pipeline: Pipeline) -> dict[tuple[str, str], str]:
    """Return the description of each expectation that applies to the pipeline."""
    return dict(_descriptions(pipeline))


def _descriptions(pipeline: Pipeline) -> Iterator[tuple[tuple[str, str], str]]:
    suites = SUITES if pipeline.join is None else JOIN_SUITES
    for suite in suites:
        for invariant in suite.invariants(pipeline):
            yield (suite.name, invariant.name), invariant.description
    for expectation in pipeline.quality.expectations:
        if expectation.quarantines:
            continue
        yield ("pipeline", declared.name(expectation)), declared.description(expectation)
