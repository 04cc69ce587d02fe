"""A disk of a few kilobytes that can be made larger: a file system in memory."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

_MOUNT, _UNMOUNT = (shutil.which(name) or name for name in ("mount", "umount"))


@dataclass(frozen=True)
class SmallDisk:
    """A disk at `folder`."""

    folder: Path

    def resize(self, kib: int) -> None:
        """Give the disk this size; what is on it stays."""
        subprocess.run([_MOUNT, "-o", f"remount,size={kib}k", str(self.folder)], check=True)


@contextmanager
def small_disk(folder: Path, kib: int) -> Iterator[SmallDisk]:
    """A disk of `kib` KiB at `folder`. Skips the test where the system lets it mount none."""
    folder.mkdir(parents=True)
    command = [_MOUNT, "-t", "tmpfs", "-o", f"size={kib}k,mode=777", "tidemark", str(folder)]
    mounted = subprocess.run(command, check=False, capture_output=True, text=True)
    if mounted.returncode:
        pytest.skip(f"no small disk can be had here: {mounted.stderr.strip()}")
    try:
        yield SmallDisk(folder)
    finally:
        # Lazily: a process of Spark's may still be in it.
        subprocess.run([_UNMOUNT, "--lazy", str(folder)], check=True)
