"""Links of the pages that the site does not hold lead to files that exist: README and the other pages beside it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted(ROOT.glob("*.md"))
_TARGET = re.compile(r"""\]\(([^)#\s]+)(?:#[^)]*)?\)|(?:src|srcset)="([^"]+)\"""")


def targets(page: Path) -> list[str]:
    """Return the local targets of links and pictures."""
    text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    found_targets = ["".join(match) for match in _TARGET.findall(text)]
    return [target for target in found_targets if "://" not in target]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_each_link_leads_to_a_file(page: Path) -> None:
    assert [target for target in targets(page) if not (ROOT / target).exists()] == []


def test_the_links_of_the_readme_are_read() -> None:
    assert {"docs/tutorial.md", "docs/images/report.png", "LICENSE"} <= set(targets(ROOT / "README.md"))
