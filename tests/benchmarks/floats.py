"""The benchmark of exact sums: whole runs over random doubles, compared with the same runs with Spark's plain sums.

    python -m tests.benchmarks.floats [--rows N] [--turns N] [--shape A,B] [--json OUT]

Each shape has a separate process, in which both ways take turns (`floats_task`). The first turns warm Spark up: they
are measured, but no figure counts them. Ends with 1 if the results of both ways differ by more than rounding, or a
limit is broken.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.benchmarks import figures, process
from tests.benchmarks.bench import FOLDER, some
from tests.benchmarks.limits import WARM_UP_TURNS
from tests.benchmarks.measurement import breaks_a_limit, measured
from tests.benchmarks.shapes import Shape

#: The shapes with windows: a join adds nothing.
SHAPES = (Shape.TUMBLING, Shape.SLIDING, Shape.SESSION)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmark; returns the exit code."""
    options = _parser().parse_args(arguments)
    results = measured(
        options,
        lambda: {"floats": {shape: _measured(shape, options) for shape in options.shape}},
        rows=options.rows,
        repeat=options.turns - WARM_UP_TURNS,
    )
    if results is None:
        return 1
    is_broken = breaks_a_limit(results, figures.floats_table(results))
    if differing := {shape: rows for shape, part in results["floats"].items() if (rows := part["differing_rows"])}:
        print(f"error: results with exact and plain sums differ by more than rounding: {differing}", file=sys.stderr)
        return 1
    return int(is_broken)


def _measured(shape: Shape, options: argparse.Namespace) -> dict[str, Any]:
    """Return all turns of a shape, in a separate process. Raises TaskFailedError."""
    print(f"==> {shape}: {options.rows:,} events, {options.turns} turns", file=sys.stderr, flush=True)
    result = options.folder / "floats.json"
    program = [sys.executable, "-m", "tests.benchmarks.floats_task"]
    numbers = (str(options.rows), str(options.turns))
    command = [*program, *numbers, shape, str(options.folder / "floats"), str(result)]
    process.run("exact sums", command, output=options.folder / "floats.out", log=options.folder / "floats.log")
    measured: dict[str, Any] = json.loads(result.read_text(encoding="utf-8"))
    seconds = ", ".join("exact {exact:.1f} s and plain {plain:.1f} s".format(**turn) for turn in measured["turns"])
    print(f"    {seconds}", file=sys.stderr, flush=True)
    return measured


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="floats", description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=3_000_000, help="how many events")
    parser.add_argument("--turns", type=_turns, default=9, help=f"how many turns; the first {WARM_UP_TURNS} warm up")
    parser.add_argument("--shape", type=_shapes, default=SHAPES, help=f"some of {','.join(SHAPES)}")
    parser.add_argument("--json", type=Path, help="where to write all figures")
    parser.add_argument("--folder", type=Path, default=FOLDER, help="where events, tables and logs are kept")
    return parser


def _turns(text: str) -> int:
    turns = int(text)
    if turns <= WARM_UP_TURNS:
        raise argparse.ArgumentTypeError(f"found {turns}, expected more than the {WARM_UP_TURNS} turns that warm up")
    return turns


def _shapes(text: str) -> tuple[Shape, ...]:
    return tuple(map(Shape, some(text, SHAPES)))


if __name__ == "__main__":
    sys.exit(main())
