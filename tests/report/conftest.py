"""Runs written by hand, and pages taken apart."""

from __future__ import annotations

from dataclasses import dataclass, field
from html.parser import HTMLParser
from typing import Any

import pytest

from spark_jobs.report.data import ReportData, RunFacts
from tests.support import sample_report_runs

_VOID = {"meta", "link", "br", "hr", "input", "img", "rect", "circle", "path", "!doctype"}


@dataclass
class Element:
    """An element of a page with what is in it."""

    tag: str
    attributes: dict[str, str | None]
    children: list[Element] = field(default_factory=list)
    text: str = ""

    def all(self, tag: str) -> list[Element]:
        """Return every element of a tag below this one."""
        elements = [child for child in self.children if child.tag == tag]
        return elements + [e for child in self.children for e in child.all(tag)]

    def words(self) -> str:
        """All text below this one."""
        return self.text + " ".join(child.words() for child in self.children)


class Page(HTMLParser):
    """A page as a tree, as a browser reads it: what is in scripts and styles is no markup."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.root = Element("", {})
        self._open = [self.root]
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        element = Element(tag, dict(attrs))
        self._open[-1].children.append(element)
        if tag not in _VOID:
            self._open.append(element)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._open[-1].children.append(Element(tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        if tag in _VOID:
            return
        assert self._open[-1].tag == tag, f"</{tag}> closes <{self._open[-1].tag}>"
        self._open.pop()

    def handle_data(self, data: str) -> None:
        self._open[-1].children.append(Element("#text", {}, text=data))


@pytest.fixture(name="facts")
def _facts() -> RunFacts:
    """A published run."""
    return sample_report_runs.published()


@pytest.fixture(name="run")
def _run() -> ReportData:
    """A run in which something of everything happened."""
    return sample_report_runs.eventful()


@pytest.fixture(name="parsed")
def _parsed() -> Any:
    """Take a page apart."""
    return lambda html: Page(html).root
