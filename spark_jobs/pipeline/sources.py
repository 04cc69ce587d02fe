"""Several sources united in one pipeline: rows of all of them in one arrival order, under one watermark.

    order       (clock, number of the source in the list, position in its own source)
    watermark   each source has its own, over its partitions; theirs are merged by the minimum, as Flink's union does
    columns     those of all sources by name, null where a source lacks one, and `source`, the source's name

The sources share one clock. A source that lags holds all windows back, and the rows of the others wait for it. One
watermark over all rows, as for a single source, would judge the rows of the slower source late.
"""

from __future__ import annotations

from collections.abc import Sequence

from spark_jobs.pipeline.model import Source, SourcePartition, TimeField, UnitedSource

#: The column that names a row's source.
SOURCE = "source"


def together(sources: Sequence[UnitedSource]) -> Source:
    """Return what several sources have in common. Raises ValueError for fewer than two, or two of one name."""
    names = [united.name for united in sources]
    if len(names) < 2 or len(set(names)) < len(names):
        raise ValueError(
            f"found the sources {', '.join(names) or 'none'}; expected two or more, each with its own name"
        )
    arrives = any(united.source.arrival_time is not None for united in sources)
    guards = [u.source.future_guard_ms for u in sources if u.source.future_guard_ms is not None]
    return Source(
        table=", ".join(united.source.table for united in sources),
        event_time=TimeField(""),
        arrival_time=TimeField("") if arrives else None,
        source_partition=SourcePartition((SOURCE,)),
        where="true" if any(united.source.where is not None for united in sources) else None,
        future_guard_ms=max(guards, default=None),
    )
