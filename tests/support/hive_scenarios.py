"""Scenarios in a process with a Hive metastore: what SQL shows under the names of published tables.

    python -m tests.support.hive_scenarios SCENARIO FOLDER

The last line of the output is a JSON object with the facts of the scenario.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from spark_jobs.jobs.errors import InputError, RegistrationError
from spark_jobs.jobs.publish import registration
from spark_jobs.jobs.runs.runner import Runner
from spark_jobs.pipeline import Pipeline, load
from spark_jobs.session import open_session
from spark_jobs.tables import delta_log, ledger
from spark_jobs.tables.interval import Interval
from spark_jobs.tables.lake import Lake
from tests.faults import drivers
from tests.support import history

SCHEMA = "Reports"
PIPELINE = drivers.PIPELINE + "publish_to: {schema}\n"
ROWS = history.events(900)


class Scene:
    """A folder with the pipeline file, the source and the lake of a scenario, in a session with Hive."""

    def __init__(self, spark: SparkSession, folder: Path) -> None:
        self.spark, self.folder = spark, folder
        self.lake = Lake(str(folder / "a lake"), "readings")

    def pipeline(self, publish_to: str = SCHEMA) -> Pipeline:
        return load(self.folder / "readings.yaml", overrides={"publish_to": publish_to})

    def run(self, publish_to: str = SCHEMA) -> str:
        runner = Runner(self.spark, self.pipeline(publish_to), self.lake)
        return runner.run(Interval())[-1].run_id

    def names(self) -> dict[str, Any]:
        """Return what SQL and the metastore show of each name."""
        spark, schema = self.spark, SCHEMA.lower()
        tables = {}
        for row in spark.sql(f"SHOW TABLES IN {schema}").collect():
            name = f"{schema}.{row.tableName}"
            described = spark.sql(f"DESCRIBE TABLE {name}").collect()
            # Another session of Spark may have changed the table since this one has read it.
            spark.catalog.refreshTable(name)
            stored = spark._jsparkSession.sharedState().externalCatalog().getTable(schema, row.tableName)
            tables[row.tableName] = {
                "comments": {column.col_name: column.comment for column in described},
                "rows": spark.table(name).count(),
                "runs": sorted(r.run_id for r in spark.table(name).select("run_id").distinct().collect()),
                "stored": stored.toString(),
            }
        return tables

    def problem(self, publish_to: str) -> tuple[str, str]:
        """Return the code and the message by which a run is refused, and require that nothing was staged."""
        before = {entry.name for entry in self.lake.objects.below()}
        try:
            self.run(publish_to)
        except InputError as problem:
            assert {entry.name for entry in self.lake.objects.below()} == before
            return problem.code.value, str(problem)
        raise AssertionError("the run was not refused")

    def denial(self, publish_to: str) -> str:
        """Return the message of a run that is published and gets no names: Hive has no schema with a hyphen."""
        try:
            self.run(publish_to)
        except RegistrationError as problem:
            return str(problem)
        raise AssertionError("the catalog did not refuse")

    def jobs(self, work: Callable[[], object]) -> int:
        """Return the number of Spark jobs of a work."""
        context = self.spark.sparkContext
        context.setJobGroup("counted", "counted")
        work()
        context.setJobGroup("others", "others")
        return len(context.statusTracker().getJobIdsForGroup("counted"))


def names(scene: Scene) -> dict[str, Any]:
    """Read the names."""
    return {"names": scene.names()}


def later_runs(scene: Scene) -> dict[str, Any]:
    """Publish a second run, roll back to the first, and be refused."""
    spark = scene.spark
    (first,) = ledger.published(spark, scene.lake)
    facts: dict[str, Any] = {"first": first.run_id, "before": scene.names()}
    history.land(spark, ROWS[600:], scene.folder / "events")
    facts["second"] = scene.run()
    facts["after"] = scene.names()
    newest = ledger.published(spark, scene.lake)[-1]
    registered = scene.jobs(lambda: registration.register(spark, scene.pipeline(), scene.lake, newest))
    versions = {table: delta_log.version(spark, scene.lake.path(table)) for table in newest.versions}
    facts |= {"jobs": registered, "unchanged": versions == newest.versions}
    Runner(spark, scene.pipeline(), scene.lake).rollback(first.run_id)
    facts["rolled_back"] = scene.names()
    spark.sql("CREATE SCHEMA other")
    spark.sql("CREATE TABLE other.readings_panes (n INT) USING parquet")
    spark.sql("CREATE SCHEMA views")
    spark.sql("CREATE VIEW views.readings_pairs AS SELECT 1 AS n")
    spark.sql("CREATE VIEW views.readings_watermarks AS SELECT 1 AS n")
    targets = {"table": "spark_catalog.other", "view": "views", "catalog": "lakehouse.reports"}
    facts["refused"] = {name: scene.problem(target) for name, target in targets.items()}
    facts["kept"] = [row.col_name for row in spark.sql("DESCRIBE TABLE other.readings_panes").collect()]
    facts["made"] = [row.namespace for row in spark.sql("SHOW SCHEMAS").collect()]
    return facts


def mended(scene: Scene) -> dict[str, Any]:
    """Run the command of a killed driver again; then publish while the catalog refuses, and run that command again."""
    spark = scene.spark
    (killed,) = ledger.published(spark, scene.lake)
    began = spark.catalog.databaseExists(SCHEMA)
    run_id = scene.run()
    facts: dict[str, Any] = {"killed": killed.run_id, "began": began, "run": run_id, "names": scene.names()}
    history.land(spark, ROWS[600:], scene.folder / "events")
    facts["denied"] = scene.denial("re-ports")
    facts["published"] = ledger.published(spark, scene.lake)[-1].run_id
    spark.sql(f"DROP TABLE {SCHEMA}.readings_panes")
    facts["again"] = scene.run()
    facts["after"] = scene.names()
    Path(scene.lake.path("panes")).rename(scene.folder / "panes")
    spark.sql(f"DROP TABLE {SCHEMA}.readings_panes")
    facts["lost"] = scene.denial(SCHEMA)
    facts["no_table"] = not Path(scene.lake.path("panes")).exists()
    return facts


SCENARIOS: dict[str, Callable[[Scene], dict[str, Any]]] = {
    scenario.__name__: scenario for scenario in (names, later_runs, mended)
}


if __name__ == "__main__":
    session = open_session("tidemark hive scenario", few_rows=True)
    print(json.dumps(SCENARIOS[sys.argv[1]](Scene(session, Path(sys.argv[2])))))
