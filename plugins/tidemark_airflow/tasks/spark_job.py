"""A Spark job of Tidemark as an Airflow task: started by argument, heard by its result file, ended with the task.

Law: the task succeeds iff the job ended with 0 and left a result; a wrong input or a closed quality gate fails it for
good, anything else may be tried again, since every step finishes what an earlier attempt began.
"""

from __future__ import annotations

import contextlib
import os
import signal
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NotRequired, TypedDict

from airflow.providers.apache.spark.hooks.spark_submit import SparkSubmitHook
from airflow.providers.apache.spark.operators.spark_submit import SparkSubmitOperator
from airflow.sdk import Context, TriggerRule
from airflow.sdk.exceptions import AirflowException, AirflowFailException, AirflowSkipException

import spark_jobs
from spark_jobs.pipeline import lake_folder
from spark_jobs.pipeline.environment import LAKE
from spark_jobs.runtime import RuntimeSetupError, driver_conf, process_environment, spark_conf
from tidemark_airflow.embedded.metadata import POOL
from tidemark_airflow.jobs.assets import PUBLISHED, event_extra, results_of
from tidemark_airflow.jobs.links import QualityLink, ReportLink
from tidemark_airflow.jobs.outcome import ExitCode, Outcome
from tidemark_airflow.jobs.progress import MARK

JOBS = Path(spark_jobs.__file__).parent / "jobs"
STEP_SCRIPT = str(JOBS / "step.py")
PLAN = "plan"
#: How long a step waits for another run that works on the same windows, at most.
WAIT = "1 hour"
FAILURE = "failure"
#: The task that asks a person, and the one that reports what checks have blocked.
APPROVE, EXPLAIN = "approve", "explain"
#: The task that looks which windows a repair is due for.
LOOK = "look"
#: The tasks that compute what slices stand on, and stage one of them.
WATERMARKS, SLICE = "watermarks", "slice"
_DEFAULT_POOL = "default_pool"
#: What a job says where checks have failed and a person is to be asked, and where there is nothing to do.
ASKS, NOTHING = "asks", "unchanged"


class Request(TypedDict):
    """What a run is asked for, as it travels between tasks. Moments are ISO 8601; None or empty is without bound."""

    pipeline_file: str
    start: NotRequired[str | None]
    end: NotRequired[str | None]
    arrived_to: NotRequired[str | None]
    overrides: NotRequired[dict[str, str]]
    restate: NotRequired[bool]
    slices: NotRequired[int]
    apart: NotRequired[bool]
    dry_run: NotRequired[bool]
    approve: NotRequired[bool]
    because: NotRequired[str]


