"""The page: whole in itself, safe whatever the data contains, small, and readable without seeing a chart."""

from __future__ import annotations

import base64
import hashlib
import json
import math
import re
from collections.abc import Callable
from dataclasses import replace

import pytest

from spark_jobs.report import ReportData, headlines, render
from spark_jobs.report.data import (
    Alternative,
    CheckResult,
    Combined,
    Completeness,
    Cost,
    JoinFacts,
    LackingWindow,
    LateMark,
    LateMarks,
    Lateness,
    PartitionLines,
    Results,
    RunFacts,
    Series,
    Setting,
    TooLateKey,
    WatermarkLine,
)
from tests.report.conftest import Element
from tests.support.sample_report_runs import HOSTILE, hostile

Parsed = Callable[[str], Element]

_LOADING = {"src", "href", "srcset", "action", "formaction", "poster", "data", "xlink:href", "background"}


_PAGES: dict[str, str] = {}


def page_of(data: ReportData) -> str:
    """Return the page of a run; equal data are rendered once, for the charts take long."""
    name = repr(data)
    if name not in _PAGES:
        _PAGES[name] = render(data)
    return _PAGES[name]


def loaded(page: Element) -> list[str]:
    """Whatever an element of the page would fetch, links within the page apart."""
    references = []
    for element in everything(page):
        for name, value in element.attributes.items():
            if name in _LOADING and value and not value.startswith(("#", "data:")):
                references.append(f"{element.tag} {name}={value}")
            if name == "style" and value and "url(" in value:
                references.append(f"{element.tag} style={value}")
    return references


def everything(page: Element) -> list[Element]:
    return [page, *(e for child in page.children for e in everything(child))]


def section(page: Element, name: str) -> Element:
    return next(s for s in page.all("section") if s.attributes.get("id") == name)


def test_nothing_is_fetched_from_anywhere(run: ReportData, parsed: Parsed) -> None:
    html = page_of(run)
    page = parsed(html)
    assert loaded(page) == []
    style = page.all("style")[0].words()
    assert "url(" not in style
    assert "@import" not in style
    own = html[: html.index("<script>")]
    assert "http:" not in own
    assert "https:" not in own


def test_only_the_pages_own_scripts_may_run_and_none_may_ask_a_network(run: ReportData, parsed: Parsed) -> None:
    page = parsed(page_of(run))
    policy = next(m for m in page.all("meta") if m.attributes.get("http-equiv") == "Content-Security-Policy")
    rules = dict(rule.strip().split(" ", 1) for rule in (policy.attributes["content"] or "").split(";"))
    assert rules["default-src"] == "'none'"
    assert "connect-src" not in rules
    assert "unsafe" not in rules["script-src"]
    scripts = [s for s in page.all("script") if "type" not in s.attributes]
    hashes = [base64.b64encode(hashlib.sha256(s.words().encode()).digest()).decode() for s in scripts]
    assert len(hashes) == 2
    assert rules["script-src"].split() == [f"'sha256-{h}'" for h in hashes]


def test_hostile_values_are_text_wherever_they_stand(run: ReportData, parsed: Parsed) -> None:
    data = hostile(run)
    html = render(data)
    assert structure(parsed(html)) == structure(parsed(render(plain(data))))
    assert "\u202e" not in html
    html.encode()
    assert "49$$" not in html


def plain(data: ReportData) -> ReportData:
    """Return the data with harmless words in place of hostile ones."""

    def harmless(value: object) -> object:
        if value == HOSTILE:
            return "harmless words"
        if isinstance(value, tuple):
            return tuple(harmless(v) for v in value)
        if isinstance(value, dict):
            return {harmless(k): harmless(v) for k, v in value.items()}
        if hasattr(value, "__dataclass_fields__"):
            return replace(value, **{n: harmless(getattr(value, n)) for n in value.__dataclass_fields__})  # type: ignore[type-var]
        return value

    harmless_data = harmless(data)
    assert isinstance(harmless_data, ReportData)
    return harmless_data


def structure(page: Element) -> list[tuple[str, tuple[str, ...]]]:
    """Elements and the names of their attributes, without the notes on what was cut."""
    elements = (e for e in everything(page) if e.tag != "#text" and e.attributes.get("class") != "cut")
    return [(e.tag, tuple(sorted(e.attributes))) for e in elements]


