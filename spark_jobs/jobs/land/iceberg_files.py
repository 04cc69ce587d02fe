"""The files of an Iceberg table: the newest metadata, and a reader that stays in the folder of the table.

Metadata may name files anywhere, and a class of Python that reads them. It is data: none of these is followed.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

from pyiceberg.catalog.noop import NoopCatalog
from pyiceberg.exceptions import ValidationError
from pyiceberg.io.pyarrow import PyArrowFile, PyArrowFileIO
from pyiceberg.serializers import FromInputFile
from pyiceberg.table import StaticTable

from spark_jobs.error_codes import ErrorCode
from spark_jobs.jobs.errors import InputError

METADATA = ".metadata.json"
_VERSION = re.compile(r"v?(\d+)[-.].*")


class TableFiles(PyArrowFileIO):
    """Reads the files of one folder alone."""

    def __init__(self, root: Path) -> None:
        super().__init__()
        self._root = root.resolve()

    def new_input(self, location: str) -> PyArrowFile:
        """Return a file to read. Raises OSError for a file outside of the folder."""
        path = local_path(location)
        if path is None or not path.resolve().is_relative_to(self._root):
            raise OSError(f"found the file '{location}', expected files in '{self._root}'")
        return super().new_input(str(path))


def read_metadata(path: Path) -> StaticTable:
    """Read the newest metadata of the table in a folder, or a file of metadata. Raises InputError."""
    file = (path if path.is_file() else _newest(path)).absolute()
    root = file.parents[1]
    files = TableFiles(root)
    try:
        metadata = FromInputFile.table_metadata(files.new_input(str(file)))
    except (OSError, ValueError, ValidationError) as problem:
        raise InputError(
            f"FOLDER: '{file}' cannot be read as the metadata of an Iceberg table: {str(problem).splitlines()[0]}",
            code=ErrorCode.FILES_NOT_LANDED,
        ) from problem
    location = local_path(metadata.location)
    if location is None or location.resolve() != root.resolve():
        raise InputError(
            f"FOLDER: '{root}' is the Iceberg table of '{metadata.location}', and its files are there: "
            "land that folder, on a machine that has it",
            code=ErrorCode.FILES_NOT_LANDED,
        )
    return StaticTable(("table",), metadata, str(file), files, NoopCatalog("table"))


def local_path(uri: str) -> Path | None:
    """Return the path of a file of this machine; None for another URI."""
    path = "/" + uri.removeprefix("file:").lstrip("/")
    return Path(os.path.normpath(path)) if uri.startswith(("file:", "/")) else None


def _newest(table: Path) -> Path:
    """Return the metadata that the version hint names, or that has the highest number."""
    folder = table / "metadata"
    hint = folder / "version-hint.text"
    version = hint.read_text(encoding="utf-8").strip() if hint.is_file() else ""
    if version and (named := folder / f"v{version}{METADATA}").is_file():
        return named
    numbered = {file: int(match[1]) for file in folder.glob(f"*{METADATA}") if (match := _VERSION.match(file.name))}
    newest = sorted(file.name for file, number in numbered.items() if number == max(numbered.values()))
    if len(newest) != 1:
        raise InputError(
            f"FOLDER: '{folder}' has {len(newest):,} files of the newest version {', '.join(newest)}: "
            "name the file that your catalog names, in place of the folder",
            code=ErrorCode.FILES_NOT_LANDED,
        )
    return folder / newest[0]
