"""The figures of a benchmark: medians and spread of what was measured, the ratios with their limits, and the tables."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import log
from statistics import linear_regression, median
from types import MappingProxyType
from typing import Any

from tests.benchmarks.growth_cases import DIMENSIONS, FACTORS
from tests.benchmarks.shapes import Shape

BASE = "tuned"
_GIB = 2**30
_CLUSTERS = (100, 1_000, 10_000)
# The counts of a run, and their titles in a table.
_EDGE_COUNTS = MappingProxyType(
    {"rows_read": "events", "windows": "windows", "panes": "panes", "late": "late rows", "window_results": "results"}
)

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


@dataclass(frozen=True)
class Measured:
    """All that a benchmark has measured, as it is stored: `results` with a part for each shape."""

    results: Mapping[str, Any]

    @property
    def rows(self) -> int:
        """Return how many events."""
        return int(self.results["rows"])

    def figures(self, shape: Shape) -> list[Figures]:
        """Return the figures of every way of a shape."""
        return [Figures.of(name, runs, self.rows) for name, runs in self._part(shape, "measured").items()]

    def process(self, way: str, shape: Shape = Shape.TUMBLING) -> float:
        """Return the seconds of a way's whole process. Raises KeyError where it was not measured, as all below do."""
        return self._figures(way, shape).process_seconds

    def work(self, way: str, shape: Shape = Shape.TUMBLING) -> float:
        """Return the seconds of a way's work, after its session was up."""
        return self._figures(way, shape).work_seconds

    def step(self, way: str, step: str) -> float:
        """Return the seconds of one step of a way."""
        seconds: list[float] = [run["steps"][step] for run in self._part(Shape.TUMBLING, "measured")[way]]
        return median(seconds)

    def warm(self, way: str, step: str) -> float:
        """Return the seconds of a step that the same process took before."""
        seconds: list[float] = [each[step] for each in self._part(Shape.TUMBLING, "warm")[way]["each"][1:]]
        return median(seconds)

    def peak_gib(self, way: str) -> float:
        """Return the most memory of a way's processes."""
        peak = self._figures(way, Shape.TUMBLING).peak_memory_bytes
        if peak is None:
            raise KeyError(way)
        return peak / _GIB

    def thousand(self) -> float:
        """Return the seconds of the whole command on a thousand events."""
        seconds: list[float] = [run["process_seconds"] for run in self.results["thousand"]]
        return median(seconds)

    def _figures(self, way: str, shape: Shape) -> Figures:
        return Figures.of(way, self._part(shape, "measured")[way], self.rows)

    def _part(self, shape: Shape, name: str) -> Mapping[str, Any]:
        part: Mapping[str, Any] = self.results["shapes"][shape][name]
        return part


@dataclass(frozen=True)
class Limit:
    """A figure that the project promises. It is judged with `rows` events, or with at least that many."""

    line: str
    value: Callable[[Measured], float]
    bound: float
    rows: int
    is_exact: bool = False
    is_most: bool = True

    def judge(self, measured: Measured) -> Judged | None:
        """Judge what was measured; None where it was not."""
        try:
            value = self.value(measured)
        except KeyError:
            return None
        has_rows = measured.rows == self.rows if self.is_exact else measured.rows >= self.rows
        if not has_rows:
            return Judged(self, value, None)
        return Judged(self, value, value <= self.bound if self.is_most else value >= self.bound)


@dataclass(frozen=True)
class Judged:
    """A limit with the value that was measured; `is_kept` is None where the events were too few, or not that many."""

    limit: Limit
    value: float
    is_kept: bool | None

    @property
    def cells(self) -> tuple[str, str, str, str]:
        """Return its line of a table."""
        verdict = {True: "kept", False: "broken", None: f"judged with {self.limit.rows:,} events"}[self.is_kept]
        bound = f"{'<=' if self.limit.is_most else '>='} {self.limit.bound:g}"
        return self.limit.line, f"{self.value:.2f}", bound, verdict


_MILLIONS_10, _MILLIONS_50 = 10_000_000, 50_000_000

