"""The engines that replay cases: the reference in plain Python, and Spark."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol

from spark_jobs.cases import drawn_replay
from spark_jobs.cases.case_file import TABLES, Case
from spark_jobs.cases.cells import Row
from spark_jobs.cases.drawing import Drawing, Step
from spark_jobs.pipeline import Pipeline
from spark_jobs.semantics import reference
from spark_jobs.semantics.panes.aggregates import UnreadableAggregateError
from spark_jobs.semantics.rows.expressions import UnknownColumnError, UnreadableExpressionError

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession


class UnreplayedError(ValueError):
    """A case that an engine cannot replay."""


@dataclass(frozen=True)
class Replayed:
    """The rows of the published tables, and the counts of source rows; Spark returns no counts."""

    tables: Mapping[str, Sequence[Row]]
    counts: Mapping[str, int]


class Engine(Protocol):
    """Replays cases with tables, and drawings."""

    def tables(self, case: Case, pipeline: Pipeline) -> Replayed:
        """Return the published tables of a case. Raises UnreplayedError."""

    def steps(self, drawing: Drawing) -> tuple[Step, ...]:
        """Return the steps of a drawing."""


class Reference:
    """The reference, without Java."""

    def tables(self, case: Case, pipeline: Pipeline) -> Replayed:
        """Return the published tables of a case. Raises UnreplayedError."""
        if pipeline.join is not None:
            raise UnreplayedError("the reference replays joins as drawings alone; give --spark")
        try:
            result = reference.replay(case.rows, pipeline, until=case.until)
        except (UnreadableExpressionError, UnreadableAggregateError) as problem:
            reason = str(problem).partition("; pass a Python function")[0]
            raise UnreplayedError(f"{reason}; give --spark, which reads all of Spark's SQL") from problem
        except UnknownColumnError as problem:
            raise UnreplayedError(f"rows: {problem}") from problem
        except ValueError as problem:
            raise UnreplayedError(str(problem)) from problem
        return Replayed({name: getattr(result, name) for name in TABLES}, result.counts)

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
        from spark_jobs.cases.frames import frame_of, rows_of
        from spark_jobs.replay import replay

        if pipeline.join is not None:
            raise UnreplayedError("a case with tables is about windows; write the case of a join as a drawing")
        if not case.rows:
            raise UnreplayedError("rows: found none, and Spark needs the types of the columns")
        frame = frame_of(self._spark, case.rows, _schema(case.rows))
        result = replay(frame, pipeline, until=case.until)
        names = [name for name in TABLES if name in case.tables and getattr(result, name, None) is not None]
        return Replayed({name: rows_of(getattr(result, name)) for name in names}, {})

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


def _schema(rows: Sequence[Row]) -> pa.Schema:
    """Return the types of the columns; a column without a value is text."""
    import pyarrow as pa

    schema = pa.Table.from_pylist([dict(row) for row in rows]).schema
    return pa.schema([f if not pa.types.is_null(f.type) else pa.field(f.name, pa.string()) for f in schema])
