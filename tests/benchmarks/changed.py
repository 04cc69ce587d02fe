"""The benchmark of changes: 1 % of the events of one day in a year are mended, and only what they affect is computed.

    python -m tests.benchmarks.changed [--rows N] [--days N] [--repeat N] [--json OUT]

The run over changes is compared with a full replay of the mended table, both in the same warm Spark (`changed_task`).
Ends with 1 if the tables of the two differ, or a limit is broken.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.benchmarks import figures, process
from tests.benchmarks.bench import FOLDER
from tests.benchmarks.measurement import breaks_a_limit, measured


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmark; returns the exit code."""
    options = _parser().parse_args(arguments)
    results = measured(
        options,
        lambda: {"changed": [_measured(options) for _ in range(options.repeat)]},
        rows=options.rows,
        days=options.days,
        repeat=options.repeat,
    )
    if results is None:
        return 1
    is_broken = breaks_a_limit(results, figures.changed_table(results))
    if differing := [turn["differing_rows"] for turn in results["changed"] if any(turn["differing_rows"].values())]:
        print(f"error: the tables differ from those of a full replay: {differing}", file=sys.stderr)
        return 1
    return int(is_broken)


def _measured(options: argparse.Namespace) -> dict[str, Any]:
    """Return both runs of one turn, in a separate process. Raises TaskFailedError."""
    print(f"==> {options.rows:,} events of {options.days} days", file=sys.stderr, flush=True)
    result = options.folder / "changed.json"
    program = [sys.executable, "-m", "tests.benchmarks.changed_task"]
    command = [*program, str(options.rows), str(options.days), str(options.folder / "changed"), str(result)]
    process.run("changes", command, output=options.folder / "changed.out", log=options.folder / "changed.log")
    measured: dict[str, Any] = json.loads(result.read_text(encoding="utf-8"))
    seconds = {name: sum(measured[name]["steps"].values()) for name in ("changed", "full")}
    print(f"    {seconds['changed']:.1f} s, a full replay {seconds['full']:.1f} s", file=sys.stderr, flush=True)
    return measured


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="changed", description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=10_000_000, help="how many events")
    parser.add_argument("--days", type=int, default=365, help="how many days they are spread over")
    parser.add_argument("--repeat", type=int, default=1, help="how many turns")
    parser.add_argument("--json", type=Path, help="where to write all figures")
    parser.add_argument("--folder", type=Path, default=FOLDER, help="where events, tables and logs are kept")
    return parser


if __name__ == "__main__":
    sys.exit(main())
