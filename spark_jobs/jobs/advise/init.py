"""A first pipeline file for a table, from its schema and statistics, with the reasons as comments.

The table is read twice for its statistics, and then as `advise` reads it, for the bound. The file is a valid pipeline
that fits the table. An existing file is replaced only with --force.
"""

from __future__ import annotations

import json
import os
import re
import tempfile
import textwrap
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as T

from spark_jobs.jobs.advise import column_roles
from spark_jobs.jobs.advise.advise import Settings, weigh
from spark_jobs.jobs.advise.candidates import in_words
from spark_jobs.jobs.advise.column_roles import Facts, Guess, Moment
from spark_jobs.jobs.errors import InputError
from spark_jobs.jobs.plan.check_source import check_source
from spark_jobs.jobs.progress import Progress, silent
from spark_jobs.pipeline import PipelineError, parse
from spark_jobs.pipeline.durations import format_duration
from spark_jobs.pipeline.model import Pipeline, TimeUnit
from spark_jobs.pipeline.names import INTERNAL_PREFIX
from spark_jobs.replay.rows.event_time import millis
from spark_jobs.replay.rows.prepare import quoted
from spark_jobs.semantics.rows.instants import EPOCH
from spark_jobs.session import shuffling
from spark_jobs.tables import delta_log, source, source_tables
from spark_jobs.tables.errors import SourceError

_TIMES = (T.TimestampType, T.TimestampNTZType)
_MOST_TIMES = 12


@dataclass(frozen=True)
class Drafted:
    """A pipeline file that does not exist yet: its text, and the guesses in it."""

    pipeline: Pipeline
    text: str
    facts: Facts
    guesses: dict[str, Guess]

    def as_json(self) -> dict[str, Any]:
        """Return the guesses as plain values."""
        return {
            "pipeline": self.pipeline.name,
            "table": self.pipeline.source.table,
            "guesses": {name: asdict(guess) for name, guess in self.guesses.items()},
            "out_of_orderness": self.pipeline.watermark.out_of_orderness_ms,
            "allowed_lateness": self.pipeline.windows.allowed_lateness_ms,
        }


def draft(spark: SparkSession, table: str, *, progress: Progress = silent) -> Drafted:
    """Draft a pipeline for the newest version of a Delta table.

    Raises InputError if the table does not exist, or has no rows or no column of a time.
    """
    try:
        version = source.pinned_version(spark, table)
        events = source.read(spark, table, version)
    except SourceError as problem:
        raise InputError(str(problem).replace("source.table: ", "", 1)) from problem
    progress("init", f"looking at version {version} of {table}")
    facts = _facts(spark, table, events)
    event, arrival = column_roles.times(facts)
    partition = column_roles.source_partition(facts)
    guesses = {
        "event_time": event,
        "arrival_time": arrival,
        "source_partition": partition,
        "key": column_roles.key(facts, partition.column),
        "tie_break": column_roles.tie_break(facts),
    }
    first = _fitting(_text(table, facts, guesses, "0s", "0s", ""), table, events)
    progress("init", "weighing bounds")
    best = weigh(events, first, Settings(), version).recommended
    if best is None:
        return Drafted(first, _text(table, facts, guesses, "0s", "0s", ""), facts, guesses)
    bound, lateness = format_duration(best.out_of_orderness), format_duration(best.allowed_lateness)
    text = _text(table, facts, guesses, bound, lateness, in_words(best, Settings().target))
    return Drafted(_fitting(text, table, events), text, facts, guesses)


def write(drafted: Drafted, path: str | os.PathLike[str], *, force: bool) -> None:
    """Write a draft to `path`, whole or not at all. Raises InputError for an existing file, unless forced."""
    target = Path(path)
    try:
        handle, partial = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    except OSError as problem:
        raise InputError(f"{target}: cannot be written: {problem.strerror or problem}") from problem
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(drafted.text)
        Path(partial).chmod(0o644)
        if force:
            Path(partial).replace(target)
        else:
            # Fails if another process has made the file meanwhile.
            os.link(partial, target)
    except FileExistsError as problem:
        raise InputError(_exists(target)) from problem
    except OSError as problem:
        raise InputError(f"{target}: cannot be written: {problem.strerror or problem}") from problem
    finally:
        Path(partial).unlink(missing_ok=True)


def refuse_existing(path: str | os.PathLike[str]) -> None:
    """Raise InputError for an existing file."""
    if Path(path).exists():
        raise InputError(_exists(path))


def _exists(path: str | os.PathLike[str]) -> str:
    return f"{path}: exists already. Give another name, or --force to replace it"


def _fitting(text: str, table: str, events: DataFrame) -> Pipeline:
    """Return the pipeline of a draft. Raises InputError if it does not fit the table."""
    try:
        pipeline = parse(text, origin=f"the draft for {table}")
    except PipelineError as problem:
        raise InputError(f"{table}: no pipeline file can be drafted: {problem}") from problem
    check_source(events, pipeline)
    return pipeline


