"""Two Airflow hosts without a common folder, and one lake in an object store: what one starts, the other finishes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import httpx
import pytest
from pyspark.sql import SparkSession

from spark_jobs.pipeline import load
from spark_jobs.semantics import reference
from spark_jobs.tables import leases, ledger
from spark_jobs.tables.lake import Lake
from tests.airflow.clone import Clone
from tests.airflow.second_host import second_host
from tests.airflow.waiting import until
from tests.airflow.whole import RUN_WITHIN_S, Whole, whole
from tests.faults import drivers
from tests.support import history
from tests.support.arrivals import replay_until
from tests.support.places import Kind, Place, place
from tests.support.whole_run import assert_published

pytestmark = [pytest.mark.airflow, pytest.mark.spark, pytest.mark.soak]

BACKFILL, MANUAL, HOURLY = "tidemark_backfill", "tidemark_readings", "tidemark_hourly"
# Two hours of a day of each year.
SCHEDULE = """schedule: {cron: "0 0,1 31 3 *", start: 2024-03-30, catchup: true}
replay: {end_of_input: keep_open}
"""
# Four intervals with all windows of the history.
RANGE = {"from": "2024-03-30T16:00:00Z", "to": "2024-03-31T04:00:00Z", "every": "3 hours"}
# Each scheduler runs one task at a time, so both have work.
ONE_TASK = {"AIRFLOW__CORE__PARALLELISM": "1"}


@dataclass(frozen=True)
class Hosts:
    """Both hosts, and the place of the lake at `root`."""

    first: Whole
    second: Whole
    clone: Clone
    root: str

    def have_run(self, task: str) -> bool:
        """Return whether each of both hosts has run a task of a backfill, by the logs on its disk."""
        logs = f"dag_id={BACKFILL}/run_id=*/task_id={task}/**/*.log"
        return all(any(host.installation.logs.glob(logs)) for host in (self.first, self.second))

    def until_heard(self, task: str, run: str) -> None:
        """Wait until a scheduler knows that a task of a backfill waits: an earlier answer is a failure to Airflow."""
        event = "executor event with state success for task instance TaskInstanceKey"
        text = f"{event}(dag_id='{BACKFILL}', task_id='{task}', run_id='{run}'"
        logs = [host.installation.logs / "scheduler.log" for host in (self.first, self.second)]
        until(lambda: any(text in log.read_text(encoding="utf-8", errors="replace") for log in logs), every_s=0.2)


@pytest.fixture(name="store")
def _store(spark: SparkSession) -> Iterator[Place]:
    with place(Kind.STORE, spark) as store:
        yield store


@pytest.fixture(name="hosts")
def _hosts(spark: SparkSession, store: Place, tmp_path: Path) -> Iterator[Hosts]:
    clone, root = Clone.make(tmp_path / "first"), store.root(tmp_path / "lake")
    table = history.land(spark, history.events(), f"{root}/events")
    # An interval may have more late rows than the whole history.
    text = drivers.PIPELINE.format(table=table).replace("max_too_late_ratio: 0.5", "max_too_late_ratio: 1")
    clone.write("readings.yaml", text)
    clone.write("hourly.yaml", text.replace("name: readings", "name: hourly") + SCHEDULE)
    variables = {"TIDEMARK_LAKE": root, "TIDEMARK_DRIVER_MEMORY": "1g"}
    with whole(clone, **variables) as first, second_host(first, tmp_path / "second", **ONE_TASK) as second:
        first.lose("scheduler")
        first.start("scheduler", **ONE_TASK)
        until(lambda: all(map(first.knows, (BACKFILL, MANUAL, HOURLY))))
        yield Hosts(first, second, clone, root)


def test_two_hosts_share_the_work_on_one_lake(hosts: Hosts, spark: SparkSession, tmp_path: Path) -> None:
    first, files = hosts.first, hosts.clone.root / "dags/pipelines"
    with first.client() as client:
        assert client.patch(f"/api/v2/dags/{HOURLY}", json={"is_paused": False}).status_code == httpx.codes.OK
    manual = first.trigger(MANUAL).json()["dag_run_id"]
    assert first.ended(MANUAL, manual) == "success"
    until(lambda: set(states(first)) == {"success"} and len(states(first)) == len(ends()), 1200, every_s=1)

    form = {"pipeline": "readings", "restate": True, "approve": True, "side_by_side": 2, **RANGE}
    run = first.trigger(BACKFILL, {**form, "allowed_lateness": "40 minutes"}).json()["dag_run_id"]
    until(lambda: first.tasks(BACKFILL, run).get("intervals.approve") == "awaiting_input", RUN_WITHIN_S, every_s=0.5)
    hosts.until_heard("intervals.approve", run)
    assert hosts.have_run("intervals.two_at_a_time")
    # The second host publishes what both have computed.
    first.lose("scheduler")
    with first.client() as client:
        question = f"/api/v2/dags/{BACKFILL}/dagRuns/{run}/taskInstances/intervals.approve/-1/hitlDetails"
        answer = client.patch(question, json={"chosen_options": ["Approve"], "params_input": {}})
        assert answer.status_code == httpx.codes.OK, answer.text
    assert first.ended(BACKFILL, run) == "success"

    readings, hourly = (Lake(hosts.root, name) for name in ("readings", "hourly"))
    backfilled = load(files / "readings.yaml", overrides={"windows.allowed_lateness": "40 minutes"})
    assert_published(spark, readings, reference.replay(history.events(), backfilled))
    assert_published(spark, hourly, replay_until(history.events(), load(files / "hourly.yaml"), ends()[-1]))
    published = ledger.published(spark, readings)
    assert [run.kind for run in published] == [ledger.FULL, *[ledger.BACKFILL] * 4]
    assert leases.current(readings) == leases.current(hourly) == []
    for path in (f"reports/{MANUAL}/{published[-1].run_id}", f"quality/{MANUAL}/runs/{published[-1].run_id}"):
        with first.client() as client:
            page = client.get(f"/tidemark/{path}")
        assert page.status_code == httpx.codes.OK, page.text
        assert "readings" in page.text
    # No host has a part of the lake on its disk.
    assert not [*tmp_path.glob("*/lake")]


def states(airflow: Whole) -> list[str]:
    """Return the states of the scheduled runs."""
    runs = airflow.get(f"dags/{HOURLY}/dagRuns", run_type="scheduled", limit=100)["dag_runs"]
    return [run["state"] for run in runs]


def ends() -> list[datetime]:
    """Return the ends of the scheduled intervals, of which two more end with each year."""
    now = datetime.now(UTC)
    hours = (datetime(year, 3, 31, hour, tzinfo=UTC) for year in range(2024, now.year + 1) for hour in (0, 1))
    return [hour for hour in hours if hour < now][1:]
