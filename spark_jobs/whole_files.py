"""Files of text that appear complete or not at all, and replace an earlier file. Standard library only."""

from __future__ import annotations

from pathlib import Path
from uuid import uuid4


def write_whole(text: str, path: Path) -> Path:
    """Write a text to `path`; a reader sees the earlier or the new text, never a part. Returns the path.

    Makes missing folders. Raises OSError; then the earlier file stays, and no part of the new file.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f".{path.name}.{uuid4().hex}")
    try:
        partial.write_text(text, encoding="utf-8")
        return partial.replace(path)
    except BaseException:
        partial.unlink(missing_ok=True)
        raise
