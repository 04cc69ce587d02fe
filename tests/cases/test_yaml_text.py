"""The YAML of cases is read as strictly as a pipeline file, and each problem has its line."""

from __future__ import annotations

import pytest

from spark_jobs.cases.yaml_text import YamlTextError, read_document, values_of


def test_values_are_those_of_a_pipeline_file() -> None:
    text = "a: 010\nb: 12\nc: ${NOT_REPLACED}\nd: [true, ~]\ne: {f: 1.5}\n"
    assert values_of(read_document(text), "x") == {
        "a": "010",
        "b": 12,
        "c": "${NOT_REPLACED}",
        "d": [True, None],
        "e": {"f": 1.5},
    }


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: 1\nb: 2\na: 3", r"^line 3: a: stands twice, first in line 1; keep one$"),
        ("a: 1\na: 2\na: 3", r"^line 2: a: stands twice, .*\nline 3: a: stands twice"),
        ("", "^it is empty$"),
        ("a: !!set {}", "line 1: a: found the tag"),
        ("".join(f"{number}: 1\n" for number in range(200)), r"line 1: found the number 0 as a key; a key is text"),
    ],
)
def test_what_is_refused_has_its_line(text: str, message: str) -> None:
    with pytest.raises(YamlTextError, match=message):
        read_document(text)


def test_a_word_that_may_be_a_boolean_is_refused_as_a_setting() -> None:
    with pytest.raises(YamlTextError, match="set: x: found the YAML boolean no; write true or false"):
        values_of(read_document("no"), "set: x")
