"""Catalog names: the published tables of a pipeline as external Delta tables in a schema of a catalog.

    <catalog>.<schema>.<pipeline>_<table>     the table at the path of the published table

A name shows the newest version of its table, so a later run changes no name. Law: a name that exists stays as it is. It
either has the path of its published table, or it is another program's and is refused.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from urllib.parse import unquote

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from spark_jobs.error_codes import ErrorCode
from spark_jobs.pipeline.published_tables import ADVANCES, BY_NAME
from spark_jobs.tables import delta_log, error_causes
from spark_jobs.tables.errors import CatalogError
from spark_jobs.tables.lake import Lake
from spark_jobs.tables.source_tables import absolute_path

#: The catalog of Spark itself, and the prefix of the settings that define further catalogs.
_SPARK_CATALOG, _SETTING = "spark_catalog", "spark.sql.catalog."
_IMPLEMENTATION = "spark.sql.catalogImplementation"
_DELTA_CATALOG = "org.apache.spark.sql.delta.catalog.DeltaCatalog"
_S3 = ("s3", "s3a", "s3n")
# A URI: its scheme, its store if it has one, and its folder.
_ADDRESS = re.compile(r"([a-z][a-z0-9+.-]+):(?://([^/]*))?(/.*)")


@dataclass(frozen=True)
class CatalogNames:
    """The names of a pipeline's published tables in the schema `publish_to`: `catalog.schema` or `schema`."""

    spark: SparkSession
    lake: Lake
    publish_to: str

    @property
    def schema(self) -> str:
        """The schema with its catalog, as `catalog.schema`."""
        return ".".join(self._parts)

    def require(self, tables: Iterable[str]) -> None:
        """Require that the catalog exists, and that the name of each table is free or has its path. Changes nothing.

        The name of `advances` is required too: a later run may publish it. Raises CatalogError.
        """
        self._require_catalog()
        with self._usable():
            places = self._places((*tables, ADVANCES.name))
        self._require_own(places or {})

    def register(self, tables: Iterable[str]) -> list[str]:
        """Make the names that are missing, and the schema if it is missing; return the new names.

        Names that exist cost no Spark job. Raises CatalogError.
        """
        tables = tuple(tables)
        self._require_catalog()
        with self._usable():
            places = self._places(tables)
            if places is None:
                self.spark.sql(f"CREATE SCHEMA IF NOT EXISTS {_quoted(*self._parts)}")
        self._require_own(places or {})
        missing = [table for table in tables if table not in (places or {})]
        if not missing:
            return []
        with self._usable():
            for table in missing:
                self._require_table(table)
                self.spark.sql(self._statement(table))
            # Another program may have taken a name in between: the statement leaves an existing name alone.
            places = self._places(tables)
        self._require_own(places or {})
        return [f"{self.schema}.{self._name(table)}" for table in missing]

    @property
    def _parts(self) -> tuple[str, str]:
        catalog, _, schema = self.publish_to.rpartition(".")
        return catalog or self.spark.catalog.currentCatalog(), schema

    def _name(self, table: str) -> str:
        return f"{self.lake.pipeline}_{table}"

    def _statement(self, table: str) -> str:
        name = _quoted(*self._parts, self._name(table))
        path = _literal(absolute_path(self.lake.path(table)))
        return f"CREATE TABLE IF NOT EXISTS {name} USING DELTA COMMENT {_literal(BY_NAME[table].row)} LOCATION {path}"

    def _require_catalog(self) -> None:
        """Raise CatalogError unless Spark's settings define the catalog, and it outlives the process."""
        catalog, _ = self._parts
        settings = self.spark.conf.getAll
        defined = sorted(
            {_SPARK_CATALOG, *(name.removeprefix(_SETTING) for name in settings if name.startswith(_SETTING))}
        )
        catalogs = [name for name in defined if "." not in name]
        if catalog not in catalogs:
            raise CatalogError(
                f"publish_to: found '{self.publish_to}', and Spark's settings define no catalog '{catalog}', only "
                f"{', '.join(catalogs)}. Set {_SETTING}{catalog} and the settings that its catalog needs"
            )
        own = settings.get(f"{_SETTING}{_SPARK_CATALOG}", _DELTA_CATALOG) == _DELTA_CATALOG
        implementation = settings.get(_IMPLEMENTATION, "in-memory")
        if catalog == _SPARK_CATALOG and own and implementation != "hive":
            raise CatalogError(
                f"publish_to: found '{self.publish_to}' in a catalog that ends with this process "
                f"({_IMPLEMENTATION} is {implementation}). Set {_IMPLEMENTATION} to hive for a Hive metastore, or name "
                "another catalog"
            )

    def _places(self, tables: Iterable[str]) -> dict[str, str | None] | None:
        """Return the path of each table whose name exists; None in place of a path for a view.

        Returns None if the schema does not exist. Costs no Spark job.
        """
        catalog, schema = self._parts
        # Catalogs differ in their errors for a missing schema.
        if not self.spark.sql(f"SHOW SCHEMAS IN {_quoted(catalog)} LIKE {_literal(schema)}").collect():
            return None
        by_name = {self._name(table): table for table in tables}
        names = _literal("|".join(by_name))
        rows = self.spark.sql(f"SHOW TABLE EXTENDED IN {_quoted(catalog, schema)} LIKE {names}").collect()
        # Temporary views of the session are no tables of the schema.
        texts = {str(row["tableName"]).lower(): str(row["information"]) for row in rows if not row["isTemporary"]}
        return {by_name[name]: _location(text) for name, text in texts.items() if name in by_name}

    def _require_table(self, table: str) -> None:
        """Raise CatalogError for a published table without a log: Delta would make an empty table for the name."""
        path = absolute_path(self.lake.path(table))
        if delta_log.version(self.spark, path) is None:
            raise CatalogError(
                f"publish_to: found no Delta table at {path}, expected the published table {table}. "
                "Restore the lake, or set TIDEMARK_LAKE to the lake that has the results"
            )

    def _require_own(self, places: Mapping[str, str | None]) -> None:
        """Raise CatalogError for a name that belongs to another table."""
        for table, place in places.items():
            path = absolute_path(self.lake.path(table))
            if place is not None and _is_same_place(place, path):
                continue
            other = "a view" if place is None else f"a table at {place}"
            raise CatalogError(
                f"publish_to: the name {self.schema}.{self._name(table)} belongs to {other}, and the published table "
                f"is at {path}. Name another schema, or drop or rename that table",
                code=ErrorCode.CATALOG_NAME_TAKEN,
            )

    @contextmanager
    def _usable(self) -> Iterator[None]:
        """Raise CatalogError with the cause if the catalog fails or refuses."""
        try:
            yield
        except (Py4JError, PySparkException) as problem:
            raise CatalogError(
                f"publish_to: the catalog refuses the schema '{self.schema}' ({error_causes.first_line(problem)}). "
                "Check the settings of the catalog, and the permission to use it"
            ) from problem


def _location(information: str) -> str | None:
    """Return the path in what the catalog shows of a table; None without one."""
    return next(
        (line.partition(":")[2].strip() for line in information.splitlines() if line.startswith("Location:")), None
    )


def _is_same_place(place: str, path: str) -> bool:
    """Return whether two paths or URIs are one folder. Catalogs write `file:/a`, `file:///a`, and `s3` for `s3a`."""
    return not _spellings(place).isdisjoint(_spellings(path))


def _spellings(place: str) -> set[tuple[str, str, str]]:
    """Return a path or URI as scheme, store and folder: as it is written, and without escapes."""
    match = _ADDRESS.fullmatch(place)
    scheme, store, folder = ("file", "", place) if match is None else (match[1], match[2] or "", match[3])
    scheme = "s3" if scheme in _S3 else scheme
    return {(scheme, store, text.rstrip("/")) for text in (folder, unquote(folder))}


def _quoted(*names: str) -> str:
    return ".".join(f"`{name.replace('`', '``')}`" for name in names)


def _literal(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"
