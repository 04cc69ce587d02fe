"""The table of all promised figures: every benchmark, in parts that each end within half an hour.

    python -m tests.benchmarks.table [--minutes N] [--parts A,B] [--page]

A part that was measured with this content of the project is not measured again, so the table can be made in several
sittings. The module of one benchmark does not count for the parts of another one. `--page` also writes the figures into
`tests/benchmarks/measured`, and a new clone goes on from them. On the page, older figures of a part stay until the part
is measured again.

Ends with 1 if a part fails, an answer differs or a limit is broken, and with 2 if parts are still to measure.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib
import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import monotonic
from typing import Any

from tests.benchmarks import page
from tests.benchmarks.bench import FOLDER, some
from tests.benchmarks.figures import aligned
from tests.benchmarks.limits import Measured, judge_all, limit_table
from tests.proofs.content import Content

_PROJECT = Path(__file__).parents[2]
#: The figures on the page, in a file for each part.
KEPT = Path(__file__).parent / "measured"
#: What the figures of every part depend on.
_MEASURED = (
    "spark_jobs/**",
    "expectations/**",
    "plugins/**",
    "dags/**",
    "requirements*.lock",
    "Makefile",
    "tests/benchmarks/**",
    "!tests/benchmarks/**/test_*.py",
    "!tests/benchmarks/measured/**",
    *(f"!tests/benchmarks/{name}.py" for name in ("figures", "limits", "page", "table")),
)
#: The benchmark whose module others import.
_SHARED = "bench"
_TO_MEASURE = 2


@dataclass(frozen=True)
class Part:
    """A benchmark with its options: a module of `tests.benchmarks`."""

    benchmark: str
    options: tuple[str, ...] = ()


PARTS = {
    "tumbling": Part("bench", ("--shape", "tumbling", "--warm")),
    "sliding": Part("bench", ("--shape", "sliding")),
    "session": Part("bench", ("--shape", "session")),
    # In one micro-batch, Structured Streaming takes more than 20 minutes for a join of 10 million events.
    "join": Part("bench", ("--shape", "join", "--rows", "1000000")),
    "large": Part("bench", ("--rows", "50000000", "--ways", "tuned,whole,ours,streaming,flink")),
    "large_sliding": Part("bench", ("--shape", "sliding", "--rows", "50000000", "--ways", "plain,ours")),
    "scheduled": Part("scheduled"),
    "store": Part("store"),
    "changed": Part("changed"),
    "floats_tumbling": Part("floats", ("--shape", "tumbling")),
    "floats_sliding": Part("floats", ("--shape", "sliding")),
    "floats_session": Part("floats", ("--shape", "session")),
    "demo": Part("demo"),
    "nexmark": Part("nexmark"),
    "growth": Part("growth"),
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure what is not measured yet, and print the table; returns the exit code."""
    options = _parser().parse_args(arguments)
    contents = _contents()
    files = {name: options.folder / "parts" / content / f"{name}.json" for name, content in contents.items()}
    _take_over_kept(files, contents)
    began, codes = monotonic(), []
    for name in options.parts:
        if not files[name].exists() and monotonic() - began < options.minutes * 60:
            print(f"==> {name}", flush=True)
            codes.append(_measure(PARTS[name], files[name], options.folder))
    measured = {name: _read(file) for name, file in files.items() if file.exists()}
    judged = judge_all([*map(Measured, measured.values())])
    print("\n" + aligned(limit_table(judged)))
    if missing := [name for name in PARTS if name not in measured]:
        print(f"\nnot measured yet: {', '.join(missing)}; the same command goes on with them")
    if options.page:
        _keep(measured, contents)
        page.write(_read(file)["figures"] for name in PARTS if (file := KEPT / f"{name}.json").exists())
    if any(codes) or any(each.is_kept is False for each in judged):
        return 1
    return _TO_MEASURE if missing else 0


def _contents() -> dict[str, str]:
    """Return the digest of what each part depends on: its options, and no module of another benchmark."""
    project = Content(_PROJECT)
    apart = {part.benchmark for part in PARTS.values()} - {_SHARED}

    def content_of(part: Part) -> str:
        files = project.digest((*_MEASURED, *(f"!tests/benchmarks/{other}**" for other in apart - {part.benchmark})))
        return hashlib.sha256("\0".join((files, *part.options)).encode()).hexdigest()[:20]

    return {name: content_of(part) for name, part in PARTS.items()}


def _take_over_kept(files: Mapping[str, Path], contents: Mapping[str, str]) -> None:
    """Copy the kept figures of these contents that `files` lack."""
    for name, file in files.items():
        file.parent.mkdir(parents=True, exist_ok=True)
        if file.exists() or not (source := KEPT / f"{name}.json").exists():
            continue
        part = _read(source)
        if part["content"] == contents[name]:
            file.write_text(json.dumps(part["figures"], indent=1), encoding="utf-8")


def _keep(measured: Mapping[str, Mapping[str, Any]], contents: Mapping[str, str]) -> None:
    KEPT.mkdir(exist_ok=True)
    for name, figures in measured.items():
        text = json.dumps({"content": contents[name], "figures": figures}, indent=1)
        (KEPT / f"{name}.json").write_text(text + "\n", encoding="utf-8")


def _read(file: Path) -> dict[str, Any]:
    figures: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    return figures


def _measure(part: Part, file: Path, folder: Path) -> int:
    """Run a benchmark, and keep its file where it ends with all figures. Returns its exit code."""
    unfinished = file.with_suffix(".unfinished")
    unfinished.unlink(missing_ok=True)
    benchmark = importlib.import_module(f"tests.benchmarks.{part.benchmark}")
    code: int = benchmark.main([*part.options, "--folder", str(folder), "--json", str(unfinished)])
    if unfinished.exists():
        unfinished.rename(file)
    return code


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="table", description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=1_000, help="begin no part after so many minutes")
    parser.add_argument("--parts", type=_some, default=tuple(PARTS), help=f"some of {','.join(PARTS)}")
    parser.add_argument("--page", action="store_true", help="write the page of the benchmarks, and keep the figures")
    parser.add_argument("--folder", type=Path, default=FOLDER, help="where events, tables, figures and logs are kept")
    return parser


def _some(text: str) -> tuple[str, ...]:
    return some(text, tuple(PARTS))


if __name__ == "__main__":
    sys.exit(main())
