"""What spark-submit gets for a driver on a cluster: paths of the nodes, variables, and the form of each manager.

    standalone    no Python in this mode, but Java's class that runs Python; the nodes have the environment
    YARN          the script is uploaded; the nodes have the environment, or unpack the package
    Kubernetes    the image has the environment, or its containers unpack the package below a folder of the image

Nodes have the environment of this task, at its path or at TIDEMARK_CLUSTER_HOME. TIDEMARK_PACKAGE is the address of the
archive that `tidemark package` made: each container of YARN unpacks it, and finds it by a relative path. The other
managers start a driver by an absolute path alone, so they need TIDEMARK_CLUSTER_HOME too (`require_unpacked`).
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from airflow.sdk.exceptions import AirflowFailException

from spark_jobs.runtime.jars import require_jars
from spark_jobs.runtime.object_stores import AZURE_ACCOUNT, AZURE_CLIENT, AZURE_TENANT, ENDPOINT, REGIONS

HOME, PACKAGE = "TIDEMARK_CLUSTER_HOME", "TIDEMARK_PACKAGE"
_UNPACKED = "tidemark"
_RUNS_PYTHON = "org.apache.spark.deploy.PythonRunner"
_OWN = "TIDEMARK_"
# The variables by which a driver finds a store. They are no secrets.
_ADDRESSES = (ENDPOINT, *REGIONS, AZURE_ACCOUNT, AZURE_CLIENT, AZURE_TENANT)
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


def require_unpacked(master: str, environ: Mapping[str, str]) -> None:
    """Raise AirflowFailException if nodes could not start the driver, as the path of their environment is unknown."""
    home, package = environ.get(HOME) or "", environ.get(PACKAGE) or ""
    if master.startswith("yarn") or not package or home.startswith("/"):
        return
    beside = f"{HOME} {home}" if home else f"no {HOME}"
    if master.startswith("k8s://"):
        remedy = "the folder of the image in which containers unpack it, /opt/spark/work-dir/tidemark by default"
    else:
        remedy = f"the folder in which you have unpacked it on every node: {master} unpacks none for a driver"
    raise AirflowFailException(
        f"{PACKAGE}: found {package} and {beside}, expected an absolute path. Set {HOME} to {remedy}"
    )


def passed(environ: Mapping[str, str]) -> tuple[dict[str, str], dict[str, str]]:
    """Return the variables that a driver on another machine gets: by its command line, and by a file of the lake.

    Every user of a node can read a command line. It has the addresses by which the driver finds the lake. The file has
    the variables of Tidemark and those that pipeline files name. Keys of stores are the cluster's: they are not passed.
    """
    own = {name: value for name, value in environ.items() if name.startswith(_OWN)}
    own = {name: value for name, value in own.items() if not name.startswith(_NOT_PASSED)}
    return {name: value for name, value in environ.items() if name in _ADDRESSES}, own


def is_pipeline_file(argument: str) -> bool:
    """Return whether an argument of a script is the path of a pipeline file."""
    file = Path(argument)
    return file.suffix in (".yaml", ".yml") and file.is_file()
