"""The figures of a benchmark: medians of what was measured, and the tables that show them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

BASE, OURS = "tuned", "ours"


@dataclass(frozen=True)
class Figures:
    """One way's medians. `work_seconds` begin when its session is up, `process_seconds` when its process is started."""

    name: str
    process_seconds: float
    work_seconds: float
    rows_per_second: float
    peak_memory_bytes: int | None


def medians(measured: Mapping[str, Sequence[Mapping[str, Any]]], rows: int) -> list[Figures]:
    """The figures of every way, each measured once or more; rows per second are those of the work."""
    figures = []
    for name, runs in measured.items():
        work = median(run["work_seconds"] for run in runs)
        peaks = [run["peak_memory_bytes"] for run in runs if run["peak_memory_bytes"] is not None]
        process = median(run["process_seconds"] for run in runs)
        figures.append(Figures(name, process, work, rows / work, round(median(peaks)) if peaks else None))
    return figures


def ratio(figures: Iterable[Figures], name: str) -> float | None:
    """Seconds of a way's process, in those of the hand-tuned one; None where one of them was not measured."""
    seconds = {f.name: f.process_seconds for f in figures}
    return seconds[name] / seconds[BASE] if name in seconds and BASE in seconds else None


def speed_table(figures: Sequence[Figures], titles: Mapping[str, str]) -> str:
    """A line a way: seconds, rows per second, memory, and both kinds of seconds in those of the hand-tuned way."""
    base = next((f for f in figures if f.name == BASE), None)
    lines = [("way", "process s", "work s", "rows/s", "peak MiB", "x process", "x work")]
    for f in figures:
        memory = "-" if f.peak_memory_bytes is None else f"{f.peak_memory_bytes / 2**20:,.0f}"
        times = ("-", "-")
        if base:
            times = (f"{f.process_seconds / base.process_seconds:.2f}", f"{f.work_seconds / base.work_seconds:.2f}")
        seconds = (f"{f.process_seconds:.1f}", f"{f.work_seconds:.1f}")
        lines.append((titles[f.name], *seconds, f"{f.rows_per_second:,.0f}", memory, *times))
    return aligned(lines)


def answer_table(answers: Mapping[str, Mapping[str, int]], titles: Mapping[str, str]) -> str:
    """A line a way: its results against ours, and the rows that are in none."""
    names = ("results", "rows_counted", "missing", "extra", "differing", "in_no_result", "reported")
    lines = [("way", *(name.replace("_", " ") for name in names))]
    lines += [(titles[way], *(f"{counts[name]:,}" for name in names)) for way, counts in answers.items()]
    return aligned(lines)


def aligned(lines: Sequence[Sequence[str]]) -> str:
    """Columns as wide as their widest cell, the first to the left, the others to the right."""
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    texts = []
    for first, *rest in lines:
        cells = [cell.rjust(width) for cell, width in zip(rest, widths[1:], strict=True)]
        texts.append("  ".join([first.ljust(widths[0]), *cells]))
    return "\n".join(texts)
