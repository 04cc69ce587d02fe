"""Write what the examples compute, and the page that shows them.

    python -m tests.examples.page    write each `expected.csv`, and docs/explanation/examples.md

`text` gives the page; a test holds the file to it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path

from spark_jobs.semantics.rows.instants import table_time
from tests.examples.engines import Answer, columns, of_reference
from tests.examples.example import Example, TableRow, field, load, write_csv

PAGE = Path(__file__).parents[2] / "docs" / "explanation" / "examples.md"

#: The groups of the page, and the examples of each.
GROUPS: Mapping[str, tuple[str, ...]] = {
    "Windows": ("tumbling", "sliding", "session"),
    "Joins": ("interval_join", "window_join"),
    "Watermarks": ("bounded", "monotonous", "punctuated", "time_lag", "custom"),
    "Triggers": ("event_time", "continuous", "count"),
    "Sources and orders": ("united_sources", "offset_order"),
}

_HEAD = """\
# Examples

<!-- Written by `python -m tests.examples.page` from docs/examples. Edit the examples, then write the page. -->

Each example is a folder of `docs/examples` with a pipeline file, the rows that it reads, and its result. Most of them
read the same twelve clicks, so that you can compare settings. The tests compute every example with the reference and
with Spark.

The rows are in the order in which a job processes them. *Watermark before* is the watermark that judges the row: empty
before the first one. Times are those of 1 May 2024, UTC. [Worked examples](worked_examples.md) show single rules, with
smaller streams.

To run an example, write its CSV files to Delta tables in the folder `data` of the
current folder:

<!-- test: parse shell -->

```python
import pyarrow.csv
from deltalake import write_deltalake

write_deltalake("data/events", pyarrow.csv.read_csv("docs/examples/tumbling/events.csv"))
```

<!-- test: parse shell -->

```console
$ tidemark replay docs/examples/tumbling/pipeline.yaml
```
"""


def text(examples: Iterable[Example]) -> str:
    """Give the page. Raises KeyError for an example of no group."""
    by_name = {example.name: example for example in examples}
    parts = [_HEAD]
    for group, names in GROUPS.items():
        parts += [f"## {group}\n", *(_section(by_name.pop(name)) for name in names)]
    if by_name:
        raise KeyError(f"examples of no group: {', '.join(by_name)}")
    return "\n".join(parts)


def _section(example: Example) -> str:
    answer = of_reference(example)
    return "\n".join([
        f"### {example.title}\n",
        f"{example.note}\n",
        f"```yaml\n{example.text}```\n",
        _table(_judged(example, answer)),
        f"{'The pairs' if example.pipeline.join else 'The panes'}:\n",
        _table([{name: _cell(row[name]) for name in columns(example)} for row in answer.results]),
    ])  # fmt: skip


def _judged(example: Example, answer: Answer) -> list[TableRow]:
    names = dict.fromkeys(name for judged in answer.judged for name in judged.row)
    return [
        {
            **{name: _cell(judged.row.get(name)) for name in names},
            "watermark before": _cell(table_time(judged.watermark)),
            "the row is": judged.outcome,
        }
        for judged in answer.judged
    ]


def _cell(value: object) -> str:
    """Write a time of the example's day, or of the first day of all, as a clock shows it."""
    return re.sub(r"^(?:2024-05-01|1970-01-01)T(\d\d:\d\d)(?::00(?=Z))?([\d:.]*)Z$", r"\1\2", field(value))


def _table(rows: list[TableRow]) -> str:
    lines = [list(rows[0]), ["---"] * len(rows[0]), *(list(row.values()) for row in rows)]
    return "".join(f"| {' | '.join(cells)} |\n" for cells in lines)


if __name__ == "__main__":
    for example in load():
        (example.folder / "expected.csv").write_text(write_csv(of_reference(example).results, columns(example)))
    PAGE.write_text(text(load()))
