"""Which source partitions hold the watermark back, and which are idle.

Law: an active partition holds back if it has the least watermark of the active ones of its source, and some partition
is further. It also holds back if it joined or woke up behind the combined watermark, which stays until it is passed. An
idle partition holds nothing back. A source whose least watermark is beyond the combined one does not either.

Who is idle may be unknown. Where the combined watermark has just risen, active partitions are not behind it. So an only
partition that is at it decided it, a partition behind it was idle, and nothing else is known.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from itertools import groupby

from spark_jobs.explain.explanations import PartitionWatermark
from spark_jobs.semantics.rows.instants import MIN, table_time


def listed(
    watermarks: Mapping[str, int], combined: int, idle: Collection[str] | None, *, is_united: bool
) -> list[PartitionWatermark]:
    """Return the partitions by label, with what each does to the combined watermark (ms; MIN without one).

    `idle` are the labels of idle partitions. None: unknown, and the combined watermark has just risen to its value.
    With `is_united`, labels begin with the name of the source.
    """
    if idle is None:
        holding = _deciding(watermarks, combined)
        behind = frozenset[str]() if is_united else _behind(watermarks, combined)
    else:
        holding, behind = set(_holding(watermarks, combined, idle, is_united=is_united)), frozenset()
    return [
        PartitionWatermark(label, table_time(own), label in holding, _is_idle(label, idle, behind))
        for label, own in sorted(watermarks.items())
    ]


def _is_idle(label: str, idle: Collection[str] | None, behind: Collection[str]) -> bool | None:
    if idle is not None:
        return label in idle
    return True if label in behind else None


def _holding(watermarks: Mapping[str, int], combined: int, idle: Collection[str], *, is_united: bool) -> Iterator[str]:
    furthest = max(watermarks.values(), default=MIN)
    active = sorted(label for label in watermarks if label not in idle)
    for _, labels in groupby(active, key=lambda label: label.partition("|")[0] if is_united else ""):
        of_source = list(labels)
        least = min(watermarks[label] for label in of_source)
        if least < furthest and least <= combined:
            yield from (label for label in of_source if watermarks[label] == least)


def _deciding(watermarks: Mapping[str, int], combined: int) -> set[str]:
    """Return the partition that decided the combined watermark, if only that one can have done so."""
    at_it = {label for label, own in watermarks.items() if own == combined}
    return at_it if len(at_it) == 1 and combined < max(watermarks.values()) else set()


def _behind(watermarks: Mapping[str, int], combined: int) -> frozenset[str]:
    return frozenset(label for label, own in watermarks.items() if own < combined)
