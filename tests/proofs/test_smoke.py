"""The smoke tests cover each package of the product, and name tests that exist and are quick."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.proofs.smoke import SMOKE

ROOT = Path(__file__).parents[2]
TESTS = [test for tests in SMOKE.values() for test in tests]


def packages() -> Iterator[str]:
    """Yield the packages of the product, and the modules beside them."""
    for path in sorted((ROOT / "spark_jobs").iterdir()):
        if (path / "__init__.py").exists() or (path.suffix == ".py" and path.stem != "__init__"):
            yield f"spark_jobs/{path.stem}"
    yield from ("expectations", "plugins/tidemark_airflow", "dags", "docker")


@pytest.mark.parametrize("package", list(packages()))
def test_each_package_has_smoke_tests(package: str) -> None:
    assert SMOKE.get(package), f"tests/proofs/smoke.py names no tests for {package}"


@pytest.mark.parametrize("test", TESTS)
def test_a_smoke_test_exists(test: str) -> None:
    file, *names = test.split("::")
    assert (ROOT / file).exists()
    if names:
        tree = ast.parse((ROOT / file).read_text(encoding="utf-8"))
        assert names[0] in {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
