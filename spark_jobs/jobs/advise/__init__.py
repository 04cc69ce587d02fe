"""Advice for a new pipeline: bounds from the history of a source, a pipeline file from its columns."""
