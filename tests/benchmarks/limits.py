"""The promised limits, and their figures: medians over the turns of a benchmark, with the least and the most."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import count
from operator import itemgetter
from statistics import median
from typing import Any

from tests.benchmarks.shapes import Shape

_GIB, _MINUTE_S = 2**30, 60
#: So many turns of `floats` come first and do not count: Java compiles what all of them need. Exact sums of sessions
#: took 52, 47, 43, 42 and 39 s in the first five turns.
WARM_UP_TURNS = 4

Runs = Sequence[Mapping[str, Any]]


@dataclass(frozen=True)
class Measured:
    """All that a benchmark has measured, as `bench`, `scheduled`, `store`, `changed`, `floats` or `demo` has stored it.

    `pick` chooses the figure among those of all turns. Each figure raises KeyError where it was not measured.
    """

    results: Mapping[str, Any]
    pick: Callable[[Sequence[float]], float] = median

    @property
    def rows(self) -> int:
        """Return how many events; 0 where no number is given."""
        return int(self.results.get("rows", 0))

    def each_turn(self, figure: Callable[[Measured], float]) -> list[float]:
        """Return a figure of each turn alone, for the turns that all its parts have."""
        figures: list[float] = []
        with suppress(IndexError):
            figures.extend(figure(replace(self, pick=itemgetter(turn))) for turn in count())
        return figures

    def process(self, way: str, shape: Shape = Shape.TUMBLING) -> float:
        """Return the seconds of a way's whole process."""
        return self.pick([run["process_seconds"] for run in self._runs(way, shape)])

    def work(self, way: str, shape: Shape = Shape.TUMBLING) -> float:
        """Return the seconds of a way's work, after its session was up."""
        return self.pick([run["work_seconds"] for run in self._runs(way, shape)])

    def step(self, way: str, step: str) -> float:
        """Return the seconds of one step of a way."""
        return self.pick([run["steps"][step] for run in self._runs(way)])

    def warm(self, way: str, step: str) -> float:
        """Return the seconds of a step that the same process took before."""
        return self.pick([each[step] for each in self.results["shapes"][Shape.TUMBLING]["warm"][way]["each"][1:]])

    def peak_gib(self, way: str) -> float:
        """Return the most memory of a way's processes."""
        peaks = [run["peak_memory_bytes"] for run in self._runs(way)]
        if None in peaks:
            raise KeyError(way)
        return self.pick(peaks) / _GIB

    def thousand(self) -> float:
        """Return the seconds of the whole command on a thousand events."""
        return self.pick([run["process_seconds"] for run in self.results["thousand"]])

    def hour(self, name: str) -> float:
        """Return a figure of a scheduled run of one hour. The first run reads the history, and does not count."""
        return self.pick([run[name] for run in self.results["scheduled"][1:]])

    def on_a_cluster(self, place: str) -> float:
        """Return the seconds of a whole run on a cluster, with all tables in a `folder` or in a `store`."""
        return self.pick([run["process_seconds"] for run in self.results["store"][place]])

    def changed(self, run: str) -> float:
        """Return the seconds of all steps: of the run over changes (`changed`), or of the full replay (`full`)."""
        return self.pick([sum(turn[run]["steps"].values()) for turn in self.results["changed"]])

    def adding(self, way: str, shape: Shape) -> float:
        """Return the seconds of a whole run over random doubles, with `exact` or with `plain` sums."""
        return self.pick([turn[way] for turn in self.results["floats"][shape]["turns"][WARM_UP_TURNS:]])

    def exact_to_plain(self, shape: Shape) -> float:
        """Return the seconds with exact sums as a multiple of those with plain sums."""
        return self.adding("exact", shape) / self.adding("plain", shape)

    def demo_minutes(self, name: str) -> float:
        """Return the minutes of `make demo`, the first time or again."""
        return self.pick([turn[name] for turn in self.results["demo"]]) / _MINUTE_S

    def _runs(self, way: str, shape: Shape = Shape.TUMBLING) -> Runs:
        if "shapes" not in self.results or shape not in self.results["shapes"]:
            raise KeyError(shape)
        runs: Runs = self.results["shapes"][shape]["measured"][way]
        return runs


@dataclass(frozen=True)
class Limit:
    """A figure that the project promises. It is judged with `rows` events, or with at least that many."""

    line: str
    figure: Callable[[Measured], float]
    bound: float
    rows: int = 0
    is_exact: bool = False
    is_most: bool = True

    def judge(self, measured: Measured) -> Judged | None:
        """Judge what was measured; None where it was not."""
        try:
            value = self.figure(measured)
        except KeyError:
            return None
        has_rows = measured.rows == self.rows if self.is_exact else measured.rows >= self.rows
        is_kept = value <= self.bound if self.is_most else value >= self.bound
        return Judged(self, value, measured.each_turn(self.figure), is_kept if has_rows else None)


