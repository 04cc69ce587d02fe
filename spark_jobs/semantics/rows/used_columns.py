"""Used columns: the columns of a source that a replay reads, and those that late and invalid events carry.

    carried   the columns of `select` without those of `exclude`, and the key
    used      the carried columns, and every column that a setting names
    neither   the replay does not read the column: it does not exist for the order of rows either

Without `select` and `exclude` all columns are carried. In a pattern `*` is any text and `?` any character; the case of
letters makes no difference. A custom watermark generator, and an expression over `*`, use all columns.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from spark_jobs.semantics.spec import ReplaySpec, Source

_WORDS = re.compile(r"`((?:[^`]|``)+)`|(\w+)")
_COUNTS = re.compile(r"\bcount\s*\(\s*\*\s*\)", re.IGNORECASE)
_ALL = re.compile(r"[(,.]\s*\*")


def matches(pattern: str, name: str) -> bool:
    """Return whether a pattern matches a column's name."""
    marks = {"*": ".*", "?": "."}
    regex = "".join(marks.get(mark, re.escape(mark)) for mark in pattern.lower())
    return re.fullmatch(regex, name.lower(), re.DOTALL) is not None


def narrows(source: Source) -> bool:
    """Return whether the source declares which columns are carried."""
    return bool(source.select or source.exclude)


def carried(names: Iterable[str], spec: ReplaySpec) -> list[str]:
    """Return those of the source's columns `names` that late and invalid events carry."""
    source, key = spec.source, {name.lower() for name in spec.windows.key}
    if not narrows(source):
        return list(names)
    selected = source.select or ("*",)
    return [
        name
        for name in names
        if name.lower() in key
        or (any(matches(p, name) for p in selected) and not any(matches(p, name) for p in source.exclude))
    ]


def used(names: Iterable[str], spec: ReplaySpec) -> list[str]:
    """Return those of the source's columns `names` that the replay reads."""
    every = list(names)
    texts = [_COUNTS.sub("", text) for text in _expressions(spec)]
    if not narrows(spec.source) or spec.watermark.is_custom or any(_ALL.search(text) for text in texts):
        return every
    words = {name.lower() for text in texts for name in _named(text)} | {name.lower() for name in _columns(spec)}
    in_tables = set(carried(every, spec))
    return [name for name in every if name in in_tables or name.lower() in words]


def _named(text: str) -> Iterator[str]:
    return (quoted.replace("``", "`") or word for quoted, word in _WORDS.findall(text))


def _columns(spec: ReplaySpec) -> Sequence[str]:
    return (*spec.source.source_partition.columns, *spec.source.tie_break, *spec.source.deduplicate, *spec.windows.key)


def _expressions(spec: ReplaySpec) -> list[str]:
    source, watermark = spec.source, spec.watermark
    times = (source.event_time, source.arrival_time, watermark.value)
    texts = [source.where, source.offset, watermark.when, *(time.expression for time in times if time is not None)]
    rules = [rule.unexpected for rule in source.quarantine]
    return [text for text in texts if text] + rules + [aggregate.expression for aggregate in spec.windows.aggregates]
