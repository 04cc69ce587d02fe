"""Spark's settings of the user beside Tidemark's: both apply where they can, and a setting that cannot is reported.

    joined      class paths and `spark.sql.extensions`: Tidemark's first, then the user's
    the user's  settings that change no result, such as Spark's page and its log
    Tidemark's  every other setting that both have

The user's settings are in `spark-defaults.conf` of the folder `SPARK_CONF_DIR`, or are those of `spark-submit`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

_FOLDER, _FILE = "SPARK_CONF_DIR", "spark-defaults.conf"
_JOINED = {
    "spark.sql.extensions": ",",
    "spark.driver.extraClassPath": os.pathsep,
    "spark.executor.extraClassPath": os.pathsep,
}
_OF_USER = frozenset(
    {
        "spark.databricks.delta.snapshotPartitions",
        "spark.databricks.delta.writeChecksumFile.enabled",
        "spark.log.level",
        "spark.python.sql.dataFrameDebugging.enabled",
        "spark.ui.enabled",
        "spark.ui.showConsoleProgress",
    }
)
# A line of Java's properties: a name, then a value behind blanks, `=` or `:`.
_LINE = re.compile(r"\s*(?P<name>[^\s#!=:][^\s=:]*)\s*[=:\s]\s*(?P<value>.*?)\s*")


def of_file(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the settings of the user's file; none without a file."""
    folder = environ.get(_FOLDER)
    file = Path(folder or "", _FILE)
    if not folder or not file.is_file():
        return {}
    lines = map(_LINE.fullmatch, file.read_text(encoding="utf-8", errors="replace").splitlines())
    return {match["name"]: match["value"] for match in lines if match}


def beside(own: Mapping[str, str], users: Mapping[str, str], report: Callable[[str], None]) -> dict[str, str]:
    """Return Tidemark's `own` settings with those of the user; `report` gets a sentence for each that is not used."""
    settings = {}
    for name, value in own.items():
        settings[name] = value
        of_user = users.get(name, value)
        if name in _JOINED:
            settings[name] = _JOINED[name].join(dict.fromkeys(_parts(_JOINED[name], value, of_user)))
        elif name in _OF_USER:
            settings[name] = of_user
        elif of_user != value:
            report(f"the setting {name} of Spark is '{of_user}', but a run needs '{value}', and uses this")
    return settings


def _parts(separator: str, *texts: str) -> Iterator[str]:
    return (part.strip() for text in texts for part in text.split(separator) if part.strip())