@dataclass(frozen=True)
class Judged:
    """A limit with its figure, over all turns and of each. `is_kept` is None where the number of events is another."""

    limit: Limit
    value: float
    turns: Sequence[float]
    is_kept: bool | None

    @property
    def cells(self) -> tuple[str, str, str, str, str]:
        """Return its line of a table."""
        verdict = {True: "kept", False: "broken", None: f"judged with {self.limit.rows:,} events"}[self.is_kept]
        bound = f"{'<=' if self.limit.is_most else '>='} {self.limit.bound:g}"
        spread = f"{min(self.turns):.2f} to {max(self.turns):.2f}"
        return self.limit.line, f"{self.value:.2f}", spread, bound, verdict


def _whole_to_tuned(measured: Measured) -> float:
    return measured.process("whole") / measured.process("tuned")


_MILLIONS_3, _MILLIONS_10, _MILLIONS_50 = 3_000_000, 10_000_000, 50_000_000


def _of_each_size(
    line: str, figure: Callable[[Measured], float], bound: float, *, is_most: bool = True
) -> tuple[Limit, Limit]:
    """Return a limit for 10 million events and one for 50 million: at 10 million, the start of Java hides growth."""
    small = Limit(line, figure, bound, _MILLIONS_10, is_most=is_most)
    return small, replace(small, line=f"{line}, 50 million", rows=_MILLIONS_50, is_exact=True)


LIMITS = (
    Limit(
        "whole process: Tidemark whole / tuned by hand, 10 million",
        _whole_to_tuned,
        1.75,
        _MILLIONS_10,
        is_exact=True,
    ),
    Limit(
        "whole process: Tidemark whole / tuned by hand, 50 million",
        _whole_to_tuned,
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
    *_of_each_size(
        "the steps audit / replay, in one application",
        lambda m: m.step("whole", "audit") / m.step("whole", "replay"),
        0.3,
    ),
    *_of_each_size(
        "work, sliding: replay alone / Spark's window",
        lambda m: m.work("ours", Shape.SLIDING) / m.work("plain", Shape.SLIDING),
        0.6,
    ),
    Limit(
        "work, sessions: replay alone / Spark's session_window",
        lambda m: m.work("ours", Shape.SESSION) / m.work("plain", Shape.SESSION),
        1.5,
        _MILLIONS_10,
    ),
    *_of_each_size(
        "whole process: Structured Streaming / Tidemark whole",
        lambda m: m.process("streaming") / m.process("whole"),
        1.0,
        is_most=False,
    ),
    *_of_each_size(
        "work: Flink by its own clock / replay alone",
        lambda m: m.work("flink") / m.work("ours"),
        2.0,
        is_most=False,
    ),
    Limit(
        "work: emit per event / every second, replay alone",
        lambda m: m.work("ours_per_event") / m.work("ours_every_second"),
        1.2,
        _MILLIONS_10,
    ),
    Limit("seconds of Tidemark whole on 1,000 events", Measured.thousand, 15),
    Limit(
        "peak memory of Tidemark whole at 50 million, GiB",
        lambda m: m.peak_gib("whole"),
        4,
        _MILLIONS_50,
        is_exact=True,
    ),
    Limit("Airflow: seconds of an hour's increment, queued to done", lambda m: m.hour("seconds"), 40, _MILLIONS_10),
    Limit("Airflow: starts of Spark in such a run", lambda m: m.hour("spark_starts"), 1),
    Limit(
        "cluster, whole process: tables in an S3 store / in a folder",
        lambda m: m.on_a_cluster("store") / m.on_a_cluster("folder"),
        1.5,
        _MILLIONS_50,
    ),
    Limit(
        "1 % of a day in a year mended, warm: only what changed / full replay",
        lambda m: m.changed("changed") / m.changed("full"),
        0.1,
        _MILLIONS_10,
    ),
    Limit(
        "whole run, tumbling, random doubles: exact sums / Spark's",
        lambda m: m.exact_to_plain(Shape.TUMBLING),
        1.15,
        _MILLIONS_3,
    ),
    Limit(
        "whole run, sliding, random doubles: exact sums / Spark's",
        lambda m: m.exact_to_plain(Shape.SLIDING),
        1.15,
        _MILLIONS_3,
    ),
    Limit(
        "whole run, sessions, random doubles: exact sums / Spark's",
        lambda m: m.exact_to_plain(Shape.SESSION),
        1.15,
        _MILLIONS_3,
    ),
    Limit("minutes of make demo in a new clone, packages cached", lambda m: m.demo_minutes("first"), 3.5),
    Limit("minutes of make demo again", lambda m: m.demo_minutes("again"), 1),
)


def judge(measured: Measured) -> list[Judged]:
    """Judge every limit whose figure was measured."""
    return [judged for limit in LIMITS if (judged := limit.judge(measured)) is not None]


def judge_all(results: Sequence[Measured]) -> list[Judged]:
    """Judge every limit once, in the order of the limits: by a benchmark with the promised events, if one ran."""
    best: dict[str, Judged] = {}
    for measured in results:
        for each in judge(measured):
            line = each.limit.line
            if line not in best or best[line].is_kept is None:
                best[line] = each
    return [best[limit.line] for limit in LIMITS if limit.line in best]


def limit_table(judged: Sequence[Judged]) -> list[tuple[str, ...]]:
    """Return a line a limit: its figure, the least and the most of a turn, what is promised, and whether it is kept."""
    return [("figure", "median", "least to most", "limit", "verdict"), *(each.cells for each in judged)]
