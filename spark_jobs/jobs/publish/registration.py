"""Registration: the tables of published runs get names in the catalog of `publish_to`.

    plan      the catalog exists, and the names are free or already have the paths of the published tables
    publish   names that are missing are made, behind the ledger's row that makes the run visible

Names come behind that row because they are not part of the publication: a catalog that fails takes no results away. So
a kill or a failure between the two leaves a published run, and the next step `publish` makes what is missing.
"""

from __future__ import annotations

from pyspark.sql import SparkSession

from spark_jobs.jobs.errors import InputError, RegistrationError
from spark_jobs.pipeline.model import Pipeline
from spark_jobs.tables.catalog_names import CatalogNames
from spark_jobs.tables.errors import CatalogError
from spark_jobs.tables.lake import Lake, result_tables
from spark_jobs.tables.run import Run


def require_names(spark: SparkSession, pipeline: Pipeline, lake: Lake) -> None:
    """Require that the published tables of a pipeline can have names in its catalog; return without `publish_to`.

    Raises InputError.
    """
    if pipeline.publish_to is None:
        return
    try:
        CatalogNames(spark, lake, pipeline.publish_to).require(result_tables(pipeline))
    except CatalogError as problem:
        raise InputError(pipeline.located(str(problem)), code=problem.code) from problem


def register(spark: SparkSession, pipeline: Pipeline, lake: Lake, run: Run) -> list[str]:
    """Make the names of the tables of a published run that are missing, and return them; none without `publish_to`.

    Raises RegistrationError.
    """
    if pipeline.publish_to is None:
        return []
    try:
        return CatalogNames(spark, lake, pipeline.publish_to).register(run.versions)
    except CatalogError as problem:
        raise RegistrationError(
            f"{problem}. The results of run {run.run_id} are published in {lake.home}, and can be read by path. After "
            "the repair, run the same command again: it makes the names"
        ) from problem
