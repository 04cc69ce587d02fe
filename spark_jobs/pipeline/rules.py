"""A rule is what several keys of a pipeline file must fulfil together; it gives each contradiction with its key.

Rules see only what could be read: a key that is wrong by itself has been reported, and no rule judges it again.
"""

from __future__ import annotations

from collections.abc import Iterator

from spark_jobs.pipeline.durations import format_duration
from spark_jobs.pipeline.model import Order, Strategy
from spark_jobs.pipeline.review import Facts

Contradictions = Iterator[tuple[str, str]]

SIZE = "a duration longer than 0, such as '1 hour'"
GAP = "a duration longer than 0, such as '30 minutes'"


def arrival_order_needs_arrival_time(facts: Facts) -> Contradictions:
    """Order a replay by arrival only where arrival is known."""
    if facts.value("replay.order", Order.ARRIVAL) is Order.ARRIVAL and not facts.written("source.arrival_time"):
        needed = "replay.order arrival needs the time at which a row became known; or set replay.order to event_time"
        yield "source.arrival_time", f"missing; {needed}"


def bound_belongs_to_bounded_strategy(facts: Facts) -> Contradictions:
    """Give a bound with the bounded strategy, and only with it."""
    strategy = facts.value("watermark.strategy", Strategy.BOUNDED_OUT_OF_ORDERNESS)
    written = facts.written("watermark.out_of_orderness")
    if strategy is Strategy.BOUNDED_OUT_OF_ORDERNESS and not written:
        needed = "watermark.strategy bounded_out_of_orderness needs the bound, such as '6 hours'"
        yield "watermark.out_of_orderness", f"missing; {needed}"
    if strategy is Strategy.MONOTONOUS and written:
        meaning = "watermark.strategy monotonous has no bound"
        yield "watermark.out_of_orderness", f"{meaning}; take it away, or set the strategy to bounded_out_of_orderness"


def future_guard_needs_arrival_time(facts: Facts) -> Contradictions:
    """Compare event time with arrival only where arrival is known."""
    if isinstance(facts.value("future_guard"), int) and not facts.written("arrival_time"):
        yield "future_guard", "compares event time with arrival, but there is no source.arrival_time; take it away"


def lengths_belong_to_the_kind(facts: Facts) -> Contradictions:
    """Give a window its size, a session its gap, and neither what is the other's."""
    # A file for a later version lacks keys for a reason: only the reason is worth reading.
    if facts.key in facts.review.of_later_version:
        return
    kind = facts.value("kind", "tumbling")
    if kind == "session":
        if not facts.written("gap"):
            yield "gap", f"missing, expected {GAP}"
        for name in ("size", "offset"):
            if facts.written(name):
                yield name, "windows.kind session has no grid: a session ends a gap after its last row; take it away"
    if kind == "tumbling":
        if not facts.written("size"):
            yield "size", f"missing, expected {SIZE}"
        if facts.written("gap"):
            yield "gap", "belongs to windows.kind session; take it away, or set the kind to session"


def offset_is_shorter_than_size(facts: Facts) -> Contradictions:
    """Shift the window grid by less than a window (rule 42)."""
    size, offset = facts.value("size"), facts.value("offset")
    if isinstance(size, int) and isinstance(offset, int) and abs(offset) >= size:
        found = f"{format_duration(offset)} is not shorter than the size, {format_duration(size)}"
        yield "offset", f"{found}; {format_duration(offset % size)} gives the same windows"


def result_names_differ(facts: Facts) -> Contradictions:
    """Tell every key and aggregate column from the others, in any case of letters."""
    seen: dict[str, str] = {name.lower(): f"the key column '{name}'" for name in facts.names("key")}
    for name in facts.names("aggregates"):
        if first := seen.get(name.lower()):
            yield f"aggregates.{name}", f"found the name '{name}', which is also {first}, whatever the letter case"
        seen.setdefault(name.lower(), f"the aggregate '{name}'")


def aggregates_are_not_empty(facts: Facts) -> Contradictions:
    """Compute something."""
    if facts.value("aggregates") == ():
        yield "aggregates", "found no aggregate, expected at least one, such as 'flights: count(*)'"
