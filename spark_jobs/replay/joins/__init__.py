"""Joins of two inputs: by interval, as of a time, or by window."""
