"""Recording a case: the rows of a window that a run has published, as a case that `tidemark test` replays.

A case has the rows of the window's key and the witnesses of the watermarks that judged them. The reference replays them
before the case is returned. The panes must be those of the run, so a case that was recorded passes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from functools import reduce
from pathlib import Path

from pyspark.sql import Column, SparkSession
from pyspark.sql import functions as F

from spark_jobs.cases.case_file import Case, parse
from spark_jobs.cases.cells import Row, cell
from spark_jobs.cases.comparing import only
from spark_jobs.cases.engines import Engine, UnreplayedError
from spark_jobs.cases.writing import Written, text_of
from spark_jobs.error_codes import ErrorCode
from spark_jobs.explain.explanations import LifeStep, Step, WindowLife
from spark_jobs.explain.streams import Stream
from spark_jobs.explain.windows import explain_window, is_key
from spark_jobs.explain.witnesses import has_witnesses, witnesses
from spark_jobs.jobs.errors import InputError
from spark_jobs.jobs.explain.explain import Request, key_of, read
from spark_jobs.jobs.progress import Progress, silent
from spark_jobs.pipeline import load
from spark_jobs.pipeline.loading import CASES
from spark_jobs.pipeline.model import LateData, Pipeline
from spark_jobs.pipeline.published_tables import LATE_EVENTS, PANES
from spark_jobs.replay.rows import columns as c
from spark_jobs.semantics.rows.instants import END_OF_INPUT, micros
from spark_jobs.session import shuffling
from spark_jobs.tables.lake import Lake

#: A case is read by people: more rows are none that they can follow.
MOST_ROWS = 1_000
_FIRING = ("pane_index", "timing", "fired_at", "watermark")


def record(
    spark: SparkSession, file: Path, lake: Lake, request: Request, engine: Engine, *, progress: Progress = silent
) -> str:
    """Return the text of a file of cases with the window of a request; `engine` replays the case.

    Raises InputError for a window that cannot be recorded.
    """
    pipeline = load(file)
    reading = read(spark, pipeline, lake, progress, request.run_id)
    if reading.pipeline.join is not None:
        raise _refused("the pipeline is a join. Write its case as a drawing")
    with shuffling(spark, 0):
        stream = reading.stream
        if not has_witnesses(stream):
            raise _refused(
                "the watermark depends on more than the highest event times. Record windows of one source with the "
                "strategy bounded_out_of_orderness or monotonous, without idle_timeout, emitted at ticks or per_event"
            )
        key = key_of(stream, request.key or {})
        start_ms = reading.start_ms(request.window_start_ms or 0)
        life = explain_window(stream, start_ms, key)
        if life is None:
            raise _refused("no row of this key with such an event time has arrived")
        if life.steps is None or life.row_count > MOST_ROWS:
            raise _refused(f"the window has {life.row_count:,} rows, at most {MOST_ROWS:,} can be recorded")
        rows = _rows(stream, life, key)
    settings = {} if reading.pipeline.replay.closes == pipeline.replay.closes else {"replay.end_of_input": "keep_open"}
    if reading.repaired.contains(start_ms):
        settings["windows.late_data"] = LateData.UPDATE.value
    case = _Recording(file, reading.pipeline, rows, life, settings, engine)
    return case.text()


def _rows(stream: Stream, life: WindowLife, key: Mapping[str, str | None]) -> list[Row]:
    """Return the rows of the window and the witnesses of the watermarks, in the order of arrival."""
    steps = life.steps or ()
    times = [micros(step.event_time) // 1000 for step in steps if step.event_time is not None]
    is_between = F.col(c.TS_MS).between(min(times), max(times))
    of_window = stream.filling.where(reduce(Column.__and__, is_key(stream, key), is_between))
    before = of_window.select(F.col(c.EPOCH).alias("epoch")).distinct().localCheckpoint()
    marks = {micros(step.watermark) // 1000 for step in _firings(life) if step.watermark is not None}
    timeline = stream.ground.timeline
    after = timeline.where(F.col("watermark_ms").isin(sorted(marks)) if marks else F.lit(False)).select("epoch")
    ends = any(step.step is Step.PANE and step.watermark == END_OF_INPUT for step in steps)
    moving = witnesses(stream, before, after, to_end=ends and stream.ground.until_us is None)
    if moving is None:
        raise _refused("the source has too many partitions to list their watermarks")
    rows = [dict(step.row) for step in steps if step.row is not None]
    # By its text, since NaN does not equal itself.
    in_window = {_text(row) for row in rows}
    witness_by_text = {_text(row): row for row in moving}
    return [*rows, *(row for text, row in witness_by_text.items() if text not in in_window)]


def _text(row: Row) -> str:
    return repr(sorted(row.items()))


def _firings(life: WindowLife) -> Iterator[LifeStep]:
    """Yield the panes that an emission of the watermark fired."""
    return (step for step in life.steps or () if step.step is Step.PANE and step.watermark != END_OF_INPUT)


class _Recording:
    """A case in the making."""

    def __init__(
        self,
        file: Path,
        pipeline: Pipeline,
        rows: Sequence[Row],
        life: WindowLife,
        settings: Mapping[str, str],
        engine: Engine,
    ) -> None:
        self._file, self._pipeline, self._life = file, pipeline, life
        self._settings, self._engine = settings, engine
        steps = life.steps or ()
        windows = sorted({(step.window_start, step.window_end) for step in steps if step.step is Step.PANE})
        first = steps[0].window_start
        self._day = first.date()
        key = {name: rows[0][name] for name in life.key}
        self._name = " ".join(["window", cell(first), *(f"{name}={cell(value)}" for name, value in key.items())])
        self._only = {name: [value] for name, value in key.items()}
        self._only["window_start"] = [start for start, _ in windows] or [first]
        self._columns = [name for name in rows[0] if self._is_read(name)]
        arrival = pipeline.source.arrival_time
        narrow = [{name: row[name] for name in self._columns} for row in rows]
        self._rows = narrow if arrival is None else sorted(narrow, key=lambda row: str(row.get(arrival.expression)))
        self._until = self._clock_behind_rows()

    def _clock_behind_rows(self) -> datetime | None:
        """Return how far the clock goes on behind the last row, to the last firing; in whole milliseconds."""
        steps = self._life.steps or ()
        arrived = [step.at for step in steps if step.step is Step.ROW and step.at is not None]
        fired = [step.at for step in _firings(self._life) if step.at is not None]
        # The input ends at its last row, which is a witness.
        if len(fired) < sum(step.step is Step.PANE for step in steps) or not fired or max(fired) <= max(arrived):
            return None
        return max(fired) + timedelta(microseconds=-max(fired).microsecond % 1000)

    def _is_read(self, name: str) -> bool:
        """Return whether the pipeline file mentions a column."""
        text = self._file.read_text(encoding="utf-8")
        return re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text, re.IGNORECASE) is not None

    def text(self) -> str:
        """Return the text of the file. Raises InputError if a replay of the rows does not give the panes."""
        results = self._replayed()
        panes = only(results[PANES.name], self._only)
        expected_panes = [
            (step.pane.pane_index, step.pane.timing, step.pane.fired_at, step.pane.watermark, step.pane.row_count)
            for step in self._life.steps or ()
            if step.pane is not None
        ]
        replayed = [(p["pane_index"], p["timing"], p["fired_at"], p["watermark"], p["row_count"]) for p in panes]
        if sorted(replayed, key=str) != sorted(expected_panes, key=str):
            raise _refused(
                f"{len(self._rows)} rows of the window and of the watermark do not give its {len(expected_panes)} "
                "panes: other rows moved the watermark, or the pipeline file has other settings than the run"
            )
        return self._text_with(results)

    def _text_with(self, results: Mapping[str, Sequence[Row]]) -> str:
        names = [*self._life.key, "window_start", *_FIRING, *(a.name for a in self._pipeline.windows.aggregates)]
        panes, late = (only(results[name], self._only) for name in (PANES.name, LATE_EVENTS.name))
        expected = {PANES.name: (names, panes)}
        if late:
            expected[LATE_EVENTS.name] = ([*self._columns, "watermark", "late_by_ms"], late)
        return text_of(
            self._file.name,
            Written(
                self._name, self._day, self._columns, self._rows, expected, self._only, self._settings, self._until
            ),
        )

    def _replayed(self) -> Mapping[str, Sequence[Row]]:
        """Replay the rows as they are read from the text of the case."""
        draft = Written(self._name, self._day, self._columns, self._rows, {}, {}, self._settings, self._until)
        path = self._file.with_name(f"{self._file.stem}{CASES}")
        pipeline = load(self._file, overrides=self._settings)
        try:
            (tables,) = [
                self._engine.tables(case, pipeline).tables
                for case in parse(text_of(self._file.name, draft), path).cases
                if isinstance(case, Case)
            ]
        except UnreplayedError as problem:
            raise _refused(str(problem)) from problem
        return tables


def _refused(reason: str) -> InputError:
    return InputError(f"--record: {reason}", code=ErrorCode.NOT_COMPARABLE)
