"""The benchmark: ours, plain Spark as people write it and tuned by hand, and Structured Streaming, on the same events.

    python -m tests.benchmarks.bench [--rows N] [--seed N] [--repeat N] [--ways A,B] [--json OUT] [--limit X|none]

Each way runs in a separate process, all of them in turn, and again; figures are medians over the repeats. Ends with 1
if a way failed or our process took more than `--limit` times as long as the hand-tuned one's.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from tests.benchmarks import alone, figures, machine
from tests.benchmarks.events import DEFAULT_SEED
from tests.benchmarks.ways import DEFAULT_WAYS, WAYS

FOLDER = Path(__file__).parents[2] / ".tidemark" / "bench"
LIMIT = 2.0


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmark; returns the exit code."""
    options = _parser().parse_args(arguments)
    options.folder.mkdir(parents=True, exist_ok=True)
    results = {"machine": machine.describe(), "rows": options.rows, "seed": options.seed, "repeat": options.repeat}
    print("\n".join(f"{name:<12} {value}" for name, value in results["machine"].items()), flush=True)
    try:
        results |= _measure(options)
    except alone.TaskFailedError as failed:
        print(f"error: {failed}", file=sys.stderr)
        return 1
    medians = figures.medians(results["measured"], options.rows)
    ratio = figures.ratio(medians, figures.OURS)
    results |= {"medians": [asdict(f) for f in medians], "ratio": ratio}
    if options.json:
        options.json.write_text(json.dumps(results, indent=1), encoding="utf-8")
    print(_report(results, medians))
    return _verdict(ratio, options.limit)


def _measure(options: argparse.Namespace) -> dict[str, Any]:
    """Make the events, run every way in turn, audit ours and compare the answers."""

    def run(task: str, note: str = "") -> dict[str, Any]:
        print(f"==> {task}{note}", file=sys.stderr, flush=True)
        return alone.run(task, options.folder, rows=options.rows, seed=options.seed)

    shutil.rmtree(options.folder / "lake", ignore_errors=True)
    run("events", f": {options.rows:,}, kept for the next time")
    measured: dict[str, list[dict[str, Any]]] = {way: [] for way in options.ways}
    for turn in range(1, options.repeat + 1):
        for way in options.ways:
            measured[way].append(run(way, f", {turn} of {options.repeat}"))
            print(f"    {measured[way][-1]['work_seconds']:.1f} s of work", file=sys.stderr, flush=True)
    if figures.OURS not in options.ways:
        return {"measured": measured}
    return {"measured": measured, "audit": run("audit"), "answers": run("answers")["said"]}


def _report(results: dict[str, Any], medians: Sequence[figures.Figures]) -> str:
    titles = {name: way.title for name, way in WAYS.items()}
    head = f"{results['rows']:,} events, medians of {results['repeat']}; 'x' is times the hand-tuned one"
    parts = [head, figures.speed_table(medians, titles)]
    if "audit" in results:
        audit, counts = results["audit"], results["measured"][figures.OURS][-1]["said"]
        audit_time = "Auditing ours, apart: {work_seconds:.1f} s of work in {process_seconds:.1f} s".format(**audit)
        replayed = next(f.work_seconds for f in medians if f.name == figures.OURS)
        parts.append(f"{audit_time}, {audit['work_seconds'] / replayed:.2f} times that of the replay")
        parts.append("Ours counted: " + ", ".join(f"{name} {count:,}" for name, count in counts.items()))
        parts.append("Results against ours, and rows in no result\n" + figures.answer_table(results["answers"], titles))
    return "\n" + "\n\n".join(parts)


def _verdict(ratio: float | None, limit: float | None) -> int:
    if ratio is None or limit is None:
        return 0
    is_within = ratio <= limit
    verdict = "kept" if is_within else "broken"
    print(f"\nOurs takes {ratio:.2f} times as long as the hand-tuned one: limit {limit}, {verdict}")
    return 0 if is_within else 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="bench", description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=10_000_000, help="how many events")
    parser.add_argument("--seed", type=int, default=DEFAULT_SEED, help="of the events")
    parser.add_argument("--repeat", type=int, default=3, help="how often each way runs")
    parser.add_argument("--ways", type=_ways, default=DEFAULT_WAYS, help=f"some of {','.join(WAYS)}")
    parser.add_argument("--json", type=Path, help="where to write all figures")
    parser.add_argument("--limit", type=_limit, default=LIMIT, help="times the hand-tuned one, or none")
    parser.add_argument("--folder", type=Path, default=FOLDER, help="where events, tables and logs are kept")
    return parser


def _ways(text: str) -> tuple[str, ...]:
    names = tuple(text.split(","))
    unknown = [name for name in names if name not in WAYS]
    if unknown:
        raise argparse.ArgumentTypeError(f"found {', '.join(unknown)}, expected some of {', '.join(WAYS)}")
    return names


def _limit(text: str) -> float | None:
    return None if text == "none" else float(text)


if __name__ == "__main__":
    sys.exit(main())
