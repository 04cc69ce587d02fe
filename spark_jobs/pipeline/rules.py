"""A rule is what several keys of a pipeline file must fulfil together; it gives each contradiction with its key.

Rules see only what could be read: a key that is wrong by itself has been reported, and no rule judges it again.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import assert_never

from spark_jobs.pipeline import join_rules
from spark_jobs.pipeline.durations import format_duration
from spark_jobs.pipeline.model import LatePanes, Mode, Order, Strategy, Trigger, WindowKind
from spark_jobs.pipeline.names import COMPLETE_COLUMNS
from spark_jobs.pipeline.review import UNREADABLE, Contradictions, Facts
from spark_jobs.semantics.spec.times import DAY_MS
from spark_jobs.semantics.windows.window_assigners import MOST_WINDOWS

ONE_SOURCE = (
    "a mapping with the keys table, event_time, arrival_time, source_partition, tie_break, columns, select, exclude, "
    "where, future_guard"
)
KIND = join_rules.KIND
SIZE = "a duration longer than 0, such as '1 hour'"
GAP = "a duration longer than 0, such as '30 minutes'"
KEY = "a list of columns such as [carrier], [] for one group of all, or {page: payload.page}"
AGGREGATES = "a mapping of result columns to SQL aggregates, such as {flights: count(*)}"


#: Keys of the watermark that are one for all sources.
OF_ALL_SOURCES = ("emit", "placement")


def one_source_or_several(facts: Facts) -> Contradictions:
    """Allow one source, or two and more with different names."""
    if not facts.is_written("sources"):
        if not facts.is_written("source"):
            yield "source", f"missing, expected {ONE_SOURCE}; or write sources, a list of them"
        return
    if facts.is_written("source"):
        yield "source", "contradicts sources: a pipeline reads one source or a list of them; keep one of the two"
    names: set[str] = set()
    for key in _sources(facts):
        name = facts.value(f"{key}.name")
        if name in names:
            yield f"{key}.name", f"found the name '{name}' for the second time; give each source another name"
        if isinstance(name, str):
            names.add(name)
    number = len(_sources(facts))
    if number == 1:
        yield "sources", "found one source, expected two or more; write it as source"
    if facts.value("sources") == ():
        yield "sources", "found no source, expected two or more; add them"
    if facts.value("replay.order") in (Order.COMMIT, Order.OFFSET):
        own = "commits and offsets are one table's own"
        yield "replay.order", f"{own}, and sources are several; order by arrival or event_time"


def sources_share_emission_and_placement(facts: Facts) -> Contradictions:
    """Allow in the watermark of several sources only what is common to all of them."""
    if not facts.is_written("sources"):
        return
    for name in facts.inside("watermark"):
        if name not in OF_ALL_SOURCES:
            yield f"watermark.{name}", "belongs to the watermark of each source; take it away here"


def arrival_order_needs_arrival_time(facts: Facts) -> Contradictions:
    """Order a replay by arrival only where arrival is known."""
    if facts.value("replay.order", Order.ARRIVAL) is not Order.ARRIVAL:
        return
    for key in _sources(facts):
        if not facts.is_written(f"{key}.arrival_time"):
            reason = (
                "replay.order arrival needs the time at which a row became known; without it, order by commit or "
                "event_time"
            )
            yield f"{key}.arrival_time", f"missing; {reason}"


def _sources(facts: Facts) -> list[str]:
    """The keys of the sources: `source`, or `sources[0]`, `sources[1]`, ..."""
    if facts.is_written("sources"):
        return facts.items("sources")
    return ["source"] if facts.is_written("source") else []


def _watermarks(facts: Facts) -> list[str]:
    """The keys of the sources' watermarks."""
    several = facts.is_written("sources")
    return [f"{key}.watermark" for key in _sources(facts)] if several else ["watermark"]


