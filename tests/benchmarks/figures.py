"""The tables of a benchmark: medians and spread of each way, rates, growth. The promised limits are in `limits`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import log
from statistics import linear_regression, median
from types import MappingProxyType
from typing import Any

from tests.benchmarks.growth_cases import DIMENSIONS, FACTORS
from tests.benchmarks.limits import Measured
from tests.benchmarks.shapes import Shape

BASE = "tuned"
_CLUSTERS = (100, 1_000, 10_000)
# The counts of a run, and their titles in a table.
_EDGE_COUNTS = MappingProxyType({"rows_read": "events", "windows": "windows", "panes": "panes", "late": "late rows"})

Runs = Sequence[Mapping[str, Any]]


@dataclass(frozen=True)
class Figures:
    """One way's medians. `work_seconds` begin when its session is up, `process_seconds` when its process is started."""

    name: str
    process_seconds: float
    least_process_seconds: float
    most_process_seconds: float
    work_seconds: float
    rows_per_second: float
    peak_memory_bytes: int | None

    @classmethod
    def of(cls, name: str, runs: Runs, rows: int) -> Figures:
        """Return the figures of a way that ran once or more; rows per second are those of the work."""
        process, work = ([run[f"{part}_seconds"] for run in runs] for part in ("process", "work"))
        peaks = [run["peak_memory_bytes"] for run in runs if run["peak_memory_bytes"] is not None]
        peak = round(median(peaks)) if peaks else None
        return cls(name, median(process), min(process), max(process), median(work), rows / median(work), peak)


def of_ways(measured: Mapping[str, Runs], rows: int) -> list[Figures]:
    """Return the figures of each way."""
    return [Figures.of(name, runs, rows) for name, runs in measured.items()]


def speed_table(figures: Sequence[Figures], titles: Mapping[str, str]) -> list[tuple[str, ...]]:
    """Return a line a way: seconds, rows per second, memory, and its seconds as a multiple of the hand-tuned way's."""
    base = next((f for f in figures if f.name == BASE), None)
    lines: list[tuple[str, ...]] = [
        ("way", "process s", "least to most", "work s", "rows/s", "peak MiB", "x process", "x work")
    ]
    for f in figures:
        memory = "-" if f.peak_memory_bytes is None else f"{f.peak_memory_bytes / 2**20:,.0f}"
        times = ("-", "-")
        if base:
            times = (f"{f.process_seconds / base.process_seconds:.2f}", f"{f.work_seconds / base.work_seconds:.2f}")
        spread = f"{f.least_process_seconds:.1f} to {f.most_process_seconds:.1f}"
        seconds = (f"{f.process_seconds:.1f}", spread, f"{f.work_seconds:.1f}")
        lines.append((titles[f.name], *seconds, f"{f.rows_per_second:,.0f}", memory, *times))
    return lines


def answer_table(answers: Mapping[str, Mapping[str, int | None]], titles: Mapping[str, str]) -> list[tuple[str, ...]]:
    """Return a line a way: its results against ours, and the rows that are in none."""
    names = ("results", "rows_counted", "missing", "extra", "differing", "in_no_result", "reported")
    lines = [("way", *(name.replace("_", " ") for name in names))]
    for way, counts in answers.items():
        lines.append((titles[way], *("-" if counts[name] is None else f"{counts[name]:,}" for name in names)))
    return lines


#: Thousands of events per second and core that the project Nexmark publishes for Flink 1.13.
_PUBLISHED = {"q5": 22.14, "q7": 12.33, "q8": 146.14, "q11": 39.7}


def nexmark_table(results: Mapping[str, Any]) -> list[tuple[str, ...]]:
    """Return a line a query: seconds, thousands of events per second and core, and whether the answers are equal."""
    events, cores = results["events"], results["machine"]["cores"]
    head = ("query", "Tidemark process s", "work s", "K/s/core", "Flink process s", "work s", "K/s/core", "published")
    lines: list[tuple[str, ...]] = [(*head, "answer")]
    for query, runs in results["queries"].items():
        cells: list[str] = []
        for way in ("ours", "flink"):
            f = Figures.of(way, runs[way], events)
            rate = f.rows_per_second / cores / 1000
            cells += [f"{f.process_seconds:.1f}", f"{f.work_seconds:.1f}", f"{rate:,.0f}"]
        rows, differing = runs["answers"]["rows"], runs["answers"]["differing"]
        verdict = f"{differing:,} rows differ" if differing else f"{rows:,} rows, equal"
        lines.append((query, *cells, f"{_PUBLISHED[query]:g}", verdict))
    return lines


def scheduled_table(results: Mapping[str, Any]) -> list[tuple[str, ...]]:
    """Return a line a scheduled run: rows read, seconds from queued to done, starts of Spark, seconds of each task."""
    lines: list[tuple[str, ...]] = [("events until", "rows read", "s", "starts of Spark", "tasks, s")]
    for run in results["scheduled"]:
        tasks = ", ".join(f"{name} {seconds:.1f}" for name, seconds in run["tasks"].items())
        lines.append((run["until"], f"{run['rows_read']:,}", f"{run['seconds']:.1f}", str(run["spark_starts"]), tasks))
    return lines


