"""Rules for a file with a join: two inputs, windows or bounds, and a key that both inputs have.

    by interval    join.between, and no windows
    as of          join.as_of, and no windows
    by window      windows, without a key or aggregates

Rules see the whole file; see `rules` for what a rule is.
"""

from __future__ import annotations

from collections.abc import Mapping

from spark_jobs.pipeline.joins import NAMES, Declared
from spark_jobs.pipeline.model import WINDOW_KINDS, Accumulation, Floats, LatePanes, Mode, Order, Trigger, WindowKind
from spark_jobs.pipeline.names import FIRING_COLUMNS, RESULT_COLUMNS
from spark_jobs.pipeline.published_tables import COMPLETE_TABLE, JOIN_TABLES, RESULT_TABLES
from spark_jobs.pipeline.quarantine import SOURCE_TABLE
from spark_jobs.pipeline.review import Contradictions, Facts, hint

#: The kinds of windows, in words.
KIND = f"{', '.join(WINDOW_KINDS[:-1])} or {WINDOW_KINDS[-1]}"
#: The columns of pairs of any join, besides the key and the rows themselves.
PAIR_COLUMNS = FIRING_COLUMNS | {"event_time"}

_OWN_KEY = {
    "key": "a join declares its key itself; write it as join.key",
    "aggregates": "a join gives pairs, and no aggregates; take it away, and aggregate the table pairs",
}


def is_written(facts: Facts) -> bool:
    """Return True if the file has a join, for the facts of any mapping of it."""
    return Facts(facts.review, "").is_written("join")


def _is_readable(facts: Facts) -> bool:
    """Return True if the join is written and a mapping, so that its keys can be checked."""
    return facts.is_written("join") and not facts.review.is_closed("join")


def names(facts: Facts) -> tuple[str, ...] | None:
    """Return the names of a join's inputs; None if they cannot be read."""
    inputs: object = facts.value("join.names", NAMES)
    if facts.is_written("sources"):
        inputs = tuple(facts.value(f"{key}.name") for key in facts.items("sources"))
    if not isinstance(inputs, tuple) or len(inputs) != 2 or not all(isinstance(name, str) for name in inputs):
        return None
    return inputs


def a_join_has_two_inputs(facts: Facts) -> Contradictions:
    """Join two sources, or one that is split."""
    if not _is_readable(facts):
        return
    split = facts.is_written("join.second_when")
    if facts.is_written("sources"):
        count = len(facts.items("sources"))
        if count > 2:
            yield "sources", f"found {count} sources, and a join has two; leave two, or unite them without a join"
        if split:
            yield "join.second_when", "splits one source, and sources are two; keep one of the two"
    elif facts.is_written("source"):
        if not split:
            condition = "the SQL condition of the second input's rows, such as \"kind = 'payment'\""
            yield "join.second_when", f"missing, expected {condition}; or write sources, a list of two"
        order = facts.value("replay.order")
        if order in (Order.COMMIT, Order.OFFSET):
            yield "replay.order", f"found {order} with a join, which reads in the order of arrival or event_time"


def both_inputs_have_the_key(facts: Facts) -> Contradictions:
    """Compare as many columns of one input as of the other."""
    declared, named = facts.value("join"), names(facts)
    if not isinstance(declared, Declared) or not isinstance(declared.key, Mapping) or named is None:
        return
    for name in declared.key:
        if name not in named:
            nearest = hint(name, named)
            expected = f"expected {' and '.join(named)}{nearest and '; ' + nearest}"
            yield f"join.key.{name}", f"found the input '{name}', {expected}"
    missing = [name for name in named if name not in declared.key]
    if missing and len(declared.key) < 2:
        yield "join.key", f"found no columns of {' and '.join(missing)}, expected those of both inputs"
    if not missing:
        first, second = (len(declared.key[name]) for name in named)
        if first != second:
            counts = f"found {first} columns of {named[0]} and {second} of {named[1]}"
            yield "join.key", f"{counts}; they are compared one by one, so each needs as many"


def a_join_has_bounds_or_windows(facts: Facts) -> Contradictions:
    """Join by interval or as of without windows, or by window."""
    kind = facts.value("windows.kind", WindowKind.TUMBLING if facts.is_written("windows") else WindowKind.NONE)
    if not facts.is_written("join"):
        if kind is WindowKind.NONE and facts.is_written("windows.kind"):
            yield "windows.kind", f"none belongs to a join by interval or as of, expected {KIND}"
        return
    if not _is_readable(facts):
        return
    without_windows = next((name for name in ("between", "as_of") if facts.is_written(f"join.{name}")), None)
    if without_windows is not None:
        if isinstance(kind, WindowKind) and kind is not WindowKind.NONE:
            place = "windows.kind" if facts.is_written("windows.kind") else "windows"
            remedy = f"take {without_windows} away, or write kind: none"
            yield place, f"found {kind} windows and join.{without_windows}; {remedy}"
        return
    if kind is WindowKind.NONE:
        place = "windows.kind" if facts.is_written("windows.kind") else "join.between"
        problem = (
            "found none and no join.between or join.as_of"
            if facts.is_written("windows.kind")
            else "missing, and there are no windows"
        )
        yield place, f"{problem}; a join has bounds such as between: [-5 minutes, 1 hour], as_of, or windows"


