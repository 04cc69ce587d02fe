"""A process that reads malformed pipeline files without Spark, and reports on each: `refused_files.py SEED NUMBER`.

It writes a JSON object a line: `{name, seconds, refusal, problems}` of each file, with a null refusal for a valid file.
Then comes `{peak_mb}`, the most memory of the process so far. Then come `{name, exit_code, output}` of the command for
every fourth refused file.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path
from time import monotonic
from typing import Any

from typer.testing import CliRunner

from spark_jobs.cli.app import app
from spark_jobs.pipeline import PipelineError, load
from tests.support.malformed_files import malformed_files

#: The command takes a hundred times as long as the loader, and refuses every file in the same way.
EVERY = 4


def main(seed: int, number: int) -> None:
    """Load each file, and then run the command with some of the refused files."""
    with tempfile.TemporaryDirectory() as folder:
        file, refused = Path(folder) / "pipeline.yaml", []
        for name, content in malformed_files(seed, number):
            file.write_bytes(content)
            outcome = _loaded(file)
            _write({"name": name, **outcome})
            # For a valid file the command would start Spark.
            refused += [(name, content)] if outcome["refusal"] is not None else []
        _write({"peak_mb": _peak_mb()})
        for name, content in refused[::EVERY]:
            file.write_bytes(content)
            answer = CliRunner().invoke(app, ["check", str(file)])
            _write({"name": name, "exit_code": answer.exit_code, "output": answer.output})


def _loaded(file: Path) -> dict[str, Any]:
    began = monotonic()
    try:
        load(file, environ={})
    except PipelineError as refusal:
        return {"seconds": monotonic() - began, "refusal": str(refusal), "problems": len(refusal.problems)}
    return {"seconds": monotonic() - began, "refusal": None}


def _peak_mb() -> float:
    """Return the most memory that this process had; getrusage would count the process that started it."""
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return int(status.partition("VmHWM:")[2].split()[0]) / 1024


def _write(outcome: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(outcome) + "\n")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
