"""Lives of the windows around chosen rows, with the clock and the watermark of each firing and closing."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from spark_jobs.explain.arrived import Around, Arrived
from spark_jobs.explain.explanations import ExplainedPane
from spark_jobs.explain.life import Life, LifePane
from spark_jobs.explain.moments import LAST_MS, Emission, time_us
from spark_jobs.explain.repaired_life import repaired_life
from spark_jobs.explain.streams import Stream
from spark_jobs.replay.rows import columns as c
from spark_jobs.semantics.rows.instants import MIN, table_time


class Lives:
    """The life around each chosen row, by the number of the row. `closings` are watermarks that end windows (ms)."""

    def __init__(self, arrived: Arrived, stream: Stream, around: Mapping[int, Around]) -> None:
        self._arrived, self._around = arrived, around
        end = arrived.end() if around else MIN
        # Chosen rows with the same rows around them have one life.
        lives = {id(each.rows): each for each in around.values()}
        lived = {place: _life(each, stream, end) for place, each in lives.items()}
        self.of = {number: lived[id(each.rows)] for number, each in around.items()}
        panes = [fired for of_rows in lived.values() for fired in of_rows.panes]
        self._emissions = self._at(fired.fires_ms for fired in panes if fired.fires_ms is not None)

    def _at(self, thresholds: Iterable[int]) -> Mapping[int, Emission]:
        distinct = set(thresholds)
        return self._arrived.emissions(distinct) if distinct else {}

    def closings(self, thresholds: Iterable[int]) -> Mapping[int, Emission]:
        """Return the emission that reaches each of these watermarks; none for a watermark that is for ever away."""
        return self._at(ms for ms in thresholds if ms < LAST_MS)

    def pane(self, number: int, fired: LifePane) -> ExplainedPane:
        """Return a pane of the life around a chosen row."""
        pane, watermark, clock_us = fired.pane, fired.pane.watermark, None
        if fired.row is not None:
            clock_us = self._around[number].sources[fired.row - 1][c.CLOCK_US]
        elif fired.fires_ms is not None:
            emission = self._emissions[fired.fires_ms]
            clock_us, watermark = emission.clock_us, emission.watermark
        return ExplainedPane(pane.index, pane.timing.value, time_us(clock_us), table_time(watermark), len(pane.rows))


def _life(around: Around, stream: Stream, end: int) -> Life:
    clocks_us = [source[c.CLOCK_US] for source in around.sources]
    return repaired_life(around.rows, clocks_us, stream.pipeline.windows, end, repaired=stream.repaired)
