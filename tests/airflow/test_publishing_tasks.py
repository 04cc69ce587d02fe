"""The events of publishing, and a run that another run has overtaken. A script plays Spark."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from airflow.sdk.exceptions import AirflowFailException, AirflowSkipException

from spark_jobs.tables.lake import Lake, report_name
from tests.airflow.scripted import PLAN, REQUEST, RESULT, RUN, STALE, published, replay, run
from tidemark_airflow.jobs.assets import results_of
from tidemark_airflow.jobs.request import Request
from tidemark_airflow.tasks.run_steps import PlanOperator, SliceOperator, StepOperator, WatermarksOperator

pytestmark = pytest.mark.airflow


def test_publishing_adds_an_event_for_results_that_are_new(job: Callable[..., str]) -> None:
    plan = {**PLAN, "pipeline": "sales", "request": {**REQUEST, "start": "2024-03-04T00:00:00+00:00"}}
    counts = {"replay": {"rows_read": 9, "windows": 3}, "audit": {"checks_passed": 7}}
    results = {step: {**RESULT, "step": step, "counts": of_step} for step, of_step in counts.items()}
    script = job(0, {**RESULT, "step": "publish", "counts": {}, "versions": {"panes": 4}})
    ((asset, extra),) = published(plan, script, **results)
    assert asset == results_of("sales").uri == "tidemark://sales/results"
    assert extra == {
        "pipeline": "sales",
        "run_id": RUN,
        "from": "2024-03-04T00:00:00+00:00",
        "to": None,
        "arrived_to": None,
        "covered_until": None,
        "watermark": None,
        "counts": {"rows_read": 9, "windows": 3},
        "checks": {"passed": 7, "failed": None},
        "versions": {"panes": 4},
    }


def test_the_attempt_after_one_that_has_published_adds_its_event(job: Callable[..., str]) -> None:
    plan, unchanged = {**PLAN, "pipeline": "sales"}, {**RESULT, "step": "publish", "state": "unchanged"}
    assert len(published(plan, job(0, unchanged))) == 1


# Ends as stale for each step, and takes a whole run.
_STALE_BUT_RUN = """
if sys.argv[1] == "run":
    pathlib.Path(sys.argv[-1]).write_text({result!r})
    sys.exit(0)
