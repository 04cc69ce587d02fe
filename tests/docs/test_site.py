"""The built site: strict, and every page of it loads nothing from another host."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from docs.navigation import on_config
from docs.pictures import PICTURES
from docs.rule_links import PAGE, anchors

ROOT = Path(__file__).parents[2]
# What a browser loads by itself; a link is followed by its reader.
LOADED = re.compile(r"<(?:script|link|img|iframe|source|object|use)\b[^>]*?(?:src|href|data)=\"(?:https?:)?//[^\"]*\"")
LOADED_BY_CSS = re.compile(r"(?:url\(|@import\s)[\"']?(?:https?:)?//")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(folder)]
    built = subprocess.run(
        command,
        cwd=ROOT,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (built.returncode, built.stderr) == (0, ""), built.stdout + built.stderr
    return folder


def test_no_page_loads_from_another_host(site: Path) -> None:
    pages = list(site.rglob("*.html"))
    assert len(pages) > 5
    assert not [match for page in pages for match in LOADED.findall(page.read_text("utf-8"))]
    assert not [style for style in site.rglob("*.css") if LOADED_BY_CSS.search(style.read_text("utf-8"))]


def test_every_rule_is_an_anchor_of_the_built_page(site: Path) -> None:
    built = (site / PAGE).with_suffix(".html").read_text("utf-8")
    assert not {anchor for anchor in anchors(ROOT / "docs" / PAGE) if f'id="{anchor}"' not in built}


def test_rules_in_text_are_links_and_pictures_are_inside(site: Path) -> None:
    page = (site / "explanation" / "event_time.html").read_text("utf-8")
    assert 'href="semantics.html#rule-54"' in page
    assert 'href="semantics.html#b4"' in page
    assert page.count('<svg role="img"') == len(PICTURES)
    assert "images/lateness.svg" not in page


def test_programs_of_the_site_are_not_published(site: Path) -> None:
    assert not list(site.rglob("*.py"))


def test_a_folder_in_the_navigation_stands_for_its_pages(tmp_path: Path) -> None:
    for name in ("b.md", "index.md", "a.md", "picture.svg"):
        (tmp_path / "guides").mkdir(exist_ok=True)
        (tmp_path / "guides" / name).touch()
    (tmp_path / "page.md").touch()
    nav = [{"Page": "page.md"}, {"Guides": "guides/"}, {"Missing": "missing.md"}, {"Empty": "empty/"}]
    config = type("Config", (), {"nav": nav, "docs_dir": str(tmp_path)})()
    assert on_config(config).nav == [
        {"Page": "page.md"},
        {"Guides": ["guides/index.md", "guides/a.md", "guides/b.md"]},
    ]