def test_nothing_of_the_data_but_numbers_comes_into_the_charts(run: ReportData, parsed: Parsed) -> None:
    named = replace(run, results=replace(run.results, series=(Series("S3CRET", Combined.SUM, (1.0, 2.0, 3.0)),)))
    html = render(replace(named, pipeline="S3CRET", key=("S3CRET",), too_late_keys=(TooLateKey(("S3CRET",), 1, 1),)))
    embedded = next(s for s in parsed(html).all("script") if s.attributes.get("type") == "application/json")
    assert "S3CRET" in html
    assert "S3CRET" not in embedded.words()
    assert json.loads(embedded.words())["items"][0]["roots"]


def test_the_largest_report_is_under_3_mb_and_counts_what_it_leaves_out(
    run: ReportData, facts: RunFacts, parsed: Parsed
) -> None:
    long = ("\u202e" + "<&'\"") * 20_000
    mark = LateMark(1_400_000_000_000, 1_300_000_000_000, 1_300_000_100_000, 1_350_000_000_000, 5)
    values = tuple(math.sin(i) for i in range(2_000))
    times = tuple(range(0, 4_000_000, 1_000))
    largest = replace(
        run,
        pipeline=long,
        run=replace(
            facts, error="\n".join([long] * 100), source_table=long, versions={f"{i}{long}": i for i in range(99)}
        ),
        settings=(Setting(long, long),) * 5_000,
        watermark=WatermarkLine(times[:2_100], times[:2_100], 9, 1, 1),
        late=LateMarks(10**7, 10**6, (mark,) * 2_500),
        too_late=LateMarks(10**7, 10**6, (mark,) * 2_500),
        lateness=Lateness(tuple(range(62)), tuple(range(61)), tuple(range(61)), 10**9, open_ended=True),
        results=Results(
            times[0::2][:2_000],
            times[1::2][:2_000],
            10**6,
            500,
            tuple(Series(long, Combined.MEAN, values) for _ in range(12)),
            (long,) * 1_000,
        ),
        key=(long,) * 10,
        checks=(CheckResult(long, long, True, long, 1),) * 5_000,
        too_late_keys=(TooLateKey((long,) * 10, 1, 1),) * 10,
        invalid_reasons={f"{i}{long}": i for i in range(100)},
        alternatives=(Alternative(long, long, 1, 1, 1),) * 1_000,
    )
    html = render(largest)
    assert len(html.encode()) < 3_000_000
    page = parsed(html)
    assert "4,800 more checks are not listed" in section(page, "checks").words()
    assert "4,800 more settings are not listed" in section(page, "run").words()
    assert "an even sample of 2,500 is drawn" in section(page, "watermark").words()
    assert "drawn as 2,000 points; a point is 500 neighbouring windows." in section(page, "results").words()


@pytest.mark.parametrize("counts", [{}, {"rows_read": 0, "on_time": 0}])
def test_the_page_of_an_empty_run_states_it_and_needs_no_script(
    facts: RunFacts, counts: dict[str, int], parsed: Parsed
) -> None:
    html = render(ReportData("empty", facts, counts))
    page = parsed(html)
    assert page.all("script") == []
    assert len(html) < 30_000
    header = page.all("header")[0].words()
    assert ("read no rows" if counts else "No row has been counted") in header
    for name in ("watermark", "lateness", "results", "checks", "too-late"):
        assert re.search(r"\b[Nn]o", section(page, name).words()), name


def test_failed_checks_come_first_and_each_has_its_outcome_in_words(run: ReportData, parsed: Parsed) -> None:
    checks = section(parsed(page_of(run)), "checks")
    rows = [row for table in checks.all("tbody") for row in table.all("tr")]
    assert [row.all("td")[0].words().strip() for row in rows] == ["✗ failed", "✓ passed"]
    assert "19 of 20" in rows[0].words()


def test_failed_checks_are_open_and_passed_ones_folded_by_suite(run: ReportData, parsed: Parsed) -> None:
    checks = section(parsed(page_of(run)), "checks")
    (folded,) = checks.all("details")
    assert "open" not in folded.attributes
    assert "1 check passed" in folded.all("summary")[0].words()
    captions = [table.all("caption")[0].words().strip() for table in checks.all("table")]
    assert captions == ["Failed checks", "panes: 1 check"]
    assert "A row is a pane." in folded.words()


