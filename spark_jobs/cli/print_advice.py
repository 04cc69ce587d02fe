"""Advice as text, in 80 columns: the disorder of the history, the results of candidate settings, the recommendation."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table

from spark_jobs.cli.fitting_table import Column, fitting
from spark_jobs.jobs.advise.advise import Advice, Spread
from spark_jobs.jobs.advise.candidates import Candidate, percent, rough

#: How many source partitions are shown, those with the most disorder.
_PARTITIONS = 10
_MEASURES = {"out_of_order": "out of order by", "delay": "arrival - event time", "silence": "silence"}
# The shares of the rows, each with the rank of its column.
_SHARES = {"0.5": 1, "0.9": 4, "0.99": 0, "0.999": 3, "0.9999": 0}


def show(out: Console, advice: Advice) -> None:
    """Print the advice."""
    out.print(f"{advice.pipeline}: {advice.rows:,} rows in windows, version {advice.source_version} of the source")
    if advice.invalid:
        out.print(f"{advice.invalid:,} of {advice.rows_read:,} rows have no usable time and are in no window")
    if advice.repeated:
        out.print(
            f"{advice.repeated:,} rows equal another row: name the columns that identify a row in source.deduplicate"
        )
    out.print(_spreads(advice, out.width))
    out.print(_candidates(advice, out.width))
    out.print("* in the file   > recommended")
    out.print(advice.words)


def _spreads(advice: Advice, width: int) -> Table:
    rows: list[tuple[str, Spread | None]] = []
    for partition, measures in _most_disordered(advice):
        name = "all partitions" if partition is None else partition or "the one partition"
        in_order = measures["out_of_order"]
        rows.append((f"{name}:", None))
        rows += [(f"  {label}", measures[measure]) for measure, label in _MEASURES.items() if measure in measures]
        rows.append((f"  in order {percent(in_order.zero / in_order.rows)}", None))
    spreads = [spread for _, spread in rows]
    shares = [
        Column(percent(float(share)), ["" if s is None else rough(s.quantiles[share]) for s in spreads], rank)
        for share, rank in _SHARES.items()
    ]
    return fitting(
        [
            Column("of the rows", [label for label, _ in rows], right=False),
            *shares,
            Column("max", ["" if s is None else rough(s.max) for s in spreads]),
            Column("rows", ["" if s is None else f"{s.rows:,}" for s in spreads], rank=2),
        ],
        width,
    )


def _most_disordered(advice: Advice) -> list[tuple[str | None, dict[str, Spread]]]:
    """Return all partitions together, then each, or the only one."""
    partitions = [(name, spread) for name, spread in advice.spreads.items() if name is not None]
    if len(partitions) == 1:
        return list(partitions)
    partitions.sort(key=lambda named: -named[1]["out_of_order"].quantiles["0.9999"])
    return [(None, advice.spreads[None]), *partitions[:_PARTITIONS]]


def _candidates(advice: Advice, width: int) -> Table:
    headings = {"": 0, "bound": 0, "lateness": 0, "on time": 3, "late": 2, "too late": 0, "complete": 0}
    headings |= {"windows\nhit": 4, "mean\nwait": 1}
    cells = zip(*(_cells(candidate, advice) for candidate in advice.candidates), strict=True)
    columns = zip(headings.items(), cells, strict=True)
    return fitting([Column(heading, of, rank, right=bool(heading)) for (heading, rank), of in columns], width)


def _cells(candidate: Candidate, advice: Advice) -> list[str]:
    mark = ("*" if candidate == advice.now else "") + (">" if candidate == advice.recommended else "")
    counts = (f"{n:,}" for n in (candidate.on_time, candidate.late, candidate.too_late))
    wait = "" if candidate.mean_wait is None else rough(candidate.mean_wait)
    lengths = (rough(candidate.out_of_orderness), rough(candidate.allowed_lateness))
    return [mark, *lengths, *counts, percent(candidate.completeness), f"{candidate.windows_missing_rows:,}", wait]
