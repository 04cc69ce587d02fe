"""The runner of the catalogue: it corrupts a good run, and returns the invariants that report the corruption.

- `reported_by` counts in plain Spark how many rows of a run violate each invariant;
- `reported_together_by` audits many copies of a good run at once, each with one corruption. The rows that a failed
  check shows lie in the time of the copy that it reports.
"""

from __future__ import annotations

import copy
import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest
from pyspark.sql import SparkSession

from expectations import check
from tests.expectations.corruptions.catalogue import Corruption
from tests.expectations.corruptions.good_runs import good_run
from tests.expectations.corruptions.staged_run import StagedRun
from tests.support.generated_run import END, at, failed_of, interpreted

#: The distance in time of two copies of a run in one audit. A run drawn by hand is shorter.
_APART = timedelta(seconds=100)


def corrupted(corruption: Corruption) -> StagedRun:
    """Return the corrupted copy of a corruption's good run."""
    run = good_run(corruption.run)
    rows = copy.deepcopy(run.rows)
    corruption.edit(rows)
    changed = {name: run.counts[name] + difference for name, difference in corruption.counts.items()}
    return replace(run, rows=rows, counts={**run.counts, **changed})


def reported_by(spark: SparkSession, run: StagedRun) -> set[str]:
    """Return the invariants that a run violates, each as `suite.name`."""
    with interpreted(spark):
        return failed_of(run.staged(spark))


def reported_together_by(spark: SparkSession, corruptions: Sequence[Corruption]) -> Mapping[str, set[str]]:
    """Return for each corruption of one drawn run, by its name, the invariants that report it in a common audit.

    The suite `run` is left out: sums over all copies are wrong.
    """
    from expectations import validation

    first, *_ = runs = [corrupted(corruption) for corruption in corruptions]
    rows = {
        table: [_later(row, number * _APART) for number, run in enumerate(runs) for row in run.rows[table]]
        for table in first.rows
    }
    with interpreted(spark), pytest.MonkeyPatch.context() as patch:
        patch.setattr(validation, "EXAMPLES", len(runs) * 3)
        checks = check(replace(first, rows=rows).frames(spark), first.pipeline, first.counts)
    names: dict[str, set[str]] = defaultdict(set)
    for result in checks:
        for line in result.details.splitlines() if result.suite != "run" else ():
            start = datetime.fromisoformat(json.loads(line)["window_start"])
            names[corruptions[(start - at(0)) // _APART].name].add(f"{result.suite}.{result.expectation}")
    return names


def _later(value: Any, by: timedelta) -> Any:
    """Return `value` with every time in it moved."""
    if isinstance(value, datetime):
        # The end of the input comes once. In a copy it is a watermark like any other, past all windows of the copy.
        return (at(39) if value == END else value) + by
    if isinstance(value, list):
        return [_later(item, by) for item in value]
    return {name: _later(item, by) for name, item in value.items()} if isinstance(value, dict) else value
