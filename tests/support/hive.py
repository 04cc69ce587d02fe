"""A Hive metastore in a folder: an embedded Derby database, and the settings by which Spark uses it.

One process at a time can open the database, and Spark chooses its catalog when it starts. So each test with Hive starts
processes: jobs as a user starts them, and the scenarios of `tests.support.hive_scenarios`.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_ROOT = Path(__file__).parents[2]
_HIVE_SITE = """\
<configuration>
  <property><name>javax.jdo.option.ConnectionURL</name>
    <value>jdbc:derby:;databaseName={folder}/metastore;create=true</value></property>
  <property><name>datanucleus.schema.autoCreateAll</name><value>true</value></property>
  <property><name>hive.metastore.schema.verification</name><value>false</value></property>
</configuration>
"""
_DEFAULTS = """\
spark.sql.catalogImplementation hive
spark.sql.warehouse.dir {folder}/warehouse
spark.sql.codegen.wholeStage false
spark.sql.codegen.factoryMode NO_CODEGEN
spark.sql.shuffle.partitions 2
"""


@dataclass(frozen=True)
class Metastore:
    """A metastore and a lake in `folder`."""

    folder: Path

    @classmethod
    def of_folder(cls, folder: Path) -> Metastore:
        """Write the settings of a new metastore, as its user would."""
        settings = folder / "settings"
        settings.mkdir(parents=True)
        (settings / "hive-site.xml").write_text(_HIVE_SITE.format(folder=folder), encoding="utf-8")
        (settings / "spark-defaults.conf").write_text(_DEFAULTS.format(folder=folder), encoding="utf-8")
        return cls(folder)

    @property
    def lake(self) -> str:
        return str(self.folder / "a lake")

    @property
    def environment(self) -> Mapping[str, str]:
        """The variables of a process that uses the metastore."""
        return {
            **os.environ,
            "SPARK_CONF_DIR": str(self.folder / "settings"),
            "TIDEMARK_LAKE": self.lake,
            "TIDEMARK_DRIVER_MEMORY": "1g",
            "TIDEMARK_SPARK_MASTER": "local[2]",
        }

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run a module of Python with the metastore, and wait for its end."""
        command = [sys.executable, "-m", *arguments]
        return subprocess.run(
            command,
            env=self.environment,
            cwd=_ROOT,
            capture_output=True,
            text=True,
            check=False,
            start_new_session=True,
            timeout=400,
        )

    def step(self, file: Path, *options: str) -> subprocess.CompletedProcess[str]:
        """Take all steps of a run, or the step that the options name, as Airflow does."""
        return self.run("spark_jobs.jobs.step", *(options or ("run",)), str(file))

    def scenario(self, name: str) -> dict[str, Any]:
        """Play a scenario of `tests.support.hive_scenarios` in another process, and return its facts."""
        ended = self.run("tests.support.hive_scenarios", name, str(self.folder))
        assert ended.returncode == 0, ended.stderr[-4000:]
        facts: dict[str, Any] = json.loads(ended.stdout.splitlines()[-1])
        return facts
