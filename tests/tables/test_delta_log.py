"""Delta's log is read in any thread, also behind a checkpoint."""

from __future__ import annotations

from collections.abc import Callable, Sized
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake
from pyspark.sql import SparkSession

from spark_jobs.tables import delta_log, delta_transaction

pytestmark = pytest.mark.spark

VERSIONS = 12
READS: dict[str, Callable[[SparkSession, str], Sized]] = {
    "sizes": lambda spark, path: delta_log.sizes(spark, path, VERSIONS - 1),
    "state": lambda spark, path: delta_log.state_at(spark, path, VERSIONS - 1)[0],
    "files of a transaction": lambda spark, path: delta_transaction.Transaction(spark, path).files("stats is not null"),
}


@pytest.mark.parametrize("read", READS.values(), ids=READS)
def test_files_behind_a_checkpoint_are_read_in_a_new_thread(
    spark: SparkSession, tmp_path: Path, read: Callable[[SparkSession, str], Sized]
) -> None:
    path = str(tmp_path / "table")
    for number in range(VERSIONS):
        write_deltalake(path, pa.table({"number": [number]}), mode="append")
    DeltaTable(path).create_checkpoint()
    with ThreadPoolExecutor(max_workers=1) as pool:
        assert len(pool.submit(read, spark, path).result()) == VERSIONS
