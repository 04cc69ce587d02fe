"""The log file of a command: the output of Spark, Java and Python's loggers, which no user can act on.

    $XDG_STATE_HOME/tidemark/logs/<UTC time>-<process>.log          by default below ~/.local/state

A process has one file, from the start of its Java on. The newest files stay, older ones are removed. If the folder
cannot be written, the file is in the folder for temporary files.
"""

from __future__ import annotations

import logging
import os
import tempfile
from datetime import UTC, datetime
from pathlib import Path

#: So many files stay.
KEPT = 20

_created: list[Path] = []


def create() -> Path:
    """Make the file of this process, write the records of Python's loggers to it, and return it."""
    file = _new_file()
    _created.append(file)
    _write_records(file)
    return file


def current() -> Path | None:
    """Return the file of this process; None before its Java is started."""
    return _created[-1] if _created else None


def folder() -> Path:
    """Return the folder of the files."""
    state = os.environ.get("XDG_STATE_HOME") or Path("~/.local/state").expanduser()
    return Path(state) / "tidemark" / "logs"


def shown_folder() -> str:
    """Return the folder as a page of help shows it on any machine."""
    return "$XDG_STATE_HOME/tidemark/logs" if os.environ.get("XDG_STATE_HOME") else "~/.local/state/tidemark/logs"


def _new_file() -> Path:
    try:
        logs = folder()
        logs.mkdir(mode=0o700, parents=True, exist_ok=True)
        file = logs / f"{datetime.now(UTC):%Y%m%dT%H%M%S}-{os.getpid()}.log"
        file.touch(mode=0o600)
        _remove_old(logs)
    except (OSError, RuntimeError):
        # Without a home folder, `expanduser` raises RuntimeError.
        handle, name = tempfile.mkstemp(prefix="tidemark-", suffix=".log")
        os.close(handle)
        return Path(name)
    return file


def _remove_old(logs: Path) -> None:
    for file in sorted(logs.glob("*.log"))[:-KEPT]:
        file.unlink(missing_ok=True)


def _write_records(file: Path) -> None:
    """Send Python's log records and warnings to the file, and those of PySpark that would write to the terminal."""
    from pyspark.logger import PySparkLogger

    records = logging.FileHandler(file, encoding="utf-8")
    records.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    logging.getLogger().addHandler(records)
    logging.captureWarnings(capture=True)
    for name in ("DataFrameQueryContextLogger", "SQLQueryContextLogger"):
        logger = PySparkLogger.getLogger(name)
        logger.handlers.clear()
        logger.addHandler(logging.FileHandler(file, encoding="utf-8"))
