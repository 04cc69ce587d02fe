"""The benchmark: Tidemark, two ways of plain Spark, Structured Streaming, DuckDB and Flink, on the same files.

    python -m tests.benchmarks.bench [--rows N] [--seed N] [--repeat N] [--shape A,B|all] [--ways A,B] [--warm]
        [--json OUT]

Each way runs in a separate process, all of them in turn, and again; figures are medians over the repeats. Ends with 1
if a way failed, an answer is not Flink's, or a limit of `limits` that these events can judge is broken.
"""

from __future__ import annotations

import argparse
import shutil
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.benchmarks import alone, figures
from tests.benchmarks.events import DEFAULT_SEED
from tests.benchmarks.measurement import breaks_a_limit, measured
from tests.benchmarks.shapes import Shape
from tests.benchmarks.ways import DEFAULT_WAYS, EMISSIONS, WAYS

FOLDER = Path(__file__).parents[2] / ".tidemark" / "bench"
_WARM_WAYS, _WARM_TIMES = ("tuned", "ours"), 3
_OURS = ("whole", "ours")
_THOUSAND = 1_000


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmark; returns the exit code."""
    options = _parser().parse_args(arguments)

    def measure() -> dict[str, Any]:
        shapes = {shape: _Turn(options, shape).measure() for shape in options.shape}
        if Shape.TUMBLING not in options.shape or "whole" not in options.ways:
            return {"shapes": shapes}
        return {"shapes": shapes, "thousand": _Turn(options, Shape.TUMBLING, _THOUSAND).repeated(("whole",))["whole"]}

    results = measured(options, measure, rows=options.rows, seed=options.seed, repeat=options.repeat)
    if results is None:
        return 1
    for shape in options.shape:
        print(_report(results, shape))
    is_broken = breaks_a_limit(results)
    unlike = [shape for shape in options.shape if _is_unlike_flink(shape, results["shapes"][shape].get("answers", {}))]
    for shape in unlike:
        print(f"\n{shape}: the answer is not Flink's")
    return int(bool(unlike) or is_broken)


def _is_unlike_flink(shape: Shape, answers: Mapping[str, Mapping[str, int]]) -> bool:
    # Flink's join has a channel for each input. A watermark that waits in one of them lets late rows of the other pass.
    counts = ("extra", "missing", "differing") if shape is not Shape.JOIN else ("missing", "differing")
    flink = answers.get("flink", {})
    return any(flink.get(name) for name in counts)


class _Turn:
    """The ways of one shape, in turn."""

    def __init__(self, options: argparse.Namespace, shape: Shape, rows: int | None = None) -> None:
        self._options, self._shape, self._rows = options, shape, rows or options.rows
        self._run("events", f": {self._rows:,}, kept for the next time")

    def measure(self) -> dict[str, Any]:
        """Run every way in turn, compare the answers, and repeat some in one process."""
        options, shape = self._options, self._shape
        shutil.rmtree(options.folder / "lake", ignore_errors=True)
        ways = tuple(way for way in options.ways if shape is Shape.TUMBLING or way not in EMISSIONS)
        part: dict[str, Any] = {"measured": self.repeated(ways)}
        if set(_OURS) & set(ways):
            part["answers"] = self._run("answers")["counts"]
        if options.warm:
            warm = [way for way in _WARM_WAYS if way in ways]
            part["warm"] = {way: self._run(way, ", warm", times=_WARM_TIMES) for way in warm}
        return part

    def repeated(self, ways: Sequence[str]) -> dict[str, list[dict[str, Any]]]:
        """Run ways one after the other, and again."""
        measured: dict[str, list[dict[str, Any]]] = {way: [] for way in ways}
        for turn in range(1, self._options.repeat + 1):
            for way in ways:
                measured[way].append(self._run(way, f", {turn} of {self._options.repeat}"))
        return measured

    def _run(self, task: str, note: str = "", times: int = 1) -> dict[str, Any]:
        options = self._options
        print(f"==> {self._shape}: {task}{note}", file=sys.stderr, flush=True)
        ended = alone.run(task, options.folder, rows=self._rows, seed=options.seed, shape=self._shape, times=times)
        seconds = "{work_seconds:.1f} s of work in {process_seconds:.1f} s".format(**ended)
        print(f"    {seconds}", file=sys.stderr, flush=True)
        return ended


def _report(results: Mapping[str, Any], shape: Shape) -> str:
    titles = {name: way.title for name, way in WAYS.items()}
    part, rows = results["shapes"][shape], results["rows"]
    head = f"{shape}: {rows:,} events, medians of {results['repeat']}; 'x' is times the hand-tuned one"
    parts = [head, figures.aligned(figures.speed_table(figures.of_ways(part["measured"], rows), titles))]
    for way in _OURS:
        if way in part["measured"]:
            last = part["measured"][way][-1]
            steps = ", ".join(f"{name} {seconds:.1f} s" for name, seconds in last["steps"].items())
            counts = ", ".join(f"{name} {count:,}" for name, count in last["counts"].items())
            parts.append(f"{titles[way]}: {steps}\n{counts}")
    if "answers" in part:
        table = figures.aligned(figures.answer_table(part["answers"], titles))
        parts.append("Results against ours, and rows in no result\n" + table)
    for way, run in part.get("warm", {}).items():
        again = "; ".join(", ".join(f"{name} {s:.1f} s" for name, s in each.items()) for each in run["each"])
        parts.append(f"{titles[way]}, again and again in one process: {again}")
    return "\n" + "\n\n".join(parts)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="bench", description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=10_000_000, help="how many events")
    parser.add_argument("--seed", type=int, default=DEFAULT_SEED, help="of the events")
    parser.add_argument("--repeat", type=int, default=3, help="how often each way runs")
    parser.add_argument("--shape", type=_shapes, default=(Shape.TUMBLING,), help=f"some of {','.join(Shape)}, or all")
    parser.add_argument("--ways", type=_ways, default=DEFAULT_WAYS, help=f"some of {','.join(WAYS)}")
    parser.add_argument("--warm", action="store_true", help="repeat ours and the hand-tuned one in one process too")
    parser.add_argument("--json", type=Path, help="where to write all figures")
    parser.add_argument("--folder", type=Path, default=FOLDER, help="where events, tables and logs are kept")
    return parser


def _ways(text: str) -> tuple[str, ...]:
    return some(text, tuple(WAYS))


def _shapes(text: str) -> tuple[Shape, ...]:
    return tuple(Shape) if text == "all" else tuple(map(Shape, some(text, tuple(Shape))))


def some(text: str, allowed: Sequence[str]) -> tuple[str, ...]:
    names = tuple(text.split(","))
    unknown = [name for name in names if name not in allowed]
    if unknown:
        raise argparse.ArgumentTypeError(f"found {', '.join(unknown)}, expected some of {', '.join(allowed)}")
    return names


if __name__ == "__main__":
    sys.exit(main())
