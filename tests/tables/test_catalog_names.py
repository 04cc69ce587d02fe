"""Names in a catalog: what is the path of a published table in the spelling of a catalog, without Spark."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from spark_jobs.error_codes import ErrorCode
from spark_jobs.tables import catalog_names
from spark_jobs.tables.catalog_names import CatalogNames
from spark_jobs.tables.errors import CatalogError
from spark_jobs.tables.lake import Lake

LAKE = Lake("/data/a lake", "clicks")


@pytest.mark.parametrize(
    ("place", "path"),
    [
        ("file:/data/a lake/clicks/panes", "/data/a lake/clicks/panes"),
        ("file:///data/a%20lake/clicks/panes/", "/data/a lake/clicks/panes"),
        ("s3://lake/clicks/panes", "s3a://lake/clicks/panes"),
        ("abfss://lake@store.net/clicks/panes", "abfss://lake@store.net/clicks/panes"),
    ],
)
def test_one_folder_has_several_spellings(place: str, path: str) -> None:
    assert catalog_names._is_same_place(place, path)


@pytest.mark.parametrize(
    ("place", "path"),
    [
        ("file:/data/lake/clicks/pane", "/data/lake/clicks/panes"),
        ("s3://other/clicks/panes", "s3a://lake/clicks/panes"),
        ("gs://lake/clicks/panes", "s3a://lake/clicks/panes"),
        ("hdfs://one/clicks/panes", "/clicks/panes"),
    ],
)
def test_another_folder_is_another_table(place: str, path: str) -> None:
    assert not catalog_names._is_same_place(place, path)


def test_a_path_is_one_text_of_sql() -> None:
    names = CatalogNames(SimpleNamespace(), Lake(r"/data/it's \ here", "clicks"), "lakehouse.re-ports")  # type: ignore[arg-type]
    statement = names._statement("panes")
    assert statement.startswith(
        "CREATE TABLE IF NOT EXISTS `lakehouse`.`re-ports`.`clicks_panes` USING DELTA COMMENT '"
    )
    assert statement.endswith(r" LOCATION '/data/it\'s \\ here/clicks/panes'")


@pytest.mark.parametrize(
    ("settings", "publish_to", "message"),
    [
        ({}, "lakehouse.a", "no catalog 'lakehouse', only spark_catalog"),
        ({"spark.sql.catalog.glue": "x", "spark.sql.catalog.glue.uri": "y"}, "lakehouse.a", "only glue, spark_catalog"),
        ({}, "spark_catalog.a", "a catalog that ends with this process"),
    ],
)
def test_a_catalog_that_keeps_no_names_is_refused(settings: dict[str, str], publish_to: str, message: str) -> None:
    spark: Any = SimpleNamespace(conf=SimpleNamespace(getAll=settings))
    with pytest.raises(CatalogError, match=message) as refused:
        CatalogNames(spark, LAKE, publish_to).require(["panes"])
    assert refused.value.code is ErrorCode.CATALOG_UNUSABLE
