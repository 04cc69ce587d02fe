"""Missed rows: the published late or invalid rows of a pipeline, in groups, read by delta-rs without Spark.

A late row would have counted with an allowed lateness of

    needed = watermark - window_end + 2 ms      since its window, with last = window_end - 1, takes it iff
                                                last + lateness > watermark (rule 51)

or with a bound that is greater by needed - lateness: then every watermark is earlier by that. A session row may need
less, because it may merge with an older session. A row of an interval join needs a bound greater by `late_by_ms` (rule
91), of an as-of join by a millisecond more (rule 104). Both have no lateness.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from spark_jobs.error_codes import ErrorCode
from spark_jobs.inspection import lateness_ranges
from spark_jobs.jobs.errors import InputError
from spark_jobs.pipeline.model import Pipeline
from spark_jobs.pipeline.published_tables import INVALID_EVENTS, LATE_EVENTS
from spark_jobs.tables import delta_rs
from spark_jobs.tables.delta_rs import Table
from spark_jobs.tables.errors import LakeError
from spark_jobs.tables.lake import Lake
from spark_jobs.tables.run import Run

#: The groups that are no columns of the table.
PARTITION, KEY, WINDOW, LATENESS, HOUR, DAY = "partition", "key", "window", "lateness", "hour", "day"
#: How the engine begins an error that is not the query's.
_OUTSIDE = "External error"
_IN_ORDER = "__tm_lateness_in_order"


@dataclass(frozen=True)
class Group:
    """Rows with the same values of `by`.

    `windows` is the number of windows that they missed. Durations are milliseconds, None for invalid rows.
    `lateness_for_half` and `lateness_for_all`: the allowed lateness with which half of the rows, or all, would have
    counted; None without windows.
    """

    values: Mapping[str, Any]
    rows: int
    windows: int | None = None
    late_by_median_ms: int | None = None
    late_by_max_ms: int | None = None
    lateness_for_half_ms: int | None = None
    lateness_for_all_ms: int | None = None


@dataclass(frozen=True)
class MissedRows:
    """The groups with the most rows, as of run `run_id`. `rows` and `groups_in_all` count also what is not listed."""

    pipeline: str
    run_id: str
    table: str
    rows: int
    groups_in_all: int
    groups: Sequence[Group]

    def as_json(self) -> dict[str, Any]:
        """Return one object of the fields, with the values of rows as they were collected."""
        return asdict(self)


def missed_rows(
    pipeline: Pipeline, lake: Lake, run: Run, by: Sequence[str], *, invalid: bool, condition: str, most: int
) -> MissedRows:
    """Return the late rows, or the invalid rows, of a published run in groups. Raises InputError and LakeError."""
    name = INVALID_EVENTS.name if invalid else LATE_EVENTS.name
    if name not in run.versions:
        raise InputError(f"late: run {run.run_id} has no table {name}", code=ErrorCode.NOTHING_PUBLISHED)
    table = delta_rs.at_version(lake.path(name), run.versions[name])
    expressions = {label: sql for each in by for label, sql in _expressions(each, pipeline, table)}
    chosen = f"WHERE {condition}" if condition else ""
    selected = ", ".join(f'{sql} AS "{label}"' for label, sql in expressions.items())
    numbers = ", ".join(str(place + 1) for place in range(len(expressions)))
    measures = ["count(*) AS rows", *_measures(table)]
    grouped = f"GROUP BY {numbers}" if numbers else ""
    query = f"SELECT {', '.join([*filter(None, [selected]), *measures])} FROM t {chosen} {grouped}"  # noqa: S608
    if any(_IN_ORDER in measure for measure in measures):
        half = f"{_IN_ORDER}[CAST((rows + 1) / 2 AS BIGINT)] AS lateness_for_half_ms"
        query = f"SELECT * EXCLUDE ({_IN_ORDER}), {half} FROM ({query})"  # noqa: S608
    selected_rows = _selected(lake.path(name), table, query)
    groups = [_group(row, list(expressions)) for row in selected_rows if row["rows"]]
    # Groups of one size have one order in each call: that of their values.
    groups.sort(key=lambda group: (-group.rows, [str(value) for value in group.values.values()]))
    rows = sum(group.rows for group in groups)
    return MissedRows(pipeline.name, run.run_id, name, rows, len(groups), groups[:most])


def _selected(path: str, table: Table, query: str) -> list[dict[str, Any]]:
    try:
        return table.select(query)
    except Exception as problem:
        # The engine has no class of errors for a file that is missing or a store that does not answer.
        if str(problem).startswith(_OUTSIDE):
            raise LakeError(f"{path} cannot be read: {delta_rs.one_line(problem)}") from problem
        raise InputError(
            f"--where or --by: the query is refused: {delta_rs.one_line(problem)}. "
            f"The table has the columns {', '.join(sorted(table.columns))}",
            code=ErrorCode.SQL_REFUSED,
        ) from problem


def _measures(table: Table) -> list[str]:
    if "late_by_ms" not in table.columns:
        return []
    measures = ["median(late_by_ms) AS late_by_median_ms", "max(late_by_ms) AS late_by_max_ms"]
    if "window_end" in table.columns:
        measures.append("count(DISTINCT window_start) AS windows")
        measures.append(f"array_agg({lateness_ranges.NEEDED} ORDER BY {lateness_ranges.NEEDED}) AS {_IN_ORDER}")
        measures.append(f"max({lateness_ranges.NEEDED}) AS lateness_for_all_ms")
    return measures


def _expressions(by: str, pipeline: Pipeline, table: Table) -> list[tuple[str, str]]:
    """Return the columns of a group, each with its SQL. Raises InputError."""
    if by == PARTITION:
        names = pipeline.source.source_partition.columns
        if pipeline.sources:
            names = ("source", *names)
        return [(name, _quoted(name)) for name in _present(by, names, table)]
    if by == KEY:
        return [(name, _quoted(name)) for name in _present(by, pipeline.windows.key, table)]
    if by == WINDOW:
        return [(name, _quoted(name)) for name in _present(by, ("window_start", "window_end"), table)]
    if by == LATENESS:
        _present(by, ("late_by_ms",), table)
        return [("late_by", lateness_ranges.label_sql())]
    if by in (HOUR, DAY):
        (time,) = _present(by, ("arrival_time",), table)
        return [(by, f"date_trunc('{by}', {_quoted(time)})")]
    return [(name, _quoted(name)) for name in _present(by, (by,), table)]


def _present(by: str, names: Sequence[str], table: Table) -> Sequence[str]:
    missing = [name for name in names if name not in table.columns]
    if not names or missing:
        lack = f"the table lacks {', '.join(missing)}" if missing else "the pipeline declares no such column"
        raise InputError(
            f"--by {by}: {lack}; it has {', '.join(sorted(table.columns))}. Name a column, or one of "
            f"{PARTITION}, {KEY}, {WINDOW}, {LATENESS}, {HOUR} and {DAY}",
            code=ErrorCode.OPTION_WRONG,
        )
    return names


def _group(row: Mapping[str, Any], labels: Sequence[str]) -> Group:
    measured = {
        name: None if value is None else int(value)
        for name, value in row.items()
        if name not in labels and name != "rows"
    }
    return Group({label: row[label] for label in labels}, int(row["rows"]), **measured)


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
