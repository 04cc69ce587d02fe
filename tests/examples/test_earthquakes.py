"""The earthquakes: a loop without Tidemark, the reference, Spark and the page have the same results."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from docs.examples.land import read
from spark_jobs.pipeline import Pipeline, load
from spark_jobs.replay import replay
from spark_jobs.semantics import reference
from tests.docs.markdown import rows, steps
from tests.examples import earthquakes_by_hand as by_hand
from tests.support.engine import rows_of

FOLDER = by_hand.FILE.parent
PAGE = FOLDER.parent / "earthquakes.md"
NAMES = ("earthquakes", "strongest", "pane_count", "too_late_count")

Results = Mapping[tuple[str, datetime], tuple[int, float, int, int]]


@cache
def pipeline() -> Pipeline:
    return load(FOLDER / "earthquakes.yaml")


@cache
def expected() -> Results:
    days, _ = by_hand.results()
    return {
        (region, datetime.fromtimestamp(start_ms / 1000, UTC)): (
            len(day.magnitudes),
            max(day.magnitudes),
            day.panes,
            day.too_late,
        )
        for (region, start_ms), day in days.items()
        if day.magnitudes
    }


def of(results: Iterable[Mapping[str, Any]]) -> Results:
    """Return rows of `window_results` by region and day."""
    return {
        (row["region"], row["window_start"]): (
            row["earthquakes"],
            row["strongest"],
            row["pane_count"],
            row["too_late_count"],
        )
        for row in results
    }


def test_the_reference_equals_the_loop() -> None:
    _, counts = by_hand.results()
    replayed = reference.replay(read(by_hand.FILE).to_pylist(), pipeline())
    assert of(replayed.window_results) == expected()
    assert [replayed.counts[fate] for fate in ("on_time", "late", "too_late", "filtered")] == [
        counts[fate] for fate in ("on time", "late", "too late", "filtered")
    ]


@pytest.mark.spark
@pytest.mark.soak
def test_spark_equals_the_loop(session: SparkSession) -> None:
    replayed = replay(session.createDataFrame(read(by_hand.FILE)), pipeline())
    assert of(rows_of(replayed.window_results)) == expected()


def test_the_page_shows_the_file_and_the_results_of_california() -> None:
    (file,) = (step for step in steps(PAGE) if step.words.get("file") == "earthquakes.yaml")
    assert file.text == (FOLDER / "earthquakes.yaml").read_text()
    on_page = {(row["window_start"], *(row[name] for name in NAMES)) for row in rows(_table(PAGE))}
    assert on_page == {
        (f"{start:%Y-%m-%d}", *map(str, result))
        for (region, start), result in expected().items()
        if region == "California"
    }


def test_the_page_counts_what_the_loop_counts() -> None:
    text = PAGE.read_text()
    _, counts = by_hand.results()
    for fate, count in counts.items():
        assert f"\n{fate:<13}{count:>6,}\n" in text
    february_3 = expected()["California", datetime(2018, 2, 3, tzinfo=UTC)]
    assert f"counted {february_3[0]} earthquakes of 3 February" in text
    assert f"counts {february_3[0] + february_3[3]}" in text


def _table(page: Path) -> str:
    return "\n".join(line for line in page.read_text().splitlines() if line.startswith("|"))
