"""The text of `tidemark compare` for people."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from math import isfinite
from typing import Any

from spark_jobs.cases.value_text import value_text
from spark_jobs.cli import printing
from spark_jobs.cli.fitting_table import Column, fitting
from spark_jobs.jobs.operate.compare import Change, Comparison
from spark_jobs.pipeline.printable import printable

#: The digits of a number that are shown.
_DIGITS = 6


def show(comparison: Comparison) -> None:
    """Print how the results of two runs differ."""
    printing.OUT.print(f"results of run {comparison.before} and, after it, of run {comparison.after}")
    counts = {name: getattr(comparison, name) for name in ("same", "changed", "added", "gone")}
    printing.OUT.print(fitting([Column(name, [f"{count:,}"]) for name, count in counts.items()], printing.OUT.width))
    for line in _lines(comparison):
        printing.OUT.print(printable(line).replace("\n", "\\n"), soft_wrap=True)


def _lines(comparison: Comparison) -> Iterator[str]:
    for name, count in comparison.values.items():
        if count:
            yield f"{name}: differs in {count:,}"
    for label, names in (("only before", comparison.dropped), ("only after", comparison.new)):
        if names:
            yield f"{label}: {', '.join(names)}"
    if comparison.first_window is None or comparison.last_window is None:
        return
    different = comparison.changed + comparison.added + comparison.gone
    span = f"{_minute(comparison.first_window)} to {_minute(comparison.last_window)} UTC"
    shown_part = f"; the {len(comparison.largest):,} largest of {different:,} changes:" if comparison.largest else ""
    yield f"in windows that begin {span}{shown_part}"
    for change in comparison.largest:
        yield f"  {_minute(change.window_start)} {_change(change)}"


def _change(change: Change) -> str:
    key = ", ".join(f"{name} {value_text(value)}" for name, value in change.key.items())
    difference = _difference(change.before, change.after)
    return f"{key}: {difference}" if key else difference


def _difference(before: Mapping[str, Any] | None, after: Mapping[str, Any] | None) -> str:
    if before is None or after is None:
        values = before or after or {}
        return f"{'gone' if after is None else 'added'}, {', '.join(f'{n} {_rounded(v)}' for n, v in values.items())}"
    # NaN and variants do not equal themselves.
    changed = ((name, value, after[name]) for name, value in before.items() if repr(value) != repr(after[name]))
    return ", ".join(f"{name} {_pair(old, new)}" for name, old, new in changed)


def _pair(old: Any, new: Any) -> str:
    """Return both values with few digits, or with all digits if they differ in the others alone."""
    few = _rounded(old), _rounded(new)
    return f"{few[0]} -> {few[1]}" if few[0] != few[1] else f"{value_text(old)} -> {value_text(new)}"


def _rounded(value: Any) -> str:
    is_rounded = isinstance(value, float) and isfinite(value)
    return f"{value:.{_DIGITS}g}" if is_rounded else value_text(value)


def _minute(moment: datetime) -> str:
    return f"{moment:%Y-%m-%d %H:%M}"
