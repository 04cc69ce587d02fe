"""A replay spec is everything that determines result rows: sources, watermarks, windows, order and join."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Self

from spark_jobs.semantics.spec.joins import Join
from spark_jobs.semantics.spec.source import Source
from spark_jobs.semantics.spec.watermark import Placement, Watermark
from spark_jobs.semantics.spec.windows import Windows


class Order(StrEnum):
    """The arrival order of a table's rows (semantics B2)."""

    ARRIVAL = "arrival"
    COMMIT = "commit"
    EVENT_TIME = "event_time"
    OFFSET = "offset"


class Mode(StrEnum):
    """FAITHFUL: the results of the streaming job. COMPLETE: besides them the results of all rows, however late."""

    FAITHFUL = "faithful"
    COMPLETE = "complete"


class EndOfInput(StrEnum):
    """Whether the end of a bounded replay is the end of time (rule 5) or a pause."""

    CLOSE = "close"
    KEEP_OPEN = "keep_open"


@dataclass(frozen=True)
class ReplayOrder:
    """The declared arrival order and what its end means; `rows_per_round` belongs to the order OFFSET.

    `mode` adds a table of complete results, and changes none of the faithful ones.
    """

    order: Order = Order.ARRIVAL
    end_of_input: EndOfInput = EndOfInput.CLOSE
    rows_per_round: int = 1_000
    mode: Mode = Mode.FAITHFUL

    @property
    def closes(self) -> bool:
        """True if the end of the input is the watermark MAX (rule 5)."""
        return self.end_of_input is EndOfInput.CLOSE

    @property
    def by_commit(self) -> bool:
        """True if rows arrive commit by commit of a Delta table."""
        return self.order is Order.COMMIT

    @property
    def by_clock(self) -> bool:
        """True if rows are in the order of the clock of their arrival or commit."""
        return self.order in (Order.ARRIVAL, Order.COMMIT)

    @property
    def in_rounds(self) -> bool:
        """True if partitions are read in rounds by broker offset, without a common clock (semantics B2)."""
        return self.order is Order.OFFSET


@dataclass(frozen=True)
class UnitedSource:
    """One of several sources: its name, its table, and its watermark.

    Emission and placement of `watermark` are ignored: the pipeline has one emission and one placement for all sources.
    """

    name: str
    source: Source
    watermark: Watermark = field(default_factory=Watermark)


@dataclass(frozen=True)
class ReplaySpec:
    """What determines the result rows of a replay.

    With `sources` it reads several, and each row carries its source's name in the column `source`. Each source has its
    own partitions and strategy; `source` and `watermark` then hold what is common to all. With `join` the results are
    pairs of rows, of two sources or of one source that is split. A join by interval or as of has
    windows of the kind NONE.
    """

    source: Source
    windows: Windows
    watermark: Watermark = field(default_factory=Watermark)
    replay: ReplayOrder = ReplayOrder()
    sources: tuple[UnitedSource, ...] = ()
    join: Join | None = None

    @property
    def is_united(self) -> bool:
        """True if the rows of several sources are replayed under one watermark."""
        return bool(self.sources)

    @property
    def deduplicates(self) -> bool:
        """True if a source has columns that name its rows, so that later rows of the same name are left out."""
        return any(source.deduplicate for source in self.all_sources)

    @property
    def all_sources(self) -> tuple[Source, ...]:
        """The sources, in the order of `sources`; the only source of a replay without them."""
        return tuple(united.source for united in self.sources) or (self.source,)

    @property
    def is_complete(self) -> bool:
        """True if there are complete results besides the faithful ones."""
        return self.replay.mode is Mode.COMPLETE

    @property
    def watermarks(self) -> tuple[Watermark, ...]:
        """The watermark of each source, in the order of `sources`."""
        return tuple(united.watermark for united in self.sources) or (self.watermark,)

    @property
    def filtered_rows_move_watermark(self) -> bool:
        """True if rows that `where` drops move the watermark."""
        return self.watermark.placement is Placement.SOURCE

    def alone(self, united: UnitedSource) -> Self:
        """Return the spec that reads one of the sources and no other."""
        watermark = replace(united.watermark, emit=self.watermark.emit, placement=self.watermark.placement)
        return replace(self, source=united.source, watermark=watermark, sources=())
