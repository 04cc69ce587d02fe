"""Rows of a source as columns: times, windows, candidate watermarks, arrival order and epochs."""
