"""Untested: product modules without a test of their name.

A module is a product file that is not `__init__` or `__main__`. A test of its name is `test_<module>.py` or
`test_<module>_<anything>.py`. It is in the mirrored folder if its folder below `tests/`, or below one suite in
`tests/`, is the module's folder below its root package. For `tidemark_airflow` the suite `tests/airflow`
itself is a mirror. The second measure accepts a test of the name anywhere under `tests/`.

The measure shows where to look, not what is covered.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import PurePosixPath

from tests.house.checkout import Checkout, Module, Place

#: The folders that a module's path loses in the tests: the tests of `spark_jobs/replay` are in `tests/replay`.
_ROOTS = ("spark_jobs", "plugins/tidemark_airflow", "plugins")


def without_mirrored_test(house: Checkout) -> Iterator[Place]:
    """Yield each module without a test of its name in the mirrored folder."""
    for module in _modules(house):
        if not any(_is_mirror(test, module) for test in _tests(house, module)):
            yield Place(module.path, 1, f"no test_{module.name}.py in its folder of tests", module.package)


def without_any_test(house: Checkout) -> Iterator[Place]:
    """Yield each module without a test of its name anywhere under tests."""
    for module in _modules(house):
        if not any(_tests(house, module)):
            yield Place(module.path, 1, f"no test_{module.name}.py", module.package)


def _modules(house: Checkout) -> Iterator[Module]:
    return (module for module in house.product if not module.name.startswith("__"))


def _tests(house: Checkout, module: Module) -> Iterator[Module]:
    exact = f"test_{module.name.lstrip('_')}"
    return (test for test in house.tests if test.name == exact or test.name.startswith(f"{exact}_"))


def _is_mirror(test: Module, module: Module) -> bool:
    suite_and_folder = PurePosixPath(test.path).parts[1:-1]
    folder, is_airflow = _folder(module)
    places = [suite_and_folder, suite_and_folder[1:]]
    return folder in places or (is_airflow and suite_and_folder == ("airflow", *folder))


def _folder(module: Module) -> tuple[tuple[str, ...], bool]:
    folder = PurePosixPath(module.path).parent
    for root in _ROOTS:
        if folder.is_relative_to(root):
            return folder.relative_to(root).parts, "tidemark_airflow" in folder.parts
    return folder.parts, False
