"""The DAG files of the project, with pipeline files that are good, broken, or absent."""

from __future__ import annotations

from datetime import UTC, datetime
from itertools import pairwise
from types import SimpleNamespace
from typing import Any

import pytest
from jinja2 import Environment, StrictUndefined

from tests.airflow.clone import PROJECT, Clone, parse

pytestmark = pytest.mark.airflow

STEPS = ["plan", "replay", "audit", "publish", "report"]
ASKING = [*STEPS[:3], "approve", *STEPS[3:]]
OF_ALL = {"tidemark_backfill", "tidemark_accept"}
OPEN = "replay: {end_of_input: keep_open}\n"
CLICKS = "schedule: {assets: [s3://events/clicks, tidemark://sales/results]}\n"
# What a pipeline file has beside its windows, for each pipeline that one parse reads.
MORE = {
    "by_hand": "",
    "by_hand_open": OPEN,
    "daily": 'schedule: "30 6 * * *"\n',
    "hourly": 'schedule: "@hourly"\n',
    "hourly_open": f'schedule: "@hourly"\n{OPEN}',
    "caught_up": 'schedule: {cron: "@hourly", start: 2025-06-01T02:00+02:00, catchup: true, slices: 4}\n' + OPEN,
    "clicks": CLICKS,
    "clicks_open": OPEN + CLICKS,
    "clicks_sliced": "schedule: {assets: [s3://events/clicks], slices: 2}\n",
    "approved": "quality: {on_failure: ask}\n",
    "repaired": "repair: {max_too_late_rows: 10}\n",
    "maintained": "maintenance: {}\n",
    "repaired_if_approved": "repair: {max_too_late_ratio: 0.1, ask: true}\n",
}


