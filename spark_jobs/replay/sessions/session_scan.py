"""Merging is what no closed form tells: rows of unclean components, scanned in arrival order by the session operator.

The operator is the reference's own (`semantics.sessions.session_operator`), one a component, row after row in a Python
worker (rule 88): it says which rows are late or too late, and which pane shows a row first. What a pane shows besides
follows from the panes that it goes on from. Panes are numbered by slots such that

    a pane and all that it goes on from have the slots [first_slot, slot]

so an accumulating pane holds the rows whose slot lies in there, a discarding one those of its own slot, and what a pane
aggregates is Spark's again. A pane that the watermark fires does so at the first advance that reaches its `fires_ms`:
the instant of its timer or, of one that was set in the past, any watermark above the one at which it was set.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import chain, groupby, islice
from operator import itemgetter
from typing import TYPE_CHECKING, NamedTuple

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F
from pyspark.sql import types as T

from spark_jobs.pipeline.model import Pipeline, Windows
from spark_jobs.replay.rows import columns as c
from spark_jobs.semantics.panes.triggers import trigger
from spark_jobs.semantics.panes.window_operator import Pane, Timing
from spark_jobs.semantics.rows.instants import MAX, MIN
from spark_jobs.semantics.sessions.session_operator import SessionOperator
from spark_jobs.semantics.watermark.comparisons import advances
from spark_jobs.semantics.windows.lateness import Lateness
from spark_jobs.semantics.windows.window_assigners import TimeWindow

if TYPE_CHECKING:
    from pyarrow import RecordBatch

_READ = (c.COMPONENT, c.RANK, c.TS_MS, c.WATERMARK_MS, c.CLOCK_US)
_ROWS_A_BATCH = 10_000

#: What the scan says, a row a pane and a row a row: a row has `rank`, `slot` (null: no pane shows it) and `is_late` (0
#: or 1; null: too late), a pane has `first_slot` and all behind it up to `fires_ms`; `next_slot` (null: none) is the
#: pane that goes on from it, `row_us` and `row_watermark_ms` are those of the row that fires it, null if none does, and
#: `timing` is its place in `TIMINGS`.
SCANNED = T.StructType(
    [
        T.StructField("component", T.LongType(), nullable=False),
        T.StructField("rank", T.LongType()),
        T.StructField("slot", T.LongType()),
        T.StructField("first_slot", T.LongType()),
        T.StructField("next_slot", T.LongType()),
        T.StructField("start_ms", T.LongType()),
        T.StructField("end_ms", T.LongType()),
        T.StructField("pane_index", T.LongType()),
        T.StructField("row_us", T.LongType()),
        T.StructField("row_watermark_ms", T.LongType()),
        T.StructField("timing", T.LongType()),
        T.StructField("fires_ms", T.LongType()),
        T.StructField("is_late", T.LongType()),
    ]
)


TIMINGS = tuple(Timing)


class ScannedRow(NamedTuple):
    """A row as the scan reads it; the watermark is the one before it, None for MIN."""

    component: int
    rank: int
    ts: int
    watermark: int | None
    clock_us: int


Told = tuple[int | None, ...]
_Pane = Pane[tuple[()], ScannedRow]


def ranked(rows: DataFrame) -> DataFrame:
    """`rows` (`session_components.rows_of`, with `WATERMARK_MS`) with `RANK`; store it, since ranks are join keys."""
    in_order = Window.partitionBy(c.COMPONENT).orderBy(c.POSITION, c.WATERMARK_MS)
    return rows.withColumn(c.RANK, F.row_number().over(in_order).cast("long")).drop(c.POSITION)


def scanned(rows: DataFrame, pipeline: Pipeline) -> DataFrame:
    """What the session operator says of `rows` (`ranked`): the columns of `SCANNED`."""
    scan = _scanner(pipeline.windows)
    in_order = rows.select(*_READ).repartition(c.COMPONENT).sortWithinPartitions(c.COMPONENT, c.RANK)
    return in_order.mapInArrow(scan, SCANNED)


def scan(rows: Iterable[ScannedRow], declared: Windows) -> Iterator[Told]:
    """Scan the rows of one component in arrival order; gives rows of `SCANNED`."""
    operator = _operator(declared)
    panes: list[_Pane] = []
    # By the pane's number: the row that fired it, or the watermark behind which the timeline is asked for its instant.
    by_row: dict[int, ScannedRow] = {}
    behind: dict[int, int] = {}
    unseen: dict[int, int] = {}
    component = 0

    def advance(watermark: int) -> None:
        before = operator.watermark
        fired = operator.on_watermark(watermark)
        behind.update(dict.fromkeys(range(len(panes), len(panes) + len(fired)), before))
        panes.extend(fired)

    for row in rows:
        component = row.component
        watermark = MIN if row.watermark is None else row.watermark
        if advances(watermark, operator.watermark):
            advance(watermark)
        for verdict in operator.on_row((), row.ts, row):
            if verdict.lateness is Lateness.TOO_LATE:
                yield (component, row.rank, *[None] * 11)
                continue
            unseen[row.rank] = int(verdict.lateness is Lateness.LATE)
            if verdict.pane is not None:
                by_row[len(panes)] = row
                panes.append(verdict.pane)
    # Nothing merges any more: whatever fires the rest, and whether, is the timeline's to say.
    advance(MAX)
    following = _following(panes)
    slots = _slots(following)
    for i, pane in enumerate(panes):
        after, fired_by = following[i], by_row.get(i)
        yield (
            component,
            None,
            slots[i][1],
            slots[i][0],
            None if after is None else slots[after][1],
            *pane.window,
            pane.index,
            None if fired_by is None else fired_by.clock_us,
            None if fired_by is None else fired_by.watermark,
            TIMINGS.index(pane.timing),
            None if pane.instant is None else max(pane.instant, behind[i] + 1),
            None,
        )
        for row in pane.rows:
            yield (component, row.rank, slots[i][1], *[None] * 9, unseen.pop(row.rank))
    for rank, is_late in unseen.items():
        yield (component, rank, *[None] * 10, is_late)


def _operator(declared: Windows) -> SessionOperator[tuple[()], ScannedRow]:
    """The operator, discarding whatever the pipeline says: a row is then in the one pane that shows it first."""
    return SessionOperator(
        declared.gap_ms,
        allowed_lateness_ms=declared.lateness_ms,
        discarding=True,
        trigger=trigger(declared.trigger),
        shows_empty=not declared.discards,
    )


def _following(panes: list[_Pane]) -> list[int | None]:
    """For each pane, the number of the one that goes on from it: its window's next, or the absorbing session's."""
    following: list[int | None] = [None] * len(panes)
    latest: dict[TimeWindow, int] = {}
    for i, pane in enumerate(panes):
        for window in (*pane.replaces, pane.window):
            earlier = latest.pop(window, None)
            if earlier is not None:
                following[earlier] = i
        latest[pane.window] = i
    return following


def _slots(following: list[int | None]) -> list[tuple[int, int]]:
    """For each pane `(first_slot, slot)`; a pane comes after all that it goes on from, which lie next to each other."""
    sizes = [1] * len(following)
    for i, after in enumerate(following):
        if after is not None:
            sizes[after] += sizes[i]
    # A pane's free slots, from the first one on, go to those that it goes on from.
    slots = [(0, 0)] * len(following)
    free = [0] * len(following)
    outermost = 0
    for i in reversed(range(len(following))):
        after = following[i]
        first = outermost if after is None else free[after]
        if after is None:
            outermost += sizes[i]
        else:
            free[after] += sizes[i]
        slots[i] = (first, first + sizes[i] - 1)
        free[i] = first
    return slots


def _scanner(declared: Windows) -> Callable[[Iterable[RecordBatch]], Iterator[RecordBatch]]:
    def scanner(batches: Iterable[RecordBatch]) -> Iterator[RecordBatch]:
        rows = chain.from_iterable(zip(*batch.to_pydict().values(), strict=True) for batch in batches)
        of_component = groupby(map(ScannedRow._make, rows), key=itemgetter(0))
        told = chain.from_iterable(scan(group, declared) for _, group in of_component)
        return _batches(told)

    return scanner


def _batches(told: Iterator[Told]) -> Iterator[RecordBatch]:
    import pyarrow as pa

    schema = pa.schema([(field.name, pa.int64()) for field in SCANNED])
    while rows := list(islice(told, _ROWS_A_BATCH)):
        arrays = [pa.array(column, pa.int64()) for column in zip(*rows, strict=True)]
        yield pa.RecordBatch.from_arrays(arrays, schema=schema)
