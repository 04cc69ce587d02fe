"""Rules for rows that are set apart before the replay: by an expectation about the source, or as duplicates."""

from __future__ import annotations

from spark_jobs.pipeline import quarantine
from spark_jobs.pipeline.errors import RefusedError
from spark_jobs.pipeline.model import Expectation, Order
from spark_jobs.pipeline.quarantine import SOURCE_TABLE
from spark_jobs.pipeline.review import Contradictions, Facts
from spark_jobs.semantics.rows import event_time


def rows_are_set_apart_by_a_rule(facts: Facts) -> Contradictions:
    """Set rows of the source apart by expectations about single rows, of a pipeline with one source and windows."""
    names: set[str] = set()
    expectations = facts.value("quality.expectations", ())
    for number, expectation in enumerate(expectations if isinstance(expectations, tuple) else ()):
        key = f"quality.expectations[{number}]"
        if problem := _problem(expectation, facts):
            yield key, problem
        elif expectation.quarantines:
            yield from _named(key, expectation, names)


def _problem(expectation: Expectation, facts: Facts) -> str | None:
    is_of_source = expectation.table == SOURCE_TABLE
    if is_of_source and not expectation.quarantines:
        return "table source needs on_failure quarantine, which sets rows apart; name a table of results otherwise"
    if not expectation.quarantines:
        return "name is the reason of rows in quarantine; take it away" if expectation.name else None
    if not is_of_source:
        return (
            f"on_failure quarantine is about rows of the source, found table {expectation.table}; set table to source"
        )
    for key, rows in (("join", "the inputs of a join"), ("sources", "several sources")):
        if facts.is_written(key):
            return f"on_failure quarantine is not possible for {rows}; use a condition in where instead"
    return None


def _named(key: str, expectation: Expectation, names: set[str]) -> Contradictions:
    try:
        name = quarantine.rule(expectation).name
        quarantine.least_share(expectation)
    except RefusedError as problem:
        yield key, str(problem)
        return
    if name in event_time.REASONS:
        yield key, f"'{name}' is the reason of rows without a usable time; give another name"
    if name in names:
        yield key, f"found the name '{name}' for the second time; give another name"
    names.add(name)


def duplicates_have_an_earlier_row(facts: Facts) -> Contradictions:
    """Leave duplicates out where all rows of a source have one order, of a pipeline with windows."""
    for source in facts.items("sources") or ["source"]:
        key = f"{source}.deduplicate"
        if not facts.is_written(key):
            continue
        if facts.is_written("join"):
            yield key, "is not possible for the inputs of a join; take it away"
        elif facts.value("replay.order") is Order.OFFSET:
            yield (
                key,
                "replay.order offset reads partitions in rounds, so no row of another one is earlier; take it away",
            )


RULES = (rows_are_set_apart_by_a_rule, duplicates_have_an_earlier_row)
