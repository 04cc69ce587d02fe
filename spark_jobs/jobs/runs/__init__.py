"""Runs: the steps of a run in order, and how each step ended."""
