"""Airflow finds Tidemark's plugin here: the pages of data quality and the reports."""

from tidemark_airflow.pages.plugin import TidemarkPlugin

__all__ = ["TidemarkPlugin"]
