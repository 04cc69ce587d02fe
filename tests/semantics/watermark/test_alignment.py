"""Alignment: a partition too far ahead of the slowest waits a round, and the drift is measured."""

from __future__ import annotations

from spark_jobs.semantics.rows.instants import MAX, MIN
from spark_jobs.semantics.watermark.alignment import AlignmentGroup, Drift


def test_a_partition_waits_only_beyond_the_allowed_drift() -> None:
    group = AlignmentGroup(10)
    assert group.reading({"a": 100, "b": 110}) == ["a", "b"]
    assert group.reading({"a": 100, "b": 111}) == ["a"]
    assert group.drift == [Drift("a", 0, 0, 2), Drift("b", 11, 1, 2)]


def test_partition_without_a_watermark_reads_and_pauses_no_other() -> None:
    group = AlignmentGroup(0)
    assert group.reading({"b": MIN, "a": 100}) == ["a", "b"]
    assert group.reading({"b": MIN}) == ["b"]
    assert group.drift == [Drift("a", 0, 0, 1), Drift("b", None, 0, 2)]


def test_finished_partition_pauses_no_other() -> None:
    group = AlignmentGroup(5)
    assert group.reading({"slow": 0, "fast": 50}) == ["slow"]
    assert group.reading({"fast": 50}) == ["fast"]


def test_drift_without_alignment_is_measured_and_no_partition_waits() -> None:
    group = AlignmentGroup(None)
    assert group.reading({"a": 0, "b": 1_000}) == ["a", "b"]
    assert group.drift == [Drift("a", 0, 0, 1), Drift("b", 1_000, 0, 1)]


def test_limit_beyond_all_time_pauses_no_partition() -> None:
    assert AlignmentGroup(MAX).reading({"a": 5, "b": MAX}) == ["a", "b"]
