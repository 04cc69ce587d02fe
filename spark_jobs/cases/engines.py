"""The engines that replay cases: the reference in plain Python, and Spark."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Protocol

from spark_jobs.cases import drawn_replay
from spark_jobs.cases.case_file import TABLES, Case
from spark_jobs.cases.cells import Row
from spark_jobs.cases.comparing import Unread
from spark_jobs.cases.drawing import Drawing, Step
from spark_jobs.cases.joined_tables import JoinedTables
from spark_jobs.cases.table_columns import columns_of
from spark_jobs.pipeline import Pipeline
from spark_jobs.semantics import reference
from spark_jobs.semantics.panes.aggregates import Aggregation, UnreadableAggregateError, aggregation
from spark_jobs.semantics.rows.expressions import UnknownColumnError, UnreadableExpressionError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_GIVE_SPARK = "give --spark, which reads all of Spark's SQL"


class UnreplayedError(ValueError):
    """A case that an engine cannot replay."""


@dataclass(frozen=True)
class Replayed:
    """The rows of the published tables, and the counts of source rows; Spark returns no counts.

    `columns` are those of a table, also without rows; None where they are not known.
    """

    tables: Mapping[str, Sequence[Row]]
    counts: Mapping[str, int]
    columns: Mapping[str, Sequence[str] | None] = field(default_factory=dict)


class Engine(Protocol):
    """Replays cases with tables, and drawings."""

    def tables(self, case: Case, pipeline: Pipeline) -> Replayed:
        """Return the published tables of a case. Raises UnreplayedError."""

    def steps(self, drawing: Drawing) -> tuple[Step, ...]:
        """Return the steps of a drawing."""


class Reference:
    """The reference, without Java."""

    def tables(self, case: Case, pipeline: Pipeline) -> Replayed:
        """Return the published tables of a case. Raises UnreplayedError.

        An aggregate that the reference does not read has the value `Unread`.
        """
        _require_sources(case, pipeline)
        try:
            tables, counts = _of_reference(case, pipeline)
        except (UnreadableExpressionError, UnreadableAggregateError) as problem:
            raise UnreplayedError(f"{_reason(problem)}; {_GIVE_SPARK}") from problem
        except UnknownColumnError as problem:
            raise UnreplayedError(f"rows: {problem}") from problem
        except ValueError as problem:
            raise UnreplayedError(str(problem)) from problem
        return Replayed(tables, counts, {name: columns_of(name, pipeline, case.rows) for name in tables})

    def steps(self, drawing: Drawing) -> tuple[Step, ...]:
        """Return the steps of a drawing."""
        return drawn_replay.replayed(drawing)


class OnSpark:
    """Spark, in a session that is opened when the first case needs it."""

    def __init__(self, open_session: Callable[[], SparkSession]) -> None:
        self._open = open_session
        self._session: SparkSession | None = None

    def tables(self, case: Case, pipeline: Pipeline) -> Replayed:
        """Return the published tables of a case. Raises UnreplayedError."""
        from spark_jobs.cases.tables_on_spark import tables_on_spark

        _require_sources(case, pipeline)
        if not case.rows:
            raise UnreplayedError("rows: found none, and Spark needs the types of the columns")
        if not case.tables:
            raise UnreplayedError("expect: found counts alone, and Spark compares no counts; expect a table")
        try:
            tables = tables_on_spark(self._spark, case, pipeline)
        except ValueError as problem:
            raise UnreplayedError(str(problem)) from problem
        return Replayed(tables, {}, {name: columns_of(name, pipeline, case.rows) for name in tables})

    def steps(self, drawing: Drawing) -> tuple[Step, ...]:
        """Return the steps of a drawing."""
        from spark_jobs.cases.drawn_on_spark import replayed_on_spark

        return replayed_on_spark(self._spark, drawing)

    @property
    def _spark(self) -> SparkSession:
        if self._session is None:
            self._session = self._open()
        return self._session


def without_counts(case: Case) -> Case:
    """Return the case without the counts that it expects."""
    return replace(case, counts={})


def _require_sources(case: Case, pipeline: Pipeline) -> None:
    """Raise UnreplayedError for rows by source of other sources than the pipeline has."""
    names = [united.name for united in pipeline.sources]
    strangers = [name for name in case.sources if name not in names]
    if strangers and not names:
        raise UnreplayedError(f"rows: found tables of {', '.join(strangers)}, and the pipeline has one source")
    if strangers:
        raise UnreplayedError(f"rows: found {', '.join(strangers)}, expected a table for each of {', '.join(names)}")


def _of_reference(case: Case, pipeline: Pipeline) -> tuple[Mapping[str, Sequence[Row]], Mapping[str, int]]:
    if pipeline.join is not None:
        joined = JoinedTables(pipeline, case.rows, case.until)
        return joined.tables, joined.counts
    aggregates = {a.name: _readable(a.expression, pipeline) for a in pipeline.windows.aggregates}
    result = reference.replay(case.rows, pipeline, until=case.until, aggregates=aggregates)
    return {name: getattr(result, name) for name in TABLES if hasattr(result, name)}, result.counts


def _readable(sql: str, pipeline: Pipeline) -> Aggregation:
    """Return an aggregate whose value is `Unread` if the reference does not read its SQL or the values."""
    try:
        read = aggregation(sql, pipeline.windows.floats)
    except (UnreadableExpressionError, UnreadableAggregateError) as problem:
        unread = Unread(f"{_reason(problem)}; {_GIVE_SPARK}")
        return lambda _: unread

    def aggregate(rows: Sequence[Mapping[str, Any]]) -> Any:
        try:
            return read(rows)
        except (UnreadableExpressionError, UnreadableAggregateError) as problem:
            return Unread(f"{_reason(problem)}; write other values, or {_GIVE_SPARK}")

    return aggregate


def _reason(problem: ValueError) -> str:
    return str(problem).partition("; pass a Python function")[0]
