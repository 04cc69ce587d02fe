"""A fingerprint names the results of published runs, so every pipeline keeps the one that it has had.

`fingerprints.json` contains pipeline files with their recorded fingerprints. A new kind of pipeline is added to it. A
recorded fingerprint never changes.
"""

from __future__ import annotations

import json
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from spark_jobs.pipeline import from_mapping
from spark_jobs.pipeline.fingerprint import FIELDS, SINCE_FORMAT

RECORDED: list[dict[str, Any]] = json.loads(Path(__file__).with_name("fingerprints.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("recorded", RECORDED, ids=lambda recorded: str(recorded["case"]))
def test_every_pipeline_keeps_its_fingerprint(recorded: dict[str, Any]) -> None:
    pipeline = from_mapping(recorded["file"], environ={})
    assert pipeline.fingerprint == recorded["fingerprint"]
    assert sorted(pipeline.same_results) == recorded["same_results"]
    alone = {united.name: pipeline.alone(united).fingerprint for united in pipeline.sources}
    assert alone == recorded.get("alone", {})


def test_enough_pipelines_are_recorded() -> None:
    assert len(RECORDED) >= 40


@pytest.mark.parametrize("kind", FIELDS, ids=lambda kind: kind.__name__)
def test_every_field_of_a_spec_is_in_the_fingerprint(kind: type[Any]) -> None:
    listed = (*FIELDS[kind], *SINCE_FORMAT.get(kind, {}))
    assert sorted(listed) == sorted(field.name for field in fields(kind))


def test_a_younger_field_enters_unless_it_has_its_default() -> None:
    for kind, unused in SINCE_FORMAT.items():
        defaults = {field.name: field.default for field in fields(kind)}
        assert {name: defaults[name] for name in unused} == unused
