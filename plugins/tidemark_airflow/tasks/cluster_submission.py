"""What spark-submit gets for a driver on a cluster: paths of the nodes, variables, and the form of each manager.

    standalone    no Python in this mode, but Java's class that runs Python; the nodes have the environment
    YARN          the script is uploaded; the nodes have the environment, or unpack the package
    Kubernetes    the image has the environment

Nodes have the environment of this task, at its path or at TIDEMARK_CLUSTER_HOME. TIDEMARK_PACKAGE is the address of the
archive that `tidemark package` made: each container unpacks it.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from spark_jobs.runtime.jars import require_jars
from spark_jobs.runtime.object_stores import AZURE_ACCOUNT, AZURE_CLIENT, AZURE_TENANT, ENDPOINT, REGIONS

HOME, PACKAGE = "TIDEMARK_CLUSTER_HOME", "TIDEMARK_PACKAGE"
_UNPACKED = "tidemark"
_RUNS_PYTHON = "org.apache.spark.deploy.PythonRunner"
#: The variables of a driver that are settings and no secrets.
_PASSED = ("TIDEMARK_", ENDPOINT, *REGIONS, AZURE_ACCOUNT, AZURE_CLIENT, AZURE_TENANT)
# These are about the machine of the task.
_NOT_PASSED = ("TIDEMARK_SPARK_MASTER", "TIDEMARK_POOL", HOME, PACKAGE)


@dataclass(frozen=True)
class Submission:
    """What spark-submit gets: an application with its arguments, and options."""

    application: str
    arguments: Sequence[str]
    conf: Mapping[str, str]
    java_class: str | None = None
    archives: str | None = None
    variables: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(
        cls, master: str, script: str, arguments: Sequence[str], conf: Mapping[str, str], environ: Mapping[str, str]
    ) -> Submission:
        """Return the submission of a script of Tidemark to the cluster of `master`."""
        package = environ.get(PACKAGE) or None
        home = environ.get(HOME) or (f"./{_UNPACKED}" if package else sys.prefix)
        python = f"{home}/bin/python"
        settings = {
            **{name: value.replace(sys.prefix, home) for name, value in conf.items()},
            "spark.pyspark.python": python,
            "spark.pyspark.driver.python": python,
        }
        on_nodes = script.replace(sys.prefix, home)
        if master.startswith("spark://"):
            some_jar = min(require_jars().glob("*.jar"))
            # Python's class takes the script, further Python files, and the script's arguments.
            own = [on_nodes, "", *arguments]
            return cls(str(some_jar).replace(sys.prefix, home), own, settings, java_class=_RUNS_PYTHON)
        archives = f"{package}#{_UNPACKED}" if package else None
        variables = {"PYSPARK_PYTHON": python}
        if master.startswith("k8s://"):
            return cls(f"local://{on_nodes}", arguments, settings, archives=archives, variables=variables)
        return cls(script, arguments, settings, archives=archives, variables=variables)


def passed(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the variables that a driver on another machine gets. Secrets are the cluster's: they are not passed."""
    named = {name: value for name, value in environ.items() if name.startswith(_PASSED)}
    return {name: value for name, value in named.items() if not name.startswith(_NOT_PASSED)}


def is_pipeline_file(argument: str) -> bool:
    """Return whether an argument of a script is the path of a pipeline file."""
    file = Path(argument)
    return file.suffix in (".yaml", ".yml") and file.is_file()
