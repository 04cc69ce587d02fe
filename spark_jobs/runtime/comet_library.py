"""Comet's native library, unpacked from its jar by set-up.

Without it, each Java unpacks 140 MB into the temporary folder when it starts. A Java that is killed leaves that file.
"""

from __future__ import annotations

import os
import platform
import shutil
import zipfile
from pathlib import Path

from spark_jobs.runtime.installed import comet_jars_dir, share
from spark_jobs.runtime.jars import COMET, WORK, locked

_FILE = "libcomet.so"
_FOLDERS = {"x86_64": "amd64", "amd64": "amd64", "aarch64": "aarch64", "arm64": "aarch64"}


def folder() -> Path:
    """Return the folder of the library of the locked Comet; the folder may not exist."""
    (jar,) = locked(COMET)
    return share() / f"comet-library-{jar.coordinate.rpartition(':')[2]}"


def unpack() -> None:
    """Unpack the library for this machine from the installed jar, unless it is unpacked."""
    (jar,) = locked(COMET)
    into = folder() / _FILE
    with zipfile.ZipFile(comet_jars_dir() / jar.file_name) as content:
        member = content.getinfo(f"org/apache/comet/linux/{_FOLDERS[platform.machine().lower()]}/{_FILE}")
        if into.is_file() and into.stat().st_size == member.file_size:
            return
        into.parent.mkdir(parents=True, exist_ok=True)
        # A process may have the file open: it is replaced, and never written over.
        partial = into.with_name(f"{WORK}{os.getpid()}")
        with content.open(member) as source, partial.open("wb") as target:
            shutil.copyfileobj(source, target)
        partial.replace(into)
