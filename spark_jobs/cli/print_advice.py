"""Advice as text, in 80 columns: the disorder of the history, the results of candidate settings, the recommendation."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table

from spark_jobs.jobs.advise.advise import Advice, Spread
from spark_jobs.jobs.advise.candidates import Candidate, percent, rough

#: How many source partitions are shown, those with the most disorder.
_PARTITIONS = 10
_MEASURES = {"out_of_order": "out of order by", "delay": "arrival - event time", "silence": "silence"}
_SHARES = ("0.5", "0.9", "0.99", "0.999", "0.9999")


def show(out: Console, advice: Advice) -> None:
    """Print the advice."""
    out.print(f"{advice.pipeline}: {advice.rows:,} rows in windows, version {advice.source_version} of the source")
    out.print(_spreads(advice))
    out.print(_candidates(advice))
    out.print("* in the file   > recommended", markup=False, highlight=False)
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
    """Return all partitions together, then each, or the only one."""
    partitions = [(name, spread) for name, spread in advice.spreads.items() if name is not None]
    if len(partitions) == 1:
        return list(partitions)
    partitions.sort(key=lambda named: -named[1]["out_of_order"].quantiles["0.9999"])
    return [(None, advice.spreads[None]), *partitions[:_PARTITIONS]]


def _candidates(advice: Advice) -> Table:
    table = Table(box=None, padding=(0, 1, 0, 0), pad_edge=False)
    for column in ("", "bound", "lateness", "on time", "late", "too late", "complete", "windows\nhit", "mean\nwait"):
        table.add_column(column, justify="left" if not column else "right", no_wrap=True)
    for candidate in advice.candidates:
        table.add_row(*_cells(candidate, advice))
    return table


def _cells(candidate: Candidate, advice: Advice) -> list[str]:
    mark = ("*" if candidate == advice.now else "") + (">" if candidate == advice.recommended else "")
    counts = (f"{n:,}" for n in (candidate.on_time, candidate.late, candidate.too_late))
    wait = "" if candidate.mean_wait is None else rough(candidate.mean_wait)
    lengths = (rough(candidate.out_of_orderness), rough(candidate.allowed_lateness))
    return [mark, *lengths, *counts, percent(candidate.completeness), f"{candidate.windows_missing_rows:,}", wait]