#: A key of the watermark -> the strategy it belongs to, and what it is; required ones with an example.
_BELONGS = {
    "out_of_orderness": (Strategy.BOUNDED_OUT_OF_ORDERNESS, "bound", "the bound, such as '6 hours'"),
    "when": (Strategy.PUNCTUATED, "condition that marks rows", "the condition that marks rows, such as 'is_heartbeat'"),
    "value": (Strategy.PUNCTUATED, "value in marked rows", None),
    "lag": (Strategy.TIME_LAG, "lag", "the lag, such as '5 minutes'"),
    "class": (Strategy.CUSTOM, "class", "the generator's class, such as 'my_company.watermarks:DeviceClock'"),
    "arguments": (Strategy.CUSTOM, "class with arguments", None),
}


def settings_belong_to_their_strategy(facts: Facts) -> Contradictions:
    """Return a strategy's settings with that strategy, all that it needs, and only with it."""
    for key in _watermarks(facts):
        yield from _settings(facts, key)


def _settings(facts: Facts, key: str) -> Contradictions:
    strategy = facts.value(f"{key}.strategy", Strategy.BOUNDED_OUT_OF_ORDERNESS)
    if not isinstance(strategy, Strategy):
        return
    for name, (owner, content, example) in _BELONGS.items():
        is_written = facts.is_written(f"{key}.{name}")
        if strategy is owner and example and not is_written:
            yield f"{key}.{name}", f"missing; watermark.strategy {owner} needs {example}"
        if strategy is not owner and is_written:
            meaning = f"watermark.strategy {strategy} has no {content}"
            yield f"{key}.{name}", f"{meaning}; take it away, or set the strategy to {owner}"
    if strategy is Strategy.NONE and facts.is_written(f"{key}.idle_timeout"):
        meaning = "watermark.strategy none has no watermark that a silent partition could hold back"
        yield f"{key}.idle_timeout", f"{meaning}; take it away"


def offsets_belong_to_their_order(facts: Facts) -> Contradictions:
    """Return offsets, and rounds of them, with the order that they make, and only with it."""
    order = facts.value("replay.order", Order.ARRIVAL)
    if not isinstance(order, Order):
        return
    if order is Order.OFFSET:
        if not facts.is_written("source.offset"):
            yield (
                "source.offset",
                "missing; replay.order offset needs the row's place in its partition, such as 'offset'",
            )
        if facts.value("watermark.strategy") is Strategy.TIME_LAG:
            meaning = "time_lag lags behind the clock of arrival, and replay.order offset has none but its rounds"
            yield "watermark.strategy", f"{meaning}; take another strategy, or another order"
        return
    for name, content in (("source.offset", "order"), ("replay.rows_per_round", "rounds")):
        if facts.value(name) not in (None, UNREADABLE):
            yield name, f"replay.order {order} has no {content} by offset; take it away, or set the order to offset"


def alignment_belongs_to_offset_order(facts: Facts) -> Contradictions:
    """Allow alignment for the order offset, and for strategies that follow rows alone."""
    order, name = facts.value("replay.order", Order.ARRIVAL), "watermark.alignment"
    if not isinstance(order, Order) or facts.value(name) in (None, UNREADABLE):
        return
    if order is not Order.OFFSET:
        meaning = f"changes only when rows are read, which replay.order {order} fixes"
        yield name, f"{meaning}; take it away, or set the order to offset"
    strategy = facts.value("watermark.strategy", Strategy.BOUNDED_OUT_OF_ORDERNESS)
    if isinstance(strategy, Strategy) and not strategy.follows_rows:
        yield name, f"aligns partitions by their rows, and watermark.strategy {strategy} ignores them; take it away"
    if facts.is_written("watermark.idle_timeout"):
        meaning = "a partition that waits for others is not idle, and the clock of rounds cannot distinguish the two"
        yield name, f"contradicts idle_timeout: {meaning}; keep one"


def complete_results_have_columns_of_their_own(facts: Facts) -> Contradictions:
    """Reserve the columns of the table of complete results, if there is one."""
    if facts.value("replay.mode") is not Mode.COMPLETE:
        return
    for key in ("windows.key", "windows.aggregates"):
        for name in facts.names(key):
            if name.lower() in COMPLETE_COLUMNS:
                place = f"{key}.{name}" if key == "windows.aggregates" else key
                yield place, f"found the name '{name}', and complete_results has a column of it; use another name"


