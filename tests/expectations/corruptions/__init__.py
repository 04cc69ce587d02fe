"""Ways to spoil what a good run has staged, and the expectations that must notice each."""

from tests.expectations.corruptions import calendar, emissions, left_out, panes, results, runs, sessions
from tests.expectations.corruptions.catalogue import CATALOGUE, Corruption

__all__ = ["CATALOGUE", "Corruption", "calendar", "emissions", "left_out", "panes", "results", "runs", "sessions"]
