"""Advice as a page of text, in 80 columns: what the history is like, what settings make of it, what is recommended."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table

from spark_jobs.jobs.advise.advise import Advice, Spread
from spark_jobs.jobs.advise.candidates import Candidate, percent, rough

#: Of many source partitions, those with the most disorder.
_PARTITIONS = 10
_MEASURES = {"out_of_order": "out of order by", "delay": "arrival - event time", "silence": "silence"}
_SHARES = ("0.5", "0.9", "0.99", "0.999", "0.9999")


def show(out: Console, advice: Advice) -> None:
    """Print it."""
    out.print(f"{advice.pipeline}: {advice.rows:,} rows in windows, version {advice.source_version} of the source")
    out.print(_spreads(advice))
    out.print(_candidates(advice))
    out.print("* as the file says   > recommended", markup=False, highlight=False)
    out.print(advice.words, markup=False, highlight=False)


def _spreads(advice: Advice) -> Table:
    table = Table(box=None, padding=(0, 1, 0, 0), pad_edge=False)
    table.add_column("of the rows", max_width=22, overflow="fold")
    for share in _SHARES:
        table.add_column(percent(float(share)), justify="right", no_wrap=True)
    table.add_column("max", justify="right", no_wrap=True)
    table.add_column("rows", justify="right", no_wrap=True)
    for partition, measures in _most_disordered(advice):
        name = "all" if partition is None else partition or "the one partition"
        for measure, label in _MEASURES.items():
            if spread := measures.get(measure):
                first = name if measure == "out_of_order" else ""
                table.add_row(f"{first}: {label}" if first else f"  {label}", *_row(spread))
        in_order = measures["out_of_order"]
        table.add_row(f"  in order {percent(in_order.zero / in_order.rows)}", *[""] * 7)
    return table


def _row(spread: Spread) -> list[str]:
    return [*(rough(spread.quantiles[share]) for share in _SHARES), rough(spread.max), f"{spread.rows:,}"]


def _most_disordered(advice: Advice) -> list[tuple[str | None, dict[str, Spread]]]:
    """All partitions together, then each, unless there is but one."""
    alone = [(name, spread) for name, spread in advice.spreads.items() if name is not None]
    if len(alone) == 1:
        return list(alone)
    alone.sort(key=lambda one: -one[1]["out_of_order"].quantiles["0.9999"])
    return [(None, advice.spreads[None]), *alone[:_PARTITIONS]]


def _candidates(advice: Advice) -> Table:
    table = Table(box=None, padding=(0, 1, 0, 0), pad_edge=False)
    for column in ("", "bound", "lateness", "on time", "late", "too late", "complete", "windows\nhit", "mean\nwait"):
        table.add_column(column, justify="left" if not column else "right", no_wrap=True)
    for found in advice.candidates:
        table.add_row(*_cells(found, advice))
    return table


def _cells(found: Candidate, advice: Advice) -> list[str]:
    mark = ("*" if found == advice.now else "") + (">" if found == advice.recommended else "")
    counts = (f"{n:,}" for n in (found.on_time, found.late, found.too_late))
    wait = "" if found.mean_wait is None else rough(found.mean_wait)
    lengths = (rough(found.out_of_orderness), rough(found.allowed_lateness))
    return [mark, *lengths, *counts, percent(found.completeness), f"{found.windows_missing_rows:,}", wait]
