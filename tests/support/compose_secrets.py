"""Secrets for the compose file."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

from tests.docker.installation import FOLDER


def make_secrets(folder: Path) -> Path:
    """Let make-secrets fill the folder of an installation; gives the secrets'."""
    folder.mkdir(exist_ok=True)
    script = shutil.copy(FOLDER / "make-secrets", folder)
    subprocess.run([script], check=True, stdout=subprocess.DEVNULL)
    return folder / "secrets"