class SparkJobOperator(SparkSubmitOperator):
    """Submits a script of Tidemark with `arguments`, and returns what it says of itself.

    It takes a slot of the pool that TIDEMARK_POOL names, if it does: as many run at once.
    Pushes the whole result as return value; `counts` and `run_id` of it under these names, also when it failed; and of
    one that failed its exit code and reason as `failure`.
    """

    template_fields: Sequence[str] = ("application", "arguments")
    operator_extra_links = (ReportLink(), QualityLink())
    ui_color = "#d7e8ee"

    def __init__(self, *, arguments: Sequence[str] = (), **kwargs: Any) -> None:
        super().__init__(**{"pool": pool(), **kwargs})
        self.arguments = list(arguments)
        self.outcome: Outcome | None = None

    def job_arguments(self) -> list[str]:
        """The arguments of the script, but for the result file."""
        return self.arguments

    def answered(self) -> Outcome | None:
        """What is known already, without starting Spark."""
        return None

    def execute(self, context: Context) -> Any:
        """Run the job and wait for its end."""
        began = time.monotonic()
        outcome = self.outcome = self.answered() or self._run_job()
        result = {**outcome.said, "task_seconds": round(time.monotonic() - began, 3)}
        for key in ("run_id", "counts"):
            if outcome.said.get(key):
                context["ti"].xcom_push(key=key, value=outcome.said[key])
        if not outcome.succeeded:
            context["ti"].xcom_push(key=FAILURE, value={"exit_code": outcome.exit_code, "reason": outcome.failure()})
            raise (AirflowFailException if outcome.is_final else AirflowException)(outcome.failure())
        for line in outcome.lines():
            self.log.info(line)
        return result

    def on_kill(self) -> None:
        """End Spark: the JVM, the Python driver and their children."""
        super().on_kill()
        self._end_spark()

    def _run_job(self) -> Outcome:
        with tempfile.TemporaryDirectory(prefix="tidemark-") as folder:
            result = Path(folder) / "RESULT.json"
            self.application_args = [*self.job_arguments(), "--result", str(result)]
            self._prepare()
            hook = self._hook = self._get_hook()
            self._require_client_mode(hook)
            self.log.info("%s %s: starting Spark", MARK, self.task_id)
            code = self._submit(hook)
            return Outcome.read(self.task_id, code, result, list(hook._last_submit_log_lines))

    def _submit(self, hook: SparkSubmitHook) -> int:
        """The exit code of the job, whose output goes to the task's log."""
        try:
            hook.submit(self.application, start_new_session=True)
        except AirflowException:
            code = hook._submit_sp.returncode if hook._submit_sp else None
            if not code:
                raise
            return int(code)
        else:
            return 0
        finally:
            self._end_spark()
            # The hook leaves the pipe open.
            if hook._submit_sp and hook._submit_sp.stdout:
                hook._submit_sp.stdout.close()

    def _prepare(self) -> None:
        try:
            self.env_vars = {**process_environment(os.environ), LAKE: lake_folder(), **_import_path()}
            self.conf = {**driver_conf(os.environ), **spark_conf(), **(self.conf or {})}
        except RuntimeSetupError as error:
            raise AirflowFailException(str(error)) from error

    def _require_client_mode(self, hook: SparkSubmitHook) -> None:
        if hook._connection["deploy_mode"] == "cluster":
            raise AirflowFailException(
                f"the connection {self._conn_id} says deploy-mode cluster; Tidemark's jobs write their result where "
                "Airflow reads it, so set it to client"
            )

    def _end_spark(self) -> None:
        submitted = self._hook._submit_sp if self._hook else None
        if submitted is not None:
            # The submitted process leads a session of its own; what it started may outlive it.
            with contextlib.suppress(ProcessLookupError):
                os.killpg(submitted.pid, signal.SIGKILL)


class PlanOperator(SparkJobOperator):
    """Takes the step plan of the run that `request` asks for; what it returns is what the later steps need."""

    template_fields: Sequence[str] = ("application", "request")

    def __init__(self, *, request: Any, application: str = "", **kwargs: Any) -> None:
        super().__init__(application=application or STEP_SCRIPT, name="tidemark plan", **{"task_id": PLAN, **kwargs})
        self.request = request

    def job_arguments(self) -> list[str]:
        """`plan FILE [--from ISO] [--to ISO] [--arrived-to ISO] [--restate] [--dry-run] [--set key=value ...]`."""
        dry_run = ["--dry-run"] if self.request.get("dry_run") else []
        return [PLAN, *_asked(self.request), *dry_run, *_settings(self.request)]

    def execute(self, context: Context) -> Any:
        """Plan, and hand on what was asked."""
        return {**super().execute(context), "request": self.request}


