"""The text of `tidemark plan` for people: what a replay would read and replace, in sentences."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from spark_jobs.cli import printing
from spark_jobs.job_protocol import RunState
from spark_jobs.tables.interval import Interval
from spark_jobs.tables.run import FULL, PARTS, Run


def show(planned: Mapping[str, Any], published: Run | None, changed: Sequence[str] = (), *, has_windows: bool) -> None:
    """Print the plan; `published` is the run that was published last, None without one.

    `changed` are the settings that differ from those of `published`.
    """
    for line in _lines(planned, published, changed, has_windows=has_windows):
        printing.OUT.print(line, soft_wrap=True)


def _lines(
    planned: Mapping[str, Any], published: Run | None, changed: Sequence[str] = (), *, has_windows: bool
) -> Iterator[str]:
    state = planned["state"]
    yield f"{planned['pipeline']}  run {planned['run_id']}, {state}"
    if state == RunState.PUBLISHED:
        yield "this run is published: a replay has nothing to do"
    yield f"reads {_extent(planned)}"
    if planned["arrived_to"] is not None:
        yield f"reads rows that arrived before {_moment(planned['arrived_to'])}"
    if planned["arrived_from"] is not None:
        yield f"continues from the rows that arrived before {_moment(planned['arrived_from'])}"
    yield _replaced(planned, published)
    yield from (f"  {change}" for change in changed)
    if planned["first_window"] is not None:
        yield f"windows begin from {_moment(planned['first_window'])} to {_moment(planned['last_window'])}"
    elif planned["kind"] in PARTS:
        yield "no row is in these windows: check --from and --to"
    elif planned["kind"] == FULL and planned["source_rows"] and has_windows:
        yield "no row has a usable time"
    if "note" in planned:
        yield str(planned["note"])


def _extent(planned: Mapping[str, Any]) -> str:
    files, size = planned["source_files"], planned["source_bytes"] / 2**20
    of_files = f"{files:,} file{'' if files == 1 else 's'}, {size:,.1f} MiB"
    version = f"version {planned['source_version']} of {planned['source']}"
    return f"{planned['source_rows']:,} rows ({of_files}) of {version}"


def _replaced(planned: Mapping[str, Any], published: Run | None) -> str:
    if published is None:
        return "replaces nothing: first run"
    settings = "" if published.fingerprint == planned["fingerprint"] else " with other settings"
    by = f"last published by run {published.run_id}{settings}"
    if Interval(planned["interval_start"], planned["interval_end"]).empty:
        return f"replaces no window, {by}"
    if planned["kind"] == FULL or planned["interval_start"] is planned["interval_end"] is None:
        return f"replaces all results, {by}"
    start, end = planned["interval_start"], planned["interval_end"]
    span = f"from {_moment(start) if start else 'the first'} to {_moment(end) if end else 'the last'}"
    if planned["stretches"]:
        span = f"of {len(planned['stretches'])} stretches {span}"
    return f"replaces the windows {span}, {by}"


def _moment(moment: datetime) -> str:
    return f"{moment:%Y-%m-%d %H:%M:%S} UTC".replace(":00 UTC", " UTC")
