"""Scenarios of drivers that are killed at a moment of a step, in any place of the lake.

The first moments of a scenario are named, the others are drawn with a separate seed each.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from threading import Event
from typing import Any

from pyspark.sql import SparkSession

from spark_jobs.jobs.runs.runner import Runner
from spark_jobs.pipeline import Pipeline, load
from spark_jobs.pipeline.published_tables import PUBLISHABLE
from spark_jobs.tables import ledger
from spark_jobs.tables.interval import Interval
from spark_jobs.tables.lake import Lake
from spark_jobs.tables.published import read_published
from tests.faults.drivers import INTERPRETED, PIPELINE
from tests.faults.dying import PHASES, witnessed
from tests.support import history
from tests.support.engine import in_order, rows_of
from tests.support.places import Place

ROWS, HOUR = history.events(900), timedelta(hours=1)
START, SLICES = history.START, 2
JOIN = """
join: {{key: [device], between: [-30 seconds, 1 minute], second_when: "site <> 'east'", names: [orders, payments]}}
quality: {{max_too_late_ratio: 0.5}}
"""
Tables = dict[str, list[Any]]


@dataclass(frozen=True)
class Scenario:
    """A run that is killed: the runs published before it, and its arguments."""

    name: str
    text: str = PIPELINE
    before: Callable[[Runner], object] | None = None
    interval: Interval = field(default_factory=Interval)
    arrived_to: datetime | None = None

    @property
    def options(self) -> list[str]:
        flags = {"--from": self.interval.start, "--to": self.interval.end, "--arrived-to": self.arrived_to}
        return [text for name, moment in flags.items() if moment for text in (name, moment.isoformat())]


SCENARIOS = {
    scenario.name: scenario
    for scenario in (
        Scenario("full"),
        Scenario("part", before=lambda r: r.run(Interval()), interval=Interval(START + HOUR / 2, START + HOUR)),
        Scenario("arrivals", before=lambda r: r.run(Interval(), START + HOUR / 2), arrived_to=START + HOUR),
        Scenario("join", text=PIPELINE[: PIPELINE.index("windows:")] + JOIN),
    )
}
NAMED = {
    "part-0": "during carry panes",
    "arrivals-0": "after commit window_results",
    "full-0": "during stage panes slice-1-of-2/on-time",
    "join-0": "before enter publish",
}


@dataclass(frozen=True)
class Prepared:
    """A scenario with its pipeline file and its lake, at `root` in `place`, as the killed run finds it.

    `before` and `after` are what is published without and with an undisturbed run; `works` are what that writes.
    """

    scenario: Scenario
    place: Place
    file: Path
    root: str
    before: Tables
    after: Tables
    works: list[str]

    @property
    def pipeline(self) -> Pipeline:
        return load(self.file)

    def moment(self, number: int) -> str:
        named = NAMED.get(f"{self.scenario.name}-{number}")
        if named is not None:
            return named
        draw = random.Random(f"{self.scenario.name} {number}")
        return f"{draw.choice(PHASES)} {draw.choice(self.works)}"

    def run(self, spark: SparkSession, root: str) -> Lake:
        lake = Lake(root, "readings")
        runner = Runner(spark, self.pipeline, lake, slices=SLICES)
        runner.run(self.scenario.interval, self.scenario.arrived_to)
        return lake


def prepared(spark: SparkSession, place: Place, scenario: Scenario, folder: Path) -> Prepared:
    """Make the lake of a scenario, and find out what an undisturbed run writes and publishes."""
    folder.mkdir()
    table, file, root = place.root(folder / "events"), folder / "readings.yaml", place.root(folder / "lake")
    history.land(spark, ROWS[:600], table)
    file.write_text(scenario.text.format(table=table))
    if scenario.before is not None:
        scenario.before(Runner(spark, load(file), Lake(root, "readings")))
    # What has come since makes another result of the run than was published before it.
    history.land(spark, ROWS[600:], table)
    works: list[str] = []

    def witness(name: str, folder: str, work: Callable[[], Any]) -> Any:
        works.append(name)
        return work()

    before = published(spark, Lake(root, "readings"))
    bare = Prepared(scenario, place, file, root, before, {}, works)
    with witnessed(witness):
        after = published(spark, bare.run(spark, place.copy(root, folder / "undisturbed")))
    assert before != after
    return Prepared(scenario, place, file, root, before, after, sorted(set(works)))


def published(spark: SparkSession, lake: Lake) -> Tables:
    """Return the rows of all published tables of the newest run, without the run; nothing before the first run."""
    runs = ledger.published(spark, lake)
    return {} if not runs else rows_at(spark, lake, runs[-1])


def rows_at(spark: SparkSession, lake: Lake, run: ledger.Run) -> Tables:
    names = [name for name in PUBLISHABLE if name in run.versions]
    tables = {name: read_published(spark, lake, name, run_id=run.run_id).drop("run_id") for name in names}
    return {name: in_order(rows_of(rows)) for name, rows in tables.items()}


def watched(spark: SparkSession, lake: Lake, over: Event) -> list[Tables]:
    """Read the published tables until the run is over; return each state once."""
    tables_by_run: dict[str, Tables] = {}
    while not over.wait(0.5):
        runs = ledger.published(spark, lake)
        if runs and runs[-1].run_id not in tables_by_run:
            tables_by_run[runs[-1].run_id] = rows_at(spark, lake, runs[-1])
    return list(tables_by_run.values())


def dying(ready: Prepared, root: str, moment: str) -> subprocess.Popen[bytes]:
    """Start the driver of the run, which ends at the moment."""
    step = ["run", str(ready.file), "--slices", str(SLICES), *ready.scenario.options]
    environment = {
        **os.environ,
        "TIDEMARK_LAKE": root,
        "TIDEMARK_DRIVER_MEMORY": "1g",
        "PYSPARK_SUBMIT_ARGS": INTERPRETED,
    }
    command = [sys.executable, "-m", "tests.faults.dying", "SIGKILL", moment, *step]
    here = Path(__file__).parents[2]
    return subprocess.Popen(command, env=environment, cwd=here, start_new_session=True, stderr=subprocess.DEVNULL)


def check_a_kill(spark: SparkSession, ready: Prepared, number: int, folder: Path) -> None:
    """Kill the driver at a moment: readers see a whole run or none of it, and the same command finishes it."""
    moment, root = ready.moment(number), ready.place.copy(ready.root, folder / "lake")
    lake = Lake(root, "readings")
    with ThreadPoolExecutor(1) as pool:
        reader = pool.submit(watched, spark, lake, over := Event())
        ended = dying(ready, root, moment).wait()
        over.set()
        states = [*reader.result(), published(spark, lake)]
    assert ended == -signal.SIGKILL, f"{moment}: it never came"
    assert [tables for tables in states if tables not in (ready.before, ready.after)] == [], moment
    run_ids = {run.run_id for run in ledger.runs(spark, lake)}
    ready.run(spark, root)
    assert published(spark, lake) == ready.after, moment
    runs = ledger.published(spark, lake)
    assert len(runs) == 1 + (ready.scenario.before is not None), moment
    assert run_ids <= {run.run_id for run in ledger.runs(spark, lake)} == {run.run_id for run in runs}, moment
    names = (entry.name.split("/") for entry in lake.objects.below())
    folders = {parts[2] for parts in names if len(parts) > 3 and parts[1] == "staged"}
    assert {name for name in folders if not known_as(name, runs)} == set(), moment


def known_as(folder: str, runs: list[ledger.Run]) -> bool:
    return any(folder == run.run_id or folder.startswith(f"{run.run_id}-") for run in runs)
