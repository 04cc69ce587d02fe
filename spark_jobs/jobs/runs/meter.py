"""The meter of a Spark application: the figures of each step, read from Spark's own status when the step ends.

Spark's driver records jobs, stages and plans anyway. They are read in three calls, as JSON that Spark's own mapper
writes. Nothing polls, and nothing is called for each task.

Law: the figures of a step are those of the jobs that began since the step did. Spark forgets the oldest jobs and stages
beyond a limit (`spark.ui.retainedJobs`, `spark.ui.retainedStages`, `spark.sql.ui.retainedExecutions`). A long step is
therefore read in between too (`keep_up`). Jobs that were forgotten nevertheless are counted: `jobs_not_measured`.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property
from threading import Lock
from time import monotonic
from typing import Any

from pyspark.sql import SparkSession

from spark_jobs import figures as f
from spark_jobs.tables.error_causes import first_line

#: A step is read in between after so many stages. Spark retains 1,000 by default.
_KEEP_UP = 300
_STATUS = "org.apache.spark.status"
_JOBS, _STAGES = f"{_STATUS}.JobDataWrapper", f"{_STATUS}.StageDataWrapper"
_PLANS = "org.apache.spark.sql.execution.ui.SparkPlanGraphWrapper"
# Parts of these classes that are large, or slow to write, and not needed.
_UNREAD = {
    f"{_STATUS}.api.v1.StageData": (
        *("name", "details", "description", "schedulingPool", "rddIds"),
        *("accumulatorUpdates", "peakExecutorMetrics", "killedTasksSummary"),
        *("submissionTime", "firstTaskLaunchedTime", "completionTime"),
    ),
    f"{_STATUS}.api.v1.JobData": (
        *("name", "description", "jobTags", "killedTasksSummary"),
        *("submissionTime", "completionTime"),
    ),
    "org.apache.spark.sql.execution.ui.SparkPlanGraphNode": ("id", "desc", "metrics"),
    "org.apache.spark.sql.execution.ui.SparkPlanGraphClusterWrapper": ("id", "desc", "metrics"),
    _PLANS: ("edges",),
}
# Nodes of a plan that compute nothing: they frame other nodes, or hand rows over between Spark and Comet.
_FRAMES = (
    *("AdaptiveSparkPlan", "AQEShuffleRead", "Execute", "InputAdapter", "Subquery", "SubqueryBroadcast"),
    *("ReusedExchange", "ReusedSubquery", "ColumnarToRow", "RowToColumnar"),
    *("CometColumnarToRow", "CometNativeColumnarToRow", "CometSparkToColumnar", "CometSparkRowToColumnar"),
)
_SUMS: Mapping[f.Figure, str] = {
    f.ROWS_READ: "inputRecords",
    f.BYTES_READ: "inputBytes",
    f.BYTES_WRITTEN: "outputBytes",
    f.SHUFFLE_BYTES_WRITTEN: "shuffleWriteBytes",
    f.SHUFFLE_BYTES_READ: "shuffleReadBytes",
    f.SPILL_MEMORY_BYTES: "memoryBytesSpilled",
    f.SPILL_DISK_BYTES: "diskBytesSpilled",
}


class Meter:
    """Measures the steps that one application takes one after the other; `warn` takes why one has no figures."""

    def __init__(self, spark: SparkSession, warn: Callable[[str], None]) -> None:
        self._status, self._warn = _Status(spark), warn
        self._lock = Lock()
        #: True until the first job of the application was measured.
        self._is_new = self._status.next_job == 0
        self.begin()

    def begin(self) -> None:
        """Begin a step: forget what was measured before."""
        with self._lock:
            self._began = monotonic()
            self._first_job, self._first_stage = self._status.next_job, self._status.next_stage
            self._read_to = self._first_stage
            self._jobs: dict[int, Any] = {}
            self._stages: dict[tuple[int, int], Any] = {}
            self._native: dict[int, float] = {}

    def keep_up(self) -> None:
        """Read what has ended of a long step, before Spark forgets it."""
        if self._status.next_stage - self._read_to >= _KEEP_UP:
            with self._lock:
                self._read()

    def end(self) -> Mapping[str, float]:
        """Return the figures of the step since `begin`, by name; none, and a warning, if they cannot be read."""
        seconds = round(monotonic() - self._began, 3)
        try:
            with self._lock:
                self._read()
                return self._figures(seconds)
        except Exception as problem:  # noqa: BLE001  a step does not fail for its figures, and may end with Spark's
            self._warn(f"Spark's figures of the step are missing: {first_line(problem)}")
            return {}

    def _read(self) -> None:
        """Take up what Spark has recorded; what has not ended is read again next time."""
        self._read_to = self._status.next_stage
        self._jobs |= {job["info"]["jobId"]: job for job in self._status.jobs(self._first_job)}
        stages = (entry["info"] for entry in self._status.stages(self._first_stage))
        self._stages |= {(stage["stageId"], stage["attemptId"]): stage for stage in stages}
        queries = [query for job in self._jobs.values() if (query := job.get("sqlExecutionId")) is not None]
        if queries:
            self._native |= {plan["executionId"]: _native(plan) for plan in self._status.plans(min(queries))}

    def _figures(self, seconds: float) -> dict[str, float]:
        stages = self._stages.values()
        sums = {figure.name: float(sum(stage[part] for stage in stages)) for figure, part in _SUMS.items()}
        task_ms = sum(stage["executorRunTime"] for stage in stages)
        measured = {
            f.SECONDS: seconds,
            f.STARTUP_SECONDS: self._startup_seconds(),
            f.SPARK_JOBS: float(self._begun),
            f.TASK_SECONDS: task_ms / 1000,
            f.NATIVE_SHARE: self._native_ms() / task_ms if task_ms else None,
            f.SKEW: self._skew(),
            f.ROWS_PER_SECOND: sums[f.ROWS_READ.name] / seconds if seconds else 0.0,
            f.JOBS_NOT_MEASURED: float(self._jobs_not_measured()) or None,
        }
        return {**{figure.name: value for figure, value in measured.items() if value is not None}, **sums}

    def _startup_seconds(self) -> float | None:
        """Return the seconds until the first job, if this step or what came before it has taken that job."""
        first_ms = self._status.first_job_ms() if self._is_new else None
        if first_ms is None:
            return None
        self._is_new = False
        started_ms = self._status.process_started_ms
        return None if started_ms is None else round((first_ms - started_ms) / 1000, 3)

    def _native_ms(self) -> float:
        """Return the run time of tasks in native code, in ms: for each stage the share of its query's operators."""
        queries: dict[int, int] = {}
        for _, job in sorted(self._jobs.items()):
            for stage in job["info"]["stageIds"]:
                queries.setdefault(stage, job.get("sqlExecutionId"))
        shares = ((stage, self._native.get(queries.get(stage["stageId"], -1), 0.0)) for stage in self._stages.values())
        return sum(float(stage["executorRunTime"]) * share for stage, share in shares)

    def _skew(self) -> float | None:
        heaviest = max(self._stages.values(), key=lambda stage: stage["executorRunTime"], default=None)
        if heaviest is None or heaviest["numCompleteTasks"] == 0:
            return None
        median, slowest = self._status.run_times(heaviest["stageId"], heaviest["attemptId"])
        return round(slowest / median, 3) if median else None

    @property
    def _begun(self) -> int:
        """The number of jobs that began: Spark numbers them one by one, and never forgets the newest."""
        return max(self._jobs, default=self._first_job - 1) + 1 - self._first_job

    def _jobs_not_measured(self) -> int:
        forgotten = self._begun - len(self._jobs)
        skipped = self._skipped()
        return forgotten + sum(not self._is_whole(job, skipped) for job in self._jobs.values())

    def _missing(self, job: Mapping[str, Any]) -> set[int]:
        """Return the stages of a job that ran in this step and were not measured."""
        present = {stage for stage, _ in self._stages}
        return {stage for stage in job["info"]["stageIds"] if stage >= self._first_stage} - present

    def _skipped(self) -> set[int]:
        """Return the stages that jobs skipped and Spark has forgotten: these go first, for they have no end.

        Two jobs at a time can skip one stage. Spark counts it for the first job that ends.
        """
        missing = ((self._missing(job), job["info"]["numSkippedStages"]) for job in self._jobs.values())
        return {stage for stages, skipped in missing if len(stages) <= skipped for stage in stages}

    def _is_whole(self, job: Mapping[str, Any], skipped: set[int]) -> bool:
        """Return whether all stages of a job that ran in this step, and its plan, were measured."""
        query = job.get("sqlExecutionId")
        return self._missing(job) <= skipped and (query is None or query in self._native)