def _facts(spark: SparkSession, table: str, events: DataFrame) -> Facts:
    """Return statistics of all columns, and of pairs of times."""
    named = [f for f in events.schema if not f.name.startswith(INTERNAL_PREFIX)]
    integers = [f.name for f in named if isinstance(f.dataType, T.IntegralType)]
    listed = [f.name for f in named if isinstance(f.dataType, (*_TIMES, T.DateType))]
    counted = [f.name for f in named if isinstance(f.dataType, (T.StringType, T.IntegralType))]
    with shuffling(spark, 0):
        row = _row(events, integers, listed, counted)
        rows = int(row["rows"])
        if not rows:
            raise InputError(f"{table}: has no rows, and a pipeline is drafted from its rows")
        units = {n: column_roles.epoch_unit(n, row[f"least_{n}"], row[f"most_{n}"]) for n in integers}
        names = [*listed, *(name for name in integers if units[name])][:_MOST_TIMES]
        if not names:
            columns = ", ".join(f"{f.name} {f.dataType.simpleString()}" for f in named)
            raise InputError(
                f"{table}: has no column of a time (it has {columns}): a TIMESTAMP, a DATE, or an integer that "
                "counts from 1970 and is named like a time. Write it by hand: text needs {column, format, timezone}"
            )
        rising = _rising(spark, table, names)
        moments = [Moment(n, int(row[f"filled_{n}"]), units.get(n), rising.get(n)) for n in names]
        not_before, mean_ms = _pairs(events, moments)
    distinct = {n: int(row[f"distinct_{n}"]) for n in counted if n not in names}
    texts = frozenset(f.name for f in named if isinstance(f.dataType, T.StringType))
    return Facts(rows, moments, distinct, texts, not_before, mean_ms)


def _row(events: DataFrame, integers: Sequence[str], listed: Sequence[str], counted: Sequence[str]) -> Any:
    statistics: dict[str, Column] = {"rows": F.count("*")}
    for name in (*listed, *integers):
        statistics[f"filled_{name}"] = F.count(F.col(quoted(name)))
    for name in integers:
        statistics |= {f"least_{name}": F.min(F.col(quoted(name))), f"most_{name}": F.max(F.col(quoted(name)))}
    for name in counted:
        statistics[f"distinct_{name}"] = F.approx_count_distinct(F.col(quoted(name)))
    return events.agg(*(value.alias(name) for name, value in statistics.items())).collect()[0]


def _pairs(
    events: DataFrame, moments: Sequence[Moment]
) -> tuple[dict[tuple[str, str], float], dict[tuple[str, str], float]]:
    """Return the statistics of pairs of times (see `Facts`)."""
    pairs = [(a, b) for a in moments for b in moments if a.name != b.name]
    if not pairs:
        return {}, {}
    kinds = {f.name: f.dataType for f in events.schema}
    each = [(_millis(a, kinds[a.name]), _millis(b, kinds[b.name])) for a, b in pairs]
    columns = [
        column.alias(f"{statistic}_{i}")
        for i, (first, second) in enumerate(each)
        for statistic, column in (
            ("share", F.avg((second >= first).cast("int"))),
            ("mean", F.avg((second - first).cast("double"))),
        )
    ]
    row = events.agg(*columns).collect()[0]
    names = [(a.name, b.name) for a, b in pairs]
    shares = {pair: float(row[f"share_{i}"] or 0) for i, pair in enumerate(names)}
    return shares, {pair: float(row[f"mean_{i}"] or 0) for i, pair in enumerate(names)}


def _millis(moment: Moment, kind: T.DataType) -> Column:
    value = F.col(quoted(moment.name))
    if moment.unit is None:
        return millis(F.unix_micros(value.cast("timestamp") if not isinstance(kind, T.TimestampType) else value))
    if moment.unit is TimeUnit.SECONDS:
        return value.cast("long") * F.lit(1000)
    shift = {TimeUnit.MILLISECONDS: 1, TimeUnit.MICROSECONDS: 1_000, TimeUnit.NANOSECONDS: 1_000_000}[moment.unit]
    return F.call_function("div", value.cast("long"), F.lit(shift))


