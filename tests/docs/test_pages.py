"""Nothing of a page is skipped in silence: what the scenario does not know is an error, and so is wrong output."""

from __future__ import annotations

from pathlib import Path
from typing import cast

import pytest
from pyspark.sql import SparkSession

from tests.docs.markdown import rows, steps
from tests.docs.output import FOLDER, Output
from tests.docs.scenario import Scenario, exchanges, merged, parsed

RUN, OTHER = "r0123456789abcde", "rfedcba987654321"


def take(folder: Path, text: str) -> None:
    """Run a page that needs no Spark."""
    page = folder / "page.md"
    page.write_text(text)
    scenario = Scenario(cast("SparkSession", None), folder)
    for step in steps(page):
        scenario.take(step)


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("```\nplain\n```\n", "a block of the kind ''"),
        ("```ruby\nputs 1\n```\n", "a block of the kind 'ruby'"),
        ("```yaml\nwindows: {size: 1 hour, siz: 2}\n```\n", "unknown key"),
        ("```yaml\nname: x\nwindows: {}\n```\n", "source: missing"),
        ("```console\n$ tidemark-x\n```\n", "is not known here"),
        ("```console\n$ curl localhost\n```\n", "is not known here"),
        ("```console\n$ make no-such-target\n```\n", "No rule to make target"),
        ("```console\ntidemark check x\n```\n", "begins with"),
        ("```console\n$ python -m tidemark_airflow.embedded up\n```\n", "starts a program"),
        ("<!-- test: parse airflow -->\n```console\n$ tidemark replya x.yaml\n```\n", "no command 'tidemark replya'"),
        ("<!-- test: parse airflow -->\n```console\n$ tidemark replay x.yaml --form 1\n```\n", "--form"),
        ("<!-- test: parse nothing -->\n```console\n$ make up\n```\n", "expected one of"),
        ("<!-- test: skip it -->\n```console\n$ make up\n```\n", "expected one of"),
        ("<!-- test file x -->\n", "is not of the form"),
        ("<!-- test: file x -->\nText.\n", "no block follows"),
        ("<!-- test: file x -->\n", "no block follows"),
        ("```yaml\nname: x\n", "has no end"),
    ],
)
def test_what_is_not_understood_is_an_error(tmp_path: Path, text: str, wrong: str) -> None:
    with pytest.raises((AssertionError, ValueError), match=wrong):
        take(tmp_path, text)


def test_a_block_is_found_with_its_words_its_line_and_its_text(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        "# Page\n\n<!-- test: file a.yaml; base join -->\n\n```yaml\na: 1\n```\n\n<!-- test: start clicks -->\n"
    )
    block, example = steps(page)
    assert (block.kind, block.line, block.text) == ("yaml", 5, "a: 1\n")
    assert block.words == {"file": "a.yaml", "base": "join"}
    assert (example.kind, example.words) == ("example", {"start": "clicks"})


def test_a_command_has_the_output_that_follows_it_and_may_go_on_in_the_next_line(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("```console\n$ one \\\n    --two\nout\n$ three\n```\n")
    assert exchanges(steps(page)[0]) == [("one      --two", "out\n"), ("three", "")]


@pytest.mark.parametrize(
    ("documented", "real", "differs"),
    [
        ("a\nb\n", "a\nb\n", None),
        ("a\nb\n", "a\nc\n", "b"),
        ("a\n", "a\nb\n", "... is missing before: b"),
        ("a\n...\n", "a\nb\nc\n", None),
        ("...\nc\n", "a\nb\nc\n", None),
        ("...\nd\n", "a\nb\nc\n", "d"),
        ("b\na\n", "a\nb\n", "b"),
        ("took ... s\n", "took 12.5 s\n", None),
        (f"run {RUN}\n", f"run {OTHER}\n", None),
        (f"run {RUN}\nrun {RUN}\n", f"run {OTHER}\nrun {RUN}\n", f"run {RUN}"),
        ("at 2026-11-24 20:10\n", "at 2031-01-02 03:04\n", None),
        ("at 2024-05-01 20:10\n", "at 2024-05-01 20:11\n", "at 2024-05-01 20:10"),
        (f"in {FOLDER}/lake\n", "in /somewhere/lake\n", None),
    ],
)
def test_output_is_compared_line_by_line(documented: str, real: str, differs: str | None) -> None:
    assert Output(Path("/somewhere")).difference(documented, real) == differs


def test_an_id_of_the_page_stands_for_the_real_one_in_later_commands() -> None:
    output = Output(Path("/somewhere"))
    assert output.difference(f"run {RUN}\n", f"run {OTHER}\n") is None
    assert output.real(f"--run {RUN}") == f"--run {OTHER}"
    with pytest.raises(ValueError, match="shows no output"):
        output.real("--run raaaaaaaaaaaaaaa")


def test_a_fragment_replaces_values_and_lists_and_takes_keys_away() -> None:
    base = {"a": {"b": 1, "c": [1, 2]}, "d": 3}
    assert merged(base, {"a": {"c": [4]}, "d": None}) == {"a": {"b": 1, "c": [4]}}


def test_a_table_is_read_by_its_heading() -> None:
    assert rows("| `a` | b |\n|---|---:|\n| 1 | **x** |\n") == [{"a": "1", "b": "x"}]


def test_a_command_is_parsed_without_running() -> None:
    parsed(["replay", "no-such-file.yaml", "--from", "2024-01-01", "--slices", "8"])
