"""Explanations from the published tables: they contain what judged each too late row, and every pane of a window.

Law: what is not in the tables is not guessed. The watermark before a row is known for too late rows alone. Those rows
are of windows that no repair has computed. Which partitions were idle is not in the tables (`holding`). The least
allowed lateness of such a row is

    needed = watermark - window_end + 2 ms      (rule 51; the newest window of a row closes last)

and the least bound is greater by needed - allowed lateness, since then every watermark is earlier by that. A session
may need less, because it may merge with an older one. A row of a join by interval needs a bound greater by its
lateness (rule 91).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from spark_jobs.explain.explanations import (
    ExplainedPane,
    ExplainedRow,
    ExplainedWindow,
    LifeStep,
    PartitionWatermark,
    Step,
    WindowLife,
)
from spark_jobs.explain.holding import listed
from spark_jobs.inspection import value_texts
from spark_jobs.inspection.inspections import Basis, RowChoice, RowInspection, WindowDates, WindowInspection
from spark_jobs.inspection.missed_page import require_few
from spark_jobs.inspection.publication import Publication, PublishedTable, Span, are_values, columns_of
from spark_jobs.inspection.run_settings import RunSettings
from spark_jobs.inspection.sql_texts import instant, quoted
from spark_jobs.pipeline.published_tables import LATE_EVENTS, PANES, WATERMARKS, WINDOW_RESULTS
from spark_jobs.semantics.rows.instants import MIN, floor_to_ms, micros, table_time_us
from spark_jobs.semantics.spec import FOREVER_MS
from spark_jobs.semantics.windows.lateness import Lateness

#: Rows with the same times and key that are explained, windows of a row, and steps of a window that are listed.
MOST_ROWS, MOST_WINDOWS, MOST_STEPS = 10, 20, 500
_TOO_LATE = Lateness.TOO_LATE.value
_MS = timedelta(milliseconds=1)
# Of one moment: what fires comes before the end of the state, and a too late row comes behind it.
_ORDER = {Step.PANE: 0, Step.CLOSED: 1, Step.ROW: 2}
_KEY = "__tm_key_"


def explain_rows(publication: Publication, choice: RowChoice, *, shows_source: bool) -> list[RowInspection]:
    """Explain the too late rows of a choice, at most `MOST_ROWS`.

    Raises NoPublicationError, TooManyRowsError and LakeError.
    """
    table = publication.table(LATE_EVENTS.name)
    event = table_time_us(choice.event_us)
    require_few(table, Span("event_time", event, event))
    key = columns_of(table, publication.key)
    arrival = "IS NULL" if choice.arrival_us is None else f"= {instant(choice.arrival_us)}"
    conditions = [
        f"{quoted('event_time')} = {instant(choice.event_us)}",
        f"{quoted('arrival_time')} {arrival}",
        *are_values(columns_of(table, list(choice.values)), choice.values),
    ]
    if choice.window_start is not None and "window_start" in table.columns:
        conditions.append(f"{quoted('window_start')} = {instant(micros(choice.window_start))}")
    columns = publication.visible(table, LATE_EVENTS.name, shows_source=shows_source)
    texts = [f"{value_texts.sql_of(column)} AS {_KEY}{place}" for place, column in enumerate(key.values())]
    own = [name for name in LATE_EVENTS.names if name in table.columns and name not in columns]
    selected = ", ".join([*map(quoted, [*columns, *own]), *texts])
    rows = table.select(f"SELECT {selected} FROM t WHERE {' AND '.join(conditions)} LIMIT {MOST_ROWS}")  # noqa: S608
    dates: dict[datetime | None, WindowDates | None] = {None: None}
    for row in rows:
        start = row.get("window_start")
        if start is not None and start not in dates:
            dates[start] = window_dates(publication, start)
    return [
        _explained(
            row,
            publication,
            {name: row[name] for name in columns if _is_of_source(name, publication.settings)},
            {name: row[f"{_KEY}{place}"] for place, name in enumerate(key)},
            dates[row.get("window_start")],
        )
        for row in rows
    ]


def _explained(
    row: Mapping[str, Any],
    publication: Publication,
    values: Mapping[str, Any],
    key: Mapping[str, str],
    dates: WindowDates | None,
) -> RowInspection:
    settings = publication.settings
    explained = ExplainedRow(
        input=row.get("source") if settings.joins else None,
        row=values,
        fate=_TOO_LATE,
        reason=None,
        event_time=row["event_time"],
        arrival_time=row["arrival_time"],
        source_partition="",
        rows_before=None,
        watermark=row["watermark"],
        partitions=None,
        windows=[_window(start, end, settings) for start, end in _windows(row, settings)],
        partners=None,
        least_bound_ms=None,
        least_bound_increase_ms=None,
        least_lateness_ms=None,
    )
    bound = settings.bound
    return RowInspection(
        Basis.PUBLISHED,
        _saved(explained, row, settings),
        key,
        dates,
        at_most=settings.is_session,
        bound_setting="" if bound is None else bound.setting,
        bound_ms=None if bound is None else bound.ms,
        bound_now="" if bound is None else bound.now,
        lateness_ms=settings.lateness_ms,
    )


def _saved(explained: ExplainedRow, row: Mapping[str, Any], settings: RunSettings) -> ExplainedRow:
    """Return the explanation with the least bound and lateness, as far as the settings of the run are known."""
    watermark, end, lateness_ms = row["watermark"], row.get("window_end"), settings.lateness_ms
    more_ms = None
    if settings.joins_by_interval:
        more_ms = row["late_by_ms"]
    elif watermark is not None and end is not None and lateness_ms is not None:
        needed_ms = _ms(watermark) - _ms(end) + 2
        explained, more_ms = replace(explained, least_lateness_ms=needed_ms), needed_ms - lateness_ms
    if more_ms is None:
        return explained
    if settings.is_united:
        return replace(explained, least_bound_increase_ms=more_ms) if settings.sources_are_bounded else explained
    return explained if settings.bound is None else replace(explained, least_bound_ms=settings.bound.ms + more_ms)


def _windows(row: Mapping[str, Any], settings: RunSettings) -> list[tuple[datetime, datetime]]:
    """Return the windows of a too late row, the newest first and at most `MOST_WINDOWS`: it missed all of them."""
    start, end, event = row.get("window_start"), row.get("window_end"), row["event_time"]
    if start is None or end is None:
        return []
    slide = settings.slide_ms
    if not slide:
        return [(start, end)]
    windows: list[tuple[datetime, datetime]] = []
    size = end - start
    while start + size > event and len(windows) < MOST_WINDOWS:
        windows.append((start, start + size))
        start -= slide * _MS
    return windows


def _window(start: datetime, end: datetime, settings: RunSettings) -> ExplainedWindow:
    lateness_ms = settings.lateness_ms
    closes = None if lateness_ms is None or lateness_ms >= FOREVER_MS else end - _MS + lateness_ms * _MS
    return ExplainedWindow(start, end, _TOO_LATE, 51, end - _MS, closes, ())


def window_dates(publication: Publication, start: datetime) -> WindowDates | None:
    """Return when the window of a start fired and closed; None for a session, a join, and an unknown window."""
    if WATERMARKS.name not in publication.run.versions:
        return None
    table = publication.table(WATERMARKS.name)
    columns = "fires_at, watermark_at_fire, closes_at, partition_watermarks"
    rows = table.select(f"SELECT {columns} FROM t WHERE window_start = {instant(micros(start))} LIMIT 1")  # noqa: S608
    if not rows:
        return None
    (row,) = rows
    reached = row["partition_watermarks"]
    partitions = None if reached is None else _partitions(reached, row["watermark_at_fire"], publication.settings)
    is_repaired = publication.repaired.contains(_ms(start))
    return WindowDates(row["fires_at"], row["watermark_at_fire"], row["closes_at"], partitions, is_repaired)


def _partitions(
    reached: Sequence[Mapping[str, Any]], at_fire: datetime | None, settings: RunSettings
) -> list[PartitionWatermark]:
    watermarks = {each["source_partition"]: _ms_or_min(each["watermark"]) for each in reached}
    idle = None if settings.partitions_may_fall_idle else frozenset[str]()
    return listed(watermarks, _ms_or_min(at_fire), idle, is_united=settings.is_united or settings.joins)


def explain_window(
    publication: Publication, start: datetime, key: Mapping[str, str], *, shows_source: bool
) -> WindowInspection | None:
    """Explain the window of a key that starts at `start`, or the sessions around it; None for an unknown window.

    `key` contains texts by column of the source. Raises NoPublicationError, TooManyRowsError and LakeError.
    """
    panes, late = publication.table(PANES.name), publication.table(LATE_EVENTS.name)
    for table in (panes, late):
        require_few(table, Span.of_window(start))
    is_session, at = publication.settings.is_session, instant(micros(start))
    around = f"window_start <= {at} AND window_end > {at}" if is_session else f"window_start = {at}"
    fired = _panes(panes, [around, *are_values(columns_of(panes, list(key)), key)])
    dates = None if is_session else window_dates(publication, start)
    bounds = _bounds(fired, start) or _bounds_of_late(late, around, key)
    if bounds is None:
        return None
    first, end = bounds
    require_few(late, Span("event_time", first, end))
    # A row that no window took has missed every window of its event time.
    inside = [f"event_time >= {instant(micros(first))}", f"event_time < {instant(micros(end))}"]
    condition = " AND ".join([*inside, *are_values(columns_of(late, list(key)), key)])
    (counted,) = late.select(f"SELECT count(*) AS rows FROM t WHERE {condition}")  # noqa: S608
    rows = _late_rows(publication, late, condition, bounds, shows_source=shows_source)
    ends = dates is not None and dates.closed_at is not None and not dates.is_repaired
    closed = [LifeStep(Step.CLOSED, dates.closed_at, None, *bounds)] if dates is not None and ends else []
    steps = sorted([*fired, *closed, *rows], key=_place)
    too_late = int(counted["rows"])
    is_cut = len(fired) > MOST_STEPS or len(rows) > MOST_STEPS or len(steps) > MOST_STEPS
    return WindowInspection(
        Basis.PUBLISHED,
        WindowLife(dict(key), too_late, steps[:MOST_STEPS]),
        end,
        dates,
        window_result(publication, start, key),
        too_late,
        is_cut,
    )


def window_result(publication: Publication, start: datetime, key: Mapping[str, str]) -> Mapping[str, Any] | None:
    """Return the result of a window as its readers see it; None without one."""
    if WINDOW_RESULTS.name not in publication.run.versions:
        return None
    table = publication.table(WINDOW_RESULTS.name)
    conditions = [f"window_start = {instant(micros(start))}", *are_values(columns_of(table, list(key)), key)]
    rows = table.select(f"SELECT * FROM t WHERE {' AND '.join(conditions)} LIMIT 1")  # noqa: S608
    return rows[0] if rows else None


def _place(step: LifeStep) -> tuple[bool, int, int]:
    # Without arrival times, too late rows come last.
    return step.at is None, 0 if step.at is None else micros(step.at), _ORDER[step.step]


def _panes(panes: PublishedTable, conditions: Sequence[str]) -> list[LifeStep]:
    withdrawn = ["NOT is_retraction"] if "is_retraction" in panes.columns else []
    columns = "window_start, window_end, pane_index, timing, fired_at, watermark, row_count"
    rows = panes.select(
        f"SELECT {columns} FROM t WHERE {' AND '.join([*conditions, *withdrawn])} "  # noqa: S608
        f"ORDER BY fired_at, pane_index LIMIT {MOST_STEPS + 1}"
    )
    return [
        LifeStep(
            Step.PANE,
            row["fired_at"],
            row["watermark"],
            row["window_start"],
            row["window_end"],
            pane=ExplainedPane(row["pane_index"], row["timing"], row["fired_at"], row["watermark"], row["row_count"]),
        )
        for row in rows
    ]


def _bounds(fired: Sequence[LifeStep], start: datetime) -> tuple[datetime, datetime] | None:
    """Return the bounds of the fired windows together; None without one."""
    if not fired:
        return None
    return min(start, *(step.window_start for step in fired)), max(step.window_end for step in fired)


def _bounds_of_late(late: PublishedTable, around: str, key: Mapping[str, str]) -> tuple[datetime, datetime] | None:
    """Return the bounds of a window that only too late rows have; None without such rows."""
    condition = " AND ".join([around, *are_values(columns_of(late, list(key)), key)])
    rows = late.select(f"SELECT window_start, window_end FROM t WHERE {condition} LIMIT 1")  # noqa: S608
    return (rows[0]["window_start"], rows[0]["window_end"]) if rows else None


def _late_rows(
    publication: Publication,
    late: PublishedTable,
    condition: str,
    bounds: tuple[datetime, datetime],
    *,
    shows_source: bool,
) -> list[LifeStep]:
    columns = publication.visible(late, LATE_EVENTS.name, shows_source=shows_source)
    own = [name for name in ("event_time", "arrival_time", "watermark") if name not in columns]
    rows = late.select(
        f"SELECT {', '.join(map(quoted, [*columns, *own]))} FROM t WHERE {condition} "  # noqa: S608
        f"ORDER BY arrival_time, event_time LIMIT {MOST_STEPS + 1}"
    )
    return [
        LifeStep(
            Step.ROW,
            row["arrival_time"],
            row["watermark"],
            *bounds,
            row={name: row[name] for name in columns if _is_of_source(name, publication.settings)},
            event_time=row["event_time"],
            verdict=_TOO_LATE,
        )
        for row in rows
    ]


def _is_of_source(name: str, settings: RunSettings) -> bool:
    """Return whether a column of `late_events` is one of the source; a join adds the column `source`."""
    return name not in LATE_EVENTS.names or (name == "source" and not settings.joins)


def _ms(moment: datetime) -> int:
    return floor_to_ms(micros(moment))


def _ms_or_min(moment: datetime | None) -> int:
    return MIN if moment is None else _ms(moment)
