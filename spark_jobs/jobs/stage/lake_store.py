"""The store of a run in the lake: intermediates in the run's working folder, tables in its staging area.

Nothing is computed twice: a repeated attempt finds kept intermediates and staged parts by their names.
"""

from __future__ import annotations

from collections.abc import Callable

from pyspark.sql import DataFrame, SparkSession

from spark_jobs.session import SmallPlans
from spark_jobs.tables import staging
from spark_jobs.tables.lake import Lake

#: About as many results are in a file that a later run may have to change.
RESULTS_OF_A_FILE = 100_000


class LakeStore:
    """Keeps and stages the rows of one run.

    `folder` is a staging folder besides the run's own. `apart`: other processes stage parts of the same tables at the
    same time. `prefix` comes before the names of intermediates. `splits_results`: results are staged in small files,
    because a later run may change some of them.
    """

    def __init__(
        self,
        spark: SparkSession,
        lake: Lake,
        run_id: str,
        *,
        folder: str | None = None,
        apart: bool = False,
        prefix: str = "",
        splits_results: bool = False,
    ) -> None:
        self._spark, self._lake, self._run_id = spark, lake, run_id
        self._folder, self._apart, self._splits_results = folder, apart, splits_results
        self._prefix = f"{prefix}/" if prefix else ""

    def keep(self, name: str, compute: Callable[[], DataFrame], plans: SmallPlans | None = None) -> DataFrame:
        """Compute rows by `compute` unless `name` is kept already; return them, read by small plans or by the job."""
        reader = self._spark if plans is None else plans.session
        return staging.write_work_once(compute, self._lake, self._run_id, self._prefix + name, reader)

    def write(self, table: str, part: str, frame: DataFrame) -> None:
        """Stage `frame` as a part of `table`, unless that part is staged."""
        if self._apart:
            staging.create_staged_table(frame, self._lake, self._run_id, table)
        rows = self._split(frame) if self._splits_results and table == "window_results" else frame
        staging.stage(rows, self._lake, self._run_id, table, part, folder=self._folder)

    def read(self, table: str, part: str) -> DataFrame:
        """Return a staged part of the run, with its working columns. Raises LookupError if it is not staged."""
        return staging.read_part(self._spark, self._lake, self._run_id, table, part)

    def _split(self, results: DataFrame) -> DataFrame:
        """Results by window, in several files: a row that comes too late makes publishing rewrite one of them."""
        files = staging.row_count(self._lake, self._run_id, "panes") // RESULTS_OF_A_FILE
        return results.repartitionByRange(files, "window_start") if files > 1 else results
