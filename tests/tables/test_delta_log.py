"""Delta's log is read in any thread, also behind a checkpoint."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake
from pyspark.sql import SparkSession

from spark_jobs.tables import delta_log

pytestmark = pytest.mark.spark

VERSIONS = 12


def test_files_behind_a_checkpoint_are_read_in_a_thread_of_a_pool(spark: SparkSession, tmp_path: Path) -> None:
    path = str(tmp_path / "table")
    for number in range(VERSIONS):
        write_deltalake(path, pa.table({"number": [number]}), mode="append")
    DeltaTable(path).create_checkpoint()
    with ThreadPoolExecutor(max_workers=1) as pool:
        sizes = pool.submit(delta_log.sizes, spark, path, VERSIONS - 1).result()
        files = pool.submit(lambda: delta_log.Transaction(spark, path).files("stats is not null")).result()
    assert len(sizes) == len(files) == VERSIONS
