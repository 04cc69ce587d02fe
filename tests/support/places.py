"""The places where tests keep lakes: a folder, an object store, and the same store behind a network that fails."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from spark_jobs.runtime import object_stores
from spark_jobs.tables.objects import Objects
from tests.support.flaky_proxy import flaky
from tests.support.gateway import gateway
from tests.support.object_store import BUCKET


class Kind(StrEnum):
    """What a place is."""

    FOLDER = "folder"
    STORE = "store"
    FLAKY_STORE = "flaky"


@dataclass(frozen=True)
class Place:
    """A place: `variables` are what processes find it by."""

    kind: Kind
    variables: Mapping[str, str]

    def root(self, folder: Path) -> str:
        """Return the path of a lake that belongs to a folder of this test."""
        return str(folder) if self.kind is Kind.FOLDER else f"s3a://{BUCKET}{folder}"

    def copy(self, root: str, folder: Path) -> str:
        """Copy the lake at `root`, which exists once it has an object; return the path of the copy."""
        target = self.root(folder)
        if self.kind is Kind.FOLDER:
            return str(shutil.copytree(root, target)) if Path(root).exists() else target
        objects, copies = Objects(root), Objects(target)
        for entry in objects.below():
            copies.write(entry.name, objects.read(entry.name) or b"")
        return target


@contextmanager
def place(kind: Kind, spark: SparkSession) -> Iterator[Place]:
    """Return a place that this process and the session find."""
    if kind is Kind.FOLDER:
        yield Place(kind, {})
    else:
        with gateway() as variables, _reached(kind, variables) as reached, found_by(spark, reached):
            yield Place(kind, reached)


@contextmanager
def found_by(spark: SparkSession, variables: Mapping[str, str]) -> Iterator[None]:
    """Let this process and the session find an object store by its variables.

    Java keeps one client of a bucket. It is closed at the end, because the next store has the same bucket.
    Without Java's cache, each path would start a client with five threads that nobody ends.
    """
    with pytest.MonkeyPatch.context() as patch:
        for name, value in variables.items():
            patch.setenv(name, value)
        hadoop = spark._jsc.hadoopConfiguration()
        settings = {
            **object_stores.conf(variables),
            # The keys are this test's, and Java's environment is older.
            "spark.hadoop.fs.s3a.access.key": variables["AWS_ACCESS_KEY_ID"],
            "spark.hadoop.fs.s3a.secret.key": variables["AWS_SECRET_ACCESS_KEY"],
        }
        for name, value in settings.items():
            hadoop.set(name.removeprefix("spark.hadoop."), value)
        try:
            yield
        finally:
            java: Any = spark._jvm
            java.org.apache.hadoop.fs.FileSystem.get(java.java.net.URI(f"s3a://{BUCKET}"), hadoop).close()


@contextmanager
def _reached(kind: Kind, variables: Mapping[str, str]) -> Iterator[Mapping[str, str]]:
    """Return the variables of the store, or of the proxy before it."""
    if kind is Kind.STORE:
        yield variables
    else:
        with flaky(variables["AWS_ENDPOINT_URL"], seed=1) as proxy:
            yield {**variables, "AWS_ENDPOINT_URL": proxy.address}
            assert all(proxy.faults.values()), f"the proxy did not make each kind of fault: {proxy.faults}"
