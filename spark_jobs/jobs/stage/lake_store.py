"""The store of a run in the lake: intermediates in the run's working folder, tables in its staging area.

Nothing is computed twice: a repeated attempt finds kept intermediates and staged parts by their names.
"""

from __future__ import annotations

from collections.abc import Callable

from pyspark.sql import DataFrame, SparkSession

from spark_jobs.session import SmallPlans
from spark_jobs.tables import staging, time_order
from spark_jobs.tables.lake import Lake
from spark_jobs.tables.time_order import in_time_order


class LakeStore:
    """Keeps and stages the rows of one run.

    `folder` is a staging folder besides the run's own. `apart`: other processes stage parts of the same tables at the
    same time. `prefix` comes before the names of intermediates.
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
    ) -> None:
        self._spark, self._lake, self._run_id = spark, lake, run_id
        self._folder, self._apart = folder, apart
        self._is_large = False
        self._prefix = f"{prefix}/" if prefix else ""

    def keep(self, name: str, compute: Callable[[], DataFrame], plans: SmallPlans | None = None) -> DataFrame:
        """Compute rows by `compute` unless `name` is kept already; return them, read by small plans or by the job."""
        reader = self._spark if plans is None else plans.session
        return staging.write_work_once(compute, self._lake, self._run_id, self._prefix + name, reader)

    def write(self, table: str, part: str, frame: DataFrame) -> None:
        """Stage `frame` as a part of `table`, unless that part is staged."""
        if self._apart:
            staging.create_staged_table(frame, self._lake, self._run_id, table)
        rows = in_time_order(frame, table) if self._is_large else frame
        staging.stage(rows, self._lake, self._run_id, table, part, folder=self._folder)

    def read(self, table: str, part: str) -> DataFrame:
        """Return a staged part of the run, with its working columns. Raises LookupError if it is not staged."""
        return staging.read_part(self._spark, self._lake, self._run_id, table, part)

    def expect(self, rows: int) -> None:
        """Expect at most so many rows in a table. Of more than a file, tables are staged in the order of time."""
        self._is_large = rows > time_order.ROWS_OF_A_FILE
