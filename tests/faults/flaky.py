"""A driver whose tasks fail: `python -m tests.faults.flaky FLAGS TIMES STEP FILE [options]`.

The pipeline may call `flaky(x)`, which is x, and fails in the first `TIMES` tasks that ask for it. Files in
the folder `FLAGS` count the failures, for a task that runs again knows nothing of its first attempt.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path


def failing(flags: Path, times: int) -> Callable[[float | None], float | None]:
    """What fails for the first `times` times, in whatever process."""

    def flaky(value: float | None) -> float | None:
        for time in range(times):
            try:
                os.close(os.open(flags / str(time), os.O_CREAT | os.O_EXCL))
            except FileExistsError:
                continue
            raise RuntimeError(f"failed on purpose, for the {time + 1}. time")
        return value

    return flaky


if __name__ == "__main__":
    from spark_jobs.jobs import step
    from spark_jobs.session import open_session

    folder, failures, *arguments = sys.argv[1:]
    open_session("flaky").udf.register("flaky", failing(Path(folder), int(failures)), "double")
    sys.exit(step.main(arguments))
