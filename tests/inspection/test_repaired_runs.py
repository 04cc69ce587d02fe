"""After a repair, its windows have all rows, and every other row and window is explained as before."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from spark_jobs.explain.explanations import Step
from spark_jobs.inspection.inspections import RowChoice, RowInspection
from spark_jobs.inspection.inspector import Inspector
from spark_jobs.inspection.publication import Publication
from spark_jobs.pipeline import Pipeline
from spark_jobs.pipeline.published_tables import RUNS
from spark_jobs.semantics import reference
from spark_jobs.semantics.rows.instants import micros
from spark_jobs.tables import delta_rs_writes
from spark_jobs.tables.lake import Lake
from spark_jobs.tables.run import REPAIR
from tests.support import history
from tests.support.recorded_publication import land, publish

ROWS = history.events(500)
SIZE = timedelta(minutes=10)


class Repaired:
    """A publication before and after the repair of the window of one late row, which is `row`; `other` is another."""

    def __init__(self, folder: Path) -> None:
        table = str(land(folder / "rows", ROWS))
        self.pipeline: Pipeline = history.pipeline(table, windows__allowed_lateness="1 minute")
        self.before = publish(Lake(str(folder / "lake"), "readings"), self.pipeline, ROWS)
        result = reference.replay(ROWS, self.pipeline)
        late, fired = result.late_events, {(pane["device"], pane["window_start"]) for pane in result.panes}
        self.row = next(row for row in late if (row["device"], row["window_start"]) in fired)
        self.other = next(row for row in late if row["window_start"] != self.row["window_start"])
        run = self.before.run
        later = [replace(step, finished_at=step.finished_at + timedelta(days=1)) for step in run.steps]
        start: datetime = self.row["window_start"]
        repair = replace(
            run, run_id="rfedcba987654321", kind=REPAIR, interval_start=start, interval_end=start + SIZE, steps=()
        )
        for step in later:
            repair = repair.after(step)
        delta_rs_writes.append(self.before.lake.path(RUNS.name), RUNS, [repair.entry(step) for step in later])
        self.after = Publication(self.before.lake, repair)

    def inspector(self, publication: Publication, *, shows_source: bool) -> Inspector:
        return Inspector(publication, self.pipeline, shows_source=shows_source)

    def explained(self, publication: Publication, row: dict[str, Any], *, shows_source: bool) -> RowInspection:
        choice = RowChoice(micros(row["event_time"]), micros(row["arrival_time"]), {}, row["window_start"])
        answer = self.inspector(publication, shows_source=shows_source).rows(choice)
        return next(each for each in answer.content if each.row.windows[0].window_start == row["window_start"])


@pytest.fixture(name="repaired", scope="module")
def _repaired(tmp_path_factory: pytest.TempPathFactory) -> Repaired:
    return Repaired(tmp_path_factory.mktemp("repaired"))


@pytest.mark.parametrize("shows_source", [True, False])
def test_a_row_of_another_window_is_explained_as_before(repaired: Repaired, shows_source: bool) -> None:
    before, after = (
        repaired.explained(each, repaired.other, shows_source=shows_source)
        for each in (repaired.before, repaired.after)
    )
    assert before.row.fate == "too_late"
    assert after == before
    assert after.row.least_bound_ms is not None
    assert after.row.least_bound_ms > 0


def test_a_row_of_a_repaired_window_is_late(repaired: Repaired) -> None:
    before = repaired.explained(repaired.before, repaired.row, shows_source=True).row
    after = repaired.explained(repaired.after, repaired.row, shows_source=True).row
    (window,) = after.windows
    assert (before.fate, after.fate, window.verdict, window.rule) == ("too_late", "late", "late", 64)
    assert (window.is_repaired, window.closes_at_watermark) == (True, None)
    # The pane that the row fires is the first one with it.
    assert window.panes is not None
    assert (window.panes[0].timing, window.panes[0].fired_at) == ("late", repaired.row["arrival_time"])
    assert (after.least_bound_ms, after.least_lateness_ms) == (None, None)


@pytest.mark.parametrize("shows_source", [True, False])
def test_the_life_of_a_window_has_the_settings_of_its_run(repaired: Repaired, shows_source: bool) -> None:
    lives = {}
    for name, row in (("own", repaired.row), ("other", repaired.other)):
        for publication in (repaired.before, repaired.after):
            inspector = repaired.inspector(publication, shows_source=shows_source)
            inspected = inspector.window(row["window_start"], {"device": row["device"] or "null"}).content
            assert inspected is not None
            lives[name, publication.run.kind] = [step.step for step in inspected.life.steps or ()]
    assert lives["other", REPAIR] == lives["other", repaired.before.run.kind]
    assert lives["own", repaired.before.run.kind].count(Step.CLOSED) == 1
    assert Step.CLOSED not in lives["own", REPAIR]
