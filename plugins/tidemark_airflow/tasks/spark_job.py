"""A Spark job of Tidemark as an Airflow task: started by argument, read by its result file, ended with the task.

Law: the task succeeds iff the job ended with 0 and left a result. Wrong input or failed checks fail it for good;
anything else may be tried again, since every step finishes what an earlier attempt began.

The connection decides where the driver runs: beside the task (deploy mode `client`), or on the cluster (`cluster_job`).
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from airflow.providers.apache.spark.hooks.spark_submit import SparkSubmitHook
from airflow.providers.apache.spark.operators.spark_submit import SparkSubmitOperator
from airflow.sdk import Context
from airflow.sdk.exceptions import AirflowException, AirflowFailException

import spark_jobs
from spark_jobs.job_protocol import ExitCode, Option, progress_line
from spark_jobs.pipeline import PipelineError, lake_folder, load
from spark_jobs.pipeline.environment import LAKE
from spark_jobs.runtime import (
    RuntimeSetupError,
    caller,
    driver_conf,
    first_use,
    process_environment,
    spark_conf,
    user_settings,
)
from spark_jobs.tables import exchange
from spark_jobs.tables.source_size import has_few_rows
from tidemark_airflow.jobs.links import LateRowsLink, QualityLink, ReportLink, report_address
from tidemark_airflow.jobs.outcome import Outcome
from tidemark_airflow.jobs.pool import pool
from tidemark_airflow.jobs.task_ids import COUNTS, FAILURE, FIGURES, RUN_ID
from tidemark_airflow.tasks import metrics
from tidemark_airflow.tasks.cluster_job import ClusterJob
from tidemark_airflow.tasks.cluster_submission import Submission, require_unpacked

JOBS = Path(spark_jobs.__file__).parent / "jobs"
STEP_SCRIPT = str(JOBS / "step.py")


class SparkJobOperator(SparkSubmitOperator):
    """Submits a script of Tidemark with `arguments`, and returns its result.

    It takes a slot of the pool that TIDEMARK_POOL names. It returns the result, and pushes its `counts`, `run_id` and
    `figures` under these names, also if the job failed. Spark's figures are metrics of Airflow too (`metrics`). For a
    failed job it pushes the exit code and the reason as `failure`.
    `outcome` is set when the job has ended, for the links that Airflow then makes.
    """

    template_fields: Sequence[str] = ("application", "arguments")
    operator_extra_links = (ReportLink(), QualityLink(), LateRowsLink())
    ui_color = "#d7e8ee"

    # The context of this attempt, as soon as it has begun.
    _context: Context

    def __init__(self, *, arguments: Sequence[str] = (), **kwargs: Any) -> None:
        super().__init__(**{"pool": pool(), **kwargs})
        self.arguments = list(arguments)
        self.outcome: Outcome | None = None
        self._process: subprocess.Popen[str] | None = None

    def execute(self, context: Context) -> Any:
        """Run the job and wait for its end."""
        return self.end(context, lambda: self.run_job(self.arguments))

    def end(self, context: Context, take: Callable[[], Outcome]) -> dict[str, Any]:
        """Take what the task is for, push what is known of it, and return its result; a failure fails the task."""
        began, self._context = time.monotonic(), context
        outcome = self.outcome = take()
        result = {} if outcome.result is None else outcome.result.to_json()
        for key in (RUN_ID, COUNTS, FIGURES):
            if result.get(key):
                context["ti"].xcom_push(key=key, value=result[key])
        if outcome.result is not None:
            metrics.emit(outcome.result)
        if not outcome.succeeded:
            context["ti"].xcom_push(key=FAILURE, value={"exit_code": outcome.exit_code, "reason": outcome.failure()})
            raise (AirflowFailException if outcome.is_final else AirflowException)(outcome.failure())
        address = report_address(outcome.result) if outcome.result is not None else ""
        for line in outcome.lines(address):
            self.log.info(line)
        return {**result, "task_seconds": round(time.monotonic() - began, 3)}

    def run_job(self, arguments: Sequence[str]) -> Outcome:
        """Submit the script with these arguments, wait for its end, and read its result."""
        is_on_cluster = self._get_hook()._connection["deploy_mode"] == "cluster"
        return self._run_on_cluster(arguments) if is_on_cluster else self._run_here(arguments)

    def _run_here(self, arguments: Sequence[str]) -> Outcome:
        """Run the driver beside this task."""
        with tempfile.TemporaryDirectory(prefix="tidemark-") as folder:
            answer = str(Path(folder) / exchange.ANSWER)
            self.application_args = [*arguments, Option.RESULT.value, answer]
            self._prepare(arguments)
            # The driver inherits them. On YARN and Kubernetes, Airflow's hook would write variables that it gets into
            # the command line of spark-submit, and that into the log of the task.
            own = {LAKE: lake_folder(), **_import_path(), **caller.mark()}
            with _environment({**process_environment(os.environ), **own}):
                hook = self._hook = self._get_hook()
                self.log.info(progress_line(self.task_id, "starting Spark"))
                code = self._submit(hook)
            return Outcome.of(self.task_id, code, exchange.read_answer(answer), list(hook._last_submit_log_lines))

    def _run_on_cluster(self, arguments: Sequence[str]) -> Outcome:
        """Run the driver on the cluster, or wait for the driver of an attempt whose worker was lost."""
        state, problem = self._context["task_state_store"], ""
        job = ClusterJob.of(state, self.external_id_key, lake_folder(), arguments)
        if job.answer() is None:
            self._prepare(arguments)
            require_unpacked(self._get_hook()._connection["master"], os.environ)
            try:
                self._submit_to_cluster(self._context, job)
            except (AirflowException, RuntimeError) as reason:
                # An answer of the driver has the reason too.
                problem = str(reason)
        answer = job.answer()
        if answer is not None:
            job.forget(state, self.external_id_key)
        output = [] if self._hook is None else list(self._hook._last_submit_log_lines)
        code = ExitCode.FAILED if answer is None or answer.exit_code is None else answer.exit_code
        return Outcome.of(self.task_id, code, answer, [*output, problem])

    def _submit_to_cluster(self, context: Context, job: ClusterJob) -> None:
        """Submit the driver, or find the driver that an earlier attempt has submitted, and wait for its end."""
        os.environ.update(process_environment(os.environ))
        master, script = self._get_hook()._connection["master"], self.application
        submission = Submission.of(master, script, job.upload(), self.conf or {}, os.environ)
        self.application, self.application_args = submission.application, list(submission.arguments)
        self.conf, self.env_vars = dict(submission.conf), dict(submission.variables)
        self._java_class, self._archives = submission.java_class, submission.archives
        # Without the address of YARN's manager, spark-submit waits for the driver, and no later attempt finds it.
        extra = SparkSubmitHook.get_connection(self._conn_id).extra_dejson
        self._yarn_track_via_rm_api = "yarn_resourcemanager_webapp_address" in extra
        self.durable = self._yarn_track_via_rm_api or not master.startswith("yarn")
        self._hook = self._get_hook()
        self.log.info(progress_line(self.task_id, "starting Spark on the cluster"))
        try:
            super().execute(context)
        finally:
            self.application = script
            _close_output(self._hook)

    def run_without_spark(self, arguments: Sequence[str]) -> Outcome:
        """Run the script by Python alone with these arguments, wait for its end, and read its result."""
        with tempfile.TemporaryDirectory(prefix="tidemark-") as folder:
            answer = str(Path(folder) / exchange.ANSWER)
            own = [Option.WITHOUT_SPARK.value, Option.RESULT.value, answer]
            self._process = subprocess.Popen(
                [sys.executable, self.application, *arguments, *own],
                env={**os.environ, LAKE: lake_folder(), **_import_path(), **caller.mark()},
                start_new_session=True,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                errors="replace",
            )
            lines = self._logged_lines(self._process)
            return Outcome.of(self.task_id, self._process.wait(), exchange.read_answer(answer), lines)

    def on_kill(self) -> None:
        """End Spark: the JVM, the Python driver and their children; and a job without Spark."""
        super().on_kill()
        self._end_spark()
        if self._process is not None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)

    def _logged_lines(self, process: subprocess.Popen[str]) -> list[str]:
        """Log the output of a process until its end; returns the output."""
        lines = []
        if process.stdout is not None:
            with process.stdout:
                for line in process.stdout:
                    lines.append(line.rstrip())
                    self.log.info("%s", lines[-1])
        return lines

    def _submit(self, hook: SparkSubmitHook) -> int:
        """Return the exit code of the job, whose output goes to the task's log."""
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
            _close_output(hook)

    def _prepare(self, arguments: Sequence[str]) -> None:
        try:
            first_use.provide(os.environ, self.log.info)
            master = self._get_hook()._connection["master"]
            variables = process_environment(os.environ)
            driver = driver_conf(variables, master, self.log.info, few_rows=_reads_few_rows(arguments))
            own = {**driver, **spark_conf(os.environ)}
            users = user_settings.of_file(os.environ)
            self.conf = {**user_settings.beside(own, users, self.log.warning), **(self.conf or {})}
        except RuntimeSetupError as error:
            raise AirflowFailException(str(error)) from error

    def _end_spark(self) -> None:
        submitted = self._hook._submit_sp if self._hook else None
        if submitted is not None:
            # The submitted process leads a session; processes that it started may outlive it.
            with contextlib.suppress(ProcessLookupError):
                os.killpg(submitted.pid, signal.SIGKILL)


