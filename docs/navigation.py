"""The navigation: an entry of `nav` in mkdocs.yml that ends with a slash stands for the pages of that folder.

    how-to/     every page of docs/how-to, sorted by path, `index.md` first

An entry without a page is left out. A page that no entry contains fails the strict build (`omitted_files`).
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Replace the folders in `nav` by their pages."""
    if config.nav is not None:
        config.nav = list(_with_pages(config.nav, Path(config.docs_dir)))
    return config


def _with_pages(entries: list[Any], docs: Path) -> list[Any]:
    return [page for entry in entries if (page := _entry(entry, docs))]


def _entry(entry: Any, docs: Path) -> Any:
    if isinstance(entry, dict):
        ((title, target),) = entry.items()
        pages = _target(target, docs)
        return {title: pages} if pages else None
    return _target(entry, docs)


def _target(target: Any, docs: Path) -> Any:
    if isinstance(target, list):
        return _with_pages(target, docs)
    if target.endswith("/"):
        return _folder(docs / target, docs)
    return target if (docs / target).is_file() else None


def _folder(folder: Path, docs: Path) -> list[str]:
    pages = sorted(folder.rglob("*.md"), key=lambda page: (page.name != "index.md", page))
    return [page.relative_to(docs).as_posix() for page in pages]
