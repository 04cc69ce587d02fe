"""Split aggregates: an aggregate as calls of functions over the rows, and the expression around these calls.

    round(sum(a) / count(*), 1)    calls: sum(a), count(*)    around: round({0} / {1}, 1)

Law: the expression over columns that hold the values of the calls is the aggregate. Spark's analysis decides on it. In
the tree of the expression over columns, each column is replaced by the tree of its call. The result has to be the tree
of the aggregate, node by node, with equal types and casts. The expression reads no other column, is deterministic, and
contains no subquery and no other aggregate.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from spark_jobs.replay.floats.calls import Call, calls
from spark_jobs.replay.rows import columns as c

_CALL, _WHOLE = c.PREFIX + "call_", c.PREFIX + "whole_"
_COLUMN = "AttributeReference"
_AGGREGATE = "AggregateExpression"
_SUBQUERIES = frozenset(("Exists", "InSubquery", "LateralSubquery", "ListQuery", "ScalarSubquery"))
# Numbers that Spark gives anew in each analysis.
_NUMBERS = frozenset(("exprId", "resultId", "qualifier"))

_Tree = list[dict[str, Any]]


@dataclass(frozen=True)
class SplitAggregate:
    """An aggregate as its outermost calls; `{0}`, `{1}` ... in `around` stand for them."""

    calls: tuple[Call, ...]
    texts: tuple[str, ...]
    around: str

    @property
    def is_call(self) -> bool:
        """Whether the aggregate is a call, and nothing around it."""
        return self.around == "{0}"

    def over(self, values: Sequence[str]) -> str:
        """Return the aggregate as SQL over the values of its calls, each as SQL of the same type."""
        return self.around.format(*values)


def split(rows: DataFrame, expressions: Sequence[str], functions: Collection[str]) -> list[SplitAggregate] | None:
    """Return aggregates over `rows` as calls of `functions`; None if another part of an aggregate reads the rows.

    Nothing is read: Spark analyses the expressions.
    """
    splits = [_split(expression.strip(), functions) for expression in expressions]
    if not all(of.calls for of in splits):
        return None
    composed = {e: of for e, of in zip(expressions, splits, strict=True) if not of.is_call}
    return splits if not composed or _is_exact(rows, composed) else None


def _split(expression: str, functions: Collection[str]) -> SplitAggregate:
    called = tuple(calls(expression, functions))
    around, at = "", 0
    for number, call in enumerate(called):
        around += f"{_escaped(expression[at : call.start])}{{{number}}}"
        at = call.stop
    texts = tuple(expression[call.start : call.stop] for call in called)
    return SplitAggregate(called, texts, around + _escaped(expression[at:]))


def _escaped(text: str) -> str:
    return text.replace("{", "{{").replace("}", "}}")


def _is_exact(rows: DataFrame, composed: Mapping[str, SplitAggregate]) -> bool:
    """Return whether the law holds for each expression and its split."""
    texts = dict.fromkeys(text for of in composed.values() for text in of.texts)
    names = {text: f"{_CALL}{number}" for number, text in enumerate(texts)}
    around = [of.over([names[text] for text in of.texts]) for of in composed.values()]
    try:
        called = rows.groupBy().agg(*(F.expr(text).alias(name) for text, name in names.items()))
        whole = rows.groupBy().agg(*(F.expr(text).alias(f"{_WHOLE}{i}") for i, text in enumerate(composed)))
        over = called.select(*(F.expr(text).alias(f"{_WHOLE}{i}") for i, text in enumerate(around)))
        call_trees, whole_trees = list(_trees(called, "Aggregate")), list(_trees(whole, "Aggregate"))
        over_trees = list(_trees(over, "Project"))
    except (AnalysisException, Py4JJavaError):
        # A column outside of the calls, or text that Spark reads in another way.
        return False
    replaced = dict(zip(names.values(), call_trees, strict=True))
    return all(
        _reads_nothing_else(tree, replaced) and _with_calls(tree, replaced) == original
        for tree, original in zip(over_trees, whole_trees, strict=True)
    )


def _trees(frame: DataFrame, operator: str) -> Iterator[_Tree]:
    """Yield the tree below the name of each column, its nodes in the order of Spark's JSON.

    A tree is empty if its value is not deterministic, or if another operator than this has to compute it.
    """
    plan: Any = frame._jdf.queryExecution().analyzed()  # noqa: SLF001  PySpark has no public way to its plan
    expressions = plan.expressions()
    for number in range(expressions.size()):
        expression = expressions.apply(number)
        nodes = json.loads(expression.toJSON())
        is_plain = expression.deterministic() and plan.getClass().getSimpleName() == operator
        yield [_plain(node) for node in nodes[1:]] if is_plain else []


def _plain(node: Mapping[str, Any]) -> dict[str, Any]:
    """Return a node without numbers, and without trees inside it: what is computed are its children."""
    return {key: value for key, value in node.items() if key not in _NUMBERS and not _has_tree(value)}


def _has_tree(value: Any) -> bool:
    match value:
        case dict():
            return "class" in value or any(map(_has_tree, value.values()))
        case list():
            return any(map(_has_tree, value))
        case _:
            return False


def _reads_nothing_else(tree: _Tree, replaced: Mapping[str, _Tree]) -> bool:
    kinds = {_kind(node) for node in tree}
    columns = {node["name"] for node in tree if _kind(node) == _COLUMN}
    return bool(tree) and _AGGREGATE not in kinds and not kinds & _SUBQUERIES and columns <= replaced.keys()


def _with_calls(tree: _Tree, replaced: Mapping[str, _Tree]) -> _Tree:
    """Return a tree with the trees of calls in place of the columns that hold their values."""
    return [node for place in tree for node in (replaced[place["name"]] if _kind(place) == _COLUMN else [place])]


def _kind(node: Mapping[str, Any]) -> str:
    return str(node["class"]).rpartition(".")[2]
