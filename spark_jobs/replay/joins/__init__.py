"""Joins of two inputs, by interval or by window."""
