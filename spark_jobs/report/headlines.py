"""The headline numbers of a run, each with a sentence on its meaning.

Law (semantics B8): rows read = on time + late + too late + invalid + filtered + without window, and + quarantined +
duplicates where the pipeline leaves such rows out. The page shows whether the numbers of the run add up. Only windows
with gaps leave rows without a window.
"""

from __future__ import annotations

from dataclasses import dataclass

from spark_jobs.job_protocol import RunState
from spark_jobs.report.data import ReportData
from spark_jobs.report.text import counted, duration, moment, number, share

_PARTS = (
    ("on_time", "on time", "on-time"),
    ("late", "late", "late"),
    ("too_late", "too late", "too-late"),
    ("invalid", "invalid", "invalid"),
    ("filtered", "filtered", "filtered"),
)
# Shown if the run has such rows.
_SOMETIMES = (
    ("quarantined", "quarantined", "invalid"),
    ("duplicates", "duplicates", "filtered"),
    ("unassigned", "without window", "unassigned"),
)
_STATES: dict[str, tuple[str, str, str]] = {
    RunState.PLANNED: ("Planned", "warn", "nothing has been computed yet"),
    RunState.STAGED: ("Staged", "warn", "computed, but not yet checked"),
    RunState.AUDITED: ("Checked", "warn", "checked, but not yet published"),
    RunState.BLOCKED: ("Blocked", "bad", "checks failed, and nothing was published"),
    RunState.ACCEPTED: ("Accepted", "warn", "checks failed, a person has accepted that, and it is not yet published"),
    RunState.PUBLISHED: ("Published", "good", "its results were published"),
    RunState.DISCARDED: ("Discarded", "warn", "maintenance has removed what had been computed and never published"),
    RunState.FAILED: ("Failed", "bad", "a step failed, and nothing was published"),
}


@dataclass(frozen=True)
class Headline:
    """One number: its label, its text, its share of the whole if it has one, and its meaning."""

    label: str
    value: str
    meaning: str
    part: str = ""
    role: str = ""


@dataclass(frozen=True)
class Part:
    """One class of rows as a part of all rows read: `x` and `width` in per cent."""

    label: str
    role: str
    rows: int
    share: str
    x: float
    width: float


@dataclass(frozen=True)
class State:
    """The state of the run: a word, its role among the colours, and its meaning."""

    word: str
    role: str
    meaning: str


def state(name: str) -> State:
    """Return the state of a run by the name that the ledger has for it."""
    word, role, meaning = _STATES.get(name, (name, "warn", "a state unknown to this report"))
    return State(word, role, meaning)


def facts(data: ReportData) -> str:
    """Return what became of the run and when, true whenever the page is read."""
    run = data.run
    if run.state != RunState.PUBLISHED:
        return f"{state(run.state).meaning}."
    at = f" at {moment(run.published_at)} UTC" if run.published_at else ""
    return f"published{at}. A later run, or a rollback, may have replaced these results since."


def verdict(data: ReportData) -> str:
    """Return the outcome of the run in one or two sentences."""
    failed = sum(not check.success for check in data.checks)
    sentences = _repaired(data) + _rows(data)
    if failed:
        sentences += f" {number(failed)} of {counted(len(data.checks), 'check')} failed."
    return sentences


def _repaired(data: ReportData) -> str:
    """Return the sentence on the rows that a repair has added."""
    windows, rows = (data.counts.get(f"repaired_{name}", 0) for name in ("windows", "rows"))
    if not windows:
        return ""
    return f"A repair: {counted(windows, 'closed window')} had missed {counted(rows, 'row')}, taken in now. "


def _rows(data: ReportData) -> str:
    read = data.counts.get("rows_read")
    if read is None:
        return "No row has been counted: the run did not come to its replay."
    if read == 0:
        return "The run read no rows, so there are no windows and no results."
    invalid, late, too_late = (data.counts.get(name, 0) for name in ("invalid", "late", "too_late"))
    if invalid == read:
        return f"All {counted(read, 'row')} read are invalid (100%): none has a usable time, so there are no results."
    parts = [f"{_part(data, 'on_time')} came on time"]
    if data.join is not None and not data.join.by_window:
        fate = "came late" if data.join.is_as_of else "came late and joined nothing"
        parts += [f"{_part(data, 'too_late')} {fate}"] if too_late else []
    elif late or too_late:
        parts += [f"{_part(data, 'late')} came late and were taken", f"{_part(data, 'too_late')} came too late"]
    parts += [f"{_part(data, 'invalid')} {'is' if invalid == 1 else 'are'} invalid"] if invalid else []
    *most, last = parts
    listed = f"{', '.join(most)} and {last}" if most else last
    nothing = "" if late or too_late else "; no row came late"
    return f"Of {counted(read, 'row')} read, {listed}{nothing}."


def _part(data: ReportData, name: str) -> str:
    rows = data.counts.get(name, 0)
    return f"{number(rows)} ({share(rows, data.counts['rows_read'])})"


def headlines(data: ReportData) -> tuple[Headline, ...]:
    """Return the headline numbers: rows by class, results, checks, seconds."""
    counts, read = data.counts, data.counts.get("rows_read", 0)
    allowed = duration(data.allowed_lateness_ms) if data.allowed_lateness_ms else ""
    passed = sum(check.success for check in data.checks)
    failed = len(data.checks) - passed
    meanings = _meanings(data, allowed)
    return (
        Headline("rows read", number(counts.get("rows_read")), "Rows of the source that belong to this run."),
        *(
            Headline(label, number(counts.get(name)), meanings[name], share(counts.get(name, 0), read), role)
            for name, label, role in _classes(data)
        ),
        *_results(data),
        *_cost(data),
        Headline(
            "checks passed", number(passed), "Expectations that what was computed fulfils.", role="good" * (passed > 0)
        ),
        Headline("checks failed", number(failed), _failed(failed, data), role="bad" if failed else ""),
        Headline("seconds", f"{data.run.seconds:,.1f}", "Time that the steps of the run took, added up."),
    )


