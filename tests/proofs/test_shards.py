"""Shards divide the cases: nothing twice, nothing left out, about the same duration."""

from __future__ import annotations

import random

import pytest

from tests.proofs.shards import SAMPLES, sample, shard

DRAW = random.Random(5)
SECONDS = {f"case-{n}": DRAW.expovariate(0.1) for n in range(400)}


@pytest.mark.parametrize("of", [1, 2, 7, 500])
def test_each_case_is_in_one_shard(of: int) -> None:
    shards = [shard(SECONDS, number, of) for number in range(1, of + 1)]
    assert set().union(*shards) == set(SECONDS)
    assert sum(map(len, shards)) == len(SECONDS)


@pytest.mark.parametrize("of", [2, 7, 20])
def test_shards_differ_by_less_than_the_longest_case(of: int) -> None:
    totals = [sum(SECONDS[case] for case in shard(SECONDS, number, of)) for number in range(1, of + 1)]
    assert max(totals) - min(totals) <= max(SECONDS.values())


def test_the_order_in_which_cases_are_listed_does_not_matter() -> None:
    assert shard(dict(reversed(SECONDS.items())), 2, 5) == shard(SECONDS, 2, 5)


@pytest.mark.parametrize("name", SAMPLES)
def test_a_sample_is_about_its_share_and_always_the_same(name: str) -> None:
    cases = [f"case-{n}" for n in range(3000)]
    drawn = sample(cases, name)
    assert len(drawn) == pytest.approx(len(cases) / SAMPLES[name], rel=0.1)
    assert sample(cases[:1000], name) == [case for case in drawn if case in cases[:1000]]
