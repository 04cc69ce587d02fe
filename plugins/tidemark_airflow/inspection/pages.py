"""The pages as HTML: complete but for the scripts that Airflow serves, and safe for any values in the data."""

# ruff: noqa: S704  what is marked as safe is this project's own text
from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from markupsafe import Markup, escape

from spark_jobs.cases.value_text import time_text, value_text
from spark_jobs.explain import words
from spark_jobs.explain.explanations import INVALID, LEFT_OUT
from spark_jobs.inspection import reason_texts
from spark_jobs.inspection.inspections import RowChoice, RowInspection, WindowInspection
from spark_jobs.inspection.inspector import Answer
from spark_jobs.inspection.lateness_ranges import RANGES
from spark_jobs.inspection.missed_page import PAGES, ROWS, Grouping, MissedGroup, MissedPage
from spark_jobs.inspection.publication import Publication
from spark_jobs.inspection.row_filter import RowFilter, RowKind
from spark_jobs.inspection.rule_texts import RULE_TEXTS
from spark_jobs.pipeline.durations import format_duration
from spark_jobs.report import palette, text
from spark_jobs.report.templating import embedded, environment, template_text
from spark_jobs.semantics.rows.instants import END_OF_INPUT, table_time_us
from tidemark_airflow.inspection import addresses, timeline
from tidemark_airflow.inspection.addresses import RowsRequest, WindowRequest
from tidemark_airflow.inspection.timeline import TimeLine
from tidemark_airflow.quality import places, scripts

#: The columns of rows that a page shows; those behind them are counted.
COLUMNS = 16
_PACKAGE = __package__ or ""
_QUALITY = "tidemark_airflow.quality"
#: Columns of the published tables that the list of rows leaves out.
_NOT_LISTED = ("run_id", "window_end")


@dataclass(frozen=True)
class Subject:
    """What a page is about: the pipeline, its run, and whether the columns of source rows are shown."""

    pipeline: str
    publication: Publication
    shows_source: bool

    @property
    def run_id(self) -> str:
        """The id of the run."""
        return self.publication.run.run_id


def late_rows(subject: Subject, request: RowsRequest, page: MissedPage, *, reason: str, nonce: str) -> str:
    """Return a page of late or invalid rows; `reason` is why the source is not replayed, empty if it is."""
    listed = [name for name in page.columns if name not in _NOT_LISTED]
    return _render(
        "late_rows.html",
        nonce,
        subject=subject,
        settings=subject.publication.settings,
        request=request,
        other=RowsRequest(RowFilter(RowKind.INVALID if page.kind is RowKind.LATE else RowKind.LATE)),
        cleared=RowsRequest(RowFilter(page.kind)),
        page=page,
        columns=listed[:COLUMNS],
        columns_cut=max(0, len(listed) - COLUMNS),
        part=_Part(request.page, page.rows_in_all),
        prefixes=addresses.prefixes(subject.publication.key, subject.publication.partition),
        remedies=_remedies(subject.publication, page.total),
        ranges=RANGES,
        narrowed=_narrowed,
        turned=lambda of, by: replace(of, page=of.page + by),
        reason=reason,
    )


def rows(
    subject: Subject,
    answer: Answer[Sequence[RowInspection]],
    life: Answer[WindowInspection | None] | None,
    *,
    chosen: str,
    has_form: bool,
    nonce: str,
) -> str:
    """Return the page that explains rows; `life` is that of the newest window of the only row. `chosen` is in words."""
    line = None if life is None or life.content is None else timeline.time_line(life.content)
    return _render(
        "rows.html",
        nonce,
        line,
        subject=subject,
        answer=answer,
        life=None if life is None else life.content,
        chosen=chosen,
        has_form=has_form,
        rules=_rules(answer.content),
    )


def window(subject: Subject, request: WindowRequest, answer: Answer[WindowInspection | None], *, nonce: str) -> str:
    """Return the page that explains a window."""
    line = None if answer.content is None else timeline.time_line(answer.content)
    return _render("window.html", nonce, line, subject=subject, request=request, answer=answer, life=answer.content)


def problem(pipeline: str, sentence: str, *, nonce: str) -> str:
    """Return a page with a problem."""
    return _render("problem.html", nonce, pipeline=pipeline, sentence=sentence)


def _narrowed(request: RowsRequest, group: MissedGroup) -> RowsRequest | None:
    """Return the request of the rows of a group; None for a group that no filter chooses."""
    chosen, values = request.chosen, group.values
    match request.by:
        case Grouping.KEY | Grouping.PARTITION:
            chosen = replace(chosen, values={**chosen.values, **values})
        case Grouping.WINDOW if values["window_start"] != "null":
            chosen = replace(chosen, window_start=datetime.fromisoformat(values["window_start"]))
        case Grouping.LATENESS:
            chosen = replace(chosen, lateness=values["lateness"])
        case Grouping.REASON:
            chosen = replace(chosen, reason=values["reason"])
        case _:
            return None
    return RowsRequest(chosen, request.by)