def future_guard_needs_arrival_time(facts: Facts) -> Contradictions:
    """Compare event time with arrival only where arrival, or the commit in its place, is known."""
    for key in _sources(facts):
        by_commit = facts.value("replay.order", Order.ARRIVAL) is Order.COMMIT
        is_known = facts.is_written(f"{key}.arrival_time") or by_commit
        if isinstance(facts.value(f"{key}.future_guard"), int) and not is_known:
            yield (
                f"{key}.future_guard",
                "compares event time with arrival, but there is no source.arrival_time; take it away",
            )


def windows_or_a_join(expected: str) -> Callable[[Facts], Contradictions]:
    """Return the rule: fill windows, or join; `expected` names the shape of the windows."""

    def rule(facts: Facts) -> Contradictions:
        # A file for a later version lacks keys for a reason: only the reason is worth reading.
        of_later = facts.key in facts.review.of_later_version
        if not (of_later or facts.is_written("windows") or facts.is_written("join")):
            yield "windows", f"missing, expected {expected}"

    return rule


def windows_have_a_key_and_aggregates(facts: Facts) -> Contradictions:
    """Require a key and aggregates, except for a join, which declares them elsewhere."""
    of_later = facts.key in facts.review.of_later_version
    if of_later or join_rules.is_written(facts) or facts.value("kind") is WindowKind.NONE:
        return
    for name, expected in (("key", KEY), ("aggregates", AGGREGATES)):
        if not facts.is_written(name):
            yield name, f"missing, expected {expected}"


def lengths_belong_to_the_kind(facts: Facts) -> Contradictions:
    """Return a window its size, a session its gap, and neither what is the other's."""
    # A file for a later version lacks keys for a reason: only the reason is worth reading.
    if facts.key in facts.review.of_later_version:
        return
    kind = facts.value("kind", WindowKind.TUMBLING)
    if not isinstance(kind, WindowKind):
        return
    match kind:
        case WindowKind.SESSION:
            yield from _lengths_of_sessions(facts)
        case WindowKind.TUMBLING | WindowKind.SLIDING:
            yield from _lengths_of_a_grid(facts)
        case WindowKind.NONE:
            return
        case _:
            assert_never(kind)


def _lengths_of_sessions(facts: Facts) -> Contradictions:
    if not facts.is_written("gap"):
        yield "gap", f"missing, expected {GAP}"
    for name in ("size", "offset"):
        if facts.is_written(name):
            yield name, "windows.kind session has no grid: a session ends a gap after its last row; take it away"


def _lengths_of_a_grid(facts: Facts) -> Contradictions:
    if not facts.is_written("size"):
        yield "size", f"missing, expected {SIZE}"
    if facts.is_written("gap"):
        yield "gap", "belongs to windows.kind session; take it away, or set the kind to session"


def triggers_fire_late_rows_themselves(facts: Facts) -> Contradictions:
    """Gather late rows only with the default trigger."""
    declared = facts.value("trigger", Trigger())
    other = isinstance(declared, Trigger) and not declared.is_default
    if other and facts.value("late_panes") is LatePanes.PER_EPOCH:
        yield "late_panes", f"windows.trigger {declared.kind} fires late rows by its own rule; take it away"


def sessions_fire_late_rows_one_by_one(facts: Facts) -> Contradictions:
    """Gather late rows only where a later row of the epoch cannot merge what they would have fired."""
    if facts.value("kind") is WindowKind.SESSION and facts.value("late_panes") is LatePanes.PER_EPOCH:
        yield (
            "late_panes",
            "windows.kind session has no late panes per_epoch: a late row may merge sessions; take it away",
        )


def slide_belongs_to_sliding_windows(facts: Facts) -> Contradictions:
    """Return a slide with sliding windows, and only with them."""
    kind, has_slide = facts.value("kind", WindowKind.TUMBLING), facts.is_written("slide")
    if kind is WindowKind.SLIDING and not has_slide:
        yield "slide", "missing; windows.kind sliding needs how far apart windows start, such as '15 minutes'"
    if kind in {WindowKind.TUMBLING, WindowKind.SESSION} and has_slide:
        yield "slide", f"windows.kind {kind} has no slide; take it away, or set the kind to sliding"