def _rising(spark: SparkSession, table: str, names: Sequence[str]) -> dict[str, bool]:
    """Return for each time with statistics in Delta whether it never goes back from one commit to the next.

    Empty for a table in a catalog, and for a table with a single commit.
    """
    if not source_tables.is_path(table):
        return {}
    ranges: dict[str, list[tuple[int, int]]] = {name: [] for name in names}
    for actions in delta_log.commits(spark, source_tables.absolute_path(table)):
        added = [json.loads(a["add"]["stats"]) for a in actions if "add" in a and a["add"].get("stats")]
        for name in names:
            least, most = (
                [stats[side][name] for stats in added if name in stats.get(side, {})]
                for side in ("minValues", "maxValues")
            )
            if least and most:
                # Delta cuts times to milliseconds, and lifts the greatest by one.
                lifted = isinstance(most[0], str)
                ranges[name].append((min(map(_comparable, least)), max(map(_comparable, most)) - lifted))
    return {name: never_back(of[::-1]) for name, of in ranges.items() if len(of) > 1}


def never_back(ranges: Sequence[tuple[int, int]]) -> bool:
    """Return whether the least value of each range, in order, is not below the greatest value of the previous range."""
    return all(least >= most for (_, most), (least, _) in pairwise(ranges))


def _comparable(value: int | str) -> int:
    if isinstance(value, int):
        return value
    moment = datetime.fromisoformat(value)
    return ((moment if moment.tzinfo else moment.replace(tzinfo=UTC)) - EPOCH) // timedelta(milliseconds=1)


def _text(table: str, facts: Facts, guesses: dict[str, Guess], bound: str, lateness: str, advice: str) -> str:
    event, arrival = guesses["event_time"], guesses["arrival_time"]
    lines = [
        f"# Drafted from {_one_line(table)}, {facts.rows:,} rows. The settings are guesses: check each of them.",
        f"name: {column_roles.pipeline_name(table)}",
        "",
        "source:",
        f"  table: {_yaml(table)}",
        *_comment(_also(event), "  "),
        f"  event_time: {_time(event, facts)}",
    ]
    if arrival.column is None:
        lines += _comment(f"arrival_time: {arrival.why}. In event-time order no row of one version is late.", "  ")
    else:
        lines += [*_comment(_also(arrival), "  "), f"  arrival_time: {_time(arrival, facts)}"]
    lines += _listed("source_partition", guesses["source_partition"], "Each has its own watermark", "  ")
    lines += _listed("tie_break", guesses["tie_break"], "Order of rows with the same arrival time", "  ")
    lines += [
        "",
        "replay:",
        f"  order: {'event_time' if arrival.column is None else 'arrival'}",
        "",
        "watermark:",
        "  strategy: bounded_out_of_orderness",
        *_comment(advice, "  "),
        f"  out_of_orderness: {bound}",
        "  emit: {every: 1 minute}",
        "",
        "windows:",
        "  kind: tumbling",
        "  size: 1 hour",
    ]
    key = guesses["key"]
    lines += _comment(f"{_also(key)}; [] is one group for all", "  ")
    lines.append(f"  key: [{'' if key.column is None else _yaml(key.column)}]")
    lines += [f"  allowed_lateness: {lateness}", "  aggregates:", f"    {_rows_name(key)}: count(*)", ""]
    return "\n".join(lines)


def _rows_name(key: Guess) -> str:
    return "row_total" if (key.column or "").lower() == "rows" else "rows"


def _time(guess: Guess, facts: Facts) -> str:
    name = str(guess.column)
    # A time is an SQL expression: a name that is no identifier is quoted.
    expression = name if re.fullmatch(r"[A-Za-z_]\w*", name) else quoted(name)
    unit = next(m.unit for m in facts.moments if m.name == name)
    return _yaml(expression) if unit is None else f"{{column: {_yaml(expression)}, unit: {unit.value}}}"


def _listed(setting: str, guess: Guess, purpose: str, indent: str) -> list[str]:
    """Return the lines of a setting that is a list of columns; without a guess it is a comment."""
    if guess.column is None and not guess.others:
        return []
    comment = _comment(f"{purpose}: {_also(guess)}", indent)
    if guess.column is None:
        return [*comment, f"{indent}# {setting}: [{_yaml(guess.others[0])}]"]
    return [*comment, f"{indent}{setting}: [{_yaml(guess.column)}]"]


def _also(guess: Guess) -> str:
    alternatives = ", ".join(guess.others[:5])
    reason = guess.why if guess.column is None else f"{guess.column}: {guess.why}"
    return f"{reason} (or {alternatives})" if alternatives else reason


def _comment(text: str, indent: str) -> list[str]:
    return textwrap.wrap(_one_line(text), 110, initial_indent=f"{indent}# ", subsequent_indent=f"{indent}# ")


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _yaml(text: str) -> str:
    """Return text as YAML that every parser reads as text."""
    plain = re.fullmatch(r"[A-Za-z_/.$][\w/.${}:-]*", text) and text.lower() not in _WORDS and not text.endswith(":")
    inside = plain and not re.search(r"[{}]|:\s", text.replace("${", "").replace("}", ""))
    return text if inside else json.dumps(text, ensure_ascii=False)


_WORDS = frozenset(("null", "true", "false", "yes", "no", "on", "off", "y", "n", "~"))