def test_failed_checks_come_before_the_charts(run: ReportData) -> None:
    def order(page: str) -> list[int]:
        return [page.index(f'<section id="{name}"') for name in ("numbers", "checks", "lateness")]

    assert order(page_of(run)) == sorted(order(page_of(run)))
    numbers, checks, lateness = order(render(replace(run, checks=run.checks[:1])))
    assert numbers < lateness < checks


def test_figures_of_spark_are_a_section_with_a_column_for_each_step(run: ReportData, parsed: Parsed) -> None:
    page = parsed(page_of(run))
    table = section(page, "spark").all("table")[0]
    assert table.all("thead")[0].words() == "figure replay"
    rows = [row.words() for row in table.all("tbody")[0].all("tr")]
    assert rows[:7] == [
        "seconds 50 s",
        "startup seconds 4.25 s",
        "spark jobs 31 jobs",
        "task seconds 88.5 s",
        "native share 62.5%",
        "skew 1.75",
        "rows read 3,000,000 rows",
    ]
    assert "share of task_seconds in native code" in section(page, "spark").words()
    assert any(link.attributes.get("href") == "#spark" for link in page.all("a"))
    without = parsed(page_of(replace(run, run=replace(run.run, steps=run.run.steps[:1]))))
    assert [s for s in without.all("section") if s.attributes.get("id") == "spark"] == []
    assert all(link.attributes.get("href") != "#spark" for link in without.all("a"))


def test_what_a_check_observed_is_a_sentence(run: ReportData) -> None:
    passed = CheckResult("clock", "the_watermark_never_falls", True, "0 of 16,891 rows", 0)
    page = render(replace(run, checks=(passed, replace(passed, observed="759 of 328521 rows (0.231 %)"))))
    assert "0 of 16,891 rows broke the rule" in page
    assert "rows (0.231 %) broke" not in page
    assert "All 2 checks passed" in page


def test_the_page_begins_with_what_the_pipeline_is(run: ReportData, parsed: Parsed) -> None:
    words = parsed(page_of(run)).all("header")[0].words()
    assert "Tumbling windows of 1 hour per carrier; bound 30 minutes, allowed lateness 2 hours" in words
    assert words.index("Tumbling") < words.index("Of 20 rows read")


def test_a_published_run_names_its_moment_and_not_the_present(run: ReportData, parsed: Parsed) -> None:
    words = parsed(page_of(run)).all("header")[0].words()
    assert "published at 2026-01-05 07:00:00 UTC. A later run, or a rollback, may have replaced" in words
    assert "readers see" not in page_of(run)


def test_the_settings_of_the_run_are_marked_among_the_alternatives(run: ReportData, parsed: Parsed) -> None:
    rows = section(parsed(page_of(run)), "alternatives").all("tbody")[0].all("tr")
    assert [row.all("td")[0].words().strip() for row in rows] == ["*", ""]
    assert [row.attributes.get("class") for row in rows] == ["used", None]


def test_the_run_is_compared_with_the_run_before(run: ReportData, parsed: Parsed) -> None:
    table = next(t for t in section(parsed(page_of(run)), "numbers").all("table") if "Compared" in t.words())
    rows = [[cell.words().strip() for cell in row.all("th") + row.all("td")] for row in table.all("tbody")[0].all("tr")]
    assert rows == [["rows read", "16", "20", "+4 (+25%)"], ["late", "3", "3", "none"], ["too late", "0", "2", "+2"]]
    assert "Compared with" not in render(replace(run, earlier=None))


def test_some_too_late_rows_are_shown_with_both_measures(run: ReportData, parsed: Parsed) -> None:
    table = next(t for t in section(parsed(page_of(run)), "too-late").all("table") if "Some of these" in t.words())
    first, second = table.all("tbody")[0].all("tr")
    assert [cell.words() for cell in first.all("td")][-2:] == ["3 hours", "4 hours"]
    assert [cell.words().strip() for cell in second.all("td")][-2:] == ["—", "3 hours"]


def test_queries_read_the_versions_that_the_run_has_published(run: ReportData, facts: RunFacts, parsed: Parsed) -> None:
    words = section(parsed(page_of(run)), "results").words()
    assert "FROM delta.`/lake/departures_by_carrier/window_results` VERSION AS OF 4" in words
    assert "FROM delta.`/lake/departures_by_carrier/late_events` VERSION AS OF 3" in words
    assert "VERSION AS OF" not in render(replace(run, run=replace(facts, versions={}, state="staged")))


