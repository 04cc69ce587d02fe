"""Allowed SQL: no text reads another table or a file, runs code or changes anything, and results can be repeated."""

from __future__ import annotations

from typing import Any

import pytest
from pyspark.sql import SparkSession

from spark_jobs.pipeline.sql_texts import SqlKind, SqlText
from spark_jobs.replay.allowed_sql import REACHING, UNREPEATABLE, forbidden

pytestmark = pytest.mark.spark

SCRIPT = (
    "(select max(o) from (select transform(v) using '/bin/sh x.sh' as (o string) from values (1) t(v))) is not null"
)


def problems(spark: SparkSession, text: str, kind: SqlKind = SqlKind.RESULT, columns: tuple[str, ...] = ()) -> str:
    return "\n".join(forbidden(spark, [SqlText("a.key", text, kind)], columns or None))


@pytest.mark.parametrize(
    ("text", "part"),
    [
        (SCRIPT, "a subquery"),
        ("max((select max(value) from text.`/etc/passwd`))", "a subquery"),
        ("exists(select 1)", "a subquery"),
        ("a in (select b from c)", "a subquery"),
        ("count(*) filter (where a > (select 1))", "a subquery"),
        ("transform(a, x -> x + (select 1))", "a subquery"),
        ("reflect('java.lang.System', 'getProperty', 'user.home')", "reflect() (it runs code)"),
        ("`Java_Method`('a', 'b')", "java_method() (it runs code)"),
        ("system.builtin.try_reflect('a', 'b')", "try_reflect() (it runs code)"),
        ("IDENTIFIER('ref' || 'lect')('a', 'b')", "IDENTIFIER(...)"),
        ("case when a then transform(b, x -> reflect('a', 'b')) end", "reflect()"),
        ("from_xml(a, 'b string', map('rowValidationXSDPath', '/etc/passwd'))", "from_xml() (its options"),
        ("xpath_string(a, 'b')", "xpath_string() (it loads"),
    ],
)
@pytest.mark.parametrize("kind", [SqlKind.RESULT, SqlKind.CHECK])
def test_an_expression_reaches_no_table_no_file_and_no_program(
    spark: SparkSession, text: str, part: str, kind: SqlKind
) -> None:
    assert problems(spark, text, kind).startswith(f"a.key: found {part}")


@pytest.mark.parametrize("text", ["rand() < 0.5", "sum(uuid() = a)", "a > now()", "unix_timestamp() > a", "user()"])
def test_only_an_expression_that_decides_on_results_is_the_same_in_every_run(spark: SparkSession, text: str) -> None:
    assert "its value" in problems(spark, text)
    assert not problems(spark, text, SqlKind.CHECK)


def test_a_function_without_parentheses_is_known_by_the_columns(spark: SparkSession) -> None:
    assert problems(spark, "a > current_date", columns=("a",)).startswith("a.key: found current_date (its value")
    assert not problems(spark, "User = 'x' and current_date > a.now", columns=("user", "a", "Current_Date"))


@pytest.mark.parametrize(
    "text",
    [
        "a",
        "`user.name` is not null",
        "sum(distinct v) filter (where x > 1)",
        "unix_timestamp(a) > 1",
        "percentile_cont(0.5) within group (order by v)",
        "max_by(named_struct('a', a), from_json(b, 'c int').c)",
        "a between 1 and",
    ],
)
def test_all_other_expressions_are_left_to_the_analysis(spark: SparkSession, text: str) -> None:
    assert not problems(spark, text)


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("DELETE FROM delta.`/some/victim` -- {batch}", "the operation DeleteFromTable"),
        ("INSERT OVERWRITE DIRECTORY '/x' USING parquet SELECT * FROM {batch}", "the operation InsertIntoDir"),
        ("FROM {batch} INSERT OVERWRITE TABLE x SELECT *", "the operation InsertIntoStatement"),
        ("SET spark.sql.warehouse.dir = /x", "the operation SetCommand"),
        ("BEGIN SELECT * FROM {batch}; END", "the operation CompoundBody"),
        ("FROM {batch} SELECT TRANSFORM(v) USING '/bin/sh' AS (o)", "the operation ScriptTransformation"),
        ("SELECT * FROM text.`/etc/passwd`", "the table text./etc/passwd"),
        ("SELECT * FROM {batch}.x", "the table {batch}.x"),
        ("SELECT * FROM {batch} JOIN secrets USING (a)", "the table secrets"),
        ("SELECT * FROM tmp_view", "the table tmp_view"),
        ("SELECT * FROM {batch} WHERE a IN (SELECT a FROM secrets)", "the table secrets"),
        ("SELECT * FROM secrets WHERE EXISTS (WITH secrets AS (SELECT 1) SELECT * FROM secrets)", "the table secrets"),
        ("WITH secrets AS (SELECT * FROM secrets) SELECT * FROM secrets", "the table secrets"),
        ("SELECT * FROM {batch}, LATERAL (SELECT * FROM secrets)", "the table secrets"),
        ("SELECT * FROM {batch} VERSION AS OF 1", "the operation RelationTimeTravel"),
        ("SELECT * FROM table_changes_by_path('/x', 1)", "the operation UnresolvedTableValuedFunction"),
        ("SELECT reflect('a', 'b') FROM {batch}", "reflect() (it runs code)"),
        ("VALUES (reflect('a', 'b'))", "reflect() (it runs code)"),
        ("SELECT max(a) OVER w FROM {batch} WINDOW w AS (ORDER BY reflect('a', 'b'))", "the operation WithWindow"),
        ("SELECT * FROM {batch} LATERAL VIEW explode(array(reflect('a', 'b'))) t", "reflect()"),
        ("SELECT * FROM {batch} ORDER BY reflect('a', 'b')", "reflect()"),
        ("SELECT a, count(*) FROM {batch} GROUP BY CUBE (a, reflect('a', 'b'))", "reflect()"),
        ("SELECT * FROM {batch} PIVOT (max(reflect('a', 'b')) FOR k IN ('a'))", "reflect()"),
        ("SELECT * FROM IDENTIFIER('te' || 'xt.x')", "the operation PlanWithUnresolvedIdentifier"),
        ("SELECT * FROM {batch} WHERE (", "[PARSE_SYNTAX_ERROR]"),
    ],
)
def test_a_query_reads_the_staged_rows_and_nothing_else(spark: SparkSession, text: str, part: str) -> None:
    refusal = problems(spark, text, SqlKind.QUERY)
    assert refusal.startswith(f"a.key: found {part}")
    assert "A query selects from {batch} alone" in refusal


