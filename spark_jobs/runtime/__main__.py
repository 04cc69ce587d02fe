"""`python -m spark_jobs.runtime setup` installs what Spark needs in addition to its packages: a Java and the jars.

It makes the class archive, with which Spark starts sooner. A second run only checks that all is installed.

It is the set-up of checkouts and images: after it, the environment fetches nothing at run time.
"""

from __future__ import annotations

import os
import sys

from spark_jobs.job_protocol import ExitCode
from spark_jobs.runtime.errors import RuntimeSetupError
from spark_jobs.runtime.installation import install
from spark_jobs.runtime.installed import set_up_mark


def main(arguments: list[str]) -> int:
    """Run the command `setup`; returns the exit code."""
    if arguments != ["setup"]:
        sys.stderr.write(f"unknown arguments '{' '.join(arguments)}'. Usage: python -m spark_jobs.runtime setup\n")
        return ExitCode.WRONG_INPUT
    try:
        install(os.environ, _print, archives_classes=True)
    except RuntimeSetupError as error:
        sys.stderr.write(f"error: {error}\n")
        return ExitCode.FAILED
    set_up_mark().touch()
    return ExitCode.DONE


def _print(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
