"""The plan of a run over changes: when repaired windows stay, and what a plan counts. No table is read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from spark_jobs.job_protocol import RunState, StepName, StepState
from spark_jobs.jobs.errors import StaleError
from spark_jobs.jobs.plan.arrival_slices import require_end
from spark_jobs.jobs.plan.changed_plan import of_changes
from spark_jobs.jobs.plan.changed_windows import COUNTS, NOTHING, ChangedWindows
from spark_jobs.jobs.plan.plan_request import Plan, PlanRequest
from spark_jobs.pipeline import Pipeline
from spark_jobs.tables.changed_files import UnknownChangesError
from spark_jobs.tables.effective_runs import effective_runs
from spark_jobs.tables.interval import Interval
from spark_jobs.tables.lake import GATE_TABLE, Lake
from spark_jobs.tables.run import BACKFILL, CHANGED, FULL, REPAIR, Run, Step
from tests.support import history

PIPELINE = history.pipeline("t")
HOUR = timedelta(hours=1)
PART = Interval(history.START, history.START + HOUR)
AT = datetime(2024, 6, 1, tzinfo=UTC)


@dataclass
class Tables:
    """Tables whose rows differ between some versions."""

    rows_changed_since: Mapping[int, int] = field(default_factory=dict)
    pipeline: Pipeline = PIPELINE
    lake: Lake = field(default_factory=lambda: Lake("unused", "readings"))

    def changed_windows(self, base: Run, run: Run, other_parts: Sequence[Interval]) -> ChangedWindows:
        counts = (self.count_changed_rows(base, run), 0, 0)
        return ChangedWindows(other_parts[0] if other_parts else NOTHING, dict(zip(COUNTS, counts, strict=True)))

    def count_changed_rows(self, since: Run, run: Run) -> int:
        if since.source_version not in self.rows_changed_since:
            raise UnknownChangesError(f"version {since.source_version} is gone")
        return self.rows_changed_since[since.source_version]


def run_of(run_id: str, kind: str, version: int, interval: Interval | None = None, **values: Any) -> Run:
    part = interval or Interval()
    return Run(run_id, "readings", PIPELINE.fingerprint, kind, version, part.start, part.end, **values)


def published(*runs: Run) -> list[Run]:
    def step(number: int) -> Step:
        return Step(StepName.PUBLISH, StepState.DONE, AT, AT, versions={GATE_TABLE: number})

    return [replace(run, steps=(*run.steps, step(number))) for number, run in enumerate(runs)]


def planned(runs: list[Run], version: int, tables: Tables, begun: Sequence[Run] = ()) -> Plan:
    standing = effective_runs(runs)
    request: Any = PlanRequest(tables, [*runs, *begun], runs, standing, {"": version}, {"": "id"}, None)  # type: ignore[arg-type]
    return of_changes(request)


@pytest.mark.parametrize(
    ("repaired_at", "changed_since", "stays"),
    [
        (1, {1: 0}, True),
        (3, {1: 0}, True),
        (2, {1: 0, 2: 0}, True),
        (1, {1: 5}, False),
        # A row came and went, and the repair has read it.
        (2, {1: 0, 2: 1}, False),
        (2, {1: 0}, False),
    ],
)
def test_repaired_windows_stay_until_rows_of_the_source_change(
    repaired_at: int, changed_since: dict[int, int], *, stays: bool
) -> None:
    runs = published(run_of("r1", FULL, 1), run_of("r2", REPAIR, repaired_at, PART))
    plan = planned(runs, 3, Tables(changed_since))
    assert (plan.run == runs[-1]) == stays
    assert stays or (plan.run.kind, plan.interval) == (CHANGED, PART)


def test_a_repair_by_other_settings_does_not_stay() -> None:
    repair = replace(run_of("r2", REPAIR, 1, PART), fingerprint="other")
    later = Interval(history.START + HOUR, history.START + 2 * HOUR)
    runs = published(run_of("r1", FULL, 1), repair, run_of("r3", BACKFILL, 1, later))
    plan = planned(runs, 1, Tables({1: 0}))
    assert (plan.run.kind, plan.interval) == (CHANGED, PART)


def test_a_repair_goes_with_another_part_that_has_to_be_computed() -> None:
    runs = published(run_of("r1", FULL, 1), run_of("r2", BACKFILL, 2, PART), run_of("r3", REPAIR, 3, PART))
    assert planned(runs, 3, Tables({1: 0})).run.kind == CHANGED


def test_the_plan_of_a_run_that_an_earlier_attempt_has_begun_has_its_counts() -> None:
    runs = published(run_of("r1", FULL, 1))
    first = planned(runs, 2, Tables({1: 4}))
    assert first.counts == {"changed_rows": 4, "changed_invalid": 0, "affected_windows": 0}
    steps = [
        Step(StepName.PLAN, StepState.DONE, AT, AT, counts=first.counts),
        Step(StepName.AUDIT, StepState.BLOCKED, AT, AT, counts={"windows": 3}),
    ]
    blocked = replace(first.run, steps=tuple(steps))
    again = planned(runs, 2, Tables(), [blocked])
    assert (again.run, again.run.state, again.counts, again.note) == (
        blocked,
        RunState.BLOCKED,
        first.counts,
        first.note,
    )


def test_a_run_over_changes_names_the_run_that_was_published_since() -> None:
    run, lake = run_of("r2", CHANGED, 2, NOTHING, changes_run="r1"), Lake("unused", "readings")
    first, later = published(run_of("r1", FULL, 1), run_of("r9", FULL, 2))
    require_end(lake, run, first)
    with pytest.raises(StaleError, match=r"on the changes since run r1, .* \(run r9 was published since\): plan again"):
        require_end(lake, run, later)
    with pytest.raises(StaleError, match=r"any more \(none is published now\): plan again"):
        require_end(lake, run, None)
