"""The benchmark of growth: how time and memory of a whole run grow with events, keys, windows and history.

    python -m tests.benchmarks.growth [--rows N] [--only events,decade] [--json OUT]

Each case runs in a separate process, in a Spark that is warm (`growth_cases`). The exponent is the slope of the
logarithm of the seconds over the logarithm of the factor: 1 is linear growth, 0 is none.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.benchmarks import figures, machine, process
from tests.benchmarks.bench import FOLDER, some
from tests.benchmarks.growth_cases import DEFAULT_ROWS, DIMENSIONS, EDGES, FACTORS, Case
from tests.benchmarks.process import TaskFailedError

_NAMES = (*DIMENSIONS, *EDGES)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the cases; returns the exit code."""
    options = _parser().parse_args(arguments)
    options.folder.mkdir(parents=True, exist_ok=True)
    results: dict[str, Any] = {"machine": machine.describe(), "growth": {}, "edges": {}}
    print("\n".join(f"{name:<12} {value}" for name, value in results["machine"].items()), flush=True)
    try:
        for name in options.only:
            if name in DIMENSIONS:
                results["growth"][name] = _grown(name, options)
            else:
                results["edges"][name] = _measured(name, EDGES[name](options.rows), options.folder)
    except TaskFailedError as failed:
        print(f"error: {failed}", file=sys.stderr)
        return 1
    if options.json:
        options.json.write_text(json.dumps(results, indent=1), encoding="utf-8")
    for table in (figures.growth_table(results), figures.edge_table(results)):
        if len(table) > 1:
            print("\n" + figures.aligned(table))
    return 0


def _grown(name: str, options: argparse.Namespace) -> list[dict[str, Any]]:
    dimension = DIMENSIONS[name]
    cases = {factor: dimension.grown(Case(options.rows), factor) for factor in FACTORS}
    return [
        {"value": dimension.value(case), **_measured(f"{name} x {factor}", case, options.folder)}
        for factor, case in cases.items()
    ]


def _measured(title: str, case: Case, folder: Path) -> dict[str, Any]:
    """Run a case in a process; return its steps, counts and the most memory. Raises TaskFailedError."""
    print(f"==> {title}: {case.rows:,} events", file=sys.stderr, flush=True)
    result = folder / "growth.json"
    program = [sys.executable, "-m", "tests.benchmarks.growth_task"]
    command = [*program, case.to_json(), str(folder / "growth"), str(result)]
    ended = process.run(title, command, output=folder / "growth.out", log=folder / "growth.log")
    measured = {**json.loads(result.read_text(encoding="utf-8")), "peak_memory_bytes": ended.peak_memory_bytes}
    print(f"    {sum(measured['steps'].values()):.1f} s of {ended.seconds:.1f} s", file=sys.stderr, flush=True)
    return measured


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="growth", description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=DEFAULT_ROWS, help="how many events, where nothing is multiplied")
    parser.add_argument("--only", type=_some, default=_NAMES, help=f"some of {','.join(_NAMES)}")
    parser.add_argument("--json", type=Path, help="where to write all figures")
    parser.add_argument("--folder", type=Path, default=FOLDER, help="where events, tables and logs are kept")
    return parser


def _some(text: str) -> tuple[str, ...]:
    return some(text, _NAMES)


if __name__ == "__main__":
    sys.exit(main())