def store_table(results: Mapping[str, Any]) -> list[tuple[str, ...]]:
    """Return a line a place of the tables: the seconds of a whole run on a cluster, and the medians of its steps."""
    lines: list[tuple[str, ...]] = [("tables in", "process s", "least to most", "steps, s")]
    for place, runs in results["store"].items():
        seconds = [run["process_seconds"] for run in runs]
        medians = {step: median(run["steps"][step] for run in runs) for step in runs[0]["steps"]}
        steps = ", ".join(f"{step} {value:.1f}" for step, value in medians.items())
        lines.append((f"a {place}", f"{median(seconds):.1f}", f"{min(seconds):.1f} to {max(seconds):.1f}", steps))
    return lines


def changed_table(results: Mapping[str, Any]) -> list[tuple[str, ...]]:
    """Return a line a run, by changes and full: windows computed, rows read, seconds of all steps and of each."""
    lines: list[tuple[str, ...]] = [("run", "windows", "rows read", "s", "steps, s")]
    for turn in results["changed"]:
        for name, title in (("changed", "only what changed"), ("full", "everything")):
            steps, counts = turn[name]["steps"], turn[name]["counts"]
            windows = f"{counts.get('affected_windows', counts['windows']):,}"
            each = ", ".join(f"{step} {seconds:.1f}" for step, seconds in steps.items())
            lines.append((title, windows, f"{counts['rows_read']:,}", f"{sum(steps.values()):.1f}", each))
    return lines


def floats_table(results: Mapping[str, Any]) -> list[tuple[str, ...]]:
    """Return a line a shape: the seconds with exact and plain sums and their ratio, by medians and by the least."""
    head = ("shape", "exact s", "plain s", "exact / plain")
    lines: list[tuple[str, ...]] = [(*head, *(f"least {name}" for name in head[1:]))]
    for shape in map(Shape, results["floats"]):
        cells: list[str] = []
        for measured in (Measured(results), Measured(results, min)):
            cells += [f"{measured.adding(way, shape):.1f}" for way in ("exact", "plain")]
            cells.append(f"{measured.exact_to_plain(shape):.2f}")
        lines.append((shape, *cells))
    return lines


def growth_table(results: Mapping[str, Any]) -> list[tuple[str, ...]]:
    """Return a line a quantity: the seconds of a whole run for each factor, the exponent, and the peaks of memory.

    The exponent is the slope of the logarithms: 1 is linear growth, 0 is none.
    """
    lines: list[tuple[str, ...]] = []
    for name, cases in results["growth"].items():
        seconds = [_seconds(case) for case in cases]
        values = [case["value"] for case in cases]
        exponent = linear_regression([*map(log, values)], [*map(log, seconds)]).slope
        last = seconds[-1] / seconds[-2]
        lines.append(
            (
                f"{DIMENSIONS[name].unit}: {values[0]:,} to {values[-1]:,}",
                *(f"{s:.1f}" for s in seconds),
                f"{exponent:.2f}",
                f"{last:.2f}",
                f"{_mib(cases[0])} to {_mib(cases[-1])}",
            )
        )
    factors = (f"s at {factor} x" for factor in FACTORS)
    return [("grows", *factors, "exponent", "last doubling", "peak MiB"), *lines]


def edge_table(results: Mapping[str, Any]) -> list[tuple[str, ...]]:
    """Return a line a case that is measured once."""
    lines = [
        (name, *(f"{case['counts'][count]:,}" for count in _EDGE_COUNTS), f"{_seconds(case):.1f}", _mib(case))
        for name, case in results["edges"].items()
    ]
    return [("case", *_EDGE_COUNTS.values(), "s", "peak MiB"), *lines]


def trillion_table(results: Mapping[str, Any]) -> list[tuple[str, ...]]:
    """Return the hours of a trillion events on some numbers of cores, by the slope of seconds over events."""
    cases, own_cores = results["growth"]["events"], results["machine"]["cores"]
    slope = linear_regression([case["value"] for case in cases], [*map(_seconds, cases)]).slope
    lines = [(f"{cores:,}", f"{slope * own_cores * 1e12 / cores / 3600:,.2f}") for cores in _CLUSTERS]
    return [("cores", "hours of a trillion events"), *lines]


def _seconds(case: Mapping[str, Any]) -> float:
    """Return the seconds of all steps of a run."""
    return float(sum(case["steps"].values()))


def _mib(case: Mapping[str, Any]) -> str:
    peak = case["peak_memory_bytes"]
    return "-" if peak is None else f"{peak / 2**20:,.0f}"


def aligned(lines: Sequence[Sequence[str]]) -> str:
    """Return columns as wide as their widest cell, the first to the left, the others to the right."""
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    texts = []
    for first, *rest in lines:
        cells = [cell.rjust(width) for cell, width in zip(rest, widths[1:], strict=True)]
        texts.append("  ".join([first.ljust(widths[0]), *cells]))
    return "\n".join(texts)
