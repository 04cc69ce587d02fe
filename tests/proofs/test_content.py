"""The content of files: what changes behaviour changes the digest, and nothing else does."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.proofs.content import Content

MODULE = '''"""What it is."""

LIMIT = 3  # rows


def first(rows: list[int]) -> int:
    """Return the first row."""
    return rows[0]
'''


@pytest.fixture(name="tree")
def _tree(tmp_path: Path) -> Path:
    subprocess.run([str(shutil.which("git")), "init", "-q"], cwd=tmp_path, check=True)
    (tmp_path / "code").mkdir()
    (tmp_path / "code" / "module.py").write_text(MODULE, encoding="utf-8")
    (tmp_path / "code" / "names.txt").write_text("a\n", encoding="utf-8")
    (tmp_path / ".gitignore").write_text("__pycache__/\n*.log\n", encoding="utf-8")
    return tmp_path


def digest(tree: Path) -> str:
    return Content(tree).digest(("code/**",))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        pytest.param("  # rows", "  # at most so many rows", id="comment"),
        pytest.param("Return the first row.", "Return the row that came first.", id="docstring of a function"),
        pytest.param("What it is.", "The first row.", id="docstring of a module"),
        pytest.param("\n\n\n", "\n\n\n\n", id="empty line"),
    ],
)
def test_words_for_readers_do_not_change_it(tree: Path, old: str, new: str) -> None:
    before = digest(tree)
    (tree / "code" / "module.py").write_text(MODULE.replace(old, new, 1), encoding="utf-8")
    assert digest(tree) == before


@pytest.mark.parametrize(
    ("old", "new"),
    [
        pytest.param("LIMIT = 3", "LIMIT = 4", id="value"),
        pytest.param("rows[0]", "rows[-1]", id="expression"),
        pytest.param("list[int]", "list[str]", id="type"),
        pytest.param("return rows[0]", "return rows[", id="no Python"),
    ],
)
def test_code_changes_it(tree: Path, old: str, new: str) -> None:
    before = digest(tree)
    (tree / "code" / "module.py").write_text(MODULE.replace(old, new), encoding="utf-8")
    assert digest(tree) != before


@pytest.mark.parametrize("line", ["import typer\n", "print(__doc__)\n"])
def test_docstrings_count_in_a_file_that_prints_them(tree: Path, line: str) -> None:
    module = tree / "code" / "module.py"
    module.write_text(MODULE + line, encoding="utf-8")
    before = digest(tree)
    module.write_text(MODULE.replace("What it is.", "The first row.") + line, encoding="utf-8")
    assert digest(tree) != before


def test_other_files_count_byte_by_byte(tree: Path) -> None:
    before = digest(tree)
    (tree / "code" / "names.txt").write_text("a \n", encoding="utf-8")
    assert digest(tree) != before


def test_a_move_and_a_removal_change_it(tree: Path) -> None:
    before = digest(tree)
    (tree / "code" / "names.txt").rename(tree / "code" / "words.txt")
    moved = digest(tree)
    (tree / "code" / "words.txt").unlink()
    assert len({before, moved, digest(tree)}) == 3


def test_a_new_file_counts_unless_git_ignores_it(tree: Path) -> None:
    before = digest(tree)
    (tree / "code" / "run.log").write_text("line\n", encoding="utf-8")
    assert digest(tree) == before
    (tree / "code" / "other.py").write_text("", encoding="utf-8")
    assert digest(tree) != before


def test_a_change_is_seen_by_a_content_that_has_read_the_file(tree: Path) -> None:
    content = Content(tree)
    before = content.digest(("code/**",))
    (tree / "code" / "names.txt").write_text("more\n", encoding="utf-8")
    assert content.digest(("code/**",)) != before
    (tree / "code" / "names.txt").unlink()
    assert content.digest(("code/**",)) != before


def test_paths_that_are_not_chosen_do_not_count(tree: Path) -> None:
    before = Content(tree).digest(("code/**", "!code/*.txt"))
    (tree / "code" / "names.txt").write_text("b\n", encoding="utf-8")
    assert Content(tree).digest(("code/**", "!code/*.txt")) == before
