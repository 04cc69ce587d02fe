"""What a test does by a separate Spark driver: `python -m tests.docker.driver land|compare TABLE`."""

from __future__ import annotations

import sys

from spark_jobs.pipeline import load
from spark_jobs.semantics import reference
from spark_jobs.session import open_session
from spark_jobs.tables.lake import Lake
from tests.docker.by_hand import NAME
from tests.support import history
from tests.support.whole_run import assert_published


def main(step: str, table: str) -> None:
    """Land the source, or compare what is published with the reference."""
    spark = open_session(f"tests {step}")
    rows = history.events()
    if step == "land":
        history.land(spark, rows, table)
    else:
        pipeline = load(f"/opt/tidemark/dags/pipelines/{NAME}.yaml")
        expected = reference.replay(rows, pipeline)
        assert_published(spark, Lake.of(NAME), expected)
        sys.stdout.write(f"{len(expected.window_results)} windows\n")
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
