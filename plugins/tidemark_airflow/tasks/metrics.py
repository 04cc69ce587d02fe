"""Spark's figures of a step as metrics of Airflow: gauges, sent as Airflow sends its own (`[metrics]`).

    tidemark.step.<figure>                      with the tags `pipeline` and `step`
    tidemark.step.<figure>.<pipeline>.<step>    the same for StatsD without tags

Airflow has both forms for its own metrics. Its option `legacy_names_on = False` leaves out the second one.
"""

from __future__ import annotations

from airflow.sdk.configuration import conf
from airflow.sdk.observability import stats

from spark_jobs.job_protocol import StepResult

PREFIX = "tidemark.step"


def emit(result: StepResult) -> None:
    """Emit the figures of a step; for a job of several steps together, those of each.

    A task behind may send the same figures again, which changes no gauge.
    """
    for measured in (result,) if result.figures else result.following:
        _emit(measured)


def _emit(result: StepResult) -> None:
    has_names = conf.getboolean("metrics", "legacy_names_on", fallback=True)
    tags = {"pipeline": result.pipeline, "step": str(result.step)}
    parts = ".".join(_part(value) for value in tags.values())
    for figure, value in result.figures.items():
        stats.gauge(f"{PREFIX}.{figure}", value, tags=tags)
        if has_names:
            stats.gauge(f"{PREFIX}.{figure}.{parts}", value)


def _part(text: str) -> str:
    """Return one part of a metric's name: a dot would make two of it."""
    return stats.normalize_name_for_stats(text, log_warning=False).replace(".", "__")
