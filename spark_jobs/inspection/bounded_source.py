"""The rows of a source as of a run, read by delta-rs, if they are few enough for a page.

Law: no row is read before the log shows that there are at most `MOST_ROWS` of them in at most `MOST_BYTES` of files.
The rows are those of the versions that the run has pinned, of the tables that it has read.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from spark_jobs.inspection.publication import PublishedTable
from spark_jobs.pipeline import settings
from spark_jobs.pipeline.model import Pipeline
from spark_jobs.pipeline.sources import SOURCE
from spark_jobs.semantics.rows.instants import micros
from spark_jobs.tables import delta_rs
from spark_jobs.tables.objects import HASTY
from spark_jobs.tables.run import ROLLBACK, Run
from spark_jobs.tables.source_tables import absolute_path, is_path, tables_of

#: The most rows of all sources together, their bytes in files, and the seconds for a replay of them.
MOST_ROWS, MOST_BYTES, WITHIN_S = 50_000, 64 * 2**20, 10.0
_MIB = 2**20

_T = TypeVar("_T")


class NotReplayedError(ValueError):
    """A source that a page does not replay; the message is the reason, as a clause without a full stop."""


@dataclass(frozen=True)
class Deadline:
    """A moment of the monotonic clock at which work is given up."""

    at_s: float

    @classmethod
    def within(cls, seconds: float) -> Deadline:
        """Return the deadline so many seconds from now."""
        return cls(time.monotonic() + seconds)

    def each(self, items: Iterable[_T]) -> Iterator[_T]:
        """Yield the items. Raises NotReplayedError when the time is over."""
        for item in items:
            if time.monotonic() > self.at_s:
                raise NotReplayedError(f"a replay of its rows takes more than {WITHIN_S:.0f} seconds")
            yield item


def require_replayable(pipeline: Pipeline, run: Run) -> None:
    """Raise NotReplayedError for a pipeline that a page does not replay as the run did. Reads nothing."""
    if run.kind == ROLLBACK:
        raise NotReplayedError("the run is a rollback, and has read no source; open the run that it has restored")
    if run.fingerprint not in pipeline.same_results:
        changed = settings.differences(run.settings, run.fingerprint, pipeline)
        raise NotReplayedError(f"the pipeline file has other settings than the run ({changed})")
    if pipeline.join is not None:
        raise NotReplayedError("the pipeline is a join")
    if pipeline.replay.by_commit:
        raise NotReplayedError("its rows are in the order of commits, which Spark alone reads")
    if any(watermark.is_custom for watermark in pipeline.watermarks):
        raise NotReplayedError("its watermark is a class, and pages run no code of pipelines")
    named = [table for table in tables_of(pipeline).values() if not is_path(table)]
    if named:
        raise NotReplayedError(f"'{named[0]}' is a name of a catalog, which Spark alone reads")


def source_rows(pipeline: Pipeline, run: Run) -> list[dict[str, Any]]:
    """Return the rows of all sources at the versions of the run, in any order.

    With several sources the column `source` contains the name of the source, and columns that a source lacks are None.
    Raises NotReplayedError if there are too many, and LakeError.
    """
    tables = {name: _table(name, table, run) for name, table in tables_of(pipeline).items()}
    _require_few(tables.values())
    rows = {name: table.select("SELECT * FROM t") for name, table in tables.items()}
    if not pipeline.sources:
        return rows[""]
    empty = dict.fromkeys(column for table in tables.values() for column in table.columns)
    return [{**empty, **row, SOURCE: name} for name, of_source in rows.items() for row in of_source]


def arrived_before(run: Run) -> Callable[[int | None], bool]:
    """Return whether a row with an arrival time (us, or None) belongs to the run."""
    if run.arrived_to is None:
        return lambda _: True
    end_us = micros(run.arrived_to)
    return lambda arrival_us: arrival_us is None or arrival_us < end_us


def _table(name: str, table: str, run: Run) -> PublishedTable:
    path = absolute_path(table)
    opened = delta_rs.at_version(path, run.pinned[name], HASTY)
    expected = run.source_ids.get(name)
    if expected is not None and str(opened.delta.metadata().id) != expected:
        raise NotReplayedError(f"{path} is another table than the one that the run has read")
    return PublishedTable(path, opened)


def _require_few(tables: Iterable[PublishedTable]) -> None:
    files: list[Mapping[str, Any]] = [
        file for table in tables for file in table.table.files("num_records", "size_bytes")
    ]
    if any(file["num_records"] is None or file["size_bytes"] is None for file in files):
        raise NotReplayedError("the log of its source has no number of rows")
    rows, size = sum(file["num_records"] for file in files), sum(file["size_bytes"] for file in files)
    if rows > MOST_ROWS:
        raise NotReplayedError(f"its source has {rows:,} rows, and a page replays at most {MOST_ROWS:,}")
    if size > MOST_BYTES:
        raise NotReplayedError(
            f"the files of its source have {size / _MIB:,.0f} MiB, and a page reads at most {MOST_BYTES // _MIB}"
        )