"""


def test_a_run_over_arrivals_that_cannot_go_on_from_its_plan_is_taken_anew(
    job: Callable[..., str], arguments: Callable[[], list[str]]
) -> None:
    new = {**RESULT, "run_id": "r00000000000000f", "versions": {"panes": 4}}
    script = job(2, STALE, then=_STALE_BUT_RUN.format(result=json.dumps(new)))
    until = "2013-07-02T00:00:00+00:00"
    plan = {**PLAN, "pipeline": "sales", "request": {**REQUEST, "arrived_to": until}}
    returned, task = run(replay(script), plan)
    options = ["--arrived-to", until, "--wait", "1 hour", "--set", "windows.size=2 hours"]
    assert arguments() == ["run", "/p/sales.yaml", *options]
    assert (returned["run_id"], task.pushed["run_id"]) == (new["run_id"], new["run_id"])
    unchanged = job(0, {**new, "step": "publish", "state": "unchanged"})
    ((_, extra),) = published(plan, unchanged, replay=returned)
    assert (extra["run_id"], extra["arrived_to"]) == (new["run_id"], until)


def test_a_run_over_changes_that_cannot_go_on_from_its_plan_is_taken_anew(
    job: Callable[..., str], arguments: Callable[[], list[str]]
) -> None:
    request = {**REQUEST, "overrides": {}, "changed": True}
    script = job(2, STALE, then=_STALE_BUT_RUN.format(result=json.dumps(RESULT)))
    run(replay(script), {**PLAN, "request": request})
    assert arguments() == ["run", "/p/sales.yaml", "--changed", "--wait", "1 hour"]


def test_a_run_that_a_person_approves_is_not_taken_anew(job: Callable[..., str]) -> None:
    request = {**REQUEST, "changed": True, "approve": True}
    with pytest.raises(AirflowFailException, match="replay failed on wrong input: plan again"):
        run(replay(job(2, STALE)), {**PLAN, "request": request})


def test_checks_that_fail_when_publishing_takes_a_run_anew_are_no_success(job: Callable[..., str]) -> None:
    failed = {**RESULT, "step": "audit", "state": "asks", "error": "1 check failed"}
    with pytest.raises(AirflowFailException, match="publish is blocked by quality: 1 check failed"):
        published({**PLAN, "pipeline": "sales"}, job(3, failed))


def test_any_other_run_that_cannot_go_on_from_its_plan_is_for_a_person_to_plan_again(job: Callable[..., str]) -> None:
    with pytest.raises(AirflowFailException, match="replay failed on wrong input: plan again"):
        run(replay(job(2, STALE)))


def test_results_that_another_run_has_published_are_no_event(job: Callable[..., str]) -> None:
    other = {**RESULT, "step": "publish", "state": "unchanged", "run_id": "r00000000000000f"}
    assert published({**PLAN, "pipeline": "sales"}, job(0, other)) == []


def test_results_that_were_published_before_the_plan_are_no_event() -> None:
    assert published({**PLAN, "pipeline": "sales", "versions": {"panes": 3}}, "/nowhere/step.py") == []


@pytest.mark.parametrize("step", ["replay", "audit", "publish", "report"])
def test_a_published_run_is_answered_without_starting_spark(
    step: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TIDEMARK_LAKE", str(tmp_path))
    Lake(str(tmp_path), "sales").objects.write(report_name(RUN), b"<!DOCTYPE html>")
    plan = {**PLAN, "pipeline": "sales", "counts": RESULT["counts"], "versions": {"panes": 3}}
    returned, task = run(StepOperator(step=step, application="/nowhere/step.py"), plan)
    assert (returned["state"], returned["step"], returned["versions"]) == ("unchanged", step, {"panes": 3})
    assert task.pushed == {"run_id": RUN, "counts": RESULT["counts"]}


def test_a_published_run_without_its_report_gets_it_made(
    job: Callable[..., str], arguments: Callable[[], list[str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TIDEMARK_LAKE", str(tmp_path))
    plan = {**PLAN, "versions": {"panes": 3}}
    run(StepOperator(step="report", application=job(0, RESULT)), plan)
    assert arguments()[0] == "report"


def test_a_dry_run_is_planned_and_nothing_else(job: Callable[..., str], arguments: Callable[[], list[str]]) -> None:
    request = {**REQUEST, "dry_run": True}
    result = {**RESULT, "step": "plan", "message": "would read 3 rows"}
    returned, _ = run(PlanOperator(request=request, application=job(0, result)))
    assert arguments() == ["plan", "/p/sales.yaml", "--dry-run", "--set", "windows.size=2 hours", "--without-spark"]
    for step in ("replay", "audit", "publish", "report"):
        with pytest.raises(AirflowSkipException, match="a dry run: would read 3 rows"):
            run(StepOperator(step=step, application="/nowhere/step.py"), returned)


def test_slices_are_the_replays(job: Callable[..., str], arguments: Callable[[], list[str]]) -> None:
    for step, options in (("replay", ["--slices", "4"]), ("audit", [])):
        plan = {**PLAN, "request": {**REQUEST, "slices": 4}}
        run(StepOperator(step=step, application=job(0, RESULT)), plan)
        assert arguments() == [
            step,
            "/p/sales.yaml",
            "--run-id",
            RUN,
            "--wait",
            "1 hour",
            *options,
            "--set",
            "windows.size=2 hours",
        ]


APART = {**PLAN, "request": {**REQUEST, "slices": 3, "apart": True}}


def test_slices_apart_are_a_task_each(job: Callable[..., str], arguments: Callable[[], list[str]]) -> None:
    names = [f"slice-{i}-of-3" for i in range(3)]
    returned, _ = run(WatermarksOperator(application=job(0, {**RESULT, "step": "watermarks", "slices": names})), APART)
    assert returned == names
    options = ["--run-id", RUN, "--wait", "1 hour"]
    settings = ["--set", "windows.size=2 hours"]
    assert arguments() == ["watermarks", "/p/sales.yaml", *options, "--slices", "3", *settings]
    run(SliceOperator(part=names[1], application=job(0, {**RESULT, "step": "slice"})), APART)
    assert arguments() == ["slice", "/p/sales.yaml", *options, *settings, "--slice", names[1]]


@pytest.mark.parametrize("request_", [REQUEST, {**REQUEST, "slices": 3}, {**REQUEST, "apart": True}])
def test_a_run_in_one_piece_has_no_slices_and_does_not_start_spark(request_: Request) -> None:
    returned, _ = run(WatermarksOperator(application="/nowhere/step.py"), {**PLAN, "request": request_})
    assert returned == []


def test_of_a_published_run_no_slice_is_staged() -> None:
    returned, _ = run(WatermarksOperator(application="/nowhere/step.py"), {**APART, "versions": {"panes": 3}})
    assert returned == []
