"""The ledger as one process enters steps into it: one entry after the other, the first of a run beside its next step.

A first entry takes seconds, most of them on one core, so a step may begin while it is written.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor

from pyspark.sql import SparkSession

from spark_jobs.jobs.runs import failures
from spark_jobs.session import interpreting
from spark_jobs.tables import ledger
from spark_jobs.tables.lake import Lake
from spark_jobs.tables.ledger import Run, Step


class RunLedger:
    """The ledger of a lake, and the runs as this process knows them after its own entries."""

    def __init__(self, spark: SparkSession, lake: Lake) -> None:
        self._spark, self._lake = spark, lake
        self._latest: dict[str, Run] = {}
        self._writer = ThreadPoolExecutor(max_workers=1)
        self._entry: Future[Run] | None = None

    def find(self, run_id: str) -> Run | None:
        """Return the run, None if the ledger does not have it."""
        return self._latest.get(run_id) or ledger.find(self._spark, self._lake, run_id)

    def reread(self, run_id: str) -> Run | None:
        """Return the run as the ledger has it now: another process may have entered steps of it."""
        self._await()
        self._latest.pop(run_id, None)
        return self.find(run_id)

    def published(self) -> list[Run]:
        """Return the published runs, in the order of their publishing."""
        return ledger.published(self._spark, self._lake)

    def record(self, run: Run, step: Step, *, beside: bool = False) -> Run:
        """Enter a step; returns the run with it. With `beside` the entry is waited for by the next one."""
        self._await()
        self._entry = self._writer.submit(ledger.record, interpreting(self._spark), self._lake, run, step)
        if not beside:
            self._await()
        self._latest[run.run_id] = run.after(step)
        return self._latest[run.run_id]

    def record_failure(self, run: Run, step: Step, warn: Callable[[str], None]) -> None:
        """Enter a failed step, or call `warn`: the cause of the failure may prevent the entry too."""
        try:
            self.record(run, step)
        except Exception as problem:  # noqa: BLE001  the caller raises the failure of the step itself
            self._entry = None
            warn(f"the failure is not in the ledger: {failures.describe(problem, self._lake)}")

    def _await(self) -> None:
        if self._entry is not None:
            self._entry.result()
