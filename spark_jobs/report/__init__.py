"""The report of a run: one HTML page that carries everything inside and asks nobody for anything."""

from spark_jobs.report.data import ReportData
from spark_jobs.report.page import render

__all__ = ["ReportData", "render"]
