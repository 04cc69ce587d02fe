"""Each mutant of the engine is noticed by the quick comparisons with the reference that reach its lines."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.mutation.cases import broken_module, cases
from tests.mutation.engine_judge import _judge, _tree  # noqa: F401  fixtures
from tests.mutation.judges import SparkEngine
from tests.mutation.mutants import Mutant

pytestmark = pytest.mark.soak


@pytest.mark.parametrize("mutant", cases("spark_jobs/replay"))
def test_a_broken_rule_is_noticed(judge: SparkEngine, tree: Path, mutant: Mutant) -> None:
    assert judge.prepare(), "the tests fail before anything is broken"
    with broken_module(tree, mutant):
        assert not judge.passes(mutant), f"survived: {mutant}"