class StepOperator(SparkJobOperator):
    """Takes a later step of the run that the task `plan` has planned: replay, audit, publish or report.

    A run that is published already is answered from its plan: Spark is not started to say that there is nothing to do.
    Of a dry run it is skipped. Where checks have failed and the pipeline asks a person, audit ends all the same,
    with the state `asks`: an `ApproveOperator` behind it asks. Where another run over arrivals was published since the
    plan, so that this one cannot go on from it, all of it is taken again at once, and the steps behind find it done.
    """

    template_fields: Sequence[str] = ("application",)

    def __init__(self, *, step: str, application: str = "", **kwargs: Any) -> None:
        super().__init__(application=application or STEP_SCRIPT, name=f"tidemark {step}", **{"task_id": step, **kwargs})
        self.step = step
        self.plan: dict[str, Any] = {}
        self.anew = False

    def execute(self, context: Context) -> Any:
        """Take the step of the planned run."""
        self.plan = context["ti"].xcom_pull(task_ids=PLAN)
        if self.plan["request"].get("dry_run"):
            raise AirflowSkipException(f"a dry run: {self.plan['message']}")
        return super().execute(context)

    def job_arguments(self) -> list[str]:
        """`STEP FILE --run-id ID --wait TIME [--slices N] [--set key=value ...]`, or as for a plan, with `run`."""
        request: Request = self.plan["request"]
        cut = self.step in {"replay", WATERMARKS} and request.get("slices")
        slices = ["--slices", str(request["slices"])] if cut else []
        if self.anew:
            return ["run", *_asked(request), "--wait", WAIT, *_settings(request)]
        run = ["--run-id", self.plan["run_id"], "--wait", WAIT]
        return [self.step, request["pipeline_file"], *run, *slices, *_settings(request)]

    def _run_job(self) -> Outcome:
        outcome = super()._run_job()
        if outcome.is_stale and self.plan["request"].get("arrived_to"):
            self.log.info("%s %s: %s", MARK, self.task_id, outcome.said["message"])
            self.anew = True
            outcome = super()._run_job()
        if outcome.exit_code == ExitCode.BLOCKED and outcome.said.get("state") == ASKS:
            self.log.warning("%s %s: %s", MARK, self.task_id, outcome.failure())
            return replace(outcome, exit_code=ExitCode.DONE)
        return outcome

    def answered(self) -> Outcome | None:
        """The outcome of a step of a run whose plan says that it is published, and where its report is."""
        plan = self.plan
        if not plan.get("versions") or (self.step == "report" and not Path(plan.get("report") or "").is_file()):
            return None
        message = f"run {plan['run_id']} is published already, nothing to do"
        said = {"step": self.step, "state": "unchanged", "seconds": 0.0, "message": message}
        known = ("run_id", "pipeline", "counts", "checks", "versions", "report")
        return Outcome(self.task_id, 0, {**said, **{name: plan.get(name) for name in known}})


class WatermarksOperator(StepOperator):
    """Takes the step watermarks of a run whose slices are wanted apart; returns their names, for a task each.

    There are none of a run in one piece, of which the task `replay` computes all.
    """

    def __init__(self, *, application: str = "", **kwargs: Any) -> None:
        super().__init__(step=WATERMARKS, application=application, **kwargs)

    def answered(self) -> Outcome | None:
        """That there is nothing to do, where slices are not wanted apart."""
        if self.plan["request"].get("apart") and (self.plan["request"].get("slices") or 1) > 1:
            return super().answered()
        said = {"step": WATERMARKS, "state": NOTHING, "message": "in one piece, which the task replay computes"}
        return Outcome(self.task_id, 0, {**said, "run_id": self.plan["run_id"], "seconds": 0.0})

    def execute(self, context: Context) -> Any:
        """Take the step; gives the list of names that tasks are mapped over."""
        return list(super().execute(context).get("slices") or [])


class SliceOperator(StepOperator):
    """Stages one slice of the planned run, beside other tasks that stage other slices of it."""

    def __init__(self, *, part: str, application: str = "", **kwargs: Any) -> None:
        super().__init__(step=SLICE, application=application, **kwargs)
        self.part = part

    def job_arguments(self) -> list[str]:
        """As of any step, with `--slice NAME`."""
        return [*super().job_arguments(), "--slice", self.part]


