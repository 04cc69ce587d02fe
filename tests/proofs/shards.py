"""Shards: the cases divided into parts of about the same duration, and samples of the cases."""

from __future__ import annotations

import hashlib
import heapq
from collections.abc import Iterable, Mapping

#: Seed of the samples: another seed draws other cases.
SEED = "tidemark-1"
#: A sample draws one of so many cases.
SAMPLES = {"third": 3, "tenth": 10}


def shard(seconds: Mapping[str, float], number: int, of: int) -> set[str]:
    """Return the cases of shard `number`, from 1 to `of`.

    Law: each case is in exactly one shard. The longest case goes first, each into the shard that is shortest so far.
    """
    shards = [(0.0, index) for index in range(of)]
    part = set()
    for case in sorted(seconds, key=lambda name: (-seconds[name], name)):
        total, index = shards[0]
        heapq.heapreplace(shards, (total + seconds[case], index))
        if index == number - 1:
            part.add(case)
    return part


def sample(cases: Iterable[str], name: str) -> list[str]:
    """Return the cases that a sample draws. A case is drawn by its id alone: new cases do not change the draw."""
    return [case for case in cases if _number(case) % SAMPLES[name] == 0]


def _number(case: str) -> int:
    return int.from_bytes(hashlib.sha256(f"{SEED} {case}".encode()).digest()[:8], "big")