def test_a_single_point_is_a_number_and_no_chart(run: ReportData, parsed: Parsed) -> None:
    one_window = Results((0,), (3_600_000,), 1, series=(Series("flights", Combined.SUM, (4.0,), ("row_count",)),))
    once = replace(run, results=one_window, completeness=Completeness((0,), (3_600_000,), (4,), (1,)))
    page = parsed(render(once))
    for name in ("results", "completeness"):
        assert [d for d in section(page, name).all("div") if d.attributes.get("class") == "chart"] == []
    assert "4, at 1970-01-01 00:00." in section(page, "results").words()
    assert "the same values: row_count" in " ".join(section(page, "results").words().split())


def test_the_measures_of_late_rows_are_defined_side_by_side(run: ReportData, parsed: Parsed) -> None:
    measures = section(parsed(page_of(run)), "lateness").all("dl")[0]
    assert [name.words() for name in measures.all("dt")] == ["Lateness", "Distance behind the watermark"]


@pytest.mark.parametrize("state", ["published", "blocked", "failed", "staged", "audited", "planned"])
def test_the_state_of_the_run_stands_at_the_top(run: ReportData, facts: RunFacts, state: str, parsed: Parsed) -> None:
    page = parsed(render(replace(run, run=replace(facts, state=state, error="line one\nline two"))))
    header = page.all("header")[0].words()
    assert ("nothing was published" in header) == (state in ("blocked", "failed"))
    assert "line two" in header


def test_headings_landmarks_and_tables_serve_a_screen_reader(run: ReportData, parsed: Parsed) -> None:
    page = parsed(page_of(run))
    assert page.all("html")[0].attributes["lang"] == "en"
    assert [len(page.all(tag)) for tag in ("h1", "main", "header", "nav")] == [1, 1, 1, 1]
    ids = [e.attributes["id"] for e in everything(page) if e.attributes.get("id")]
    assert len(ids) == len(set(ids))
    named = [e.attributes["aria-labelledby"] for e in everything(page) if "aria-labelledby" in e.attributes]
    targets = [(a.attributes["href"] or "")[1:] for a in page.all("a")]
    assert set(named) | set(targets) <= set(ids)
    for table in page.all("table"):
        assert table.all("caption")[0].words().strip()
        for row in table.all("tr"):
            assert len(row.all("th") + row.all("td")) == len(
                (table.all("tr")[0]).all("th") + table.all("tr")[0].all("td")
            )


def test_every_chart_has_a_summary_and_a_table(run: ReportData, parsed: Parsed) -> None:
    figures = parsed(page_of(run)).all("figure")
    assert len(figures) == 7
    for figure in figures:
        assert next(d.attributes["class"] for d in figure.all("div")) == "chart"
        caption = figure.all("figcaption")[0]
        assert caption.all("p")[0].words().strip()
        assert caption.all("details")[0].all("tbody")[0].all("td")


def test_the_page_shows_that_numbers_do_not_add_up(run: ReportData, parsed: Parsed) -> None:
    assert "The numbers add up" in section(parsed(page_of(run)), "numbers").words()
    lost = replace(run, counts={**run.counts, "on_time": 11})
    words = section(parsed(render(lost)), "numbers").words()
    assert "20 rows were read, but 19 are accounted for" in words


def test_every_headline_has_a_sentence_on_what_it_means(run: ReportData, parsed: Parsed) -> None:
    items = section(parsed(page_of(run)), "numbers").all("dl")[0].all("div")
    labels = [item.all("dt")[0].words() for item in items]
    assert labels == [
        *("rows read", "on time", "late", "too late", "invalid", "filtered"),
        *("windows", "panes", "checks passed", "checks failed", "seconds"),
    ]
    for item in items:
        assert item.all("dd")[1].words().endswith(".")


def test_the_same_data_make_the_same_words(run: ReportData) -> None:
    pages = [re.sub(r"<script.*", "", render(run), flags=re.DOTALL) for _ in range(2)]
    assert pages[0] == pages[1]


