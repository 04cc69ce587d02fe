"""A measurement: the frame of every benchmark, which describes the machine, stores the figures and judges them."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tests.benchmarks import figures, machine
from tests.benchmarks.limits import Measured, judge, limit_table
from tests.benchmarks.process import TaskFailedError


def measured(
    options: argparse.Namespace, measure: Callable[[], Mapping[str, Any]], **settings: Any
) -> dict[str, Any] | None:
    """Return the machine, the settings and the figures of `measure`, and write them to `options.json`.

    Returns None after a task that failed: its error is printed.
    """
    options.folder.mkdir(parents=True, exist_ok=True)
    results: dict[str, Any] = {"machine": machine.describe(), **settings}
    print("\n".join(f"{name:<12} {value}" for name, value in results["machine"].items()), flush=True)
    try:
        results |= measure()
    except TaskFailedError as failed:
        print(f"error: {failed}", file=sys.stderr)
        return None
    if options.json:
        options.json.write_text(json.dumps(results, indent=1), encoding="utf-8")
    return results


def breaks_a_limit(results: Mapping[str, Any], *tables: Sequence[tuple[str, ...]]) -> bool:
    """Print the tables, and that of the limits if some apply; return whether one is broken."""
    judged = judge(Measured(results))
    for table in (*tables, *([limit_table(judged)] if judged else [])):
        print("\n" + figures.aligned(table))
    return any(each.is_kept is False for each in judged)
