"""The session scan: the session operator processes the rows of unclean components in arrival order.

The operator is that of `semantics.sessions.session_operator` (rule 88), one for each component, in a Python worker. It
determines which rows are late or too late, and which pane contains a row first. A pane also contains the rows of the
panes that it continues. Panes are numbered by slots such that

    a pane and all panes that it continues have the slots [first_slot, slot]

An accumulating pane has the rows whose slot lies in this range, a discarding pane the rows of its slot. Spark computes
the aggregates.

Panes with one `first_slot` are a chain: each continues the pane before it. A pane that continues several extends the
chain of the one that continues most panes itself; the other chains end in it. So a row is in the panes of at most
`1 + log2(panes)` chains.

A pane that the watermark fires does so at the first advance that reaches its `fires_ms`. That is the instant of its
timer. For a timer that was set in the past, it is any watermark above the watermark at that time.
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

#: The result of the scan has a row for each pane, for each source row, and for each entry of a slot into a chain.
#:
#: - A source row has `rank`, `slot` (null: in no pane) and `is_late` (0 or 1; null: too late).
#: - A pane has `first_slot` and the columns up to `fires_ms`. `next_slot` is the pane that continues it (null: none),
#:   `row_us` and `row_watermark_ms` are those of the row that fires it (null: none), `timing` is an index of `TIMINGS`.
#: - An entry has `slot` and `next_slot` alone: of a chain that this slot's pane is not in, the first pane that contains
#:   its rows. Discarding panes have no entries.
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
    """A row that the scan reads; `watermark` is the watermark before the row, None for MIN."""

    component: int
    rank: int
    ts: int
    watermark: int | None
    clock_us: int


ScanResult = tuple[int | None, ...]
_Pane = Pane[tuple[()], ScannedRow]


def ranked(rows: DataFrame) -> DataFrame:
    """`rows` (`session_components.rows_of`, with `WATERMARK_MS`) with `RANK`; store it, since ranks are join keys."""
    in_order = Window.partitionBy(c.COMPONENT).orderBy(c.POSITION, c.WATERMARK_MS)
    return rows.withColumn(c.RANK, F.row_number().over(in_order).cast("long")).drop(c.POSITION)


def scanned(rows: DataFrame, pipeline: Pipeline) -> DataFrame:
    """Return the result of the session operator for `rows` (`ranked`): the columns of `SCANNED`."""
    scan = _scanner(pipeline.windows)
    in_order = rows.select(*_READ).repartition(c.COMPONENT).sortWithinPartitions(c.COMPONENT, c.RANK)
    return in_order.mapInArrow(scan, SCANNED)


def scan(rows: Iterable[ScannedRow], declared: Windows) -> Iterator[ScanResult]:
    """Scan the rows of one component in arrival order; yields rows of `SCANNED`."""
    operator = _operator(declared)
    panes: list[_Pane] = []
    # By the pane's number: the row that fired it, or the watermark above which it fires.
    by_row: dict[int, ScannedRow] = {}
    set_at: dict[int, int] = {}
    unseen: dict[int, int] = {}
    component = 0

    def advance(watermark: int) -> None:
        before = operator.watermark
        fired = operator.on_watermark(watermark)
        set_at.update(dict.fromkeys(range(len(panes), len(panes) + len(fired)), before))
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
    # No session merges any more: the timeline determines whether and when the remaining panes fire.
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
            None if pane.instant is None else max(pane.instant, set_at[i] + 1),
            None,
        )
        for row in pane.rows:
            yield (component, row.rank, slots[i][1], *[None] * 9, unseen.pop(row.rank))
    for rank, is_late in unseen.items():
        yield (component, rank, *[None] * 10, is_late)
    entries = [] if declared.discards else _entries(following, slots)
    yield from ((component, None, slot, None, at, *[None] * 8) for i, slot, at in entries if panes[i].rows)


def _operator(declared: Windows) -> SessionOperator[tuple[()], ScannedRow]:
    """Return the operator, always discarding: each row is then in one pane, the first that contains it."""
    return SessionOperator(
        declared.gap_ms,
        allowed_lateness_ms=declared.lateness_ms,
        discarding=True,
        trigger=trigger(declared.trigger),
        shows_empty=not declared.discards,
    )


def _following(panes: list[_Pane]) -> list[int | None]:
    """Return for each pane the number of the pane that continues it: of its window, or of the merged session."""
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
    """Return `(first_slot, slot)` of each pane; the panes that a pane continues have neighbouring slots before it."""
    sizes = [1] * len(following)
    continued: dict[int | None, list[int]] = {}
    for i, after in enumerate(following):
        continued.setdefault(after, []).append(i)
        if after is not None:
            sizes[after] += sizes[i]
    slots = [(0, 0)] * len(following)
    for after in (None, *reversed(range(len(following)))):
        # The slots before a pane's own, in order, go to the panes that it continues; the longest of them goes first.
        free = 0 if after is None else slots[after][0]
        for i in sorted(continued.get(after, ()), key=lambda pane: (-sizes[pane], -pane)):
            slots[i] = (free, free + sizes[i] - 1)
            free += sizes[i]
    return slots


def _entries(following: list[int | None], slots: list[tuple[int, int]]) -> list[tuple[int, int, int]]:
    """Return `(pane, slot, entry)` for each chain that a pane is not in and whose panes contain its rows.

    The entry is the slot of the first of these panes.
    """
    entries: list[list[int]] = [[] for _ in following]
    for i in reversed(range(len(following))):
        after = following[i]
        if after is not None:
            in_chain = slots[after][0] == slots[i][0]
            entries[i] = entries[after] if in_chain else [slots[after][1], *entries[after]]
    return [(i, slots[i][1], entry) for i in range(len(following)) for entry in entries[i]]


def _scanner(declared: Windows) -> Callable[[Iterable[RecordBatch]], Iterator[RecordBatch]]:
    def scanner(batches: Iterable[RecordBatch]) -> Iterator[RecordBatch]:
        rows = chain.from_iterable(zip(*batch.to_pydict().values(), strict=True) for batch in batches)
        of_component = groupby(map(ScannedRow._make, rows), key=itemgetter(0))
        results = chain.from_iterable(scan(group, declared) for _, group in of_component)
        return _batches(results)

    return scanner


def _batches(results: Iterator[ScanResult]) -> Iterator[RecordBatch]:
    import pyarrow as pa

    schema = pa.schema([(field.name, pa.int64()) for field in SCANNED])
    while rows := list(islice(results, _ROWS_A_BATCH)):
        arrays = [pa.array(column, pa.int64()) for column in zip(*rows, strict=True)]
        yield pa.RecordBatch.from_arrays(arrays, schema=schema)
