"""Sample checkouts: a few files, written by their paths."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from textwrap import dedent

import pytest

from tests.house.checkout import Checkout

Make = Callable[[dict[str, str]], Checkout]


@pytest.fixture
def make(tmp_path: Path) -> Make:
    """Return a function that writes files and returns their checkout."""

    def write(files: dict[str, str]) -> Checkout:
        for path, source in files.items():
            file = tmp_path / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(dedent(source), encoding="utf-8")
        return Checkout(tmp_path)

    return write
