"""Tidemark: the streaming answer, to the row, as a parallel batch on Spark."""

__version__ = "0.1.0"
