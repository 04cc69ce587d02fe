"""The pictures of the documentation are those that the reference's results give today."""

from __future__ import annotations

from xml.etree import ElementTree as ET

import pytest

from docs.generate.examples.pages import pictures
from docs.pictures import IMAGES, PICTURES

_ALL = {**PICTURES, **pictures()}


@pytest.mark.parametrize("name", PICTURES)
def test_a_picture_is_up_to_date(name: str) -> None:
    assert (IMAGES / f"{name}.svg").read_text(encoding="utf-8") == PICTURES[name](), "run python -m docs.pictures"


@pytest.mark.parametrize("name", _ALL)
def test_a_picture_loads_nothing_from_another_host(name: str) -> None:
    root = ET.fromstring(_ALL[name]())  # noqa: S314
    assert not [value for element in root.iter() for value in element.attrib.values() if "//" in value]
