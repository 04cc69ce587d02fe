"""A page's file: it appears complete or not at all, and in place of an earlier one."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path


def write_page(text: str, path: Path) -> Path:
    """Write a page to `path`; a reader sees the one that was there or this one, never a part. Returns the path."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, partial = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
        # Made readable for its owner alone; a page is read by whoever may read the folder.
        Path(partial).chmod(0o644)
        Path(partial).replace(path)
    except BaseException:
        Path(partial).unlink(missing_ok=True)
        raise
    return path
