"""Which intervals are published with the present settings, by a ledger and a source without Spark."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from shutil import rmtree

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake

from spark_jobs.job_protocol import StepName, StepState
from spark_jobs.jobs.errors import InputError
from spark_jobs.jobs.plan.missing_intervals import PublishedWindows
from spark_jobs.jobs.runs.intervals_step import Cutting, intervals
from spark_jobs.pipeline import Pipeline
from spark_jobs.tables import run_history
from spark_jobs.tables.interval import Interval
from spark_jobs.tables.lake import Lake
from spark_jobs.tables.run import BACKFILL, FULL, Run, Step
from tests.support import history

AT, HOUR, MINUTE = datetime(2024, 3, 4, tzinfo=UTC), timedelta(hours=1), timedelta(minutes=1)
FIRST, SECOND, THIRD = (Interval(AT + n * HOUR, AT + (n + 1) * HOUR) for n in range(3))


class Ledger:
    """A pipeline's ledger, to which runs are added minute by minute."""

    def __init__(self, folder: Path) -> None:
        self.table = str(folder / "events")
        self.append()
        self.lake = Lake(str(folder / "lake"), "readings")
        self.pipeline: Pipeline = history.pipeline(self.table)
        self._minutes = 0

    def append(self) -> None:
        write_deltalake(self.table, pa.table({"id": [1, 2]}), mode="append")

    def add(self, name: str, windows: Interval, *, fingerprint: str = "", published: bool = True) -> None:
        """Add a run on the newest version of the source."""
        source, at = DeltaTable(self.table), AT + self._minutes * MINUTE
        run = Run(
            run_id=name,
            pipeline="readings",
            fingerprint=fingerprint or self.pipeline.fingerprint,
            kind=FULL if windows.whole else BACKFILL,
            source_version=source.version(),
            interval_start=windows.start,
            interval_end=windows.end,
            source_ids={"": str(source.metadata().id)},
        )
        run = run_history.record(self.lake, run, Step(StepName.PLAN, StepState.DONE, at, at))
        if published:
            versions = {"late_events": self._minutes}
            run_history.record(self.lake, run, Step(StepName.PUBLISH, StepState.DONE, at, at, versions=versions))
        self._minutes += 1

    def reason(self, windows: Interval) -> str:
        """Return why the windows are published, or behind `-` why not."""
        standing = PublishedWindows(self.pipeline, self.lake).standing(windows)
        return f"{'' if standing.is_published else '- '}{standing.reason}"

    def due(self, cutting: Cutting) -> list[str]:
        """Return the hours at which intervals of the range begin that are due."""
        result = intervals(self.pipeline, self.lake, Interval(AT, AT + 3 * HOUR), cutting, lambda *_: None)
        return [text[11:13] for text in result.slices]


@pytest.fixture(name="ledger")
def _ledger(tmp_path: Path) -> Ledger:
    return Ledger(tmp_path)


def test_without_a_ledger_everything_is_missing(ledger: Ledger) -> None:
    assert ledger.reason(FIRST) == "- no run has published all of its windows"


def test_an_interval_is_published_by_runs_of_the_same_settings(ledger: Ledger) -> None:
    ledger.add("r1", Interval(), fingerprint="of other settings")
    ledger.add("r2", FIRST)
    ledger.add("r3", THIRD, published=False)
    assert ledger.reason(FIRST) == "published with these settings by run r2"
    assert ledger.reason(SECOND) == "- run r1 has published windows of it with other settings"
    assert ledger.reason(THIRD).startswith("- run r1")
    two_hours = Interval(FIRST.start, SECOND.end)
    assert ledger.reason(two_hours).startswith("- run r1")
    ledger.add("r4", SECOND)
    assert ledger.reason(two_hours) == "published with these settings by run r4, run r2"


def test_a_run_over_all_of_time_counts_while_its_source_has_no_newer_version(ledger: Ledger) -> None:
    ledger.add("r1", Interval())
    assert ledger.reason(FIRST) == "published with these settings by run r1"
    ledger.append()
    assert ledger.reason(FIRST).startswith("- run r1 has published windows of it for all of time, from an earlier")


def test_an_interval_counts_although_rows_were_added_since_and_not_if_rows_were_changed(ledger: Ledger) -> None:
    ledger.add("r1", FIRST)
    ledger.append()
    assert ledger.reason(FIRST) == "published with these settings by run r1"
    DeltaTable(ledger.table).delete("id = 1")
    assert ledger.reason(FIRST) == "- run r1 has published windows of it before rows of its source were changed"


def test_a_source_that_was_made_anew_makes_all_intervals_missing(ledger: Ledger) -> None:
    ledger.add("r1", FIRST)
    rmtree(ledger.table)
    ledger.append()
    assert ledger.reason(FIRST) == "- run r1 has published windows of it from a source that was made anew since"


def test_a_later_run_that_is_not_published_makes_its_interval_fail(ledger: Ledger) -> None:
    ledger.add("r1", Interval())
    ledger.add("r2", SECOND, published=False)
    assert ledger.reason(FIRST).startswith("published")
    assert ledger.reason(SECOND) == "- run r2 over its windows is planned"
    ledger.add("r3", SECOND)
    assert ledger.reason(SECOND) == "published with these settings by run r3"


def test_what_is_due_is_in_order_and_without_what_is_published(ledger: Ledger) -> None:
    ledger.add("r1", SECOND)
    hour_ms = 3_600_000
    assert ledger.due(Cutting(hour_ms)) == ["00", "01", "02"]
    assert ledger.due(Cutting(hour_ms, newest_first=True)) == ["02", "01", "00"]
    assert ledger.due(Cutting(hour_ms, only_missing=True)) == ["00", "02"]


@pytest.mark.parametrize("bounds", [Interval(), Interval(AT), Interval(None, AT), Interval(AT, AT)])
def test_a_range_without_two_bounds_is_refused(ledger: Ledger, bounds: Interval) -> None:
    with pytest.raises(InputError, match=r"--every: found the windows .*: give --from and --to"):
        intervals(ledger.pipeline, ledger.lake, bounds, Cutting(3_600_000), lambda *_: None)


def test_a_range_that_cuts_a_window_is_refused_by_its_option(ledger: Ledger) -> None:
    for bounds, every, option in (
        (Interval(AT + MINUTE, AT + HOUR), 600_000, "--from"),
        (Interval(AT, AT + MINUTE), 600_000, "--to"),
        (Interval(AT, AT + HOUR), 60_000, "--every"),
    ):
        with pytest.raises(InputError, match=rf"^{option}: "):
            intervals(ledger.pipeline, ledger.lake, bounds, Cutting(every), lambda *_: None)
