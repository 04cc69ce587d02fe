"""The judge of the engine's mutants as a fixture: one Spark for all cases of a pytest process."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.mutation.__main__ import copied
from tests.mutation.cases import kept_reaches
from tests.mutation.judges import SparkEngine

#: Seconds of tests for a mutant that none of them kills.
SECONDS = 120


@pytest.fixture(name="tree", scope="session")
def _tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return copied(tmp_path_factory.mktemp("mutants"))


@pytest.fixture(name="judge", scope="session")
def _judge(tree: Path) -> Iterator[SparkEngine]:
    judge = SparkEngine(tree, SECONDS, kept_reaches(tree))
    yield judge
    judge.close()
