"""The windows that a run is requested for: an interval that holds windows and cuts none, known without Spark."""

from __future__ import annotations

from datetime import timedelta

from spark_jobs.error_codes import ErrorCode
from spark_jobs.job_protocol import Option
from spark_jobs.jobs.errors import InputError
from spark_jobs.pipeline.model import Pipeline
from spark_jobs.semantics.rows.instants import EPOCH
from spark_jobs.semantics.windows.grid import FixedGrid, grid, newest_start, next_start
from spark_jobs.tables.interval import Interval

_MILLISECOND = timedelta(milliseconds=1)


def require_windows(interval: Interval, pipeline: Pipeline) -> None:
    """Raise InputError for an interval that holds no window, or that cuts one."""
    if interval.start and interval.end and interval.start >= interval.end:
        raise InputError(
            f"--from and --to: [{interval.start}, {interval.end}) is an interval which holds no window",
            code=ErrorCode.WINDOWS_CUT,
        )
    _require_whole_windows(interval, pipeline)


def _require_whole_windows(interval: Interval, pipeline: Pipeline) -> None:
    """Raise InputError if a bound cuts a window, which is replaced as a whole or not at all; it cuts no session."""
    if pipeline.windows.is_session:
        return
    # Without windows, times are whole milliseconds.
    starts = grid(pipeline.windows) if pipeline.windows.kind.has_grid else FixedGrid(1)
    cut = "window in two; windows" if pipeline.windows.period_ms else "millisecond in two; milliseconds"
    for option, moment in ((Option.FROM, interval.start), (Option.TO, interval.end)):
        if moment is None:
            continue
        start_ms = newest_start((moment - EPOCH) // _MILLISECOND, starts)
        below = EPOCH + start_ms * _MILLISECOND
        if below != moment:
            above = EPOCH + next_start(start_ms, starts) * _MILLISECOND
            raise InputError(
                f"{option}: {moment.isoformat()} cuts a {cut} begin at {below.isoformat()} and {above.isoformat()}",
                code=ErrorCode.WINDOWS_CUT,
            )
