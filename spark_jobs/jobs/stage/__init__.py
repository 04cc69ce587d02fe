"""Staging: a run's tables, written where no reader of published tables sees them."""
