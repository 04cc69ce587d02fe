"""Pictures of a page are put into its HTML, so that they take the colours of the page: light, dark, and the switch.

An image of `docs/images` that is an SVG becomes the SVG's text. Its description is the image's alternative text.
"""

from __future__ import annotations

import re
from html import escape, unescape
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import Files
from mkdocs.structure.pages import Page

_IMAGE = re.compile(r'<img alt="(?P<alt>[^"]*)" src="(?P<src>[^":]+/(?P<name>\w+)\.svg)" ?/?>')


def on_page_content(html: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Replace the pictures that `pictures.py` draws by their text."""
    return _IMAGE.sub(lambda image: _inlined(image, Path(config.docs_dir) / "images"), html)


def _inlined(image: re.Match[str], folder: Path) -> str:
    file = folder / f"{image['name']}.svg"
    if not file.is_file():
        return image[0]
    svg = file.read_text(encoding="utf-8").split("?>", 1)[-1].strip()
    return svg.replace("<svg ", f'<svg role="img" aria-label="{escape(unescape(image["alt"]))}" ', 1)
