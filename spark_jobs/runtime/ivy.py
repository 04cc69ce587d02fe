"""Ivy, Spark's resolver, fetches jars from the Maven repository that this Spark is configured for.

So a mirror is configured as Spark documents it (DEFAULT_ARTIFACT_REPOSITORY, spark.jars.ivySettings), and this project
names no host. Ivy's folder and Java's `user.home` are a temporary folder, so no file of the user is read or written. A
user's Maven repository with descriptions but without their jars would make Ivy fail.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from spark_jobs.runtime.certificates import java_trust_store, trusted_by_python
from spark_jobs.runtime.errors import RuntimeSetupError
from spark_jobs.runtime.installed import spark_home

# The dependencies of the jars are in these groups. Spark ships all of them, in its own versions.
SHIPPED_BY_SPARK = "com.*:*,org.*:*,javax.*:*,commons-*:*,io.airlift:*"

_CAUSE = re.compile(
    r"access error at url \S+ \((?P<cause>.+)\)|^:: (?P<missing>[^:\s]+#\S+: .+)|^(?P<other>Exception.*)"
)
_MOST_CAUSES = 5


def resolve(coordinates: Sequence[str], work: Path, environ: Mapping[str, str], needless: str) -> Path:
    """Fetch jars; returns their folder, with files `<group>_<artifact>-<version>.jar`.

    Dependencies are fetched too, except `needless`, as `group:artifact` patterns. `environ` is that of a Spark process.
    The first attempt uses Java's certificates, the second those that Python trusts, and keeps the jars of the first.
    Raises RuntimeSetupError with the output of the resolver.
    """
    (work / "home").mkdir(parents=True)
    nothing = work / "nothing.py"
    nothing.write_text("", encoding="utf-8")
    store = work / "trusted.jks"
    store.write_bytes(java_trust_store(trusted_by_python()))
    output = ""
    for java_options in ([], [f"-Djavax.net.ssl.trustStore={store}"]):
        options = [f"-Duser.home={work / 'home'}", *java_options]
        process = subprocess.run(
            _command(coordinates, work, options, nothing, needless),
            # Needs no address of this machine. On a machine whose name does not resolve, Spark would find none.
            env={**environ, "SPARK_LOCAL_HOSTNAME": "localhost"},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            check=False,
        )
        if process.returncode == 0:
            return work / "jars"
        output += process.stdout
    raise RuntimeSetupError.jars_unresolved(causes(output))


def causes(output: str) -> list[str]:
    """Return the distinct lines of Ivy's output that name a cause; the last lines of the output if none does."""
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    named = [match["cause"] or match["missing"] or match["other"] for match in map(_CAUSE.search, lines) if match]
    return list(dict.fromkeys(named))[:_MOST_CAUSES] or lines[-_MOST_CAUSES:]


def _command(
    coordinates: Sequence[str], work: Path, java_options: Sequence[str], program: Path, needless: str
) -> list[str]:
    return [
        str(spark_home() / "bin" / "spark-submit"),
        *("--master", "local[1]"),
        *("--packages", ",".join(coordinates)),
        *("--exclude-packages", needless),
        *("--conf", f"spark.jars.ivy={work}"),
        *("--driver-java-options", " ".join(f'"{option}"' for option in java_options)),
        str(program),
    ]
