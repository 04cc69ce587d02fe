"""The complete catalogue of corruptions: importing the package enters the corruptions of each module."""

from tests.expectations.corruptions import (
    calendar,
    complete,
    drawn,
    emissions,
    joins,
    left_out,
    panes,
    results,
    run_ids,
    sessions,
    sliding,
    triggers,
)
from tests.expectations.corruptions.catalogue import CATALOGUE, Corruption, cases, of_runs

__all__ = [
    "CATALOGUE",
    "Corruption",
    "calendar",
    "cases",
    "complete",
    "drawn",
    "emissions",
    "joins",
    "left_out",
    "of_runs",
    "panes",
    "results",
    "run_ids",
    "sessions",
    "sliding",
    "triggers",
]