@pytest.mark.parametrize(
    "text",
    [
        "SELECT key, sum(v) s FROM {batch} WHERE a > now() GROUP BY key HAVING sum(v) > 2 ORDER BY 1 LIMIT 5",
        "SELECT DISTINCT x.* FROM {batch} x JOIN {batch} y ON x.a = y.a LEFT JOIN VALUES (1) t(v) ON t.v = x.a",
        "WITH Early AS (SELECT * FROM {batch}), b AS (SELECT * FROM early) SELECT * FROM B UNION SELECT * FROM EARLY",
        "SELECT * FROM {batch} WHERE a > (SELECT avg(a) FROM {batch})",
        "SELECT *, row_number() OVER (PARTITION BY a ORDER BY b) FROM {batch} WHERE c RLIKE 'x{{2}}'",
        "SELECT '{left to the library}' FROM {batch}",
        "SELECT * FROM {batch} EXCEPT SELECT * FROM {batch} LATERAL VIEW explode(array(1)) t AS y",
    ],
)
def test_a_query_may_do_with_the_staged_rows_what_it_likes(spark: SparkSession, text: str) -> None:
    assert not problems(spark, text, SqlKind.QUERY)


def test_every_function_of_spark_that_is_another_in_another_run_is_known(spark: SparkSession) -> None:
    """The reasons hold for the Spark in the lock file: another version may bring further functions."""
    jvm: Any = spark._jvm
    nondeterministic = jvm.java.lang.Class.forName("org.apache.spark.sql.catalyst.expressions.Nondeterministic")
    registered = jvm.org.apache.spark.sql.catalyst.analysis.FunctionRegistry.expressions().iterator()
    classes = {}
    while registered.hasNext():
        entry = registered.next()
        classes[entry._1()] = entry._2()._1().getClassName()
    refused = REACHING.keys() | UNREPEATABLE.keys()
    assert refused <= classes.keys()
    words = ("Reflect", "Current", "LocalTimestamp", ".Now", "Random", ".Uniform", "Avro", "Protobuf", "xml.XPath")
    suspects = {
        name
        for name, of in classes.items()
        if any(word in of for word in words) or nondeterministic.isAssignableFrom(jvm.java.lang.Class.forName(of))
    }
    # The session's time zone is UTC in every run.
    assert suspects - refused == {"current_timezone"}


def test_without_code_a_text_has_only_functions_of_spark(spark: SparkSession) -> None:
    spark.udf.register("of_a_program", lambda value: value)
    own = [SqlText("a.key", "sum(Abs(a)) filter (where a != 1 or b || 'x' <> 'y')", SqlKind.RESULT)]
    of_a_program = [SqlText("a.key", "of_a_program(a)", SqlKind.RESULT), SqlText("b.key", "x.y.abs(a)", SqlKind.CHECK)]
    assert not list(forbidden(spark, [*own, *of_a_program]))
    assert [line[:25] for line in forbidden(spark, [*own, *of_a_program], allow_code=False)] == [
        "a.key: found of_a_program",
        "b.key: found abs() (it is",
    ]
