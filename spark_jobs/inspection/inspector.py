"""The inspector explains rows and windows of a publication: from the source if that is allowed, else from the tables.

    shows_source    pipeline              basis
    no              any                   PUBLISHED: the source is not read
    yes             as the run had it     SOURCE, if the source is small enough for a page
    yes             None, or changed      PUBLISHED, with the reason

At most `AT_ONCE` sources are replayed at once in a process. Others wait for `WAIT_S` seconds.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from threading import BoundedSemaphore
from typing import Generic, TypeVar

from spark_jobs.explain import words
from spark_jobs.explain.explanations import ExplainedRow, Step, WindowLife
from spark_jobs.inspection import bounded_source, published_explanations, row_choices, value_texts
from spark_jobs.inspection.bounded_source import Deadline, NotReplayedError
from spark_jobs.inspection.inspections import Basis, RowChoice, RowInspection, WindowInspection
from spark_jobs.inspection.publication import Publication
from spark_jobs.inspection.replayed_explanations import ReplayedSource
from spark_jobs.pipeline.model import Pipeline
from spark_jobs.semantics.rows.expressions import UnknownColumnError, column
from spark_jobs.semantics.rows.instants import floor_to_ms, micros
from spark_jobs.semantics.windows.lateness import Lateness
from spark_jobs.tables.errors import LakeError
from spark_jobs.tables.run_pipeline import pipeline_of_tables

#: Sources that are replayed at once, and the seconds for which another one waits.
AT_ONCE, WAIT_S = 2, 2.0

_slots = BoundedSemaphore(AT_ONCE)
_T = TypeVar("_T")


class KeyMisfitError(ValueError):
    """A key with other columns than those of the run."""


@dataclass(frozen=True)
class Answer(Generic[_T]):
    """An answer; `reason` is why it is made of the published tables alone, empty for an answer from the source."""

    content: _T
    reason: str = ""


class Inspector:
    """Explains rows and windows of a publication. `pipeline` is that of the file as it is now; None without a file."""

    def __init__(self, publication: Publication, pipeline: Pipeline | None, *, shows_source: bool) -> None:
        self._publication, self._pipeline, self._shows_source = publication, pipeline, shows_source

    def rows(self, choice: RowChoice) -> Answer[Sequence[RowInspection]]:
        """Explain rows by their times and key.

        From the tables, only too late rows are explained. Raises NoPublicationError, TooManyRowsError and LakeError.
        """
        try:
            with self._replayed() as (source, pipeline):
                rows = source.rows(row_choices.is_choice(choice), published_explanations.MOST_ROWS)
            if rows:
                return Answer([_row(row, pipeline) for row in rows])
            reason = "the source has no such row as of this run"
        except NotReplayedError as problem:
            reason = str(problem)
        explained = published_explanations.explain_rows(self._publication, choice, shows_source=self._shows_source)
        return Answer(explained, reason)

    def rows_with(self, name: str, text: str) -> Answer[Sequence[RowInspection]]:
        """Explain the rows of the source whose column has a text; none without the source."""
        try:
            with self._replayed() as (source, pipeline):
                rows = source.rows(row_choices.has_value(name, text), published_explanations.MOST_ROWS)
                return Answer([_row(row, pipeline) for row in rows])
        except NotReplayedError as reason:
            return Answer([], str(reason))

    def window(self, start: datetime, key: Mapping[str, str]) -> Answer[WindowInspection | None]:
        """Explain the window of a key that starts at `start`, or the sessions around it; None for an unknown window.

        Raises KeyMisfitError unless the key has exactly the columns of the run's key, and NoPublicationError,
        TooManyRowsError and LakeError.
        """
        columns = self._publication.key
        if set(key) != set(columns):
            raise KeyMisfitError(
                f"key: found {', '.join(key) or 'no column'}, expected {', '.join(columns) or 'no column'}"
            )
        try:
            with self._replayed() as (source, _):
                life = source.window(floor_to_ms(micros(start)), key)
            if life is not None:
                return Answer(self._of_life(life, start, key))
            reason = "the source has no row of this window as of this run"
        except NotReplayedError as problem:
            reason = str(problem)
        explained = published_explanations.explain_window(
            self._publication, start, key, shows_source=self._shows_source
        )
        return Answer(explained, reason)

    @property
    def reason(self) -> str:
        """Why the source is not replayed, as far as that is known without reading it; empty without such a reason."""
        try:
            self._require()
        except NotReplayedError as reason:
            return str(reason)
        return ""

    def _require(self) -> Pipeline:
        """Return the pipeline as the run had it. Raises NotReplayedError."""
        if not self._shows_source:
            raise NotReplayedError("pages do not show the source (TIDEMARK_PAGES_SHOW_SOURCE)")
        if self._pipeline is None:
            raise NotReplayedError("the folder of DAGs has no good file of the pipeline")
        bounded_source.require_replayable(self._pipeline, self._publication.run)
        return pipeline_of_tables(self._pipeline, self._publication.run)

    @contextmanager
    def _replayed(self) -> Iterator[tuple[ReplayedSource, Pipeline]]:
        """Yield the source and the pipeline as the run had it. Raises NotReplayedError."""
        pipeline, run = self._require(), self._publication.run
        if not _slots.acquire(timeout=WAIT_S):
            raise NotReplayedError("other explanations are being made; load the page again")
        try:
            deadline = Deadline.within(bounded_source.WITHIN_S)
            try:
                rows = bounded_source.source_rows(pipeline, run)
            except LakeError as problem:
                raise NotReplayedError(f"its source cannot be read ({problem})") from problem
            until_us = None if run.arrived_to is None else micros(run.arrived_to)
            belongs = bounded_source.arrived_before(run)
            repaired = self._publication.repaired
            source = ReplayedSource(pipeline, rows, deadline, belongs=belongs, until_us=until_us, repaired=repaired)
            yield source, pipeline
        finally:
            _slots.release()

    def _of_life(self, life: WindowLife, start: datetime, key: Mapping[str, str]) -> WindowInspection:
        steps = life.steps or ()
        most = published_explanations.MOST_STEPS
        return WindowInspection(
            Basis.SOURCE,
            replace(life, steps=steps[:most]),
            max((step.window_end for step in steps), default=None),
            result=published_explanations.window_result(self._publication, start, key),
            too_late=sum(step.step is Step.ROW and step.verdict == Lateness.TOO_LATE.value for step in steps),
            is_cut=len(steps) > most,
        )


def _row(row: ExplainedRow, pipeline: Pipeline) -> RowInspection:
    mark, is_alone = pipeline.watermark, not pipeline.is_united
    bound_ms = mark.lag_ms if mark.follows_clock else mark.bound_ms
    bounded = is_alone and (mark.is_bounded or mark.follows_clock)
    try:
        key = {name: value_texts.of_value(column(row.row, name)) for name in pipeline.windows.key}
    except UnknownColumnError:
        key = {}
    return RowInspection(
        Basis.SOURCE,
        row,
        key,
        bound_setting=words.bound_setting(mark.strategy) if bounded else "",
        bound_ms=bound_ms if bounded else None,
        bound_now=words.bound_now(mark.strategy, bound_ms) if bounded else "",
        lateness_ms=pipeline.windows.allowed_lateness_ms,
    )
