"""The data of a run's report."""