@contextlib.contextmanager
def _environment(variables: Mapping[str, str]) -> Iterator[None]:
    """Give this process exactly these variables for the length of a `with` block: processes that it starts have them.

    Variables that do not change are not touched, as other threads may read them.
    """
    before = dict(os.environ)
    _become(variables)
    try:
        yield
    finally:
        _become(before)


def _become(variables: Mapping[str, str]) -> None:
    for name in os.environ.keys() - variables.keys():
        del os.environ[name]
    os.environ.update({name: value for name, value in variables.items() if os.environ.get(name) != value})


def _close_output(hook: SparkSubmitHook) -> None:
    """Close the pipe of spark-submit, which the hook leaves open."""
    if hook._submit_sp and hook._submit_sp.stdout:
        hook._submit_sp.stdout.close()


def _reads_few_rows(arguments: Sequence[str]) -> bool:
    """Return whether the sources of the pipeline file among `arguments` have few rows."""
    files = [argument for argument in arguments if argument.endswith((".yaml", ".yml"))]
    try:
        return len(files) == 1 and has_few_rows(load(Path(files[0])))
    except (PipelineError, OSError):
        # The job reports a file that cannot be read.
        return False


def _import_path() -> dict[str, str]:
    # spark-submit runs a script from the script's folder, from which the package around it cannot be imported.
    root, inherited = str(Path(spark_jobs.__file__).parents[1]), os.environ.get("PYTHONPATH")
    return {"PYTHONPATH": os.pathsep.join([root, inherited] if inherited else [root])}
