"""The progress of a proof: which of its cases have passed at the present content, which fail, which have not run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from tests.proofs.record import FAILED, PASSED, Entry, durations, latest, usual_duration


@dataclass(frozen=True)
class Progress:
    """The cases of a proof, each in exactly one of the three tuples; durations in seconds."""

    name: str
    proved_cases: tuple[str, ...]
    failing_cases: tuple[str, ...]
    open_cases: tuple[str, ...]
    proved_s: float
    left_s: float

    @property
    def cases(self) -> int:
        """The number of all cases."""
        return len(self.proved_cases) + len(self.failing_cases) + len(self.open_cases)


def progress(name: str, content: Mapping[str, str], entries: Sequence[Entry], case_s: float) -> Progress:
    """Return the progress of a proof whose cases have the digests `content`.

    Rule: the last run at the present content decides. Without one, a case whose last run failed is failing. A case
    that never ran is estimated to take as long as the others did, or `case_s` if no case has run.
    """
    present = at_content(entries, content)
    last, seconds = latest(entries), durations(entries)
    usual_s = usual_duration(seconds.values(), case_s)
    outcomes = {case: _outcome(case, present, last) for case in content}
    proved_cases = _with(outcomes, PASSED)
    failing_cases = _with(outcomes, FAILED)
    unproved_cases = [case for case in content if outcomes[case] != PASSED]
    return Progress(
        name,
        proved_cases,
        failing_cases,
        _with(outcomes, None),
        sum(present[case].seconds for case in proved_cases),
        sum(seconds.get(case, usual_s) for case in unproved_cases),
    )


def at_content(entries: Iterable[Entry], content: Mapping[str, str]) -> dict[str, Entry]:
    """Return the last entry of each case at its present content, by the case's id. `content` has the cases' digests."""
    return latest(entry for entry in entries if content.get(entry.case) == entry.content)


def _outcome(case: str, present: Mapping[str, Entry], last: Mapping[str, Entry]) -> str | None:
    if case in present:
        return present[case].outcome
    return FAILED if case in last and last[case].outcome == FAILED else None


def _with(outcomes: Mapping[str, str | None], result: str | None) -> tuple[str, ...]:
    return tuple(case for case, outcome in outcomes.items() if outcome == result)


def table(rows: Iterable[Progress]) -> str:
    """Return the table of progress as text, with a line for all proofs at the end."""
    rows = list(rows)
    lines: list[tuple[str, ...]] = [("proof", "cases", "proved", "failing", "not run", "proved in", "left, about")]
    lines += [_cells(row.name, [row]) for row in rows]
    if len(rows) > 1:
        lines.append(_cells("all", rows))
    widths = [max(len(line[i]) for line in lines) for i in range(len(lines[0]))]
    return "\n".join(_aligned(line, widths) for line in lines)


def _cells(name: str, rows: Sequence[Progress]) -> tuple[str, ...]:
    counts = [(row.cases, len(row.proved_cases), len(row.failing_cases), len(row.open_cases)) for row in rows]
    seconds = [(row.proved_s, row.left_s) for row in rows]
    return (
        name,
        *(f"{sum(column):,}" for column in zip(*counts, strict=True)),
        *(f"{sum(column):,.0f} s" for column in zip(*seconds, strict=True)),
    )


def _aligned(line: Sequence[str], widths: Sequence[int]) -> str:
    return "  ".join([line[0].ljust(widths[0]), *(cell.rjust(w) for cell, w in zip(line[1:], widths[1:], strict=True))])