@pytest.fixture(name="dags", scope="module")
def _dags(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Return the DAGs of the pipelines of `MORE`, parsed once; the names of pipelines lose their prefix."""
    clone = Clone.make(tmp_path_factory.mktemp("dags") / "clone")
    for name, more in MORE.items():
        clone.add(name, more=more)
    parsed = clone.parse()
    assert parsed["errors"] == {}
    return {name.removeprefix("tidemark_"): dag for name, dag in parsed["dags"].items()}


def chain(*tasks: str) -> list[list[str]]:
    """Return the edges of tasks one after the other; behind checks that fail comes their report."""
    blocked = [["audit", "report_if_blocked"]] if "audit" in tasks else []
    return sorted([*([a, b] for a, b in pairwise(tasks)), *blocked])


def test_the_projects_dag_files_parse_without_errors_and_without_spark(clone: Clone) -> None:
    parsed = parse(PROJECT / "dags", clone.environment())
    assert parsed["errors"] == {}
    assert {"tidemark_departures_by_carrier", "tidemark_backfill"} <= set(parsed["dags"])
    assert not {"pyspark", "py4j", "delta", "great_expectations", "pandas"} & set(parsed["modules"])
    flights = parsed["dags"]["tidemark_departures_by_carrier"]
    assert flights["edges"] == chain("land", *STEPS)
    apart = ["check", "plan", "watermarks", "slice", *ASKING[1:]]
    backfill = parsed["dags"]["tidemark_backfill"]
    assert [edge for edge in backfill["edges"] if "intervals." not in "".join(edge)] == chain(*apart)
    assert [task for task in backfill["mapped"] if not task.startswith("intervals.")] == ["slice"]
    assert parsed["dags"]["tidemark_accept"]["edges"] == chain("plan", "publish", "report")


def test_a_backfill_has_a_group_of_tasks_for_intervals_beside_those_of_one_piece(dags: dict[str, Any]) -> None:
    backfill = dags["backfill"]
    computed = [f"{count}_at_a_time" for count in ("one", "two", "four", "eight")]
    expected = [("cut", "choose"), ("approve", "publish"), ("publish", "summary"), ("cut", "summary")]
    expected += [edge for task in computed for edge in (("cut", task), ("choose", task), (task, "approve"))]
    inside = {(a, b) for a, b in backfill["edges"] if a.startswith("intervals.") and b.startswith("intervals.")}
    assert inside == {(f"intervals.{a}", f"intervals.{b}") for a, b in expected}
    # All of them read the request; none of them is between the tasks of one piece.
    outside = {(a, b) for a, b in backfill["edges"] if a.startswith("intervals.") != b.startswith("intervals.")}
    assert outside == {("check", f"intervals.{task}") for pair in expected for task in pair}
    limits = {task: limit for task, limit in backfill["limits"].items() if limit is not None}
    named = dict(zip(computed, (1, 2, 4, 8), strict=True))
    assert limits == {f"intervals.{task}": limit for task, limit in {**named, "publish": 1}.items()}
    applications = {f"intervals.{task}" for task in (*computed, "cut", "publish")}
    assert {backfill["pools"][task] for task in applications} == {"tidemark"}
    assert set(backfill["mapped"]) == {"slice", *applications} - {"intervals.cut"}


def test_every_pipeline_file_is_a_dag_of_repeatable_steps_one_run_at_a_time(clone: Clone) -> None:
    clone.add("sales")
    clone.add("visits")
    dags = clone.parse()["dags"]
    assert set(dags) == {"tidemark_sales", "tidemark_visits", *OF_ALL}
    for dag in dags.values():
        assert dag["active_runs"] == 1
        assert not dag["catchup"]
        assert dag["serialized"]
        assert {dag["retries"][step] for step in [*STEPS[1:], "slice"] if step in dag["retries"]} == {1}
        assert {pool for task, pool in dag["pools"].items() if task in {*STEPS[1:], "slice"}} == {"tidemark"}
    assert dags["tidemark_sales"]["edges"] == chain(*STEPS)
    # What a person has filled in wrong does not become right.
    assert dags["tidemark_backfill"]["retries"]["check"] == dags["tidemark_accept"]["retries"]["plan"] == 0


def test_a_dag_is_described_by_its_pipeline_and_owned_by_the_project(dags: dict[str, Any]) -> None:
    line = "Tumbling windows of 1 hour per place; bound 1 hour, no allowed lateness"
    assert dags["daily"]["description"] == line
    assert dags["daily"]["doc"].startswith(f"{line}.\n\nReads `")
    assert "| report_if_blocked | skipped in a good run" in dags["daily"]["doc"]
    assert dags["repaired.repair"]["doc"].startswith(line)
    for dag in dags.values():
        assert dag["owner"] == "tidemark"
    tags = {name: dags[name]["tags"] for name in ("daily", "repaired.repair", "backfill", "accept")}
    assert tags == {
        "daily": ["pipeline", "tidemark"],
        "repaired.repair": ["repair", "tidemark"],
        "backfill": ["by hand", "tidemark"],
        "accept": ["by hand", "tidemark"],
    }


def test_a_pipeline_whose_failed_checks_a_person_decides_has_a_task_for_it(dags: dict[str, Any]) -> None:
    assert dags["approved"]["edges"] == chain(*ASKING)


def test_what_a_pipeline_has_published_starts_its_repair(dags: dict[str, Any]) -> None:
    repair, approved = dags["repaired.repair"], dags["repaired_if_approved.repair"]
    assert repair["assets"] == ["tidemark://repaired/results"]
    assert repair["edges"] == chain("look", "repair")
    assert approved["edges"] == chain("look", "approve", "repair")
    assert repair["active_runs"] == 1
    assert repair["serialized"]
    assert approved["serialized"]


def test_a_schedule_is_data_intervals_in_utc_and_none_is_by_hand(dags: dict[str, Any]) -> None:
    assert dags["daily"]["timetable"] == "CronDataIntervalTimetable"
    assert (dags["daily"]["expression"], dags["daily"]["timezone"]) == ("30 6 * * *", "UTC")
    assert dags["hourly"]["expression"] == "0 * * * *"
    assert dags["by_hand"]["timetable"] == "NullTimetable"


def test_a_schedule_over_open_windows_requests_arrivals_up_to_the_end_of_the_interval(dags: dict[str, Any]) -> None:
    request = dags["hourly_open"]["request"]
    assert "arrived_to" not in {**dags["hourly"]["request"], **dags["by_hand_open"]["request"]}
    assert "changed" not in {**request, **dags["by_hand"]["request"], **dags["clicks_open"]["request"]}
    assert dags["hourly"]["request"]["changed"] is dags["clicks"]["request"]["changed"] is True
    template = Environment(undefined=StrictUndefined, autoescape=True).from_string(request["arrived_to"])
    end = datetime(2024, 3, 30, 5, tzinfo=UTC)
    assert template.render(data_interval_end=end) == "2024-03-30T05:00:00+00:00"
    assert not template.render(data_interval_end=None)
    assert not template.render()


def test_a_schedule_may_catch_up_and_have_slices_as_tasks(dags: dict[str, Any]) -> None:
    caught_up, hourly, sliced = (dags[name] for name in ("caught_up", "hourly_open", "clicks_sliced"))
    assert (caught_up["expression"], caught_up["catchup"]) == ("0 * * * *", True)
    assert caught_up["start"] == "2025-06-01T00:00:00+00:00"
    assert (hourly["catchup"], sliced["catchup"]) == (False, False)
    assert (caught_up["active_runs"], caught_up["mapped"], sliced["mapped"]) == (1, ["slice"], ["slice"])
    assert (caught_up["request"]["slices"], caught_up["request"]["apart"]) == (4, True)
    assert caught_up["request"]["arrived_to"] == hourly["request"]["arrived_to"]
    assert "slices" not in hourly["request"]
    staged = chain("plan", "watermarks", "slice", "replay", "audit", "publish", "report")
    assert caught_up["edges"] == sliced["edges"] == staged
    assert all(dag["serialized"] for dag in (caught_up, hourly, sliced))


def test_assets_start_a_pipeline_when_all_of_them_have_been_updated(dags: dict[str, Any]) -> None:
    assert dags["clicks"]["timetable"] == "AssetTriggeredTimetable"
    assert dags["clicks"]["assets"] == ["s3://events/clicks", "tidemark://sales/results"]
    assert dags["clicks"]["serialized"]
    assert "arrived_to" not in dags["clicks"]["request"]
    template = Environment(undefined=StrictUndefined, autoescape=True).from_string(
        dags["clicks_open"]["request"]["arrived_to"]
    )
    triggered = SimpleNamespace(run_after=datetime(2024, 3, 30, 5, 0, 1, 123_987, tzinfo=UTC))
    assert template.render(dag_run=triggered) == "2024-03-30T05:00:01.123+00:00"


def test_only_publishing_has_an_asset_as_outlet(dags: dict[str, Any]) -> None:
    computed = [f"intervals.{count}_at_a_time" for count in ("one", "two", "four", "eight")]
    more = {"backfill": [*computed, "intervals.publish"]}
    for name, dag in dags.items():
        tasks = ["repair" if name.endswith(".repair") else "publish", *more.get(name, ())]
        assert dag["outlets"] == {task: ["tidemark"] for task in tasks if name != "maintenance"}, name


def test_pipelines_with_the_key_are_maintained_one_after_the_other_on_a_schedule(dags: dict[str, Any]) -> None:
    maintenance = dags["maintenance"]
    assert (maintenance["order"], maintenance["edges"]) == (["maintained"], [])
    assert (maintenance["expression"], maintenance["timezone"], maintenance["catchup"]) == ("0 0 * * *", "UTC", False)
    assert (maintenance["active_runs"], maintenance["active_tasks"]) == (1, 1)
    assert maintenance["pools"] == {"maintained": "tidemark"}
    assert maintenance["tags"] == ["maintenance", "tidemark"]
    assert maintenance["serialized"]


def test_a_broken_pipeline_file_is_an_import_error_that_names_it_and_takes_no_dag_with_it(clone: Clone) -> None:
    clone.add("sales")
    broken = clone.write("visits.yaml", "name: visits\nsource: {tabel: x}\n")
    torn = clone.write("torn.yml", "name: [\n")
    parsed = clone.parse()
    assert set(parsed["dags"]) == {"tidemark_sales", *OF_ALL}
    # An error of the file that the good DAGs come from would take them out of service.
    (file, text), *more = parsed["errors"].items()
    assert file.endswith("broken_pipelines.py")
    assert not more
    assert f"{broken}:2:10: source.tabel: unknown key; did you mean 'table'?" in text
    assert str(torn) in text
    assert str(clone.root / "dags/pipelines/sales.yaml") not in text


def test_of_two_files_with_one_name_the_first_runs_and_the_other_is_the_error(clone: Clone) -> None:
    first = clone.add("sales")
    second = clone.write("sales_again.yaml", first.read_text(encoding="utf-8"))
    parsed = clone.parse()
    assert set(parsed["dags"]) == {"tidemark_sales", *OF_ALL}
    (text,) = parsed["errors"].values()
    assert f"{second}: name: 'sales' is the name of {first}" in text


def test_without_a_pipeline_no_dag_is_made(clone: Clone) -> None:
    parsed = clone.parse()
    assert parsed["dags"] == {}
    assert parsed["errors"] == {}
