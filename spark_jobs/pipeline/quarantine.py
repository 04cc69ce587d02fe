"""Quarantine: expectations about single rows of the source, as SQL conditions for the rows that do not meet them.

Each type has the meaning that it has for a staged table. A row whose value is null meets every expectation about values
but `expect_column_values_to_not_be_null`. It does not meet `expect_rows_to_satisfy` if its condition is null.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from spark_jobs.pipeline.errors import RefusedError
from spark_jobs.pipeline.model import Expectation, Quality, QuarantineRule

#: The table of an expectation about the rows of the source.
SOURCE_TABLE = "source"

_QUERY = re.compile(
    r"\s*select\s+\*\s+from\s+\{batch\}\s+where\s+(?P<condition>.+?)\s*;?\s*", re.IGNORECASE | re.DOTALL
)
_QUERY_FORM = "SELECT * FROM {batch} WHERE condition"
_IGNORED = frozenset(("mostly",))

Arguments = Mapping[str, Any]


def rule(expectation: Expectation) -> QuarantineRule:
    """Return the rule of an expectation about the source. Raises RefusedError for one that is not about single rows."""
    arguments = {name: value for name, value in expectation.arguments.items() if name not in _IGNORED}
    if expectation.type == "unexpected_rows_expectation":
        return QuarantineRule(expectation.name or "unexpected_row", _of_query(arguments))
    if expectation.type == "expect_rows_to_satisfy":
        return QuarantineRule(expectation.name or "row_not_as_expected", _of_condition(arguments))
    if expectation.type not in _CONDITIONS:
        types = ", ".join((*_CONDITIONS, "expect_rows_to_satisfy", "unexpected_rows_expectation"))
        raise RefusedError(f"{expectation.type} cannot set rows apart; use {types}")
    column = arguments.pop("column", None)
    if not isinstance(column, str):
        raise RefusedError(f"{expectation.type} needs the argument column")
    condition, names_of_type = _CONDITIONS[expectation.type]
    if unknown := [name for name in arguments if name not in names_of_type]:
        arguments_of_type = ", ".join(("column", *names_of_type, "mostly"))
        raise RefusedError(f"{expectation.type} has no argument {unknown[0]} here; use {arguments_of_type}")
    default = f"{column}_{expectation.type.removeprefix('expect_column_').removeprefix('values_')}"
    name = expectation.name or re.sub(r"\W+", "_", default, flags=re.ASCII).strip("_").lower()
    return QuarantineRule(name, condition(_quoted(column), arguments))


def names(quality: Quality) -> Iterator[tuple[str, str]]:
    """Yield the key in the pipeline file and the rule's name of each expectation that sets rows apart."""
    for number, expectation in enumerate(quality.expectations):
        if expectation.quarantines:
            yield f"quality.expectations[{number}]", rule(expectation).name


def least_share(expectation: Expectation) -> float:
    """Return the share of rows that must meet the expectation, its argument `mostly`; 0 without it.

    Raises RefusedError for another value.
    """
    mostly = expectation.arguments.get("mostly", 0)
    if isinstance(mostly, bool) or not isinstance(mostly, (int, float)) or not 0 <= mostly <= 1:
        raise RefusedError(f"found mostly {mostly!r}, expected a share between 0 and 1, such as 0.95")
    return float(mostly)


def _of_query(arguments: Arguments) -> str:
    query = arguments.get("unexpected_rows_query")
    match = _QUERY.fullmatch(query) if isinstance(query, str) else None
    if match is None:
        raise RefusedError(f"needs the argument unexpected_rows_query of the form {_QUERY_FORM}")
    return match["condition"]


def _of_condition(arguments: Arguments) -> str:
    condition = arguments.get("condition")
    if not isinstance(condition, str) or len(arguments) != 1:
        raise RefusedError("needs the argument condition, and no other but mostly")
    return f"not coalesce({condition}, false)"


def _between(value: str, arguments: Arguments) -> str:
    outside = [
        f"{value} {beyond}{'=' if arguments.get(strict) else ''} {_literal(arguments[bound])}"
        for bound, beyond, strict in (("min_value", "<", "strict_min"), ("max_value", ">", "strict_max"))
        if arguments.get(bound) is not None
    ]
    if not outside:
        raise RefusedError("needs min_value, max_value or both")
    return " or ".join(outside)


def _in_set(value: str, arguments: Arguments) -> str:
    values = arguments.get("value_set")
    if not isinstance(values, (list, tuple)) or not values:
        raise RefusedError("needs value_set, a list of values")
    return f"{value} in ({', '.join(map(_literal, values))})"


def _matches(value: str, arguments: Arguments) -> str:
    regex = arguments.get("regex")
    if not isinstance(regex, str):
        raise RefusedError("needs regex, a text")
    return f"{value} rlike {_literal(regex)}"


def _lengths(value: str, arguments: Arguments) -> str:
    return _between(f"length({value})", arguments)


def _length(value: str, arguments: Arguments) -> str:
    return f"length({value}) <> {_literal(arguments.get('value'))}"


def _not(condition: Callable[[str, Arguments], str]) -> Callable[[str, Arguments], str]:
    return lambda value, arguments: f"not ({condition(value, arguments)})"


_BOUNDS = ("min_value", "max_value", "strict_min", "strict_max")
# By type: the condition of a row that does not meet the expectation, and the arguments beside the column.
_CONDITIONS: Mapping[str, tuple[Callable[[str, Arguments], str], tuple[str, ...]]] = {
    "expect_column_values_to_not_be_null": (lambda value, _: f"{value} is null", ()),
    "expect_column_values_to_be_null": (lambda value, _: f"{value} is not null", ()),
    "expect_column_values_to_be_between": (_between, _BOUNDS),
    "expect_column_values_to_be_in_set": (_not(_in_set), ("value_set",)),
    "expect_column_values_to_not_be_in_set": (_in_set, ("value_set",)),
    "expect_column_values_to_match_regex": (_not(_matches), ("regex",)),
    "expect_column_values_to_not_match_regex": (_matches, ("regex",)),
    "expect_column_value_lengths_to_be_between": (_lengths, _BOUNDS),
    "expect_column_value_lengths_to_equal": (_length, ("value",)),
}


def _quoted(path: str) -> str:
    """Return a column or field of a column as SQL; a name in backticks stays as it is."""
    if "`" in path:
        return path
    return ".".join(name if re.fullmatch(r"[A-Za-z_]\w*", name) else f"`{name}`" for name in path.split("."))


def _literal(value: Any) -> str:
    match value:
        case bool():
            return "true" if value else "false"
        case int() | float():
            return repr(value)
        case str():
            escaped = value.replace("\\", "\\\\").replace("'", "\\'")
            return f"'{escaped}'"
        case _:
            raise RefusedError(f"found the value {value!r}, expected a text, a number, true or false")
