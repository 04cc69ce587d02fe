"""Nexmark's queries q5, q7, q8 and q11 over Delta history: Tidemark's pipelines beside Flink's SQL, on the same files.

    python -m tests.benchmarks.nexmark [--events N] [--repeat N] [--queries q5,q7] [--json OUT]

Beam's generator makes the events, as the published figures of Flink were measured with a descendant of it. A query is a
pipeline file, and one statement over what the pipeline has published. Ends with 1 if an answer is not Flink's, row for
row. Rows per second and core are those of all events by all cores of this machine, as in the published figures.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from string import Template
from typing import Any

from tests.benchmarks import environment, java_programs, machine, process
from tests.benchmarks.bench import FOLDER, some
from tests.benchmarks.figures import aligned, nexmark_table
from tests.benchmarks.nexmark_tasks import BASE_MS, QUERIES
from tests.benchmarks.process import TaskFailedError

_SQL = Path(__file__).parent / "nexmark_queries"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the queries; returns the exit code."""
    options = _parser().parse_args(arguments)
    options.folder.mkdir(parents=True, exist_ok=True)
    results: dict[str, Any] = {"machine": machine.describe(), "events": options.events, "repeat": options.repeat}
    print("\n".join(f"{name:<12} {value}" for name, value in results["machine"].items()), flush=True)
    try:
        environment.make()
        results["queries"] = _measure(options)
    except TaskFailedError as failed:
        print(f"error: {failed}", file=sys.stderr)
        return 1
    if options.json:
        options.json.write_text(json.dumps(results, indent=1), encoding="utf-8")
    print("\n" + aligned(nexmark_table(results)))
    return int(any(query["answers"]["differing"] for query in results["queries"].values()))


def _measure(options: argparse.Namespace) -> dict[str, Any]:
    """Make the events, run every query both ways in turn, and compare the answers."""
    events = options.folder / f"nexmark-{options.events}"
    if not (events / "bid" / "_delta_log").exists():
        text = events / "text"
        text.mkdir(parents=True, exist_ok=True)
        _run("generate", java_programs.command_of("NexmarkEvents", [text, options.events, BASE_MS]), options.folder)
        _run("load", _task("load", events, text, options.folder / "load.json"), options.folder)
        shutil.rmtree(text)
    measured: dict[str, Any] = {query: {"ours": [], "flink": []} for query in options.queries}
    for turn in range(1, options.repeat + 1):
        for query, runs in measured.items():
            note = f", {turn} of {options.repeat}"
            runs["ours"].append(_ours(query, events, options.folder, note))
            runs["flink"].append(_flink(query, events, options.folder, note))
    for query, runs in measured.items():
        result = options.folder / "compare.json"
        _run(f"compare {query}", _task(f"compare-{query}", events, options.folder, result), options.folder)
        runs["answers"] = json.loads(result.read_text(encoding="utf-8"))["counts"]
    return measured


def _ours(query: str, events: Path, folder: Path, note: str) -> dict[str, Any]:
    out, result = folder / f"{query}-ours", folder / f"{query}-ours.json"
    shutil.rmtree(out, ignore_errors=True)
    ended = _run(f"{query} by Tidemark{note}", _task(query, events, out, result), folder)
    return _figures(ended, result)


def _flink(query: str, events: Path, folder: Path, note: str) -> dict[str, Any]:
    out, result, script = (folder / f"{query}-flink{suffix}" for suffix in ("", ".json", ".sql"))
    shutil.rmtree(out, ignore_errors=True)
    text = "\n".join((_SQL / f"{name}.flink.sql").read_text(encoding="utf-8") for name in ("tables", query))
    script.write_text(Template(text).substitute(events=events, out=out), encoding="utf-8")
    command = java_programs.command_of("SqlJob", [script, result, java_programs.cores()])
    return _figures(_run(f"{query} by Flink{note}", command, folder), result)


def _task(name: str, events: Path, out: Path, result: Path) -> list[str]:
    places = {"--events": events, "--out": out, "--result": result}
    options = [str(part) for pair in places.items() for part in pair]
    return [sys.executable, "-m", "tests.benchmarks.nexmark_tasks", name, *options]


def _run(task: str, command: Sequence[str], folder: Path) -> process.Ended:
    print(f"==> nexmark: {task}", file=sys.stderr, flush=True)
    ended = process.run(task, command, output=folder / "nexmark.out", log=folder / "nexmark.log")
    print(f"    {ended.seconds:.1f} s", file=sys.stderr, flush=True)
    return ended


def _figures(ended: process.Ended, result: Path) -> dict[str, Any]:
    figures = json.loads(result.read_text(encoding="utf-8"))
    return {**figures, "process_seconds": ended.seconds, "peak_memory_bytes": ended.peak_memory_bytes}


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="nexmark", description=__doc__.splitlines()[0])
    parser.add_argument("--events", type=int, default=10_000_000, help="how many persons, auctions and bids in total")
    parser.add_argument("--repeat", type=int, default=3, help="how often each query runs")
    parser.add_argument("--queries", type=lambda text: some(text, QUERIES), default=QUERIES, help="some of them")
    parser.add_argument("--json", type=Path, help="where to write all figures")
    parser.add_argument("--folder", type=Path, default=FOLDER, help="where events, tables and logs are kept")
    return parser


if __name__ == "__main__":
    sys.exit(main())
