"""Runs told by hand, and pages taken apart."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime
from html.parser import HTMLParser
from typing import Any

import pytest

from spark_jobs.report.data import (
    Alternative,
    CheckResult,
    Combined,
    LateMark,
    LateMarks,
    Lateness,
    ReportData,
    Results,
    RunFacts,
    Series,
    Setting,
    StepFacts,
    TooLateKey,
    TooLateWindow,
    WatermarkLine,
)

HOUR = 3_600_000
START = 1_357_016_400_000
_VOID = {"meta", "link", "br", "hr", "input", "img", "rect", "circle", "path", "!doctype"}


@dataclass
class Element:
    """An element of a page with what is in it."""

    tag: str
    attributes: dict[str, str | None]
    children: list[Element] = field(default_factory=list)
    text: str = ""

    def all(self, tag: str) -> list[Element]:
        """Every element of a tag below this one."""
        found = [child for child in self.children if child.tag == tag]
        return found + [e for child in self.children for e in child.all(tag)]

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
    at = datetime(2026, 1, 5, 7, tzinfo=UTC)
    return RunFacts(
        run_id="r0123456789abcde",
        fingerprint="0123456789abcdef",
        kind="full",
        state="published",
        source_table="/lake/flights",
        source_version=11,
        lake="/lake/departures_by_carrier",
        started_at=at,
        finished_at=at,
        seconds=55.75,
        steps=(StepFacts("replay", "done", at, 55.75),),
        versions={"panes": 3},
        software={"Spark": "4.2.0"},
    )


@pytest.fixture(name="run")
def _run(facts: RunFacts) -> ReportData:
    """A run in which something of everything happened."""
    late = LateMark(START + 9 * HOUR, START, START + HOUR, START + HOUR, 3)
    too_late = LateMark(START + 12 * HOUR, START, START + HOUR, START + 4 * HOUR, 2)
    return ReportData(
        pipeline="departures_by_carrier",
        run=facts,
        counts={
            "rows_read": 20,
            "on_time": 12,
            "late": 3,
            "too_late": 2,
            "invalid": 2,
            "filtered": 1,
            "windows": 4,
            "panes": 7,
            "late_panes": 3,
        },
        allowed_lateness_ms=2 * HOUR,
        key=("carrier",),
        settings=(Setting("windows.allowed_lateness", "2 hours"),),
        watermark=WatermarkLine((START + 8 * HOUR, START + 11 * HOUR), (START + HOUR, START + 4 * HOUR), 2, 1, 0),
        late=LateMarks(3, 1, (late,)),
        too_late=LateMarks(2, 1, (too_late,)),
        lateness=Lateness((0, HOUR, 2 * HOUR, 3 * HOUR, 4 * HOUR), (3, 0, 0, 0), (0, 0, 0, 2), 3 * HOUR + 1),
        results=Results(
            starts_ms=(START, START + HOUR, START + 5 * HOUR),
            ends_ms=(START + HOUR, START + 2 * HOUR, START + 6 * HOUR),
            windows=3,
            series=(
                Series("row_count", Combined.SUM, (9.0, 4.0, 2.0)),
                Series("mean_delay", Combined.MEAN, (12.5, None, float("nan"))),
            ),
            not_drawn=("carriers",),
        ),
        checks=(
            CheckResult("panes", "windows are aligned", True, "4 windows", 0),
            CheckResult("run", "rows are conserved", False, "19 of 20", 1),
        ),
        too_late_windows=(TooLateWindow(START, START + HOUR, 2, 4 * HOUR),),
        too_late_keys=(TooLateKey(("UA",), 1, 4 * HOUR), TooLateKey((None,), 1, HOUR)),
        invalid_reasons={"event_time_missing": 2},
        alternatives=(Alternative("1 hour", "0s", 10, 0, 7),),
    )


@pytest.fixture(name="parsed")
def _parsed() -> Any:
    """Take a page apart."""
    return lambda html: Page(html).root
