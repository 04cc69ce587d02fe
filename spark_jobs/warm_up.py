"""A small Spark program whose Java loads the classes of a run, for the class archive: `-m spark_jobs.warm_up`.

It writes a table, reads it natively, groups, joins and sorts its rows, and writes a table of the result.
"""

from __future__ import annotations

import tempfile

from pyspark import SparkContext
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from spark_jobs.session import interpreting, open_session
from spark_jobs.tables import source

_ENDS_WITHIN_S = 120


def main() -> None:
    """Run the program, and wait until its Java has ended: it writes the archive at its end."""
    spark = open_session("tidemark set-up")
    with tempfile.TemporaryDirectory() as folder:
        _run(spark, folder)
    gateway = SparkContext._gateway  # noqa: SLF001  PySpark has no public name for it
    spark.stop()
    if gateway is not None:
        gateway.shutdown()
        gateway.proc.stdin.close()
        gateway.proc.wait(_ENDS_WITHIN_S)


def _run(spark: SparkSession, folder: str) -> None:
    rows = spark.range(0, 1000, 1, 2).select(
        "id", (F.col("id") % 7).cast("string").alias("key"), F.timestamp_millis(F.col("id") * 1000).alias("ts")
    )
    rows.write.format("delta").save(f"{folder}/source")
    read = source.read(spark, f"{folder}/source", 0)
    window = F.window("ts", "10 seconds").getField("start").alias("start")
    counts = read.groupBy("key", window).agg(F.count("*").alias("n"), F.sum("id").alias("total"), F.min("ts"))
    counts.toDF("key", "start", "n", "total", "first").write.format("delta").save(f"{folder}/counts")
    table = spark.read.format("delta").load(f"{folder}/counts")
    largest = table.groupBy("key").agg(F.max("n").alias("most"))
    table.repartition(2, "key").join(largest, "key").orderBy("key", "start").write.parquet(f"{folder}/joined")
    few = interpreting(spark).read.parquet(f"{folder}/joined").persist()
    few.join(F.broadcast(few.groupBy("key").agg(F.sum("n").alias("all"))), "key").where("most > 3").collect()


if __name__ == "__main__":
    main()
