"""The audit of what a run has staged."""