class _Status:
    """What Spark's driver has recorded of an application; ids grow from 0."""

    def __init__(self, spark: SparkSession) -> None:
        self._context = spark.sparkContext._jsc.sc()  # noqa: SLF001  PySpark has no public name for it
        self._java: Any = spark._jvm  # noqa: SLF001  see above
        self._gateway: Any = spark.sparkContext._gateway  # noqa: SLF001  see above
        self._store = self._context.statusStore().store()

    @property
    def next_job(self) -> int:
        """The id of the next job."""
        return int(self._context.dagScheduler().numTotalJobs())

    @property
    def next_stage(self) -> int:
        """The id of the next stage."""
        return int(self._context.dagScheduler().nextStageId())

    @property
    def process_started_ms(self) -> int | None:
        """When the process of the job began, Java or Python, whichever was first, in ms since 1970; None if unknown."""
        handles = self._java.java.lang.ProcessHandle
        infos = (handle.info() for handle in (handles.current(), handles.of(os.getpid()).get()))
        began = [info.startInstant() for info in infos]
        return min((int(moment.get().toEpochMilli()) for moment in began if moment.isPresent()), default=None)

    def jobs(self, first: int) -> list[Any]:
        """Return the recorded jobs from an id on, after all that has happened is recorded."""
        self._context.listenerBus().waitUntilEmpty()
        return self._entries(_JOBS, first)

    def first_job_ms(self) -> int | None:
        """Return when the first job of the application began, in ms since 1970; None if it did not, or is forgotten."""
        jobs = self._view(_JOBS).first(0).last(0).iterator()
        return int(jobs.next().info().submissionTime().get().getTime()) if jobs.hasNext() else None

    def stages(self, first: int) -> list[Any]:
        """Return the recorded attempts of stages from an id on."""
        key = self._gateway.new_array(self._java.int, 2)
        key[0], key[1] = first, 0
        return self._entries(_STAGES, key)

    def plans(self, first: int) -> list[Any]:
        """Return the recorded plans of queries from an id on."""
        # These ids are of Java's type long, which Py4J cannot pass for a small number: count from the last one.
        last = next(iter(self._parsed(self._view(_PLANS).reverse().max(1))), None)
        newer = 0 if last is None else last["executionId"] - first + 1
        return self._parsed(self._view(_PLANS).reverse().max(newer)) if newer > 0 else []

    def run_times(self, stage: int, attempt: int) -> tuple[float, float]:
        """Return the run times of the median and of the slowest task of a stage in ms; 0 where they are unknown."""
        quantiles = self._gateway.new_array(self._java.double, 2)
        quantiles[0], quantiles[1] = 0.5, 1.0
        summary = self._context.statusStore().taskSummary(stage, attempt, quantiles)
        if summary.isEmpty():
            return 0.0, 0.0
        times = summary.get().executorRunTime()
        return float(times.apply(0)), float(times.apply(1))

    def _entries(self, name: str, first: Any) -> list[Any]:
        return self._parsed(self._view(name).first(first))

    def _view(self, name: str) -> Any:
        return self._store.view(self._java.java.lang.Class.forName(name))

    def _parsed(self, view: Any) -> list[Any]:
        # By a file: Py4J sends a long text in pieces, with a pause of 40 ms between them.
        with tempfile.NamedTemporaryFile(prefix="tidemark-", suffix=".json") as file:
            sequence = self._java.org.apache.spark.status.KVUtils.viewToSeq(view)
            self._mapper.writeValue(self._java.java.io.File(file.name), sequence)
            entries: list[Any] = json.load(file)
            return entries

    @cached_property
    def _mapper(self) -> Any:
        mapper = self._java.org.apache.spark.status.api.v1.JacksonMessageWriter().mapper()
        ignored = self._java.com.fasterxml.jackson.annotation.JsonIgnoreProperties.Value
        for name, parts in _UNREAD.items():
            names = self._gateway.new_array(self._java.java.lang.String, len(parts))
            for i, part in enumerate(parts):
                names[i] = part
            unread = ignored.forIgnoredProperties(names)
            mapper.configOverride(self._java.java.lang.Class.forName(name)).setIgnorals(unread)
        return mapper


def _native(plan: Mapping[str, Any]) -> float:
    """Return the share of the operators of a plan that are Comet's; 0 without operators."""
    names = [name.split()[0] for name in _operators(plan["nodes"])]
    operators = [name for name in names if name not in _FRAMES]
    return sum(name.startswith("Comet") for name in operators) / len(operators) if operators else 0.0


def _operators(nodes: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """Yield the names of nodes; a cluster of compiled operators stands for the nodes in it."""
    for node in nodes:
        if node.get("cluster"):
            yield from _operators(node["cluster"]["nodes"])
        elif node.get("node"):
            yield node["node"]["name"]
