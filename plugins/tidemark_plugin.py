"""Airflow finds Tidemark's plugin here; it is made in the package beside this file."""

from tidemark_airflow.pages.plugin import TidemarkPlugin

__all__ = ["TidemarkPlugin"]
