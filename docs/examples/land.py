"""Write the rows of an example to Delta tables: `python docs/examples/land.py EXAMPLE [FOLDER]`.

Each CSV file of the example becomes the table of its name in FOLDER, which is `data` in the current folder by default.
A table that exists gets a new version. The types of the columns are declared here; an empty field is null.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
from deltalake import write_deltalake
from pyarrow import csv

_TIME, _NUMBER, _REAL, _TEXT = pa.timestamp("us", "UTC"), pa.int64(), pa.float64(), pa.string()
TYPES: Mapping[str, Any] = {
    **dict.fromkeys(
        ("clicked_at", "happened_at", "ordered_at", "paid_at", "searched_at", "bought_at", "valid_from"), _TIME
    ),
    **dict.fromkeys(("stored_at",), _TIME),
    # Milliseconds since 1970, as the feed of earthquakes has them.
    **dict.fromkeys(("time", "updated"), _NUMBER),
    **dict.fromkeys(("click_id", "order_id", "app_offset"), _NUMBER),
    **dict.fromkeys(("mag", "rate"), _REAL),
    **dict.fromkeys(("page", "app", "kind", "buyer", "id", "region", "currency"), _TEXT),
}


def read(file: Path) -> Any:
    """Return a CSV file as an Arrow table. Raises ValueError for a column without a declared type."""
    with file.open(encoding="utf-8") as text:
        undeclared = set(text.readline().strip().split(",")) - set(TYPES)
    if undeclared:
        raise ValueError(f"{file}: no declared type of {', '.join(sorted(undeclared))}; add it to TYPES of {__file__}")
    options = csv.ConvertOptions(column_types=TYPES, strings_can_be_null=True, null_values=[""])
    return csv.read_csv(file, convert_options=options)


def land(example: Path, folder: Path) -> list[Path]:
    """Write each CSV file of the example to a Delta table; returns the tables."""
    tables = []
    for file in sorted(example.glob("*.csv")):
        write_deltalake(folder / file.stem, read(file), mode="overwrite")
        tables.append(folder / file.stem)
    return tables


def main(arguments: Sequence[str]) -> None:
    """Write the tables of the example that the arguments name."""
    names = sorted(file.parent.name for file in Path(__file__).parent.glob("*/*.yaml"))
    if not arguments or arguments[0] not in names:
        raise SystemExit(f"found {' '.join(arguments) or 'no argument'}, expected an example: {', '.join(names)}")
    folder = Path(arguments[1] if len(arguments) > 1 else "data")
    for table in land(Path(__file__).parent / arguments[0], folder):
        sys.stdout.write(f"wrote {table}\n")


if __name__ == "__main__":
    main(sys.argv[1:])
