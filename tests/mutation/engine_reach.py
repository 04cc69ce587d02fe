"""The quick comparisons pass on the whole engine; which lines each of them runs is measured meanwhile and kept."""

from __future__ import annotations

import pytest

from tests.mutation.engine_judge import _judge, _tree  # noqa: F401  fixtures
from tests.mutation.judges import JUDGES_OF_SPARK, SparkEngine

pytestmark = pytest.mark.soak


@pytest.mark.parametrize("tests", JUDGES_OF_SPARK)
def test_the_whole_engine_passes(judge: SparkEngine, tests: str) -> None:
    assert judge.measure(tests), f"{tests} fails before anything is broken"
