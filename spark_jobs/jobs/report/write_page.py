"""The file of a page: it appears complete or not at all, and replaces an earlier file."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path


def write_page(text: str, path: Path) -> Path:
    """Write a page to `path`; a reader sees the earlier or the new page, never a part. Returns the path."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, partial = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
        # The temporary file is readable for its owner alone; a page has the usual mode of a file.
        Path(partial).chmod(0o644)
        Path(partial).replace(path)
    except BaseException:
        Path(partial).unlink(missing_ok=True)
        raise
    return path
