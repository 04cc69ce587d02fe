from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.house import prose
from tests.house.allowance import FILE
from tests.house.conftest import Make

LONG = "Word" + " word" * 25
INSTEAD = 'name the noun ("the arguments ..."), or use "returns", "contains", "distinguishes"'
FIT = "Word" + " word" * 24


def lines(make: Make, files: dict[str, str]) -> list[str]:
    return sorted(f"{place.path}:{place.line} {place.text.split(':')[0]}" for place in prose.findings(make(files)))


def test_a_sentence_of_a_document_has_at_most_25_words(make: Make) -> None:
    page = f"# {LONG}\n\n{FIT}. Short one.\n{LONG}.\n\n- {LONG}\n"
    found_at = [f"page.md:{line} sentence of 26 words, at most 25" for line in (1, 4, 6)]
    assert lines(make, {"page.md": page}) == found_at


def test_what_is_no_prose_of_a_document_is_not_read(make: Make) -> None:
    page = "\n".join([
        "---",
        f"title: told {LONG}",
        "---",
        "```",
        f"told {LONG}",
        "```",
        "",
        "| told | says |",
        "|---|---|",
        f"| there | {LONG} |",
        "",
        "[the page](https://example.org/told-there) and `told` and <https://example.org/told>.",
    ])  # fmt: skip
    assert lines(make, {"page.md": page}) == []


def test_a_paragraph_has_at_most_80_words(make: Make) -> None:
    sentence = "One two three four five six seven eight nine ten. "
    page = f"{sentence * 8}\n\n{sentence * 8}Eleven.\n\n- {sentence * 5}\n- {sentence * 5}\n"
    assert lines(make, {"page.md": page}) == ["page.md:3 paragraph of 81 words, at most 80"]


def test_abbreviations_and_code_spans_do_not_end_a_sentence(make: Make) -> None:
    page = f"{'word ' * 12}e.g. {'word ' * 11}`two words. Or four` end.\n"
    assert lines(make, {"page.md": page}) == ["page.md:1 sentence of 26 words, at most 25"]


def test_only_public_docstrings_have_short_sentences(make: Make) -> None:
    source = f'''
def public():
    """Return rows.

    {LONG}.
    """


def _private():
    """Return rows. {LONG}."""


class Rows:
    """Rows. {FIT}."""

    def _inner(self):
        """Return rows. {LONG}."""
'''
    assert lines(make, {"spark_jobs/a.py": source}) == ["spark_jobs/a.py:5 sentence of 26 words, at most 25"]


def test_formulas_tables_and_arguments_of_a_docstring(make: Make) -> None:
    source = f'''
def public(a, b):
    """Return rows:

        formula {LONG}

    column    {LONG}

    Args:
        a: word {FIT[10:]}.
            {FIT}.
        b: {LONG}.
    """
'''
    assert lines(make, {"spark_jobs/a.py": source}) == ["spark_jobs/a.py:12 sentence of 27 words, at most 25"]


@pytest.mark.parametrize("first", ["The", "A", "What", "Whether", "Where", "How", "Those"])
def test_a_functions_docstring_begins_with_a_verb(make: Make, first: str) -> None:
    source = f'def rows():\n    """{first} rows."""\n'
    assert lines(make, {"spark_jobs/a.py": source}) == [f"spark_jobs/a.py:2 docstring begins with '{first}'"]


@pytest.mark.parametrize(
    "source",
    [
        'def rows():\n    """Return the rows."""\n',
        'def _rows():\n    """The rows."""\n',
        'class Rows:\n    """The rows."""\n\n    @property\n    def count(self):\n        """The number of rows."""\n',
        '"""The rows of a table."""\n',
    ],
)
def test_values_and_private_functions_may_begin_with_a_noun(make: Make, source: str) -> None:
    assert lines(make, {"spark_jobs/a.py": source}) == []


def run(root: Path, *arguments: str) -> int:
    return prose.main(["--root", str(root), *arguments])


def allowed(root: Path) -> dict[str, int]:
    files: dict[str, int] = json.loads((root / FILE).read_text(encoding="utf-8"))
    return files


def test_more_findings_than_allowed_fail_with_their_lines(make: Make, capsys: pytest.CaptureFixture[str]) -> None:
    root = make({"a.md": "It says so.\n\nIt tells.\n", str(FILE): '{"a.md": 1}'}).root
    assert run(root) == 1
    assert capsys.readouterr().out.splitlines() == [
        'a.md:1: \'says\' is banned: use "returns", "contains", "shows", "declares"',
        f"a.md:3: 'tells' is banned: {INSTEAD}",
        "a.md: 2 findings, 1 allowed",
    ]


def test_a_file_without_an_allowance_is_clean(make: Make) -> None:
    assert run(make({"a.md": "It says so.\n", str(FILE): "{}"}).root) == 1
    assert run(make({"a.md": "It shows so.\n"}).root) == 0


def test_fewer_findings_fail_until_the_allowance_is_lower(make: Make, capsys: pytest.CaptureFixture[str]) -> None:
    root = make({"a.md": "It says so.\n", "b.md": "Clean.\n", str(FILE): '{"a.md": 3, "b.md": 1, "gone.md": 2}'}).root
    assert run(root) == 1
    assert capsys.readouterr().out.splitlines()[-1] == "lower the allowance: run `python -m tests.house.prose --lower`"
    assert run(root, "--lower") == 0
    assert allowed(root) == {"a.md": 1}
    assert run(root) == 0


def test_lowering_never_allows_more(make: Make) -> None:
    root = make({"a.md": "It says so.\n\nIt tells.\n", "b.md": "It says so.\n", str(FILE): '{"a.md": 1}'}).root
    assert run(root, "--lower") == 1
    assert allowed(root) == {"a.md": 1}


def test_a_reset_follows_moves_and_refuses_a_larger_sum(make: Make, capsys: pytest.CaptureFixture[str]) -> None:
    root = make({"moved.md": "It says so.\n", str(FILE): '{"a.md": 1}'}).root
    assert run(root, "--reset") == 0
    assert allowed(root) == {"moved.md": 1}
    (root / "new.md").write_text("It tells.\n", encoding="utf-8")
    assert run(root, "--reset") == 1
    assert "2 findings are more than the 1 allowed" in capsys.readouterr().err
    assert allowed(root) == {"moved.md": 1}


def test_findings_of_single_files_ignore_the_allowance(make: Make, capsys: pytest.CaptureFixture[str]) -> None:
    root = make({"docs/a.md": "It says so.\n", "b.md": "It says so.\n", str(FILE): '{"docs/a.md": 1, "b.md": 1}'}).root
    assert run(root, str(root / "docs")) == 1
    assert [line.split(":")[0] for line in capsys.readouterr().out.splitlines()] == ["docs/a.md"]
