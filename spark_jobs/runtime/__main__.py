"""`python -m spark_jobs.runtime setup` installs what Spark needs in addition to its packages: a Java and Delta's jars.

`setup s3` also installs the jars by which Spark reads s3a://. A second run only checks that all is installed.
"""

from __future__ import annotations

import os
import sys

from spark_jobs.job_protocol import ExitCode
from spark_jobs.runtime import jars, wheel_java
from spark_jobs.runtime.environment import process_environment
from spark_jobs.runtime.errors import RuntimeSetupError
from spark_jobs.runtime.installed import jars_dir, s3_jars_dir
from spark_jobs.runtime.java import JavaHome, search


def main(arguments: list[str]) -> int:
    """Run the command `setup`; returns the exit code."""
    if arguments not in (["setup"], ["setup", "s3"]):
        sys.stderr.write(f"unknown arguments '{' '.join(arguments)}'. Usage: python -m spark_jobs.runtime setup [s3]\n")
        return ExitCode.WRONG_INPUT
    try:
        _print_java(_bring_java())
        jars.fetch(jars_dir(), process_environment(os.environ), _print)
        if "s3" in arguments:
            jars.fetch(s3_jars_dir(), process_environment(os.environ), _print, jars.S3)
    except RuntimeSetupError as error:
        sys.stderr.write(f"error: {error}\n")
        return ExitCode.FAILED
    return ExitCode.DONE


def _bring_java() -> JavaHome:
    result = search(os.environ)
    for reason in result.refused:
        _print(f"java: not used: {reason}; Spark needs Java 17 or 21")
    return result.found or wheel_java.install(_print)


def _print_java(java: JavaHome) -> None:
    _print(f"java: Java {java.version} from {java.origin}, {java.path}")


def _print(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