class _Part:
    """Which page of several this is, from 1; a page behind the last one that can be opened is none."""

    def __init__(self, page: int, rows_in_all: int) -> None:
        self.page = page
        self.pages = min(PAGES, max(1, -(-rows_in_all // ROWS)))
        self.most = PAGES * ROWS
        self.is_cut = rows_in_all > self.most


def _rules(rows_of: Sequence[RowInspection]) -> Mapping[int, str]:
    """Return the rules behind the verdicts of rows, with their sentences."""
    numbers = {window.rule for each in rows_of for window in each.row.windows}
    if any(each.row.fate == "too_late" and not each.row.windows for each in rows_of):
        numbers |= {53, 91}
    if any(each.row.fate == "unassigned" for each in rows_of):
        numbers.add(53)
    return {number: RULE_TEXTS[number] for number in sorted(numbers) if number in RULE_TEXTS}


def _remedies(publication: Publication, total: MissedGroup | None) -> list[str]:
    """Return the settings that would have saved all rows of a page."""
    needed_ms = None if total is None else total.lateness_for_all_ms
    settings = publication.settings
    if not needed_ms or settings.updates:
        return []
    at_most = "at most " if settings.is_session else ""
    remedies = [f"windows.allowed_lateness: {at_most}{format_duration(needed_ms)}"]
    if settings.bound is not None and settings.lateness_ms is not None and needed_ms > settings.lateness_ms:
        bound = format_duration(settings.bound.ms + needed_ms - settings.lateness_ms)
        remedies.append(f"{settings.bound.setting}: {at_most}{bound}")
    return remedies


def _value(value: object) -> Markup:
    """Write a value of a column, with the text that the terminal has for it."""
    if isinstance(value, datetime):
        return Markup("{}").format(time(value))
    return text.excerpt(None if value is None else value_text(value), 120)


def time(moment: datetime | None) -> str:
    """Write a time in UTC without the digits that are zero; None as a dash."""
    return text.NOTHING if moment is None else time_text(moment)


def watermark(moment: datetime | None) -> str:
    """Write a watermark; None is none yet."""
    if moment is None:
        return "none yet"
    return "the end of the input" if moment == END_OF_INPUT else time(moment)


def times(choice: RowChoice) -> list[str]:
    """Return the times of chosen rows in words."""
    words_of = [f"event time {time(table_time_us(choice.event_us))}"]
    if choice.arrival_us is not None:
        words_of.append(f"arrival time {time(table_time_us(choice.arrival_us))}")
    return words_of


def late_by(ms: float | None) -> str:
    """Write a duration in milliseconds by its two largest units; None as a dash."""
    return text.NOTHING if ms is None else text.duration(int(ms))


def _attribute(content: str) -> Markup:
    """Write a text as the value of a hidden field: characters that nobody sees are references, and stay what they are.

    A browser sends the text as it was.
    """
    references = (escape(c) if text.visible(c) == c else Markup(f"&#{ord(c)};") for c in content)
    return Markup("").join(references)


def _exactly(ms: int | None) -> str:
    """Write a duration as a pipeline file may have it; None as a dash."""
    return text.NOTHING if ms is None else format_duration(ms)


def _render(template: str, nonce: str, line: TimeLine | None = None, **values: Any) -> str:
    charts = {} if line is None or line.chart is None else {timeline.LIFE: line.chart}
    files = [*scripts.of_frames(), *(scripts.of_charts() if charts else [])]
    templates = environment(_PACKAGE, _QUALITY)
    return templates.get_template(template).render(
        **values,
        line=line,
        nonce=nonce,
        style=Markup(
            template_text("style.css") + template_text("quality.css", _QUALITY) + template_text("rows.css", _PACKAGE)
        ),
        light=Markup(palette.variables(dark=False)),
        dark=Markup(palette.variables(dark=True)),
        scripts=[places.static(file) for file in files],
        embedded=embedded(charts) if charts else None,
        charts=frozenset(charts),
        life_chart=timeline.LIFE,
        addresses=addresses,
        places=places,
        fates=words.FATES,
        fates_dropped=words.FATES_DROPPED,
        fates_of_interval=words.FATES_OF_INTERVAL,
        fates_as_of=words.FATES_AS_OF,
        event=words.event,
        outside=(INVALID, LEFT_OUT),
        value=_value,
        time=time,
        watermark=watermark,
        late_by=late_by,
        exactly=_exactly,
        meaning=reason_texts.meaning,
        attribute=_attribute,
    )