def windows_overlap_within_reason(facts: Facts) -> Contradictions:
    """Put a row into a bounded number of windows (rule 42)."""
    size, slide = facts.value("size"), facts.value("slide")
    if isinstance(size, int) and isinstance(slide, int) and size // slide > MOST_WINDOWS:
        windows = f"with {format_duration(slide)} a row lies in {size // slide:,} windows of {format_duration(size)}"
        yield "slide", f"{windows}, at most {MOST_WINDOWS:,} are possible; make it longer"


def offset_is_shorter_than_period(facts: Facts) -> Contradictions:
    """Shift the window grid by less than the distance of two windows (rule 42)."""
    period = period_key(facts.value("kind"))
    length, offset = facts.value(period), facts.value("offset")
    if isinstance(length, int) and isinstance(offset, int) and abs(offset) >= length:
        lengths = f"{format_duration(offset)} is not shorter than the {period}, {format_duration(length)}"
        yield "offset", f"{lengths}; {format_duration(offset % length)} gives the same windows"


def local_windows_last_whole_days(facts: Facts) -> Contradictions:
    """Follow the clock of a zone with windows of whole days only."""
    zone = facts.value("timezone", "UTC")
    if zone == "UTC" or not isinstance(zone, str):
        return
    if facts.value("kind") is WindowKind.SESSION:
        yield "timezone", "windows.kind session has no grid: a session ends a gap after its last row; take it away"
        return
    for name in ("size", "slide"):
        length = facts.value(name)
        if isinstance(length, int) and length % DAY_MS:
            grid = f"with timezone {zone} windows last whole days, such as '1 day'"
            yield name, f"{format_duration(length)} is not a whole number of days; {grid}, or shift them by offset"


def period_key(kind: object) -> str:
    """Return the key of the distance at which windows of this kind start."""
    return "slide" if kind is WindowKind.SLIDING else "size"


def computed_names_differ(facts: Facts) -> Contradictions:
    """Require different names for computed columns, in any case of letters."""
    names: set[str] = set()
    for name in facts.names(""):
        if name.lower() in names:
            yield name, f"found the name '{name}' for the second time, whatever the letter case; use another name"
        names.add(name.lower())


def a_column_is_computed_once(facts: Facts) -> Contradictions:
    """Declare a computed column as a column of the source or in the key, not in both."""
    of_key = {name.lower(): name for name in facts.inside("windows.key")}
    for source in _sources(facts):
        for name in facts.names(f"{source}.columns"):
            if declared := of_key.get(name.lower()):
                yield f"windows.key.{declared}", f"{source}.columns declares it already; write the key as a list"


def keys_are_carried(facts: Facts) -> Contradictions:
    """Carry the key in late and invalid events, and all columns for the pairs of a join."""
    key = {name.lower() for name in facts.names("windows.key")}
    for source in _sources(facts):
        for name in ("select", "exclude"):
            if facts.is_written("join") and facts.is_written(f"{source}.{name}"):
                yield f"{source}.{name}", "found with a join, whose pairs contain whole rows; take it away"
        for position, name in enumerate(facts.names(f"{source}.exclude")):
            if name.lower() in key:
                reason = "is a column of the key, which late and invalid events always contain; take it away"
                yield f"{source}.exclude[{position}]", f"'{name}' {reason}"


def result_names_differ(facts: Facts) -> Contradictions:
    """Require different names for key and aggregate columns, in any case of letters."""
    owners: dict[str, str] = {name.lower(): f"the key column '{name}'" for name in facts.names("key")}
    for name in facts.names("aggregates"):
        if first := owners.get(name.lower()):
            yield f"aggregates.{name}", f"found the name '{name}', which is also {first}, whatever the letter case"
        owners.setdefault(name.lower(), f"the aggregate '{name}'")


def aggregates_are_not_empty(facts: Facts) -> Contradictions:
    """Compute something."""
    if facts.value("aggregates") == ():
        yield "aggregates", "found no aggregate, expected at least one, such as 'flights: count(*)'"
