"""The benchmark of the demo: how long `make demo` takes in a new clone of the commit, and again.

    python -m tests.benchmarks.demo [--repeat N] [--json OUT]

Set-up is part of the first demo. It finds the packages in pip's cache, if this machine fetched them before. The clone's
environment has no variables but HOME and PATH. Ends with 1 if a demo fails or a limit is broken.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from tests.benchmarks import process
from tests.benchmarks.bench import FOLDER
from tests.benchmarks.measurement import breaks_a_limit, measured

_PROJECT = Path(__file__).parents[2]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmark; returns the exit code."""
    options = _parser().parse_args(arguments)
    results = measured(
        options, lambda: {"demo": [_measured(options.folder) for _ in range(options.repeat)]}, repeat=options.repeat
    )
    return 1 if results is None else int(breaks_a_limit(results))


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
