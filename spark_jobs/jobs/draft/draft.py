"""A draft is a first pipeline file for a table, which is valid, fits the table, and gives its reasons as comments.

The table is read for a sample, then once for the profile. The bound is weighed as `advise` does, and the invalid rows
are counted. An existing file is replaced only with --force.
"""

from __future__ import annotations

import os
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from pyspark.sql import DataFrame, SparkSession

from spark_jobs.error_codes import ErrorCode
from spark_jobs.jobs.advise.advise import Settings, weigh
from spark_jobs.jobs.advise.candidates import in_words
from spark_jobs.jobs.draft import commit_order, profile, roles
from spark_jobs.jobs.draft.leaves import Leaf, leaves, most_likely
from spark_jobs.jobs.draft.pipeline_text import Weighed, pipeline_text
from spark_jobs.jobs.draft.profile import Profile
from spark_jobs.jobs.draft.proposal import Answers, Choice, Proposal, propose, resolve
from spark_jobs.jobs.errors import InputError
from spark_jobs.jobs.plan.check_source import check_source
from spark_jobs.jobs.plan.invalid_rows import InvalidRows, invalid_rows
from spark_jobs.jobs.progress import Progress, silent
from spark_jobs.pipeline import PipelineError, parse
from spark_jobs.pipeline.durations import format_duration
from spark_jobs.pipeline.model import Pipeline
from spark_jobs.session import shuffling
from spark_jobs.tables import source, source_tables
from spark_jobs.tables.errors import SourceError

#: The most leaves whose values are counted.
_MOST_COUNTED = 60


@dataclass(frozen=True)
class Survey:
    """A table at one version, and the profile of its rows."""

    table: str
    version: int
    events: DataFrame
    profile: Profile


@dataclass(frozen=True)
class Drafted:
    """A pipeline file that does not exist yet: its text, the proposal in it, and the rows that it does not use."""

    pipeline: Pipeline
    text: str
    profile: Profile
    proposal: Proposal
    invalid: tuple[InvalidRows, ...]

    @property
    def choices(self) -> list[Choice]:
        """The lines that the user has to decide."""
        return self.proposal.choices

    def as_json(self) -> dict[str, Any]:
        """Return the guesses as plain values."""
        return {
            "pipeline": self.pipeline.name,
            "table": self.pipeline.source.table,
            "guesses": {name: asdict(guess) for name, guess in self.proposal.guesses.items()},
            "choices": [asdict(choice) for choice in self.choices],
            "size": self.proposal.size.ms,
            "invalid": [asdict(invalid) for invalid in self.invalid],
            "no_role": roles.without_role(self.profile, self.proposal.guesses),
            "out_of_orderness": self.pipeline.watermark.out_of_orderness_ms,
            "allowed_lateness": self.pipeline.windows.allowed_lateness_ms,
        }


def refuse_no_table(table: str) -> None:
    """Raise InputError for a local folder that is no Delta table. Needs no Spark session."""
    is_local = source_tables.is_path(table) and not urlsplit(table).scheme
    if is_local and not Path(table, "_delta_log").is_dir():
        raise InputError(
            f"'{table}' is not a Delta table: its folder has no _delta_log. "
            "Give the path of a Delta table, or a name as catalog.schema.table",
            code=ErrorCode.NOT_A_DELTA_TABLE,
        )


def survey(spark: SparkSession, table: str, answers: Answers, *, progress: Progress = silent) -> Survey:
    """Profile the newest version of a Delta table.

    Raises InputError if the table does not exist, or has no rows or no time. Raises it also for an answer that names no
    column.
    """
    try:
        version = source.pinned_version(spark, table)
        events = source.read(spark, table, version)
    except SourceError as problem:
        raise InputError(str(problem).replace("source.table: ", "", 1), code=problem.code) from problem
    progress("init", f"looking at version {version} of {table}")
    with shuffling(spark, 0):
        return Survey(table, version, events, _profile(spark, table, events, answers))


def draft(surveyed: Survey, answers: Answers, *, progress: Progress = silent) -> Drafted:
    """Draft the pipeline of a surveyed table. Raises InputError for an answer that the table does not allow."""
    proposal, table, events = propose(surveyed.profile, answers), surveyed.table, surveyed.events

    def text(weighed: Weighed) -> str:
        return pipeline_text(table, events.columns, surveyed.profile, proposal, weighed)

    first = _fitting(text(Weighed()), table, events)
    invalid = tuple(invalid_rows(events, first))
    progress("init", "weighing bounds")
    best = weigh(events, first, Settings(), surveyed.version).recommended
    weighed = Weighed(invalid=invalid)
    if best is not None:
        bound, lateness = format_duration(best.out_of_orderness), format_duration(best.allowed_lateness)
        weighed = Weighed(bound, lateness, in_words(best, Settings().target), invalid)
    content = text(weighed)
    return Drafted(_fitting(content, table, events), content, surveyed.profile, proposal, invalid)


