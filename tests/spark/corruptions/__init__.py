"""Ways to spoil what a good run has staged, and the expectations that must notice each."""

from tests.spark.corruptions import calendar, emissions, left_out, panes, results, runs, sessions
from tests.spark.corruptions.catalogue import CATALOGUE, Corruption

__all__ = ["CATALOGUE", "Corruption", "calendar", "emissions", "left_out", "panes", "results", "runs", "sessions"]
