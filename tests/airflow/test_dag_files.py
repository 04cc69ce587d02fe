"""The DAG files of the project, with pipeline files that are good, broken, or absent."""

from __future__ import annotations

from datetime import UTC, datetime
from itertools import pairwise
from types import SimpleNamespace

import pytest
from jinja2 import Environment, StrictUndefined

from tests.airflow.clone import PROJECT, Clone, parse

pytestmark = pytest.mark.airflow

STEPS = ["plan", "replay", "audit", "publish", "report"]
ASKING = [*STEPS[:3], "approve", *STEPS[3:]]
OF_ALL = {"tidemark_backfill", "tidemark_accept"}


def chain(*tasks: str) -> list[list[str]]:
    """Return the edges of tasks one after the other; behind checks that fail comes their report."""
    explained = [["audit", "explain"]] if "audit" in tasks else []
    return sorted([*([a, b] for a, b in pairwise(tasks)), *explained])


def test_the_projects_dag_files_parse_without_errors_and_without_spark(clone: Clone) -> None:
    parsed = parse(PROJECT / "dags", clone.environment())
    assert parsed["errors"] == {}
    assert {"tidemark_departures_by_carrier", "tidemark_backfill"} <= set(parsed["dags"])
    assert not {"pyspark", "py4j", "delta", "great_expectations", "pandas"} & set(parsed["modules"])
    flights = parsed["dags"]["tidemark_departures_by_carrier"]
    assert flights["edges"] == chain("land", *STEPS)
    apart = ["check", "plan", "watermarks", "slice", *ASKING[1:]]
    assert parsed["dags"]["tidemark_backfill"]["edges"] == chain(*apart)
    assert parsed["dags"]["tidemark_backfill"]["mapped"] == ["slice"]
    assert parsed["dags"]["tidemark_accept"]["edges"] == chain("plan", "publish", "report")


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


def test_a_pipeline_whose_failed_checks_a_person_decides_has_a_task_for_it(clone: Clone) -> None:
    clone.add("sales", more="quality: {on_failure: ask}\n")
    assert clone.parse()["dags"]["tidemark_sales"]["edges"] == chain(*ASKING)


def test_what_a_pipeline_has_published_starts_its_repair(clone: Clone) -> None:
    clone.add("sales", more="repair: {max_too_late_rows: 10}\n")
    clone.add("visits", more="repair: {max_too_late_ratio: 0.1, ask: true}\n")
    dags = clone.parse()["dags"]
    sales, visits = (dags[f"tidemark_{name}.repair"] for name in ("sales", "visits"))
    assert sales["assets"] == ["tidemark://sales/results"]
    assert sales["edges"] == chain("look", "repair")
    assert visits["edges"] == chain("look", "approve", "repair")
    assert sales["active_runs"] == 1
    assert sales["serialized"]
    assert visits["serialized"]


def test_a_schedule_is_data_intervals_in_utc_and_none_is_by_hand(clone: Clone) -> None:
    clone.add("sales", more='schedule: "30 6 * * *"\n')
    clone.add("visits")
    clone.add("hourly", more='schedule: "@hourly"\n')
    dags = clone.parse()["dags"]
    assert dags["tidemark_sales"]["timetable"] == "CronDataIntervalTimetable"
    assert (dags["tidemark_sales"]["expression"], dags["tidemark_sales"]["timezone"]) == ("30 6 * * *", "UTC")
    assert dags["tidemark_hourly"]["expression"] == "0 * * * *"
    assert dags["tidemark_visits"]["timetable"] == "NullTimetable"


def test_a_schedule_over_open_windows_requests_arrivals_up_to_the_end_of_the_interval(clone: Clone) -> None:
    still = "replay: {end_of_input: keep_open}\n"
    clone.add("hourly", more='schedule: "@hourly"\n' + still)
    clone.add("closing", more='schedule: "@hourly"\n')
    clone.add("by_hand", more=still)
    dags = clone.parse()["dags"]
    request = dags["tidemark_hourly"]["request"]
    assert "arrived_to" not in {**dags["tidemark_closing"]["request"], **dags["tidemark_by_hand"]["request"]}
    template = Environment(undefined=StrictUndefined, autoescape=True).from_string(request["arrived_to"])
    end = datetime(2024, 3, 30, 5, tzinfo=UTC)
    assert template.render(data_interval_end=end) == "2024-03-30T05:00:00+00:00"
    assert not template.render(data_interval_end=None)
    assert not template.render()


def test_a_schedule_may_catch_up_and_have_slices_as_tasks(clone: Clone) -> None:
    still = "replay: {end_of_input: keep_open}\n"
    since = '{cron: "@hourly", start: 2025-06-01T02:00+02:00, catchup: true, slices: 4}'
    clone.add("sales", more=f"schedule: {since}\n{still}")
    clone.add("visits", more=f'schedule: "@hourly"\n{still}')
    clone.add("clicks", more="schedule: {assets: [s3://events/clicks], slices: 2}\n")
    dags = clone.parse()["dags"]
    sales, visits, clicks = (dags[f"tidemark_{name}"] for name in ("sales", "visits", "clicks"))
    assert (sales["expression"], sales["catchup"], sales["start"]) == ("0 * * * *", True, "2025-06-01T00:00:00+00:00")
    assert (visits["catchup"], clicks["catchup"]) == (False, False)
    assert (sales["active_runs"], sales["mapped"], clicks["mapped"]) == (1, ["slice"], ["slice"])
    assert (sales["request"]["slices"], sales["request"]["apart"]) == (4, True)
    assert sales["request"]["arrived_to"] == visits["request"]["arrived_to"]
    assert "slices" not in visits["request"]
    staged = chain("plan", "watermarks", "slice", "replay", "audit", "publish", "report")
    assert sales["edges"] == clicks["edges"] == staged
    assert all(dag["serialized"] for dag in (sales, visits, clicks))


def test_assets_start_a_pipeline_when_all_of_them_have_been_updated(clone: Clone) -> None:
    assets = "schedule: {assets: [s3://events/clicks, tidemark://sales/results]}\n"
    clone.add("sales")
    clone.add("clicks", more=assets)
    clone.add("still", more="replay: {end_of_input: keep_open}\n" + assets)
    dags = clone.parse()["dags"]
    assert dags["tidemark_clicks"]["timetable"] == "AssetTriggeredTimetable"
    assert dags["tidemark_clicks"]["assets"] == ["s3://events/clicks", "tidemark://sales/results"]
    assert dags["tidemark_clicks"]["serialized"]
    assert "arrived_to" not in dags["tidemark_clicks"]["request"]
    template = Environment(undefined=StrictUndefined, autoescape=True).from_string(
        dags["tidemark_still"]["request"]["arrived_to"]
    )
    triggered = SimpleNamespace(run_after=datetime(2024, 3, 30, 5, 0, 1, 123_987, tzinfo=UTC))
    assert template.render(dag_run=triggered) == "2024-03-30T05:00:01.123+00:00"


def test_only_publishing_has_an_asset_as_outlet(clone: Clone) -> None:
    clone.add("sales", more='schedule: "@hourly"\n')
    clone.add("visits", more="repair: {max_too_late_rows: 10}\n")
    dags = clone.parse()["dags"]
    assert dags.pop("tidemark_visits.repair")["outlets"] == {"repair": ["tidemark"]}
    for dag in dags.values():
        assert dag["outlets"] == {"publish": ["tidemark"]}


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
