"""Inspection of published runs without Spark: late and invalid rows, and explanations of rows and windows."""
