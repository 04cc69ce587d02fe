"""The counts of a run beside those of the run that was published before it."""

from __future__ import annotations

from dataclasses import dataclass

from spark_jobs.job_protocol import in_reading_order
from spark_jobs.report.data import ReportData
from spark_jobs.report.text import number, share


@dataclass(frozen=True)
class CountChange:
    """A count of both runs as text; `change` has a sign and the share of the earlier count."""

    name: str
    before: str
    now: str
    change: str


def count_changes(data: ReportData) -> tuple[CountChange, ...]:
    """Return a line for each count that both runs have; none without an earlier run."""
    if data.earlier is None:
        return ()
    before, now = data.earlier.counts, data.counts
    names = [name for name in in_reading_order(now) if name in before and (before[name] or now[name])]
    return tuple(
        CountChange(name.replace("_", " "), number(before[name]), number(now[name]), _change(before[name], now[name]))
        for name in names
    )


def _change(before: int, now: int) -> str:
    if before == now:
        return "none"
    sign = "+" if now > before else "-"
    part = f" ({sign}{share(abs(now - before), before)})" if before else ""
    return f"{sign}{number(abs(now - before))}{part}"