def refuse_unwritable(path: str | os.PathLike[str], *, force: bool) -> None:
    """Raise InputError for a file that exists, unless forced, and for a folder that cannot be written."""
    target = Path(path)
    if target.exists() and not force:
        raise InputError(_exists(target), code=ErrorCode.FILE_NOT_WRITTEN)
    try:
        with tempfile.TemporaryFile(dir=target.parent):
            pass
    except OSError as problem:
        raise InputError(_unwritable(target, problem), code=ErrorCode.FILE_NOT_WRITTEN) from problem


def write(drafted: Drafted, path: str | os.PathLike[str], *, force: bool) -> None:
    """Write a draft to `path`, whole or not at all. Raises InputError for an existing file, unless forced."""
    target = Path(path)
    try:
        handle, partial = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    except OSError as problem:
        raise InputError(_unwritable(target, problem), code=ErrorCode.FILE_NOT_WRITTEN) from problem
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
        raise InputError(_exists(target), code=ErrorCode.FILE_NOT_WRITTEN) from problem
    except OSError as problem:
        raise InputError(_unwritable(target, problem), code=ErrorCode.FILE_NOT_WRITTEN) from problem
    finally:
        Path(partial).unlink(missing_ok=True)


def _exists(path: Path) -> str:
    return f"{path}: exists already. Give another name, or --force to replace it"


def _unwritable(path: Path, problem: OSError) -> str:
    return f"{path}: cannot be written: {problem.strerror or problem}. Give a file in another folder, or --stdout"


def _profile(spark: SparkSession, table: str, events: DataFrame, answers: Answers) -> Profile:
    every, left_out = leaves(events.schema)
    for name, flag in answers.columns().items():
        if name in left_out:
            raise InputError(f"{flag} '{name}': {left_out[name]}. Name another column", code=ErrorCode.NO_DRAFT)
    requested = {resolve(name, flag, every).expression: flag for name, flag in answers.columns().items()}
    likely, note = most_likely(every, requested)
    readings, reasons = profile.sampled(events, likely, requested)
    if not readings:
        raise InputError(_no_time(events, table, every), code=ErrorCode.NO_DRAFT)
    counted = [leaf for leaf in likely if leaf.is_countable]
    by_request = sorted(counted, key=lambda leaf: (leaf.expression not in requested, not leaf.is_text))
    uncounted = f"its values are not counted: {_MOST_COUNTED} other columns are likelier keys"
    left_out |= {leaf.expression: uncounted for leaf in by_request[_MOST_COUNTED:]}
    rises = commit_order.rising(spark, table, [reading.leaf for reading in readings])
    readings.sort(key=lambda reading: -rises.get(reading.column, 0))
    scan = profile.Scan(readings, profile.compared(readings, requested), by_request[:_MOST_COUNTED])
    rows, moments, pairs, values = profile.scanned(events, scan, rises)
    if not rows:
        raise InputError(f"{table}: has no rows, and a pipeline is drafted from its rows", code=ErrorCode.NO_DRAFT)
    best = profile.best(moments)
    by_name = {leaf.expression: leaf for leaf in every}
    times = {moment.column for moment in best}
    left_out |= reasons
    no_keys = times | left_out.keys()
    return Profile(
        rows=rows,
        moments=best,
        values={column: of for column, of in values.items() if column not in no_keys},
        pairs=pairs,
        leaves=by_name,
        left_out=left_out,
        note=note,
    )


def _no_time(events: DataFrame, table: str, every: list[Leaf]) -> str:
    if events.isEmpty():
        return f"{table}: has no rows, and a pipeline is drafted from its rows"
    columns = ", ".join(f"{leaf.expression} {leaf.kind.simpleString()}" for leaf in every[:30])
    return (
        f"{table}: no column was recognized as a time (it has {columns}). A time is a TIMESTAMP, a DATE, a number that "
        "counts from 1970, or text with a pattern. Name it with --event-time, or write the file by hand"
    )


def _fitting(text: str, table: str, events: DataFrame) -> Pipeline:
    """Return the pipeline of a draft. Raises InputError if it does not fit the table."""
    try:
        pipeline = parse(text, origin=f"the draft for {table}")
    except PipelineError as problem:
        raise InputError(f"{table}: no pipeline file can be drafted: {problem}", code=ErrorCode.NO_DRAFT) from problem
    check_source(events, pipeline)
    return pipeline
