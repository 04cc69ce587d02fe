"""Allowed SQL: an expression computes a value from a row or a group, and a query of a check reads the staged rows.

Law: no text of a pipeline file reads another table or a file, runs a program, or changes anything. An expression that
decides on results has the same value in every run. Spark's own parser reads the text, and nothing is analysed or run.

What is allowed is listed for the operators of a query. For functions, the forbidden ones are listed with the reason:
each new version of Spark has new harmless functions.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

from pyspark.errors import ParseException
from pyspark.sql import SparkSession

from spark_jobs.pipeline.sql_texts import SqlKind, SqlText

_CODE = "it runs code"
_FILES = "its options can name a file to read"
_DOCUMENTS = "it loads what a document names as its DTD"
_MOMENT = "its value depends on the time of the run"
_CHANCE = "its value is another in every run"
_PLACEMENT = "its value depends on how Spark has placed the rows"
_WHO = "its value depends on who runs the replay, and where"

#: Functions that reach out of a row, with the reason.
REACHING: dict[str, str] = {
    **dict.fromkeys(("java_method", "reflect", "try_reflect"), _CODE),
    **dict.fromkeys(("from_avro", "schema_of_avro", "to_avro"), _FILES),
    **dict.fromkeys(("from_protobuf", "to_protobuf", "from_xml", "schema_of_xml"), _FILES),
    "xpath": _DOCUMENTS,
    **{
        f"xpath_{kind}": _DOCUMENTS
        for kind in ("boolean", "double", "float", "int", "long", "number", "short", "string")
    },
}
#: Functions with another value in another run over the same rows, with the reason.
UNREPEATABLE: dict[str, str] = {
    **dict.fromkeys(("curdate", "current_date", "current_time", "current_timestamp", "localtimestamp", "now"), _MOMENT),
    **dict.fromkeys(("aes_encrypt", "rand", "randn", "random", "randstr", "shuffle", "uniform", "uuid"), _CHANCE),
    **dict.fromkeys(("input_file_block_length", "input_file_block_start", "input_file_name"), _PLACEMENT),
    **dict.fromkeys(("monotonically_increasing_id", "spark_partition_id"), _PLACEMENT),
    **dict.fromkeys(("current_catalog", "current_database", "current_schema"), _WHO),
    **dict.fromkeys(("current_user", "session_user", "user"), _WHO),
}
#: Without an argument, it is the time of the run.
_NOW_WITHOUT_ARGUMENT = "unix_timestamp"
#: What a query may do with rows. Commands, samples, functions that return tables and scripts are absent. So is the
#: clause WINDOW: its expressions are no children of the operation.
_OPERATORS = frozenset(
    (
        *("Aggregate", "Distinct", "Except", "Filter", "Generate", "GlobalLimit", "Intersect", "Join", "LateralJoin"),
        *("LocalLimit", "LocalRelation", "Offset", "OneRowRelation", "PipeOperator", "Pivot", "Project", "Sort"),
        *("SubqueryAlias", "Union", "Unpivot", "UnresolvedHaving", "UnresolvedHint", "UnresolvedInlineTable"),
        *("UnresolvedRelation", "UnresolvedSubqueryColumnAliases", "UnresolvedWith"),
    )
)
# Functions that the parser itself resolves, by their syntax.
_PARSED_FUNCTIONS = frozenset(("AnyValue", "First", "Last"))
_LONGEST = 60


def forbidden(
    spark: SparkSession,
    texts: Iterable[SqlText],
    columns: Collection[str] | None = None,
    *,
    allow_code: bool = True,
) -> Iterator[str]:
    """Yield a problem for each text that contains what is not allowed, and for a query that is no SQL.

    `columns` are those of the rows. With them, a name that is no column is a function without parentheses, such as
    `current_date`. Without `allow_code`, only Spark's own functions are allowed.
    """
    for text in texts:
        reason = _Parsed(spark, text, columns, allow_code=allow_code).forbidden()
        if reason is not None:
            yield f"{text.key}: found {reason} in '{_cut(text.text)}'. {_CURES[text.kind]}"


@dataclass(frozen=True)
class Function:
    """A call of a function in an expression: its name in lower case, and its arguments as SQL."""

    name: str
    arguments: tuple[str, ...]


def functions_of(spark: SparkSession, expression: str) -> Iterator[Function]:
    """Yield each call of a function in an expression; none for a text that is no expression."""
    try:
        parsed: Any = spark._jsparkSession.sessionState().sqlParser().parseExpression(expression)  # noqa: SLF001
    except ParseException:
        return
    yield from _calls(parsed)


def _calls(node: Any) -> Iterator[Function]:
    children = list(_items(node.children()))
    if node.getClass().getSimpleName() == "UnresolvedFunction":
        name = list(_items(node.nameParts()))[-1].lower()
        yield Function(name, tuple(child.sql() for child in children))
    elif node.getClass().getSimpleName() in _PARSED_FUNCTIONS:
        yield Function(node.prettyName(), tuple(child.sql() for child in children))
    for child in children:
        yield from _calls(child)


_CURES = {
    SqlKind.RESULT: "An expression uses the columns of a row or group alone: write the value into the source",
    SqlKind.CHECK: "A condition or measure uses the columns of the staged table alone",
    SqlKind.QUERY: "A query selects from {batch} alone, and is no command",
}


class _Parsed:
    """One text, read by the parser of a session."""

    def __init__(
        self, spark: SparkSession, text: SqlText, columns: Collection[str] | None, *, allow_code: bool
    ) -> None:
        jvm: Any = spark._jvm  # noqa: SLF001  # the parser has no other door
        self._parser = spark._jsparkSession.sessionState().sqlParser()  # noqa: SLF001
        self._subquery = jvm.java.lang.Class.forName("org.apache.spark.sql.catalyst.expressions.SubqueryExpression")
        functions = jvm.org.apache.spark.sql.catalyst.analysis.FunctionRegistry
        self._functions = None if allow_code else functions.expressions()
        self._text = text
        self._columns = None if columns is None else {name.lower() for name in columns}
        # A name that no author can have written stands for the rows.
        self._batch = f"batch_{uuid4().hex}"

    def forbidden(self) -> str | None:
        """Return what the text contains first that is not allowed."""
        if self._text.kind is SqlKind.QUERY:
            return self._of_query()
        try:
            expression = self._parser.parseExpression(self._text.text)
        except ParseException:
            # Spark's analysis refuses it, with a better message.
            return None
        return next(self._in_expression(expression, None), None)

    def _of_query(self) -> str | None:
        try:
            query = self._text.text.format(batch=self._batch)
        except (LookupError, ValueError, AttributeError):
            # Great Expectations refuses the same braces, with a message about them.
            return None
        try:
            plan = self._parser.parsePlan(query)
        except ParseException as problem:
            first_line = next(line for line in str(problem).splitlines() if line)
            return first_line.replace(self._batch, "{batch}")
        return next(self._in_plan(plan, frozenset((self._batch,))), None)

    def _in_plan(self, plan: Any, names: frozenset[str]) -> Iterator[str]:
        """Yield what is not allowed in a query; `names` are the rows, and the common table expressions in sight."""
        kind = plan.getClass().getSimpleName()
        if kind not in _OPERATORS:
            yield f"the operation {kind}"
            return
        if kind == "UnresolvedRelation":
            yield from self._in_relation(plan, names)
        if kind == "UnresolvedWith":
            for relation in _items(plan.cteRelations()):
                yield from self._in_plan(relation.productElement(1), names)
                names |= {relation.productElement(0).lower()}
        for expression in _items(plan.expressions()):
            yield from self._in_expression(expression, names)
        for child in _items(plan.children()):
            yield from self._in_plan(child, names)

    def _in_relation(self, relation: Any, names: frozenset[str]) -> Iterator[str]:
        parts = list(_items(relation.multipartIdentifier()))
        if len(parts) != 1 or parts[0].lower() not in names:
            yield f"the table {'.'.join(parts).replace(self._batch, '{batch}')}"

    def _in_expression(self, node: Any, names: frozenset[str] | None) -> Iterator[str]:
        """Yield what is not allowed in an expression; without `names` it may have no subquery."""
        kind = node.getClass().getSimpleName()
        if self._subquery.isInstance(node):
            yield from ["a subquery"] if names is None else self._in_plan(node.plan(), names)
        elif kind == "UnresolvedFunction":
            yield from self._in_function(list(_items(node.nameParts())), node.children().size())
        elif kind == "UnresolvedAttribute":
            yield from self._in_name(list(_items(node.nameParts())))
        elif "UnresolvedIdentifier" in kind:
            yield "IDENTIFIER(...), which hides a name"
        for child in _items(node.children()):
            yield from self._in_expression(child, names)

    def _in_function(self, parts: list[str], arguments: int) -> Iterator[str]:
        name = parts[-1].lower()
        if name in REACHING:
            yield f"{name}() ({REACHING[name]})"
        elif self._functions is not None and (len(parts) > 1 or not self._functions.contains(name)):
            yield f"{name}() (it is none of Spark's own functions, and this installation allows no other code)"
        elif self._text.kind is SqlKind.RESULT and name in UNREPEATABLE:
            yield f"{name}() ({UNREPEATABLE[name]})"
        elif self._text.kind is SqlKind.RESULT and name == _NOW_WITHOUT_ARGUMENT and not arguments:
            yield f"{name}() ({_MOMENT})"

    def _in_name(self, parts: list[str]) -> Iterator[str]:
        if self._text.kind is not SqlKind.RESULT or self._columns is None or len(parts) > 1:
            return
        name = parts[0].lower()
        if name in UNREPEATABLE and name not in self._columns:
            yield f"{name} ({UNREPEATABLE[name]})"


def _items(sequence: Any) -> Iterator[Any]:
    """Yield the items of a sequence of Scala."""
    return (sequence.apply(position) for position in range(sequence.size()))


def _cut(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _LONGEST else f"{line[: _LONGEST - 3]}..."
