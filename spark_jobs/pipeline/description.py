"""The description of a pipeline in one line: its windows or its join, watermark, lateness and source partitions.

Tumbling windows of 1 hour per carrier; bound 4 hours, allowed lateness 2 hours; source partitions by origin
"""

from __future__ import annotations

from collections.abc import Iterator

from spark_jobs.pipeline.durations import format_duration
from spark_jobs.pipeline.model import (
    FOREVER_MS,
    Accumulation,
    Join,
    Mode,
    Pipeline,
    Source,
    Strategy,
    Trigger,
    TriggerKind,
    Watermark,
    WindowKind,
    Windows,
)

_PANES = {
    Accumulation.ACCUMULATING: "",
    Accumulation.DISCARDING: "a pane has the rows since the pane before",
    Accumulation.RETRACTING: "a new pane withdraws the pane before",
}


def describe(pipeline: Pipeline, partitions: int | None = None) -> str:
    """Return the line, without a full stop. `partitions` is the number of source partitions, if it is known."""
    return "; ".join(part for part in _parts(pipeline, partitions) if part)


def watermark_of(pipeline: Pipeline) -> str:
    """Return the watermark strategy in a few words; for several sources, that of each after its name."""
    if pipeline.sources:
        return ", ".join(f"{united.name}: {_strategy(united.watermark)}" for united in pipeline.sources)
    return _strategy(pipeline.watermark)


def _parts(pipeline: Pipeline, partitions: int | None) -> Iterator[str]:
    windows = pipeline.windows
    yield _windows(windows) if pipeline.join is None else _join(pipeline.join, windows)
    yield _trigger(windows.trigger)
    yield ", ".join(part for part in (watermark_of(pipeline), _lateness(windows)) if part)
    yield _PANES[windows.accumulation]
    yield _source_partitions(pipeline, partitions)
    yield "complete results besides" if pipeline.replay.mode is Mode.COMPLETE else ""


def _windows(windows: Windows) -> str:
    key = f" per {_listed(windows.key)}" if windows.key else " over all rows"
    return f"{_kind(windows)}{key}"


def _kind(windows: Windows) -> str:
    size, offset = format_duration(windows.size_ms), format_duration(windows.offset_ms)
    at = f"{offset} after midnight" if windows.offset_ms else "at midnight"
    place = f"in {windows.timezone}" if windows.are_local else "UTC"
    begin = f" that begin {at} {place}" if windows.offset_ms or windows.are_local else ""
    match windows.kind:
        case WindowKind.TUMBLING:
            return f"Tumbling windows of {size}{begin}"
        case WindowKind.SLIDING:
            return f"Sliding windows of {size} every {format_duration(windows.slide_ms)}{begin}"
        case WindowKind.SESSION:
            return f"Sessions that end after {format_duration(windows.gap_ms)} without a row"
        case WindowKind.NONE:
            return "No windows"


def _join(join: Join, windows: Windows) -> str:
    first, second = join.names
    if join.is_as_of:
        outer = ", null without one" if join.keeps_unmatched else ""
        return f"Rows of {first} with the version of {second} at their time{_equal(join)}{outer}"
    pairs = f"Pairs of {first} and {second}{_equal(join)}"
    if join.lower_ms is None or join.upper_ms is None:
        kind = _kind(windows)
        return f"{pairs} in {kind[0].lower()}{kind[1:]}"
    lower, upper = format_duration(join.lower_ms), format_duration(join.upper_ms)
    ends = (("lower", join.lower_inclusive), ("upper", join.upper_inclusive))
    exclusive = [name for name, inclusive in ends if not inclusive]
    note = f", {' and '.join(exclusive)} bound exclusive" if exclusive else ""
    return f"{pairs}, {second} {lower} to {upper} after {first}{note}"


def _equal(join: Join) -> str:
    columns = [a if a == b else f"{a} = {b}" for a, b in zip(*join.key, strict=True)]
    return f" by {_listed(columns)}" if columns else ""


def _trigger(trigger: Trigger) -> str:
    match trigger.kind:
        case TriggerKind.EVENT_TIME:
            return ""
        case TriggerKind.CONTINUOUS:
            return f"each fires also every {format_duration(trigger.interval_ms)} of event time"
        case TriggerKind.COUNT:
            return f"each fires at every {trigger.n:,} rows" if trigger.n > 1 else "each fires at every row"


def _strategy(watermark: Watermark) -> str:
    strategy = {
        Strategy.BOUNDED_OUT_OF_ORDERNESS: f"bound {format_duration(watermark.out_of_orderness_ms)}",
        Strategy.MONOTONOUS: "monotonous watermark",
        Strategy.PUNCTUATED: f"punctuated watermark when {watermark.when}",
        Strategy.TIME_LAG: f"lag {format_duration(watermark.lag_ms)}",
        Strategy.CUSTOM: f"watermark of {watermark.generator}",
        Strategy.NONE: "no watermark",
    }[watermark.strategy]
    timeout_ms = watermark.idle_timeout_ms
    return strategy if timeout_ms is None else f"{strategy}, idle after {format_duration(timeout_ms)}"


def _lateness(windows: Windows) -> str:
    if windows.are_missing:
        return ""
    if windows.lateness_ms >= FOREVER_MS:
        return "late rows update results without end"
    allowed = format_duration(windows.allowed_lateness_ms) if windows.allowed_lateness_ms else ""
    words = f"allowed lateness {allowed}" if allowed else "no allowed lateness"
    return f"{words}, later rows are dropped" if windows.drops_late else words


def _source_partitions(pipeline: Pipeline, partitions: int | None) -> str:
    """Return the source partitions; empty for one source without columns of partitions."""
    sources: list[tuple[str, Source]] = [(united.name, united.source) for united in pipeline.sources]
    columns = [
        f"{name + ' ' if name else ''}by {_listed(source.source_partition.columns)}"
        for name, source in sources or [("", pipeline.source)]
        if source.source_partition.columns
    ]
    if not columns:
        return ""
    count = "" if partitions is None else f"{partitions:,} "
    noun = "source partition" if partitions == 1 else "source partitions"
    return f"{count}{noun} {', '.join(columns)}"


def _listed(names: tuple[str, ...] | list[str]) -> str:
    *most, last = names
    return f"{', '.join(most)} and {last}" if most else last
