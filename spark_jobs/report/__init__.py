"""The report of a run: one self-contained HTML page, without requests to any host."""

from spark_jobs.report.data import ReportData
from spark_jobs.report.page import render

__all__ = ["ReportData", "render"]
