"""Each mutant of the reference is noticed by the quick tests of the reference."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.mutation.__main__ import copied
from tests.mutation.cases import broken_module, cases
from tests.mutation.judges import Reference
from tests.mutation.mutants import Mutant

pytestmark = pytest.mark.soak


@pytest.fixture(name="tree", scope="session")
def _tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return copied(tmp_path_factory.mktemp("mutants"))


@pytest.fixture(name="judge", scope="session")
def _judge(tree: Path) -> Reference:
    judge = Reference(tree)
    assert judge.prepare(), "the tests fail before anything is broken"
    return judge


@pytest.mark.parametrize("mutant", cases("spark_jobs/semantics"))
def test_a_broken_rule_is_noticed(judge: Reference, tree: Path, mutant: Mutant) -> None:
    with broken_module(tree, mutant):
        assert not judge.passes(mutant), f"survived: {mutant}"