def _meanings(data: ReportData, allowed: str) -> dict[str, str]:
    always = {
        "on_time": "Came before the watermark had passed the last millisecond of their window.",
        "late": _late(data, allowed),
        "too_late": f"Came when their window was closed for good; {_storage(data)}.",
        "invalid": "Have no usable event or arrival time; kept in invalid_events.",
        "filtered": "Were dropped by the pipeline's own condition.",
        "quarantined": "Break a rule about the source; kept in invalid_events with the rule as reason.",
        "duplicates": "Repeat a row that arrived earlier (source.deduplicate).",
        "unassigned": "Lie between two windows and were not too late: as in Flink, no table holds them.",
    }
    if data.join is None or data.join.by_window:
        return always
    if data.join.is_as_of:
        return {
            **always,
            "on_time": "Came ahead of the watermark of both inputs.",
            "late": "A join as of has none: late rows count as too late.",
            "too_late": "Came at the watermark of both inputs or behind it; kept in late_events with their verdict.",
        }
    return {
        **always,
        "on_time": "Came at the watermark of both inputs or ahead of it, and may have joined.",
        "late": "A join by interval has none: a late row joins nothing, and is too late.",
        "too_late": "Came behind the watermark of both inputs and joined nothing; kept in late_events.",
    }


def _results(data: ReportData) -> tuple[Headline, ...]:
    if data.join is None:
        return (
            Headline("windows", number(data.counts.get("windows")), "Results: pairs of a key and a window that fired."),
            Headline("panes", number(data.counts.get("panes")), _firings(data)),
        )
    first, second = data.join.names
    near = "share a window" if data.join.between is None else f"lie {data.join.between}"
    meaning = f"Rows of {first} and {second} of one key that {near}."
    if data.join.is_as_of:
        with_null = ", or null without one" if data.join.keeps_unmatched else ""
        meaning = f"Rows of {first} with the version of {second} at their event time{with_null}."
    return (Headline("pairs", number(data.counts.get("pairs")), meaning),)


def _cost(data: ReportData) -> tuple[Headline, ...]:
    if data.cost is None:
        return ()
    lacking, windows = data.cost.lacking, data.cost.windows
    meaning = f"What the watermark cost: they lack {number(data.cost.missed)} rows; see below."
    return (Headline("windows that lack rows", number(lacking), meaning, share(lacking, windows), "too-late"),)


def cost(data: ReportData) -> str | None:
    """Return the cost of the watermark in a sentence; None if the run did not compute it."""
    if data.cost is None:
        return None
    windows_cost = data.cost
    if not windows_cost.lacking:
        return f"Nothing: the results of all {number(windows_cost.windows)} windows are those of all of their rows."
    return (
        f"Of {number(windows_cost.windows)} windows of a key {number(windows_cost.lacking)} "
        f"({share(windows_cost.lacking, windows_cost.windows)}) lack {number(windows_cost.missed)} rows "
        f"that were too late or that no firing showed; {number(windows_cost.not_shown)} of them "
        "have no result at all. complete_results has the results of all rows."
    )


def _late(data: ReportData, allowed: str) -> str:
    came = "Came after their window had fired" if data.waits else "Came after the watermark had passed their window"
    again = ": each fired it again" if data.late_rows_fire else ""
    if not data.closes:
        return f"{came}; however late, a window takes them{again}."
    if not allowed:
        return f"{came}. With no allowed lateness there are none."
    return f"{came}, within the allowed lateness of {allowed}{again}."


def _storage(data: ReportData) -> str:
    return "kept in late_events" if data.keeps_late else "counted, and kept nowhere"


def _firings(data: ReportData) -> str:
    early, late = (number(data.counts.get(name, 0)) for name in ("early_panes", "late_panes"))
    if data.waits:
        return f"Firings of these windows, {late} for a late row."
    return f"Firings of these windows, {early} before the watermark had passed them, {late} after."


def parts(data: ReportData) -> tuple[Part, ...]:
    """Return the classes of rows as parts of a bar."""
    bar: list[Part] = []
    at = 0.0
    counted = [(label, role, data.counts.get(name, 0)) for name, label, role in _classes(data)]
    total = sum(rows for _, _, rows in counted)
    for label, role, rows in counted:
        if rows:
            width = 100 * rows / total
            bar.append(Part(label, role, rows, share(rows, total), round(at, 4), round(width, 4)))
            at += width
    return tuple(bar)


def _classes(data: ReportData) -> tuple[tuple[str, str, str], ...]:
    return (*_PARTS, *(part for part in _SOMETIMES if data.counts.get(part[0])))


def conservation(data: ReportData) -> str | None:
    """Return whether every row read is in exactly one class, in words; None if rows were not counted."""
    if "rows_read" not in data.counts:
        return None
    read, met = data.counts["rows_read"], sum(data.counts.get(name, 0) for name, _, _ in _classes(data))
    if read == met:
        *labels, last = (label for _, label, _ in _classes(data))
        return f"The numbers add up: every row read is exactly one of {', '.join(labels)} and {last}."
    return f"The numbers do not add up: {number(read)} rows were read, but {number(met)} are accounted for."


def _failed(failed: int, data: ReportData) -> str:
    if not data.checks:
        return "No checks were made."
    if not failed:
        return "Nothing broke an expectation."
    return "Broke an expectation; they are first in the table of checks."
