"""Valid rows that fill no window, because the pipeline leaves them out; each row has one reason, the first that holds.

    filtered      `where` is not true
    quarantined   a rule of the source does not hold; the row is in `invalid_events` with the name of the rule
    duplicates    an earlier row in the order of arrival has equal values in all columns of `deduplicate`

A row that is left out for one reason is no earlier row for a duplicate. A row without one of these values has no
duplicates. Rows that are left out move the watermark with the placement SOURCE, and do not with AFTER_WHERE.

0.0 equals -0.0, and NaN equals NaN. Texts are compared by their bytes, whatever collation their column has.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from spark_jobs.semantics.rows.arrival_order import Comparable, comparable
from spark_jobs.semantics.rows.expressions import Expression, column
from spark_jobs.semantics.spec import ReplaySpec, Source

Predicate = Callable[[Mapping[str, Any]], object]


class LeftOut(StrEnum):
    """Why a valid row fills no window; the value is the name of the count."""

    FILTERED = "filtered"
    QUARANTINED = "quarantined"
    DUPLICATES = "duplicates"


def reasons(spec: ReplaySpec) -> tuple[LeftOut, ...]:
    """Return the reasons that a replay counts; without rules and names of rows, only `where`."""
    return tuple(LeftOut) if any(source.leaves_out for source in spec.all_sources) else (LeftOut.FILTERED,)


@dataclass(frozen=True)
class Verdict:
    """Why a row alone is left out; `rule` is the name of the rule that quarantines it."""

    left_out: LeftOut | None = None
    rule: str = ""


class RowFilter:
    """Judges single rows by `where` and the rules of a source; predicates replace SQL, of rules by name."""

    def __init__(
        self, source: Source, condition: Predicate | None = None, rules: Mapping[str, Predicate] | None = None
    ) -> None:
        if condition is None and source.where is not None:
            condition = Expression(source.where).evaluate
        self._condition = condition
        self._rules = {
            rule.name: (rules or {}).get(rule.name) or Expression(rule.unexpected).evaluate
            for rule in source.quarantine
        }

    def judge(self, row: Mapping[str, Any]) -> Verdict:
        """Return why the row is left out, if it is."""
        if self._condition is not None and not self._condition(row):
            return Verdict(LeftOut.FILTERED)
        broken = next((name for name, is_unexpected in self._rules.items() if is_unexpected(row)), None)
        return Verdict() if broken is None else Verdict(LeftOut.QUARANTINED, broken)


def identity(row: Mapping[str, Any], names: Sequence[str]) -> Comparable | None:
    """Return the values that a row shares with its duplicates; None for a row without one of them."""
    values = [column(row, name) for name in names]
    return None if not names or None in values else tuple(map(comparable, values))


def repeated(identities: Iterable[Comparable | None]) -> list[bool]:
    """Return for each identity, in the order of arrival, whether an earlier one is the same."""
    earlier: set[Comparable] = set()
    result = []
    for value in identities:
        result.append(value is not None and value in earlier)
        if value is not None:
            earlier.add(value)
    return result
