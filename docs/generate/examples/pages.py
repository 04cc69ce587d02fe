"""The pages of the examples, each with the examples of one part of the pipeline file, and their pictures."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from functools import partial

from docs.generate.examples.answers import Answer, of_reference
from docs.generate.examples.folder import Example, csv_rows, examples, field_text
from docs.generate.examples.picture import draw, number
from spark_jobs.pipeline.model import AsOf, Order, Strategy, TriggerKind, WindowKind
from spark_jobs.semantics.rows.instants import table_time

_TEST = "<!-- test: shown the tests of the examples read this file -->"
#: The first words of the fields that a result has from the rows of the example's day.
_CLOCK = re.compile(r"^(?:2024-05-01|1970-01-01)T(\d\d:\d\d)(?::00(?=Z))?([\d:.]*)Z$")


@dataclass(frozen=True)
class Group:
    """A page: its title, what its examples have in common, and the example that shows each value of a key."""

    title: str
    text: str
    key: str
    points: Mapping[Enum, str]


GROUPS: Mapping[str, Group] = {
    "windows": Group(
        "By kind of window",
        "A window takes the rows of its key whose event time lies between its start and its end.",
        "windows.kind",
        {WindowKind.TUMBLING: "tumbling", WindowKind.SLIDING: "sliding", WindowKind.SESSION: "session"},
    ),
    "joins": Group(
        "By join",
        "A join makes pairs of the rows of two inputs. With windows, the rows of a pair share a window. Without"
        " windows, their times are near each other.",
        "windows.kind",
        {
            WindowKind.NONE: "interval_join",
            WindowKind.TUMBLING: "window_join",
            WindowKind.SLIDING: "sliding_join",
            WindowKind.SESSION: "session_join",
        },
    ),
    "as_of": Group(
        "By as-of join",
        "A join as of a time gives each row of the first input the newest row of the second one that is not after it."
        " The examples read the same rows.",
        "join.as_of",
        {AsOf.LEFT_OUTER: "as_of_outer", AsOf.INNER: "as_of_inner"},
    ),
    "watermarks": Group(
        "By watermark",
        "The strategy decides how the watermark follows the rows. All examples but the punctuated one read the same"
        " clicks, so that you can compare their results.",
        "watermark.strategy",
        {
            Strategy.BOUNDED_OUT_OF_ORDERNESS: "bounded",
            Strategy.MONOTONOUS: "monotonous",
            Strategy.PUNCTUATED: "punctuated",
            Strategy.TIME_LAG: "time_lag",
            Strategy.CUSTOM: "custom",
            Strategy.NONE: "no_watermarks",
        },
    ),
    "triggers": Group(
        "By trigger",
        "The trigger decides when a window fires. The examples read the same clicks.",
        "windows.trigger",
        {
            TriggerKind.EVENT_TIME: "event_time",
            TriggerKind.CONTINUOUS: "continuous",
            TriggerKind.COUNT: "count",
        },
    ),
    "sources": Group(
        "By order of the rows",
        "Rows of several sources, or of partitions without a common clock, still arrive in one order.",
        "replay.order",
        {Order.ARRIVAL: "united_sources", Order.OFFSET: "offset_order"},
    ),
}


def page(name: str) -> str:
    """Return the page of a group."""
    group, by_name = GROUPS[name], examples()
    parts = [f"# {group.title}\n", f"{group.text} [How to read an example](index.md).\n"]
    return "\n".join([*parts, *(_section(group, value, by_name[example]) for value, example in group.points.items())])


def index() -> str:
    """Return the page that leads to the groups."""
    links = [f"- [{group.title}]({name}.md): {_links(name, group)}.\n" for name, group in GROUPS.items()]
    return _INDEX.replace("GROUPS", "".join(links).rstrip())


def _links(name: str, group: Group) -> str:
    by_name = examples()
    titles = [by_name[example].title for example in group.points.values()]
    return ", ".join(f"[{title[0].lower() + title[1:]}]({name}.md#{_anchor(title)})" for title in titles)


def _anchor(title: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-")


def _section(group: Group, value: Enum, example: Example) -> str:
    answer = of_reference(example)
    key = f"[`{group.key}`](../reference/pipeline_file.md#{group.key.replace('.', '-')})"
    late = example.expected("late_events")
    return "\n".join([
        f"## {example.title}\n",
        f"{example.note}\n",
        f"The value of {key} is `{value.value}`. Folder: `docs/examples/{example.name}`.\n",
        f"![{_description(answer)}](../images/example_{example.name}.svg)\n",
        f"{_TEST}\n\n```yaml\n{example.text}```\n",
        "The rows:\n",
        _table(_judged(example, answer)),
        f"The table `{example.results}`:\n",
        _table(_cells(example.expected(example.results))),
        *(("The table `late_events`:\n", _table(_cells(late))) if csv_rows(late) else ()),
    ])  # fmt: skip


def _description(answer: Answer) -> str:
    counts = [f"{sum(row.outcome == fate for row in answer.judged)} {fate}" for fate in _fates(answer)]
    return f"{len(answer.judged)} rows by arrival time and event time: {', '.join(counts)}"


def _fates(answer: Answer) -> list[str]:
    return list(dict.fromkeys(row.outcome for row in answer.judged))


def _judged(example: Example, answer: Answer) -> list[dict[str, str]]:
    """Return the rows as the page shows them; a row without an id has its place as a number."""
    columns = dict.fromkeys(column for row in answer.judged for column in row.row)
    return [
        {
            **({} if "click_id" in row.row else {"row": number(row, place)}),
            **{column: _cell(field_text(row.row.get(column))) for column in columns},
            "watermark before": _cell(field_text(table_time(row.watermark))),
            "the row is": row.outcome,
        }
        for place, row in enumerate(answer.judged, start=1)
    ]


def _cells(text: str) -> list[dict[str, str]]:
    return [{name: _cell(value) for name, value in row.items()} for row in csv_rows(text)]


def _cell(value: str) -> str:
    """Return a time of the example's day, or of an artificial clock, as a clock shows it."""
    return _CLOCK.sub(r"\1\2", value)


def _table(rows: list[dict[str, str]]) -> str:
    lines = [list(rows[0]), ["---"] * len(rows[0]), *(list(row.values()) for row in rows)]
    return "".join(f"| {' | '.join(cells)} |\n" for cells in lines)


def pictures() -> Mapping[str, Callable[[], str]]:
    """Return how the picture of each example is drawn, by the name of its file."""
    return {f"example_{name}": partial(draw, example) for name, example in examples().items()}


_INDEX = """\
# Examples

Each example is a folder of `docs/examples`: a pipeline file, the rows that it reads as CSV, and in `expected` the rows
of its tables. Look for the setting that you want to understand:

GROUPS
- [A week of earthquakes](earthquakes.md): a real feed, with times in milliseconds.

[Worked examples](../explanation/worked_examples.md) show single rules, with smaller streams.

## How to read an example

- The rows stand in the order in which a job processes them. *Watermark before* is the watermark that judges the row. It
  is empty before the first watermark.
- In a picture a row has its number. A row below the line of the watermark may be late: its window decides.
- The upper edge of a window is its time line: a triangle stands at each time when the window fires.
- Windows that overlap are bars on the right.
- Times are those of 1 May 2024, UTC.

## Run an example

Write its CSV files to Delta tables in the folder `data`, and replay it:

```console
$ python docs/examples/land.py tumbling
wrote data/events
```

<!-- test: parse shell -->

```console
$ tidemark replay docs/examples/tumbling/pipeline.yaml
```

The tests compute every example with the reference and with Spark.
"""
