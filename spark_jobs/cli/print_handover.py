"""The text of `tidemark handover` for people, in 80 columns."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from rich.console import Console
from rich.table import Table

from spark_jobs.jobs.operate.handover_file import Handover


def show(out: Console, handover: Handover, file: str) -> None:
    """Print where a live job takes over."""
    table = Table(title=f"{handover.pipeline}  after run {handover.run_id}", title_justify="left", show_header=False)
    table.add_column(overflow="fold")
    table.add_column(overflow="fold")
    for name, value in _pairs(handover):
        table.add_row(name, value)
    out.print(table)
    if not handover.exact:
        out.print(f"not exact: {handover.reason}; a live job has to read everything again")
    out.print(f"written to {file}", soft_wrap=True)


def _pairs(handover: Handover) -> Iterator[tuple[str, str]]:
    yield "arrivals covered until", _moment(handover.covered_until, "the end of the version")
    for name, versions in handover.versions.items():
        of = f" of {name}" if name else ""
        yield f"source version read{of}", f"{versions.read}, the next is {versions.next}"
        if handover.exact:
            begin = "the table from its beginning" if versions.starting is None else f"version {versions.starting}"
            yield f"start reading at{of}", begin
    for partition, offset in handover.broker_offsets.items():
        yield f"next offset of {partition or 'the partition'}", str(offset)
    if not handover.exact:
        return
    yield "rows to read again", f"those that arrived at {_moment(handover.read_from_arrival, 'any time')} or later"
    yield "rows that matter", f"with an event time from {_moment(handover.state_from_event_time, 'any on')}"
    yield (
        "wait for partitions",
        ", ".join(name or "(the only one)" for name in handover.partitions_to_wait_for) or "none",
    )
    yield "windows of the live job", f"from {_moment(handover.live_from_window, 'the first on')}"
    yield "open, not fired", f"{handover.open_windows:,}"
    yield "open, fired, take late rows", f"{handover.fired_windows:,}"
    yield "watermark", _moment(handover.watermark, "none yet")
    for partition, reached in handover.partition_watermarks.items():
        yield f"watermark of {partition or 'the partition'}", _moment(reached, "none yet")


def _moment(moment: datetime | None, otherwise: str) -> str:
    return otherwise if moment is None else moment.isoformat(sep=" ", timespec="milliseconds").replace("+00:00", " UTC")