def test_rows_between_two_windows_are_a_headline_if_some_exist(run: ReportData, parsed: Parsed) -> None:
    assert "without window" not in parsed(page_of(run)).words()
    gaps = replace(run, counts={**run.counts, "rows_read": 24, "unassigned": 4})
    words = parsed(render(gaps)).words()
    assert "The numbers add up: every row read is exactly one of" in words
    assert "filtered and without window." in words


def test_the_page_states_that_overlapping_windows_count_a_late_row_each(run: ReportData, parsed: Parsed) -> None:
    sentence = "Windows overlap: a row that came late for several is counted once for each that took it late."
    assert sentence not in parsed(page_of(run)).words()
    assert parsed(render(replace(run, overlapping=True))).words().count(sentence) == 2


def test_the_page_counts_early_firings_beside_late_ones(run: ReportData, parsed: Parsed) -> None:
    counts = {**run.counts, "early_panes": 7}
    assert "3 for a late row." in parsed(page_of(run)).words()
    words = parsed(render(replace(run, counts=counts, waits=False))).words()
    assert "7 before the watermark had passed them, 3 after." in words
    assert "each fired it again" in words


def test_where_a_late_row_may_fire_nothing_marks_are_called_firings(run: ReportData, parsed: Parsed) -> None:
    words = parsed(render(replace(run, waits=False, late_rows_fire=False))).words()
    assert "late firings stand for the late rows that were taken" in words
    assert "3 late firings: 1 mark" in words
    assert "2 too late rows: 1 mark" in words
    assert "each fired it again" not in words


def test_the_page_states_what_becomes_of_late_rows(run: ReportData) -> None:
    assert "kept in late_events" in page_of(run)
    dropping = render(replace(run, keeps_late=False))
    assert "counted, and kept nowhere" in dropping
    assert "kept in late_events" not in dropping
    updating = render(replace(run, closes=False, allowed_lateness_ms=0))
    assert "however late, a window takes them" in updating
    assert "No row is too late: a window takes all that come." in updating
    assert "The dashed line is the allowed lateness" not in updating


@pytest.mark.parametrize(
    ("bounds_ms", "sentence"),
    [
        ((30_000,), "is the watermark, which the bound of 30 seconds holds behind the newest rows"),
        ((0, 60_000), "which the bound of 0s or 1 minute holds behind"),
        ((), "The solid line at 0 is the watermark: what comes before it is on time."),
    ],
)
def test_the_page_states_the_bound_from_which_lateness_is_counted(
    run: ReportData, bounds_ms: tuple[int, ...], sentence: str
) -> None:
    assert sentence in render(replace(run, bounds_ms=bounds_ms))


def joined(run: ReportData, between: str | None) -> ReportData:
    """A run that joined orders and payments."""
    each = {"rows_read_of_orders": 13, "too_late_of_orders": 2, "rows_read_of_payments": 7, "too_late_of_payments": 0}
    counts = {name: n for name, n in run.counts.items() if name not in ("windows", "panes", "late_panes")}
    return replace(
        run,
        counts={**counts, **each, "pairs": 31},
        join=JoinFacts(("orders", "payments"), between),
        watermark=WatermarkLine(),
        too_late_windows=(),
        results=replace(run.results, series=(Series("pairs", Combined.SUM, (9.0, 4.0, 2.0)),)),
    )


def test_headlines_of_a_join_are_its_pairs_and_late_rows(run: ReportData) -> None:
    by_label = {headline.label: headline for headline in headlines.headlines(joined(run, "-5 minutes to 1 hour apart"))}
    assert by_label["pairs"].value == "31"
    assert by_label["pairs"].meaning == "Rows of orders and payments of one key that lie -5 minutes to 1 hour apart."
    assert "windows" not in by_label
    assert by_label["too late"].meaning.endswith("joined nothing; kept in late_events.")
    by_window = {headline.label: headline for headline in headlines.headlines(joined(run, None))}
    assert by_window["pairs"].meaning == "Rows of orders and payments of one key that share a window."
    assert by_window["too late"].meaning == too_late_of_windows(run)


