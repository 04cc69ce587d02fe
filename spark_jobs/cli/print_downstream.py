"""The text of `--downstream` for people: a line for each pipeline that reads the results."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from spark_jobs.cli import printing
from spark_jobs.job_protocol import StepState
from spark_jobs.tables.interval import in_words

if TYPE_CHECKING:
    from spark_jobs.jobs.graph.downstream import ForeseenReader, ReaderRun


def show_foreseen(readers: Sequence[ForeseenReader]) -> None:
    """Print which windows of which pipelines a planned run reaches."""
    for reader in readers:
        tables = ", ".join(f"{edge.writer}.{edge.table}" for edge in reader.edges)
        printing.print_line(f"reaches {reader.pipeline}: {_foreseen(reader)}, by {tables or 'nothing'}")


def show(runs: Sequence[ReaderRun], page: str) -> None:
    """Print what each pipeline downstream has computed, and the page about all of them."""
    for reader in runs:
        printing.print_line(f"{reader.pipeline}  run {reader.run.run_id}, {_computed(reader)}")
    printing.print_line(f"page: {page}")


def _foreseen(reader: ForeseenReader) -> str:
    if reader.is_whole:
        return "computed as a whole"
    if reader.windows is None:
        return "any of its results may change"
    if reader.interval is None:
        return "no window"
    return f"{reader.windows:,} window{'' if reader.windows == 1 else 's'} {in_words(reader.interval)}"


def _computed(reader: ReaderRun) -> str:
    if reader.results[0].state == StepState.UNCHANGED:
        return str(StepState.UNCHANGED)
    affected = reader.run.counts.get("affected_windows")
    return "computed anew" if affected is None else f"{affected:,} window{'' if affected == 1 else 's'} computed"
