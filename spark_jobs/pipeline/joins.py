"""A join in a pipeline file: which columns of two inputs must be equal, and how their times must lie.

    {key: [order_id], between: [-5 minutes, 1 hour]}                      by interval
    {key: [currency], as_of: left_outer}                                  the second row valid at the first one's time
    {key: {orders: [id], payments: [order_id]}}                           by the window of `windows`
    {key: [order_id], between: ..., second_when: "kind = 'payment'"}      one source, split by a condition

The inputs are the two sources by their names, or the two parts of one source: left and right, or `names`. What its
keys must fulfil together is in `join_rules`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum

from spark_jobs.pipeline.durations import format_duration
from spark_jobs.pipeline.forms import choice, duration, pattern, text
from spark_jobs.pipeline.model import AsOf, Join
from spark_jobs.pipeline.names import source_column
from spark_jobs.pipeline.records import Either, Field, ListOf, Record, Rest
from spark_jobs.pipeline.review import Facts

#: The inputs of one source that is split, if the file does not name them.
NAMES = ("left", "right")


class Bound(StrEnum):
    """An end of the interval."""

    LOWER = "lower"
    UPPER = "upper"


@dataclass(frozen=True)
class Declared:
    """A join as written: `key` for both inputs, or by the name of each."""

    key: tuple[str, ...] | Mapping[str, tuple[str, ...]]
    between: tuple[int, ...] | None = None
    exclusive: tuple[Bound, ...] = ()
    names: tuple[str, ...] = NAMES
    second_when: str | None = None
    as_of: AsOf | None = None

    @property
    def by_window(self) -> bool:
        """True if rows join by the window that they share."""
        return self.between is None and self.as_of is None

    def of(self, names: tuple[str, ...]) -> Join | None:
        """Return the join of inputs with these names; None if a rule has reported a problem with it."""
        if len(names) != 2 or (isinstance(self.key, Mapping) and set(self.key) != set(names)):
            return None
        first, second = names
        by_name = self.key if isinstance(self.key, Mapping) else {first: self.key, second: self.key}
        if self.between is not None and (len(self.between) != 2 or self.as_of is not None):
            return None
        lower, upper = self.between or (None, None)
        return Join(
            names=(first, second),
            key=(by_name[first], by_name[second]),
            lower_ms=lower,
            upper_ms=upper,
            lower_inclusive=Bound.LOWER not in self.exclusive,
            upper_inclusive=Bound.UPPER not in self.exclusive,
            second_when=self.second_when,
            as_of=self.as_of,
        )


def _bounds_are_two_in_order(facts: Facts) -> Iterator[tuple[str, str]]:
    between = facts.value("between")
    if not isinstance(between, tuple):
        return
    if len(between) != 2:
        yield "between", f"found {len(between)} bounds, expected two, such as [-5 minutes, 1 hour]"
    elif between[0] > between[1]:
        lower, upper = (format_duration(bound) for bound in between)
        yield "between", f"found the lower bound {lower}, which is greater than the upper, {upper}; turn them round"


def _exclusive_needs_bounds(facts: Facts) -> Iterator[tuple[str, str]]:
    if facts.is_written("exclusive") and not facts.is_written("between"):
        yield "exclusive", "is about the bounds of between, which is missing; take it away"


def _as_of_has_no_bounds(facts: Facts) -> Iterator[tuple[str, str]]:
    if facts.is_written("as_of") and facts.is_written("between"):
        yield "as_of", "found as_of and between, and rows join in one way; take one of the two away"


def _names_are_of_one_source(facts: Facts) -> Iterator[tuple[str, str]]:
    names = facts.value("names")
    if isinstance(names, tuple) and len(names) != 2:
        yield "names", f"found {len(names)} names, expected one for each input, such as [orders, payments]"
    if facts.is_written("names") and not facts.is_written("second_when"):
        yield "names", "belongs to one source that second_when splits; two sources have names already"


_COLUMNS = ListOf(text("a column").then(source_column), "a list of columns such as [order_id], or [] for all rows")

_KEY = Either(
    "a list of columns such as [order_id], [] to join all rows, or a list by the name of each input",
    items=_COLUMNS,
    block=Record(
        dict,
        rest=Rest("columns", _COLUMNS),
        what="a list of columns by the name of each input",
    ),
)

_NAME = pattern("a name of lower-case letters, digits and _, a letter first", r"[a-z][a-z0-9_]{0,99}")


def _declared(key: tuple[str, ...] | dict[str, dict[str, tuple[str, ...]]], **rest: object) -> Declared:
    columns = key["columns"] if isinstance(key, dict) else key
    return Declared(columns, **rest)  # type: ignore[arg-type]  # each field's form gives what its name takes


JOIN = Record(
    _declared,
    fields=(
        Field(
            "key",
            "key",
            _KEY,
            required=True,
            meaning="Columns that are equal in both rows of a pair: one list for both inputs, or one for each. "
            "null equals null.",
        ),
        Field(
            "between",
            "between",
            ListOf(
                duration("a duration such as '1 hour' or '-5 minutes'", least_ms=None),
                "a lower and an upper bound such as [-5 minutes, 1 hour]",
            ),
            meaning="Lower and upper bound of the second row's event time less the first row's. Without this "
            "key and `as_of`, rows join by window.",
        ),
        Field(
            "exclusive",
            "exclusive",
            ListOf(choice(Bound), "a list of lower and upper", identity=str),
            meaning="Bounds of `between` that do not belong to the interval.",
        ),
        Field(
            "as_of",
            "as_of",
            choice(AsOf),
            meaning="Joins each first row with the version of its key: the newest second row that is not after it. "
            "`inner` leaves out first rows without a version, `left_outer` keeps them.",
        ),
        Field(
            "names",
            "names",
            ListOf(_NAME, "two names such as [orders, payments]", identity=str),
            meaning="Names of the two inputs that `second_when` makes of one source.",
        ),
        Field(
            "second_when",
            "second_when",
            text("a SQL condition such as \"kind = 'payment'\""),
            meaning="Splits one source: rows for which this SQL condition is true are the second input.",
        ),
    ),
    rules=(_bounds_are_two_in_order, _exclusive_needs_bounds, _as_of_has_no_bounds, _names_are_of_one_source),
)
