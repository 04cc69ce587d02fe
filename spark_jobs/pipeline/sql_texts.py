"""The SQL of a pipeline: each text with its key in the pipeline file, and what the text may be.

Three kinds: an expression that decides on results, a condition or measure of a check, and a query of a check.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from spark_jobs.pipeline import quarantine
from spark_jobs.pipeline.model import Expectation, Pipeline, Quality, Source, TimeField, Watermark


class SqlKind(StrEnum):
    """What a text of SQL is for, and so what it may contain."""

    RESULT = "result"
    CHECK = "check"
    QUERY = "query"


@dataclass(frozen=True)
class SqlText:
    """One text of SQL, at its key of the pipeline file."""

    key: str
    text: str
    kind: SqlKind


def of_results(pipeline: Pipeline) -> Iterator[SqlText]:
    """Yield the expressions that decide on results: of the sources, the watermarks, the aggregates and the join."""
    if not pipeline.sources:
        yield from _of_source("", pipeline.source, pipeline.watermark)
    for number, united in enumerate(pipeline.sources):
        yield from _of_source(f"sources[{number}].", united.source, united.watermark, own="")
    for aggregate in pipeline.windows.aggregates:
        yield _result(f"windows.aggregates.{aggregate.name}", aggregate.expression)
    rules = {rule.name: rule for rule in pipeline.source.quarantine}
    for key, name in quarantine.names(pipeline.quality):
        yield _result(key, rules[name].unexpected)
    if pipeline.join is not None and pipeline.join.second_when is not None:
        yield _result("join.second_when", pipeline.join.second_when)


def of_checks(quality: Quality) -> Iterator[SqlText]:
    """Yield the SQL of checks: the measures of drift, and the conditions and queries of expectations."""
    for measure in quality.drift.measures if quality.drift is not None else ():
        yield SqlText(f"quality.drift.measures.{measure.name}", measure.expression, SqlKind.CHECK)
    for number, entry in enumerate(quality.expectations):
        if entry.quarantines:
            continue
        yield from _of_expectation(f"quality.expectations[{number}]", entry)


def _of_source(prefix: str, source: Source, watermark: Watermark, own: str = "source.") -> Iterator[SqlText]:
    fields = {
        f"{prefix}{own}where": source.where,
        f"{prefix}{own}event_time": source.event_time,
        f"{prefix}{own}arrival_time": source.arrival_time,
        f"{prefix}{own}offset": source.offset,
        f"{prefix}watermark.when": watermark.when,
        f"{prefix}watermark.value": watermark.value,
        **{f"{prefix}{own}columns.{column.name}": column.expression for column in source.columns},
    }
    for key, field in fields.items():
        if field is not None:
            yield _result(key, field.expression if isinstance(field, TimeField) else field)


def _result(key: str, text: str) -> SqlText:
    return SqlText(key, text, SqlKind.RESULT)


def _of_expectation(place: str, entry: Expectation) -> Iterator[SqlText]:
    """Yield the arguments that Great Expectations passes to Spark as SQL."""
    by_library = str(entry.arguments.get("condition_parser")).startswith("great_expectations")
    for name, value in entry.arguments.items():
        key = f"{place}.{name}"
        if name.endswith("_query") and isinstance(value, str):
            yield SqlText(key, value, SqlKind.QUERY)
        elif name == "condition" or (name == "row_condition" and not by_library):
            # Without its own grammar, the library passes a text on as it is.
            yield from (SqlText(key, text, SqlKind.CHECK) for text in _conditions(value))


def _conditions(value: Any) -> Iterator[str]:
    """Yield the SQL of a condition: a text, or mappings of the library with texts that it passes on."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        passed = value.get("pass_through_filter")
        yield from [passed] if isinstance(passed, str) else []
        yield from (text for inner in value.get("conditions") or () for text in _conditions(inner))
