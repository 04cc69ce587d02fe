"""The command `tidemark`."""

from spark_jobs.cli.app import main

__all__ = ["main"]