def test_headlines_of_an_as_of_join_are_its_rows_and_late_rows(run: ReportData) -> None:
    facts = JoinFacts(("orders", "rates"), is_as_of=True)
    inner = replace(joined(run, None), join=facts)
    outer = replace(inner, join=replace(facts, keeps_unmatched=True))
    meanings = {
        name: {headline.label: headline.meaning for headline in headlines.headlines(data)}
        for name, data in (("inner", inner), ("outer", outer))
    }
    assert meanings["inner"]["pairs"] == "Rows of orders with the version of rates at their event time."
    assert meanings["outer"]["pairs"].endswith("at their event time, or null without one.")
    assert meanings["inner"]["too late"].endswith("kept in late_events with their verdict.")
    page = render(outer)
    assert "2 rows came late; how many of each input is above." in page
    assert "by their event time, that of the row of orders; a point is 1 hour." in page


def too_late_of_windows(run: ReportData) -> str:
    return next(headline.meaning for headline in headlines.headlines(run) if headline.label == "too late")


def test_the_page_of_a_join_has_a_table_of_its_inputs_and_explains_its_charts(run: ReportData) -> None:
    page = render(joined(run, "0 s to 1 hour apart"))
    assert "Rows by input" in page
    assert "2 rows came late and joined nothing; how many of each input is above." in page
    assert "a point is 1 hour." in page
    assert "already stood past the event time of a row when the row came" in page
    assert "No row was too late." not in page
    nothing = replace(joined(run, None), results=Results(), too_late=LateMarks(), late=LateMarks(), lateness=Lateness())
    empty = render(nothing)
    assert "There are no results: no two rows have joined." in empty
    assert "Nothing to draw: the tables of a join have the watermark of late rows only, and no row was late." in empty


def test_the_page_shows_the_cost_of_the_watermark_if_the_run_has_measured_it(run: ReportData, parsed: Parsed) -> None:
    assert "cost" not in page_of(run).split("<nav")[1].split("</nav>")[0]
    worst = (LackingWindow((None,), 0, 3_600_000, 4, 4, False), LackingWindow((HOSTILE,), 0, 3_600_000, 4, 1, True))
    data = replace(run, cost=Cost(windows=20, lacking=2, not_shown=1, missed=5, worst=worst))
    page = parsed(render(data))
    words = " ".join(section(page, "cost").words().split())
    assert "Of 20 windows of a key 2 (10%) lack 5 rows" in words
    assert "1 of them have no result at all" in words
    first, second = section(page, "cost").all("tbody")[0].all("tr")
    assert ("not shown" in first.words(), "25%" in second.words()) == (True, True)
    assert not section(page, "cost").all("script")
    assert "windows that lack rows" in section(page, "numbers").words()
    nothing = parsed(render(replace(run, cost=Cost(windows=20))))
    assert "Nothing: the results of all 20 windows" in section(nothing, "cost").words()


def test_partitions_are_named_in_the_legend(run: ReportData, parsed: Parsed) -> None:
    figure = next(f for f in section(parsed(page_of(run)), "watermark").all("figure") if "EWR" in f.words())
    signs = [item.words().strip() for item in figure.all("ul")[0].all("li")]
    assert signs == ["watermark of all", "EWR", "JFK", "idle"]


def test_partitions_have_their_numbers_in_the_table(run: ReportData, parsed: Parsed) -> None:
    words = section(parsed(page_of(run)), "watermark").words()
    assert "2 of 3 partitions are drawn, those farthest behind on average." in words
    assert "They are drawn at 2 of the 5 emissions that fired windows." in words
    assert re.search(r"1 ?EWR ?2013-01-01 05:00 ?11 hours ?2 of 2", words)
    assert re.search(r"2 ?JFK ?2013-01-01 09:00 ?7 hours ?1 of 2", words)
    alone = section(parsed(render(replace(run, partitions=PartitionLines()))), "watermark").words()
    assert "By source partition" not in alone


def test_completeness_names_the_least_complete_window(run: ReportData, parsed: Parsed) -> None:
    words = section(parsed(page_of(run)), "completeness").words()
    assert "Of 17 rows that belong to a window, 88.24% are in its result." in words
    assert "Least complete is 2013-01-01 05:00 to 2013-01-01 06:00: 81.82%." in words
    none = parsed(render(replace(run, completeness=Completeness())))
    assert [s for s in none.all("section") if s.attributes.get("id") == "completeness"] == []


def test_failed_checks_show_some_of_what_breaks_them(run: ReportData, parsed: Parsed) -> None:
    words = section(parsed(page_of(run)), "checks").words()
    assert '{"key": {"carrier": "AA"}}' in words
