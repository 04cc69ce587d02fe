"""Every file in `pipelines` is valid. This needs neither Spark nor the source tables."""

from __future__ import annotations

from pathlib import Path

import pytest

from spark_jobs.pipeline import load

PIPELINES = Path(__file__).parents[1] / "pipelines"
FILES = sorted(path for path in PIPELINES.iterdir() if path.suffix in (".yaml", ".yml"))


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_a_pipeline_file_is_valid(file: Path) -> None:
    # An error lists every problem of the file, with line and column.
    assert load(file).name


def test_each_pipeline_has_its_own_name() -> None:
    names = [load(file).name for file in FILES]
    assert len(set(names)) == len(names)
