"""The benchmark of the demo: how long `make demo` takes in a new clone of the commit, and again.

    python -m tests.benchmarks.demo [--repeat N] [--json OUT]

Set-up is part of the first demo. It finds the packages in pip's cache, if this machine fetched them before. The clone's
environment has no variables but HOME and PATH. Ends with 1 if a demo fails or a limit is broken.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.benchmarks import machine, process
from tests.benchmarks.bench import FOLDER
from tests.benchmarks.figures import aligned
from tests.benchmarks.limits import Measured, judge, limit_table
from tests.benchmarks.process import TaskFailedError

_PROJECT = Path(__file__).parents[2]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmark; returns the exit code."""
    options = _parser().parse_args(arguments)
    options.folder.mkdir(parents=True, exist_ok=True)
    results: dict[str, Any] = {"machine": machine.describe(), "repeat": options.repeat}
    print("\n".join(f"{name:<12} {value}" for name, value in results["machine"].items()), flush=True)
    try:
        results["demo"] = [_measured(options.folder) for _ in range(options.repeat)]
    except TaskFailedError as failed:
        print(f"error: {failed}", file=sys.stderr)
        return 1
    if options.json:
        options.json.write_text(json.dumps(results, indent=1), encoding="utf-8")
    judged = judge(Measured(results))
    print("\n" + aligned(limit_table(judged)))
    return int(any(each.is_kept is False for each in judged))


def _measured(folder: Path) -> dict[str, float]:
    """Return the seconds of both demos in one clone. The clone's Airflow is stopped at the end."""
    with tempfile.TemporaryDirectory(prefix="tidemark-bench-") as temporary:
        clone = Path(temporary) / "clone"
        _run("clone", ["git", "clone", "--quiet", str(_PROJECT), str(clone)], folder)
        make = ["make", "--directory", str(clone)]
        try:
            return {name: _run(f"{name} demo", [*make, "demo"], folder) for name in ("first", "again")}
        finally:
            _run("down", [*make, "down"], folder)


def _run(title: str, command: Sequence[str], folder: Path) -> float:
    """Return the seconds of a command in an empty environment. Raises TaskFailedError."""
    print(f"==> {title}", file=sys.stderr, flush=True)
    environ = {name: os.environ[name] for name in ("HOME", "PATH")}
    ended = process.run(title, command, output=folder / "demo.out", log=folder / "demo.log", environ=environ)
    print(f"    {ended.seconds:.1f} s", file=sys.stderr, flush=True)
    return ended.seconds


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="demo", description=__doc__.splitlines()[0])
    parser.add_argument("--repeat", type=int, default=1, help="how many clones")
    parser.add_argument("--json", type=Path, help="where to write all figures")
    parser.add_argument("--folder", type=Path, default=FOLDER, help="where logs are kept")
    return parser


if __name__ == "__main__":
    sys.exit(main())