class ExplainOperator(StepOperator):
    """Makes the report of a run that its checks have blocked, behind the task `audit`; skipped where they have not.

    The run of the DAG has failed all the same: its last task has not been reached.
    """

    def __init__(self, *, application: str = "", **kwargs: Any) -> None:
        given = {"task_id": EXPLAIN, "trigger_rule": TriggerRule.ONE_FAILED, **kwargs}
        super().__init__(step="report", application=application, **given)

    def execute(self, context: Context) -> Any:
        """Make it, if it was the checks."""
        failure = context["ti"].xcom_pull(task_ids="audit", key=FAILURE) or {}
        if failure.get("exit_code") != ExitCode.BLOCKED:
            raise AirflowSkipException("no check has blocked the run")
        return super().execute(context)


class PublishOperator(StepOperator):
    """Takes the step publish; an event of the pipeline's asset tells of results that are new.

    What was published before this DAG run, or by another, is not told. An attempt after one that died behind its
    publishing tells it, as nobody has. A run whose checks have failed is accepted first, where a person has said yes.
    """

    def __init__(self, *, application: str = "", **kwargs: Any) -> None:
        super().__init__(step="publish", application=application, **{"outlets": [PUBLISHED], **kwargs})
        self.because = ""

    def job_arguments(self) -> list[str]:
        """As of any step, with `--because TEXT` where checks have failed and a person has accepted that."""
        because = self.because or self.plan["request"].get("because")
        accepted = ["--because", because] if because and not self.anew else []
        return [*super().job_arguments(), *accepted]

    def execute(self, context: Context) -> Any:
        """Publish, and tell."""
        audit = context["ti"].xcom_pull(task_ids="audit") or {}
        answer = context["ti"].xcom_pull(task_ids=APPROVE)
        if audit.get("state") == ASKS and answer:
            self.because = f"approved in Airflow by {_name(answer)}"
        result = super().execute(context)
        steps = [*(context["ti"].xcom_pull(task_ids=step) or {} for step in ("replay", "audit")), result]
        done = [said["run_id"] for said in steps if said.get("state") == "done"]
        if not self.plan.get("versions") and result["run_id"] in (self.plan["run_id"], *done):
            counts = {name: n for said in steps for name, n in (said.get("counts") or {}).items()}
            extra = event_extra(self.plan, {**result, "counts": counts})
            context["outlet_events"][PUBLISHED].add(results_of(self.plan["pipeline"]), extra=extra)
        return result


def pool() -> str:
    """The pool of tasks that start Spark."""
    return os.environ.get(POOL) or _DEFAULT_POOL


def _name(answer: Mapping[str, Any]) -> str:
    """Who has answered a task that asks."""
    user = answer.get("responded_by_user") or {}
    return str(user.get("name") or user.get("id") or "somebody")


class LandOperator(SparkJobOperator):
    """Runs a script of `spark_jobs/jobs` that brings a pipeline's source table into the lake."""

    def __init__(self, *, script: str, **kwargs: Any) -> None:
        super().__init__(application=str(JOBS / script), name="tidemark land", **{"task_id": "land", **kwargs})

    def job_arguments(self) -> list[str]:
        """`--lake DIR`."""
        return ["--lake", lake_folder()]


def _asked(request: Request) -> list[str]:
    bounds = {"--from": request.get("start"), "--to": request.get("end"), "--arrived-to": request.get("arrived_to")}
    given = [part for option, moment in bounds.items() if moment for part in (option, moment)]
    return [request["pipeline_file"], *given, *(["--restate"] if request.get("restate") else [])]


def _settings(request: Request) -> list[str]:
    return [part for key, value in (request.get("overrides") or {}).items() for part in ("--set", f"{key}={value}")]


def _import_path() -> dict[str, str]:
    # spark-submit runs a script from its own folder, where the package around it cannot be found.
    root, given = str(Path(spark_jobs.__file__).parents[1]), os.environ.get("PYTHONPATH")
    return {"PYTHONPATH": os.pathsep.join([root, given] if given else [root])}
