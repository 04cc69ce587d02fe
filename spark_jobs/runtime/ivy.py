"""Spark's own resolver, Ivy, brings jars from the Maven repository that this Spark is set up for.

So a mirror is named the way Spark documents it (DEFAULT_ARTIFACT_REPOSITORY, spark.jars.ivySettings), and no host
stands in this project. Nothing of the user's is read or written: Ivy's folder and Java's `user.home` are the given one,
since a local Maven repository that holds descriptions without their jars makes Ivy fail.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from spark_jobs.runtime.certificates import java_trust_store, trusted_by_python
from spark_jobs.runtime.errors import RuntimeSetupError
from spark_jobs.runtime.installed import spark_home

# What the jars themselves ask for lies in these groups, and Spark ships all of it, in versions of its own choice.
SHIPPED_BY_SPARK = "com.*:*,org.*:*,javax.*:*,commons-*:*,io.airlift:*"

_CAUSE = re.compile(
    r"access error at url \S+ \((?P<cause>.+)\)|^:: (?P<missing>[^:\s]+#\S+: .+)|^(?P<other>Exception.*)"
)
_CAUSES_TOLD = 5


def resolve(coordinates: Sequence[str], work: Path, environ: Mapping[str, str], needless: str) -> Path:
    """Fetch jars and give the folder where they lie as `<group>_<artifact>-<version>.jar`.

    What they ask for is fetched too, but for `needless`, as `group:artifact` patterns. `environ` is a Spark process's.
    Java's own certificates are tried first, then those that Python trusts; the second attempt keeps what the first one
    brought. Raises RuntimeSetupError with what the resolver said.
    """
    (work / "home").mkdir(parents=True)
    nothing = work / "nothing.py"
    nothing.write_text("", encoding="utf-8")
    store = work / "trusted.jks"
    store.write_bytes(java_trust_store(trusted_by_python()))
    output = ""
    for java_options in ([], [f"-Djavax.net.ssl.trustStore={store}"]):
        options = [f"-Duser.home={work / 'home'}", *java_options]
        done = subprocess.run(
            _command(coordinates, work, options, nothing, needless),
            # It needs no address of this machine, and of one whose own name nobody knows Spark would find none.
            env={**environ, "SPARK_LOCAL_HOSTNAME": "localhost"},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            check=False,
        )
        if done.returncode == 0:
            return work / "jars"
        output += done.stdout
    raise RuntimeSetupError.jars_unresolved(causes(output))


def causes(output: str) -> list[str]:
    """Pick from Ivy's long output the lines that name a cause, each once; the end of it where none does."""
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    found = [match["cause"] or match["missing"] or match["other"] for match in map(_CAUSE.search, lines) if match]
    return list(dict.fromkeys(found))[:_CAUSES_TOLD] or lines[-_CAUSES_TOLD:]


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
