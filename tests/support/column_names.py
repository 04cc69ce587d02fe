"""Hard names of source columns: SQL's marks and words, other alphabets, and all names that the engine uses."""

from __future__ import annotations

import ast
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import spark_jobs
from spark_jobs.pipeline import published_tables

#: What Delta refuses in the name of a column, unless the table maps its columns.
MARKS = " ,;{}()\n\t="

HARD = (
    "Gerät Nr",
    "user.name",
    "a`b",
    "``",
    'say "when"',
    "it's",
    "温度 🌡",
    "select",
    "order",
    "*",
    "a%20b",
    "[0]",
    "x\\y",
    "-1",
    "sum(id)",
    " lead",
    "trail ",
    "line\nbreak\ttab",
    "a=b;{c}",
    "__TMP",
    "source_watermark",
    "source_source_watermark",
    "Source_Reason",
)
_TAKE_NAMES = {"agg", "alias", "col", "drop", "groupBy", "join", "orderBy", "partitionBy", "select", "withColumn"}


def drawn(seed: int, count: int) -> tuple[str, ...]:
    """Draw names from marks and letters; no two of them differ only by the case of letters."""
    draw = random.Random(seed)
    letters = MARKS + "abÄß`.'\"%\\$#@!-+*/<>|&^~?[]:é漢"
    names = ("".join(draw.choice(letters) for _ in range(draw.randint(1, 6))) for _ in range(count))
    return tuple({name.lower(): name for name in names if name.strip()}.values())


def of_engine() -> tuple[str, ...]:
    """Return the names by which modules of the engine call columns, and those of the published tables."""
    home = Path(spark_jobs.__file__).parent
    working = {name for file in (home / "replay").rglob("*.py") for name in _named(ast.parse(file.read_text("utf-8")))}
    published = {column.name for table in published_tables.ALL for column in table.own_columns}
    return tuple(sorted((working | published | {"size", "start"}) - {"source"}))


def beside(rows: list[dict[str, Any]], names: tuple[str, ...]) -> list[dict[str, Any]]:
    """Return the rows with a column for each of `names` that they lack, of few values."""
    present = {name.lower() for name in rows[0]}
    more = [name for name in names if name.lower() not in present]
    return [{**row, **{name: f"{name} {(i + n) % 3}" for n, name in enumerate(more)}} for i, row in enumerate(rows)]


def _named(tree: ast.AST) -> Iterator[str]:
    calls = (node for node in ast.walk(tree) if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute))
    for call in calls:
        if isinstance(call.func, ast.Attribute) and call.func.attr in _TAKE_NAMES:
            yield from (
                a.value
                for a in call.args
                if isinstance(a, ast.Constant) and isinstance(a.value, str) and a.value.isidentifier()
            )