LIMITS = (
    Limit(
        "whole process: Tidemark whole / tuned by hand, 10 million",
        lambda m: m.process("whole") / m.process("tuned"),
        1.75,
        _MILLIONS_10,
        is_exact=True,
    ),
    Limit(
        "whole process: Tidemark whole / tuned by hand, 50 million",
        lambda m: m.process("whole") / m.process("tuned"),
        1.25,
        _MILLIONS_50,
        is_exact=True,
    ),
    Limit(
        "warm: the step replay / tuned by hand",
        lambda m: m.warm("ours", "replay") / m.warm("tuned", "work"),
        1.5,
        _MILLIONS_10,
    ),
    Limit(
        "the steps audit / replay, in one application",
        lambda m: m.step("whole", "audit") / m.step("whole", "replay"),
        0.3,
        _MILLIONS_10,
    ),
    Limit(
        "work, sliding: replay alone / Spark's window",
        lambda m: m.work("ours", Shape.SLIDING) / m.work("plain", Shape.SLIDING),
        0.6,
        _MILLIONS_10,
    ),
    Limit(
        "work, sessions: replay alone / Spark's session_window",
        lambda m: m.work("ours", Shape.SESSION) / m.work("plain", Shape.SESSION),
        1.5,
        _MILLIONS_10,
    ),
    Limit(
        "whole process: Structured Streaming / Tidemark whole",
        lambda m: m.process("streaming") / m.process("whole"),
        1.0,
        _MILLIONS_10,
        is_most=False,
    ),
    Limit(
        "work: Flink by its own clock / replay alone",
        lambda m: m.work("flink") / m.work("ours"),
        2.0,
        _MILLIONS_10,
        is_most=False,
    ),
    Limit(
        "work: emit per event / every second, replay alone",
        lambda m: m.work("ours_per_event") / m.work("ours_every_second"),
        1.2,
        _MILLIONS_10,
    ),
    Limit("seconds of Tidemark whole on 1,000 events", lambda m: m.thousand(), 15, 0),
    Limit(
        "peak memory of Tidemark whole at 50 million, GiB",
        lambda m: m.peak_gib("whole"),
        4,
        _MILLIONS_50,
        is_exact=True,
    ),
)


def judge(measured: Measured) -> list[Judged]:
    """Judge every limit whose figure was measured."""
    return [judged for limit in LIMITS if (judged := limit.judge(measured)) is not None]


def limit_table(judged: Sequence[Judged]) -> list[tuple[str, ...]]:
    """Return a line a limit: what was measured, what is promised, and whether it is kept."""
    return [("figure", "measured", "limit", "verdict"), *(each.cells for each in judged)]


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


#: The seconds of a scheduled run of one more hour that the project promises, and how often the run starts Spark.
SCHEDULED_SECONDS, SPARK_STARTS = 40, 1


def scheduled_table(results: Mapping[str, Any]) -> list[tuple[str, ...]]:
    """Return a line a scheduled run: rows read, seconds from queued to done, starts of Spark, seconds of each task."""
    lines: list[tuple[str, ...]] = [("events until", "rows read", "s", "starts of Spark", "tasks, s")]
    for run in results["scheduled"]:
        tasks = ", ".join(f"{name} {seconds:.1f}" for name, seconds in run["tasks"].items())
        lines.append((run["until"], f"{run['rows_read']:,}", f"{run['seconds']:.1f}", str(run["spark_starts"]), tasks))
    return lines


def scheduled_limits(results: Mapping[str, Any]) -> list[tuple[str, ...]]:
    """Return the limits of scheduled runs, as `limit_table` returns its limits; the first run reads the history."""
    hours = results["scheduled"][1:]
    figures = (
        ("Airflow: seconds of an hour's increment, from queued to done", "seconds", SCHEDULED_SECONDS),
        ("Airflow: starts of Spark in such a run", "spark_starts", SPARK_STARTS),
    )
    lines: list[tuple[str, ...]] = [("figure", "measured", "limit", "verdict")]
    for line, name, bound in figures:
        value = median(run[name] for run in hours)
        lines.append((line, f"{value:.2f}", f"<= {bound}", "kept" if value <= bound else "broken"))
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
        (name, *(f"{case['counts'].get(count, 0):,}" for count in _EDGE_COUNTS), f"{_seconds(case):.1f}", _mib(case))
        for name, case in results["edges"].items()
    ]
    return [("case", *_EDGE_COUNTS.values(), "s", "peak MiB"), *lines]


def trillion_table(results: Mapping[str, Any]) -> list[tuple[str, ...]]:
    """Return the hours of a trillion events on some numbers of cores, by the slope of seconds over events."""
    cases, own_cores = results["growth"]["events"], results["machine"]["cores"]
    slope = linear_regression([case["value"] for case in cases], [*map(_seconds, cases)]).slope
    lines = [(f"{cores:,}", f"{slope * own_cores * 1e12 / cores / 3600:,.1f}") for cores in _CLUSTERS]
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
