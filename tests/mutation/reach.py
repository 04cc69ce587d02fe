"""The reach of a test: the lines that it runs in this process. Only tests that reach a broken line can notice it."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain, zip_longest
from pathlib import Path
from typing import Self

import pytest
from coverage import Coverage

Lines = Mapping[int, list[str]]


@dataclass
class Reach:
    """`seconds` of each test, by its id, and for each module the tests that run a line of it."""

    seconds: dict[str, float] = field(default_factory=dict)
    modules: dict[str, dict[int, list[str]]] = field(default_factory=dict)

    @classmethod
    def read(cls, path: Path) -> Self:
        """Read a reach that `spark_server` has written."""
        fields = json.loads(path.read_text(encoding="utf-8"))
        lines = {name: {int(n): tests for n, tests in of.items()} for name, of in fields["modules"].items()}
        return cls(fields["seconds"], lines)

    @classmethod
    def joined(cls, reaches: Iterable[Self]) -> Self:
        """Join the reaches of different tests."""
        whole = cls()
        for reach in reaches:
            whole.seconds |= reach.seconds
            for module, lines in reach.modules.items():
                for line, tests in lines.items():
                    whole.modules.setdefault(module, {}).setdefault(line, []).extend(tests)
        return whole

    def tests(self, module: str, lines: Iterable[int]) -> list[str]:
        """Give the tests that run one of `lines`, the quickest of each file first.

        What runs while the module is imported, or in a worker's process, is nobody's: all that use the module are
        given.
        """
        of_line = self.modules.get(module, {})
        names = {test for line in lines for test in of_line.get(line, [])} or set(chain.from_iterable(of_line.values()))
        files: dict[str, list[str]] = {}
        for test in sorted(names, key=self.seconds.__getitem__):
            files.setdefault(test.split("::")[0], []).append(test)
        return [test for round_ in zip_longest(*files.values()) for test in round_ if test is not None]


class Measured:
    """A plugin of pytest that measures the reach of every test in the modules under `folder`."""

    def __init__(self, root: Path, folder: Path) -> None:
        self._root = root
        self._coverage = Coverage(data_file=None, source=[str(folder)], branch=False)
        self._seconds: dict[str, float] = {}

    def __enter__(self) -> Self:
        self._coverage.start()
        return self

    def __exit__(self, *problem: object) -> None:
        self._coverage.stop()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        """Note what runs from a test's first fixture to its last as its own."""
        self._coverage.switch_context(item.nodeid)
        began = time.monotonic()
        result = yield
        self._seconds[item.nodeid] = time.monotonic() - began
        self._coverage.switch_context("")
        return result

    def reach(self) -> Reach:
        """Give what was measured."""
        data = self._coverage.get_data()
        modules = {
            str(Path(file).relative_to(self._root)): _by_tests(data.contexts_by_lineno(file))
            for file in data.measured_files()
        }
        return Reach(self._seconds, modules)


def _by_tests(lines: Lines) -> dict[int, list[str]]:
    tests_by_line = {line: [test for test in tests if test] for line, tests in lines.items()}
    return {line: tests for line, tests in tests_by_line.items() if tests}
