"""Write the measured tables of the page `docs/explanation/benchmarks.md`, from files that the benchmark has written.

    python -m tests.benchmarks.page OUT.json [OUT.json ...]

`bench`, `nexmark`, `growth` and `scheduled` write such files with `--json`. The tables replace the text between the two
marks of the page.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.benchmarks import figures
from tests.benchmarks.limits import Measured, judge_all, limit_table
from tests.benchmarks.shapes import Shape
from tests.benchmarks.ways import WAYS

PAGE = Path(__file__).parents[2] / "docs" / "explanation" / "benchmarks.md"
_BEGIN, _END = "<!-- measured: begin -->", "<!-- measured: end -->"
_SECTION = "## "
_LIMITS = f"{_SECTION}The promised figures"
_TITLES = {name: way.title for name, way in WAYS.items()}


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the tables into the page; returns the exit code."""
    files = [Path(file) for file in (sys.argv[1:] if arguments is None else arguments)]
    if not files:
        print("error: found no file of figures, expected what `bench --json` wrote", file=sys.stderr)
        return 2
    write(map(_read, files))
    return 0


def write(results: Iterable[Mapping[str, Any]]) -> None:
    """Write the tables of `results` into the page."""
    PAGE.write_text(with_figures(PAGE.read_text(encoding="utf-8"), results), encoding="utf-8")


def with_figures(page: str, results: Iterable[Mapping[str, Any]]) -> str:
    """Return the page with the tables of `results` between its marks.

    An older section stays until a section of the same title replaces it, except for the table of all limits.
    """
    before, _, rest = page.partition(_BEGIN)
    older, _, after = rest.partition(_END)
    new = _sections("\n\n".join(_parts(list(results))))
    stay = [section for title, section in _sections(older).items() if title not in (_LIMITS, *new)]
    return "\n\n".join((before + _BEGIN, *new.values(), *stay, _END + after))


def _sections(text: str) -> dict[str, str]:
    """Return the sections of a Markdown text by their titles, in their order."""
    sections = (f"{_SECTION}{section.strip()}" for section in f"\n{text}".split(f"\n{_SECTION}")[1:])
    return {section.partition("\n")[0]: section for section in sections}


def _read(file: Path) -> dict[str, Any]:
    results: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    return results


def _parts(results: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    judged = judge_all([*map(Measured, results)])
    if judged:
        yield f"{_LIMITS}\n\n" + _markdown(limit_table(judged))
    for each in results:
        for name in each.get("shapes", ()):
            yield from _shape(each, Shape(name))
        if "queries" in each:
            head = f"## Nexmark, {each['events']:,} events\n\n{_machine(each)}"
            yield f"{head}\n\n{_markdown(figures.nexmark_table(each))}"
        if "scheduled" in each:
            head = f"## Scheduled runs, {each['rows']:,} events a day\n\n{_machine(each)}"
            yield f"{head}\n\n{_markdown(figures.scheduled_table(each))}"
        if "store" in each:
            head = f"## Tables in an object store, {each['rows']:,} events\n\n{_machine(each)}"
            yield f"{head}\n\n{_markdown(figures.store_table(each))}"
        if "changed" in each:
            head = f"## Changes, {each['rows']:,} events of {each['days']} days\n\n{_machine(each)}"
            yield f"{head}\n\n{_markdown(figures.changed_table(each))}"
        if "floats" in each:
            head = f"## Exact sums, {', '.join(each['floats'])}, {each['rows']:,} events\n\n{_machine(each)}"
            yield f"{head}\n\n{_markdown(figures.floats_table(each))}"
        if "growth" in each:
            yield from _growth(each)


def _shape(results: Mapping[str, Any], shape: Shape) -> Iterator[str]:
    part, rows = results["shapes"][shape], results["rows"]
    head = f"## {shape.capitalize()}, {rows:,} events\n\n{_machine(results)}"
    yield f"{head}\n\n{_markdown(figures.speed_table(figures.of_ways(part['measured'], rows), _TITLES))}"
    if "answers" in part:
        table = _markdown(figures.answer_table(part["answers"], _TITLES))
        yield f"The results beside Tidemark's, and the rows that are in no result:\n\n{table}"
    if "warm" in part:
        lines: list[tuple[str, ...]] = [("again in one process", "first s", "second s", "third s")]
        for way, run in part["warm"].items():
            step = "work" if way == figures.BASE else "replay"
            lines.append((f"{_TITLES[way]}: {step}", *(f"{each[step]:.1f}" for each in run["each"])))
        yield _markdown(lines)


def _growth(results: Mapping[str, Any]) -> Iterator[str]:
    head = f"## Measured growth\n\n{_machine(results)}"
    yield f"{head}\n\n{_markdown(figures.growth_table(results))}"
    if "events" in results["growth"]:
        yield "From the slope of the seconds over the events:\n\n" + _markdown(figures.trillion_table(results))
    if results["edges"]:
        yield _markdown(figures.edge_table(results))


def _machine(results: Mapping[str, Any]) -> str:
    on = results["machine"]
    versions = f"Java {on['java']}, Spark {on['spark']}, Delta {on['delta']}"
    hardware = f"{on['cores']} cores of {on['cpu']}, {on['memory_gib']} GiB"
    repeats = f" Medians of {results['repeat']}." if "repeat" in results else ""
    return f"Commit `{on['commit']}`, {on['date'][:10]}: {hardware}, {versions}.{repeats}"


def _markdown(lines: Sequence[Sequence[str]]) -> str:
    head, *rows = lines
    rule = ["---", *("---:" for _ in head[1:])]
    return "\n".join(f"| {' | '.join(row)} |" for row in (head, rule, *rows))


if __name__ == "__main__":
    sys.exit(main())