def windows_of_a_join_fire_by_default(facts: Facts) -> Contradictions:
    """Fire the windows of a join at their end and at late rows, and withdraw nothing."""
    if not _is_readable(facts) or facts.value("windows.kind") is WindowKind.NONE:
        return
    for name, instead in _OWN_KEY.items():
        if (
            facts.is_written("windows")
            and not facts.review.is_closed("windows")
            and facts.is_written(f"windows.{name}")
        ):
            yield f"windows.{name}", instead
    if facts.value("windows.accumulation") is Accumulation.RETRACTING:
        yield "windows.accumulation", "found retracting with a join, expected accumulating or discarding"
    if facts.value("windows.late_panes") is LatePanes.PER_EPOCH:
        yield "windows.late_panes", "found per_epoch with a join, expected per_row"
    if facts.value("windows.floats") is Floats.ARRIVAL_ORDER:
        yield "windows.floats", "found arrival_order with a join, which adds nothing; take it away"
    trigger = facts.value("windows.trigger", Trigger())
    if isinstance(trigger, Trigger) and not trigger.is_default:
        yield "windows.trigger", f"found {trigger.kind} with a join, expected event_time"


def nothing_else_belongs_to_none(facts: Facts) -> Contradictions:
    """Allow no settings of windows if the kind is none."""
    if facts.value("windows.kind") is not WindowKind.NONE or not _is_readable(facts):
        return
    for name in facts.inside("windows"):
        if name != "kind" and "[" not in name:
            yield f"windows.{name}", _OWN_KEY.get(name, "belongs to windows, and windows.kind is none; take it away")


def a_join_is_faithful(facts: Facts) -> Contradictions:
    """Allow complete results for windows alone."""
    if _is_readable(facts) and facts.value("replay.mode") is Mode.COMPLETE:
        yield "replay.mode", "found complete with a join, which has faithful pairs only; take it away"


def names_of_a_join_differ(facts: Facts) -> Contradictions:
    """Require different names for the columns of pairs, in any case of letters."""
    declared, named = facts.value("join"), names(facts)
    if not isinstance(declared, Declared) or named is None:
        return
    by_window = declared.by_window
    key = declared.key.get(named[0], ()) if isinstance(declared.key, Mapping) else declared.key
    for position, name in enumerate(named):
        place = f"sources[{position}].name" if facts.is_written("sources") else "join.names"
        if name in PAIR_COLUMNS:
            yield place, f"found the name '{name}', which is a column of pairs themselves; use another name"
        if by_window and name in (column.lower() for column in key):
            yield place, f"found the name '{name}', which is also a column of the key; use another name"
    if not by_window:
        return
    reserved = RESULT_COLUMNS | {"left", "right"}
    for column in key:
        if column.lower() in reserved:
            yield "join.key", f"found the column '{column}', and pairs have one of that name; rename it in the source"


def expectations_are_about_published_tables(facts: Facts) -> Contradictions:
    """Allow expectations about tables that the pipeline publishes."""
    joins = facts.is_written("join")
    if joins and not _is_readable(facts):
        return
    complete = facts.value("replay.mode") is Mode.COMPLETE
    tables = JOIN_TABLES if joins else (*RESULT_TABLES, COMPLETE_TABLE) if complete else RESULT_TABLES
    for key in facts.items("quality.expectations"):
        table = facts.value(f"{key}.table")
        if isinstance(table, str) and table not in (*tables, SOURCE_TABLE):
            kind = "a join" if joins else "a pipeline without a join"
            if table == COMPLETE_TABLE and not joins:
                kind = f"replay.mode {Mode.FAITHFUL}"
            yield f"{key}.table", f"found {table}, and {kind} has {', '.join(tables)}"


RULES = (
    a_join_has_two_inputs,
    both_inputs_have_the_key,
    a_join_has_bounds_or_windows,
    windows_of_a_join_fire_by_default,
    nothing_else_belongs_to_none,
    a_join_is_faithful,
    names_of_a_join_differ,
    expectations_are_about_published_tables,
)
