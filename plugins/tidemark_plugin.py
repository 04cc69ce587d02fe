"""Airflow finds Tidemark's plugin here; it is made in the package beside this file."""

from tidemark_airflow.plugin import TidemarkPlugin

__all__ = ["TidemarkPlugin"]
