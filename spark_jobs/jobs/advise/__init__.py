"""Advice for a pipeline: bounds from the history of its source."""
